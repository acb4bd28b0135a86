-- An address may get mail again once a person has lifted its suppression. The row stays: what bounced before that is
-- old news when it comes late. A person and the audit name it by its number, for an address is personal.
ALTER TABLE suppressed_recipients
    ADD COLUMN id bigint GENERATED ALWAYS AS IDENTITY UNIQUE,
    ADD COLUMN lifted_at timestamptz;

-- The mails that were withheld, which a lift shows; few on a good day.
CREATE INDEX order_notifications_undeliverable_idx ON order_notifications (created_at) WHERE status = 'undeliverable';
