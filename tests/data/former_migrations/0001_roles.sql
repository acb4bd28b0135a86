-- The role that every function but the migrator connects as. It reads and writes rows and owns nothing.
-- A role belongs to the cluster, so it may exist already when a second database is migrated.
DO $$
BEGIN
    CREATE ROLE app LOGIN;
EXCEPTION
    WHEN duplicate_object OR unique_violation THEN NULL;
END
$$;

-- Set on the role and not by the client: a SET would pin the connection behind RDS Proxy.
ALTER ROLE app SET statement_timeout = '5s';
ALTER ROLE app SET lock_timeout = '2s';
ALTER ROLE app SET idle_in_transaction_session_timeout = '10s';

GRANT USAGE ON SCHEMA public TO app;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO app;
