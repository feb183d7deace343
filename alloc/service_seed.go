package alloc

import "context"

// SeedEntry is one piece of input: the raw text and the line it stands on, from 1.
type SeedEntry struct {
	Line int
	Raw  string
}

// SeedRequest is input for a pool, as ReadSeed made it of a file or a handler of a list.
type SeedRequest struct {
	Pool    PoolName
	Entries []SeedEntry
	Key     string // Idempotency-Key; "" for none
}

// SeedFinding is one entry that was not added, or is worth a look.
type SeedFinding struct {
	Line   int
	ID     string // as cleaned where that was possible, else quoted and cut short
	Reason string
}

// SeedReport says what became of each entry. Of each outcome it has the first SeedExamples findings.
type SeedReport struct {
	Pool      PoolName
	Job       JobID
	Added     Count
	Duplicate Count // within the input, or in the pool before
	Conflict  Count // in the pool before, and taken
	Invalid   Count

	AddedFirst     []SeedFinding
	DuplicateFirst []SeedFinding
	ConflictFirst  []SeedFinding
	InvalidFirst   []SeedFinding
	CaseFirst      []SeedFinding // IDs that differ only in case from one before
	CaseOnly       Count         // how many such IDs there are
}

// SeedExamples is how many findings of each kind a report has.
const SeedExamples = 20

// Seed cleans and checks the entries, drops repeats, adds the rest and reports. Bad entries never stop good ones.
// Needs ActionSeed. A repeat after an error is safe: it adds what is missing.
func (s *Service) Seed(ctx context.Context, r SeedRequest) (SeedReport, error) {
	return SeedReport{}, nil
}
