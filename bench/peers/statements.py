"""The job that all queues do: one SELECT and one INSERT, each in autocommit."""

SELECT = "SELECT id, status, email FROM orders WHERE order_number = %s"
INSERT = (
    "INSERT INTO order_notifications (order_id, notification_type, status)"
    " VALUES (%s, 'order_confirmation', 'sent') ON CONFLICT DO NOTHING"
)
