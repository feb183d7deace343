package alloc

import (
	"context"
	"fmt"
	"slices"
)

// SeedEntry is one piece of input: the raw text and the line it stands on, from 1.
type SeedEntry struct {
	Line int
	Raw  string
}

// SeedRequest is input for a pool, as ReadSeed made it of a file or a handler of a list.
type SeedRequest struct {
	Pool    PoolName
	Entries []SeedEntry

	// Intent is what Keyed gives to its work, and names the job, so that every attempt with one Idempotency-Key is the
	// same one; "" for none.
	Intent Token
}

// SeedFinding is one entry that was added, was not added, or is worth a look.
type SeedFinding struct {
	Line   int
	ID     string // as cleaned; of an invalid one what can be shown, quoted and cut short
	Reason string // "" where the outcome says all
}

// SeedReport says what became of each entry: each is counted once under one outcome. Of each outcome it has the first
// SeedExamples findings, in the order of their lines.
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
	CaseOnly       Count         // how many such IDs there are; 0 in a pool that folds case
}

// SeedExamples is how many findings of each kind a report has.
const SeedExamples = 20

// Seed cleans and checks the entries, drops repeats (the first line wins), adds the rest and reports. Bad entries never
// stop good ones. CodeInvalidRequest without any entry; CodeRebuildStep and CodePoolRebuilding as in OpenSeeding; else as Claims.Seed. Needs ActionSeed.
//
// A repeat is safe at any time: it adds what is missing. With the same intent it is the same job, and what that job added
// before counts as added again; without one it counts as duplicate.
//
// After an error half-way (with Unknown set, as something was changed) the report has the counts of what was done.
func (s *Service) Seed(ctx context.Context, r SeedRequest) (SeedReport, error) {
	report := SeedReport{Pool: r.Pool}
	st := step{
		need: ActionSeed, on: aPool, name: string(r.Pool), verb: "seed",
		detail: func() string { return report.words(len(r.Entries)) },
	}
	err := s.administer(ctx, st, func() error { return s.seed(ctx, r, &report) })
	return report, err
}

func (s *Service) seed(ctx context.Context, r SeedRequest, report *SeedReport) error {
	if len(r.Entries) == 0 {
		return Errorf(CodeInvalidRequest, "there are no IDs in the request; send at least one")
	}
	pool, err := s.store.Pool(ctx, r.Pool)
	if err != nil {
		return err
	}
	if err := s.checkSeedable(ctx, pool); err != nil {
		return err
	}
	wanted := report.sift(r.Entries, pool.Config.FoldCase)
	report.Job = seedJob(r, pool.Config.Policy, wanted)
	keyless := r.Intent == "" && pool.Config.Policy != PolicyForget
	done := 0
	for batch := range slices.Chunk(wanted, MaxSeedIDs) {
		if err := s.seedBatch(ctx, report, batch, keyless); err != nil {
			return halfway(err, done, len(wanted))
		}
		done += len(batch)
	}
	return nil
}

// seedJob names the job. With an intent after that, which is as random as a name has to be. Without one after its IDs, so
// that sending again what was cut off goes on with it; but at random in a pool that forgets, where the same IDs may be
// meant to be handed out again.
func seedJob(r SeedRequest, policy Policy, wanted []wantedID) JobID {
	switch {
	case r.Intent != "":
		return JobID(r.Intent)
	case policy == PolicyForget:
		return JobID(NewToken())
	}
	parts := make([]string, 0, 1+len(wanted))
	parts = append(parts, string(r.Pool))
	for _, w := range wanted {
		parts = append(parts, string(w.id))
	}
	return JobID(encodeBits([16]byte(hash(parts))))
}

// wantedID is an ID to add, with the line that wants it.
type wantedID struct {
	line int
	id   ID
}

// sift splits the entries into what is to be added and what is invalid, repeated or worth a warning.
func (r *SeedReport) sift(entries []SeedEntry, fold bool) []wantedID {
	wanted := make([]wantedID, 0, len(entries))
	lines := make(map[ID]int, len(entries))
	folded := make(map[string]wantedID)
	for _, e := range entries {
		text := clean(e.Raw, fold)
		if why := idFault(text); why != "" {
			r.Invalid++
			note(&r.InvalidFirst, SeedFinding{e.Line, quoteShort(text), why})
			continue
		}
		w := wantedID{e.Line, ID(text)}
		if line, ok := lines[w.id]; ok {
			r.Duplicate++
			note(&r.DuplicateFirst, SeedFinding{e.Line, text, fmt.Sprintf("it is on line %d already", line)})
			continue
		}
		lines[w.id] = e.Line
		wanted = append(wanted, w)
		if fold {
			continue
		}
		key := foldCase(text)
		if first, ok := folded[key]; ok {
			r.CaseOnly++
			note(&r.CaseFirst, SeedFinding{e.Line, text, fmt.Sprintf("it differs only in case from %s on line %d", first.id, first.line)})
			continue
		}
		folded[key] = w
	}
	return wanted
}

// seedBatch adds up to MaxSeedIDs and counts the outcomes.
func (s *Service) seedBatch(ctx context.Context, r *SeedReport, batch []wantedID, keyless bool) error {
	if err := ctx.Err(); err != nil {
		return Errorf(CodeUnavailable, "there was no time left").Because(err)
	}
	ids := make([]ID, len(batch))
	for i, w := range batch {
		ids[i] = w.id
	}
	outcomes, err := s.store.Seed(ctx, SeedBatch{Pool: r.Pool, Job: r.Job, IDs: ids, Keyless: keyless})
	if err != nil {
		return err
	}
	if len(outcomes) != len(batch) {
		e := Errorf(CodeInternal, "the store gave %d outcomes for %d IDs", len(outcomes), len(batch))
		e.Unknown = true
		return e
	}
	for i, w := range batch {
		finding := SeedFinding{Line: w.line, ID: string(w.id)}
		switch outcomes[i] {
		case SeedAdded:
			r.Added++
			note(&r.AddedFirst, finding)
		case SeedConflict:
			r.Conflict++
			finding.Reason = "it is in the pool and taken"
			note(&r.ConflictFirst, finding)
		default:
			r.Duplicate++
			finding.Reason = "it is in the pool already"
			note(&r.DuplicateFirst, finding)
		}
	}
	return nil
}

// note puts a finding into a list of the first SeedExamples by line.
func note(list *[]SeedFinding, f SeedFinding) {
	i, _ := slices.BinarySearchFunc(*list, f.Line+1, func(g SeedFinding, line int) int { return g.Line - line })
	if i < SeedExamples {
		*list = slices.Insert(*list, i, f)
		*list = (*list)[:min(len(*list), SeedExamples)]
	}
}

// halfway says how far a seeding came before err.
func halfway(err error, done, all int) error {
	e := *asError(err)
	if done == 0 && !e.Unknown {
		return err
	}
	e.Message = fmt.Sprintf("%d of %d IDs were settled, the counts say how; then: %s; sending the same again is safe, it adds what is missing",
		done, all, e.Message)
	e.Unknown = true
	return &e
}

func (r *SeedReport) words(entries int) string {
	return fmt.Sprintf("job %s, %s: added %d, duplicate %d, conflict %d, invalid %d, differing only in case %d",
		r.Job, several(entries, "entry", "entries"), r.Added, r.Duplicate, r.Conflict, r.Invalid, r.CaseOnly)
}
