-- Holds the jobs that have ended badly: the cost of finding them does not depend on how many have ended well.
CREATE INDEX jobs_failed ON jobs (updated, id) WHERE state = 'failed' OR state = 'done' AND verdict = 'findings';
