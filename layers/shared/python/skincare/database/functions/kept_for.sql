-- Version 1.
--
-- How long rows are kept after they have ended: the windows of skincare.retention.policy, where each has its reason. They
-- stand here because the functions prune_* obey no caller about them.
CREATE OR REPLACE FUNCTION kept_for(what text) RETURNS interval
LANGUAGE sql IMMUTABLE PARALLEL SAFE
RETURN CASE what
    WHEN 'jobs' THEN interval '90 days'
    WHEN 'idempotency_keys' THEN interval '90 days'
    WHEN 'cart_items' THEN interval '180 days'
    WHEN 'payment_events.body' THEN interval '540 days'
    WHEN 'quarantined_messages' THEN interval '90 days'
    WHEN 'reconciliation_runs' THEN interval '90 days'
    WHEN 'reconciliation_findings' THEN interval '365 days'
END;
