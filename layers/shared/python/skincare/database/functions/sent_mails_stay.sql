-- Version 1.
CREATE OR REPLACE TRIGGER sent_mails_stay
BEFORE DELETE ON order_notifications
FOR EACH ROW WHEN (current_user = 'app' AND OLD.status <> 'undeliverable') EXECUTE FUNCTION refuse_rewriting();
