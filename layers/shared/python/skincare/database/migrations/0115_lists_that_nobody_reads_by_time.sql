-- Outside of a transaction: both are written meanwhile.

-- Credit notes are found by their order, and the audit is read in the order of its ids.
DROP INDEX CONCURRENTLY IF EXISTS credit_notes_created_at_idx;
DROP INDEX CONCURRENTLY IF EXISTS operations_audit_at_idx;
