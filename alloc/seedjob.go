package alloc

import (
	"context"
	"fmt"
	"slices"
)

// OpenSeeding makes a job that takes a file in parts, by ReceivePart, and adds its IDs once StartJob has said that all are
// there. Needs ActionSeed. CodeInvalidRequest; what CheckSeed says; CodeRebuildStep while a restore of the pool is under way, CodePoolRebuilding while a rebuild is; CodeBusy as in Export.
func (s *Service) OpenSeeding(ctx context.Context, r SeedJobRequest) (j Job, err error) {
	id := newJobID(r.Intent, s.now())
	st := step{need: ActionSeed, on: aPool, name: string(r.Pool), verb: "open-seed", reason: said(&r.Why), detail: func() string {
		ranges := ""
		if r.Format.Ranges {
			ranges = ", ranges written out"
		}
		return fmt.Sprintf("job %s, csv %t, column %s%s, why %q", id, r.Format.CSV, quoteShort(r.Format.Column), ranges, r.Why)
	}}
	err = s.administer(ctx, st, func() (err error) {
		wanted := Job{ID: id, Kind: JobSeed, Pool: r.Pool, State: JobReceiving, Why: r.Why, Input: r.Format, Column: -1}
		j, err = s.makeJob(ctx, wanted, r.Intent, s.onPool(ctx, r.Pool, func(p Pool) error {
			if err := checkFormat(r.Format); err != nil {
				return err
			}
			if err := checkWhy(r.Why); err != nil {
				return err
			}
			return s.checkSeedable(ctx, p)
		}))
		return err
	})
	return j, err
}

// seedIntake is how a seeding reads its file.
var seedIntake = intake{
	read:  (*Service).readSeedPart,
	again: seedWarnings,
	ready: func(s *Service, ctx context.Context, j Job) error {
		return s.onPool(ctx, j.Pool, func(p Pool) error { return s.checkSeedable(ctx, p) })()
	},
	nothing: "there are no IDs in the file; cancel the job, or send at least one",
}

// readSeedPart implements intake.
func (s *Service) readSeedPart(ctx context.Context, j Job, p receivedPart) (to Job, warnings []string, pieces [][]byte, err error) {
	file, err := goOn(j)
	if err != nil {
		return j, nil, nil, err
	}
	before := file.lines
	var c cutter
	if err := s.onPool(ctx, j.Pool, func(pool Pool) error { c.fold = pool.Config.FoldCase; return nil })(); err != nil {
		return j, nil, nil, err
	}
	if warnings, err = file.read(p.data, c.add); err != nil {
		return j, nil, nil, err
	}
	to = j
	for _, w := range warnings { // so that whoever looks at the job reads it too
		to = to.noting(s.second(), "part %d: %s", p.n+1, w)
	}
	to.Column, to.Mark = file.column, file.mark()
	to.Total += c.count
	in := JobInput{Digest: p.digest, Pieces: len(c.pieces), Entries: c.count, Lines: file.lines - before}
	to.Inputs = append(slices.Clone(j.Inputs), in)
	return to, warnings, c.pieces, nil
}

// seedWarnings are those of a part that the job has: of the first, which is read as it was when it came.
func seedWarnings(j Job, p receivedPart) []string {
	if p.n > 0 {
		return nil
	}
	warnings, err := beginSeedFile(j.Input).read(p.data, func(SeedEntry) {})
	if err != nil {
		return nil
	}
	return warnings
}
