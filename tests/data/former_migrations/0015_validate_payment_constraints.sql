-- On their own, because they read every row: nobody who reads or writes waits for it.
ALTER TABLE payments VALIDATE CONSTRAINT payments_charged_back_is_money;
ALTER TABLE payment_events VALIDATE CONSTRAINT payment_events_status_check;
ALTER TABLE payment_events VALIDATE CONSTRAINT payment_events_confirmed_status_check;
