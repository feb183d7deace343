-- When an ID that is taken came to be so as it is, where that was not when it was taken: it was confirmed or retired since, or a restore has carried it here. And
-- when a restore entered a lease. NULL where nothing of that was, or was before this schema.
ALTER TABLE ids ADD COLUMN changed INTEGER;
ALTER TABLE leases ADD COLUMN entered INTEGER;
