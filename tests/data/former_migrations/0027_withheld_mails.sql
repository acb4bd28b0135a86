-- A mail that was not delivered may be sent by a person after all: then its record goes. One that was sent stays.
GRANT DELETE ON order_notifications TO app;

CREATE TRIGGER sent_mails_stay
BEFORE DELETE ON order_notifications
FOR EACH ROW WHEN (current_user = 'app' AND OLD.status <> 'undeliverable') EXECUTE FUNCTION refuse_rewriting();

-- A suppression is lifted, and its row stays.
REVOKE DELETE ON suppressed_recipients FROM app;
