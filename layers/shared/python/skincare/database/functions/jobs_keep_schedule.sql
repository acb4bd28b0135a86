-- Version 1.
--
-- A job is looked at no later than its publish_at: a new row whenever that is set or comes nearer. A row for a time that
-- was put off stays until it is met, so the usual life of a job writes one.
CREATE OR REPLACE FUNCTION jobs_keep_schedule() RETURNS trigger
LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO job_schedule (look_at, job_id) VALUES (NEW.publish_at, NEW.id) ON CONFLICT DO NOTHING;
    RETURN NULL;
END
$$;

CREATE OR REPLACE TRIGGER jobs_schedule_new AFTER INSERT ON jobs
FOR EACH ROW WHEN (NEW.publish_at IS NOT NULL) EXECUTE FUNCTION jobs_keep_schedule();

CREATE OR REPLACE TRIGGER jobs_schedule_earlier AFTER UPDATE ON jobs
FOR EACH ROW WHEN (NEW.publish_at < coalesce(OLD.publish_at, 'infinity')) EXECUTE FUNCTION jobs_keep_schedule();
