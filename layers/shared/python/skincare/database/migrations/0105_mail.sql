-- What the customer was told about an order, once per type. A mail that was not delivered may be sent by a person after
-- all: then its record goes. One that was sent stays: functions/sent_mails_stay.sql.
CREATE TABLE order_notifications (
    order_id bigint NOT NULL REFERENCES orders,
    notification_type text NOT NULL CHECK (length(notification_type) BETWEEN 1 AND 100),
    status text NOT NULL CHECK (status IN ('sent', 'undeliverable')),
    provider_message_id text,
    reason text,
    created_at timestamptz NOT NULL DEFAULT now(),
    PRIMARY KEY (order_id, notification_type)
);
-- The mails that were withheld, which a lift of a suppression shows; few on a good day.
CREATE INDEX order_notifications_undeliverable_idx ON order_notifications (created_at) WHERE status = 'undeliverable';

-- Addresses that mail must not be sent to again, in lower case, until a person has lifted the suppression. The row
-- stays: what bounced before that is old news when it comes late. A person and the audit name it by its number, for an
-- address is personal.
CREATE TABLE suppressed_recipients (
    id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    email text PRIMARY KEY CHECK (email = lower(email)),
    reason text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now(),
    lifted_at timestamptz
);
REVOKE DELETE ON suppressed_recipients FROM app;
