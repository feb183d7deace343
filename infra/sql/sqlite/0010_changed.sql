-- When an ID that is taken came to be so as it is, where that was not when it was taken: it was confirmed or retired since, or a restore has carried it here; NULL
-- where nothing of that was, or was before this schema.
ALTER TABLE ids ADD COLUMN changed INTEGER;

-- With brought: by how many generations the ID is later here than was said when it was carried.
ALTER TABLE ids ADD COLUMN ahead INTEGER NOT NULL DEFAULT 0 CHECK (ahead >= 0);

-- When a restore has entered a lease.
ALTER TABLE leases ADD COLUMN entered INTEGER;
