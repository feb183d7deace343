-- The restore that retires free IDs of the pool, or has done so last; empty for none.
ALTER TABLE refills ADD COLUMN burning TEXT NOT NULL DEFAULT '';
