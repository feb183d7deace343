package alloc

import (
	"context"
)

// jobKind is what is particular to the jobs of a kind. All else is the same for all of them.
type jobKind struct {
	what   string // one of them, in words
	need   Action // on its pool: to make one, to see it, and to cancel what is one's own
	result Action // on its pool: to get the result of another client's

	// recovers says that it brings back a pool or a sequence, or proves it, or makes that possible: it has bounds of its own.
	recovers bool

	// able reports whether this process can carry the job on; another one may.
	able func(s *Service, j Job) bool

	// step does the next step. Whatever it does before it returns can be repeated, by several at once and long after: the
	// one done-mark of a step is the change of the job, by condition of its version, that advance makes of what step
	// returns. Of that job advance sees to the state, the times, the tries and the log.
	step func(s *Service, ctx context.Context, j Job) (doneStep, error)

	// recorded says that the end of such a job is an entry of the trail.
	recorded bool

	// takes is how the job reads its file; nil for a job that takes none.
	takes func(j Job) *intake

	// abandon takes back what a job that has ended before its last step holds. It can be repeated. nil for nothing.
	abandon func(s *Service, ctx context.Context, j Job) error

	// empty reports whether nothing was written, in all parts of the result of a job that is done.
	empty func(j Job) bool

	// sum is what was done until now, and stays what a cancelled job leaves behind, in words.
	sum   func(j Job) string
	stays string
}

// known reports whether this version has such jobs.
func (k JobKind) known() bool {
	_, ok := jobKinds[k]
	return ok
}

// kindOf returns what is particular to a kind; of one that this version does not know, that only a manager sees and nobody
// carries it on.
func kindOf(k JobKind) jobKind {
	if kind, ok := jobKinds[k]; ok {
		return kind
	}
	return jobKind{
		what: "a job of an unknown kind", need: ActionManage, result: ActionManage,
		able: func(*Service, Job) bool { return false },
		step: func(_ *Service, _ context.Context, j Job) (doneStep, error) {
			return doneStep{}, Errorf(CodeUnavailable, "this version cannot carry on a job of the kind %s", quoteShort(string(j.Kind)))
		},
		empty: func(j Job) bool { return j.Done == 0 },
		sum:   func(j Job) string { return inWords("%d done", j.Done) },
	}
}

var jobKinds = map[JobKind]jobKind{
	JobExport: {
		what: "an export", need: ActionExport, result: ActionExport,
		able:  func(s *Service, j Job) bool { return s.encoders[j.Format] != nil },
		step:  (*Service).exportStep,
		empty: func(j Job) bool { return j.Done == 0 },
		sum:   func(j Job) string { return several(j.Done, "ID was written", "IDs were written") },
		stays: "the parts that are there stay", recorded: true,
	},
	JobSeed: {
		what: "a seeding", need: ActionSeed,
		result: ActionExport, // it tells of IDs that are in the pool, and may be free
		able:   always,
		step:   (*Service).seedStep,
		takes:  func(Job) *intake { return &seedIntake },
		empty:  func(j Job) bool { return j.Tally.rejected() == 0 },
		sum:    seedSum,
		stays:  "what it has added stays in the pool, also what a step that was under way still adds", recorded: true,
	},
	JobCheck: {
		what: "a check of a file", need: ActionSeed,
		result: ActionExport, // as of a seeding
		able:   always,
		step:   (*Service).checkStep,
		empty:  func(j Job) bool { return j.Tally.rejected() == 0 },
		sum: func(j Job) string {
			t := j.Tally
			return inWords("of %s %d would be added, %d are duplicates, %d in conflict, %d invalid", several(j.Done, "entry", "entries"), t.Added, t.Duplicate, t.Conflict, t.Invalid)
		},
		stays: "nothing was added",
	},
	JobCount: {
		what: "a count", need: ActionRead, result: ActionRead,
		able:  always,
		step:  (*Service).countStep,
		empty: func(Job) bool { return true },
		sum: func(j Job) string {
			t := j.Tally
			return inWords("of %s %d free, %d held, %d claimed, %d returning, %d retired", several(j.Done, "ID", "IDs"), t.Free, t.Held, t.Claimed, t.Returning, t.Retired)
		},
		stays: "what was counted is not the whole pool",
	},
	JobRebuild: {
		what: "a rebuild", need: ActionManage, result: ActionManage, recovers: true,
		able:    always,
		step:    (*Service).rebuildStep,
		abandon: func(s *Service, ctx context.Context, j Job) error { return s.store.AbandonRebuild(ctx, j.Pool, j.ID) },
		empty:   func(j Job) bool { return j.Tally.Lost == 0 },
		sum:     rebuildSum,
		stays:   "the pool is open, and as it was before, unless the rebuild had just come to its end", recorded: true,
	},
	JobAudit: {
		what: "an audit", need: ActionManage, result: ActionManage, recovers: true,
		able:  func(s *Service, _ Job) bool { return s.log.whole() },
		step:  (*Service).auditStep,
		empty: func(j Job) bool { return j.Tally.Findings == 0 },
		sum:   auditSum,
		stays: "what was found until then is not all", recorded: true,
	},
	JobLog: {
		what: "a log", need: ActionManage, result: ActionManage, recovers: true,
		able:  func(s *Service, _ Job) bool { return s.log.whole() },
		step:  (*Service).logStep,
		empty: func(Job) bool { return false }, // it has its head and its tail
		sum:   func(j Job) string { return several(j.Done, "line was written", "lines were written") },
		stays: "the parts that are there stay, and are not all", recorded: true,
	},
	JobRestore: {
		what: "a restore", need: ActionManage, result: ActionManage, recovers: true,
		able: func(s *Service, j Job) bool { return s.log.whole() && (j.Spec.Source != RestoreTable || s.old != nil) },
		step: (*Service).restoreStep,
		takes: func(j Job) *intake {
			if j.Spec.Source != RestoreLog {
				return nil
			}
			return &logIntake
		},
		empty: func(j Job) bool { return j.Tally.amiss() == 0 },
		sum:   restoreSum,
		stays: "what it has carried or retired stays so; the rest is not: make another", recorded: true,
	},
}

func always(*Service, Job) bool { return true }

func seedSum(j Job) string {
	t := j.Tally
	return inWords("of %s %d added, %d duplicate, %d conflict, %d invalid", several(j.Done, "entry", "entries"), t.Added, t.Duplicate, t.Conflict, t.Invalid)
}

// rejected is how many entries of a file were not added.
func (t Tally) rejected() Count { return t.Duplicate + t.Conflict + t.Invalid }

// plus adds what another step has met.
func (t Tally) plus(u Tally) Tally {
	return Tally{
		Added: t.Added + u.Added, Duplicate: t.Duplicate + u.Duplicate, Conflict: t.Conflict + u.Conflict, Invalid: t.Invalid + u.Invalid,
		Free: t.Free + u.Free, Held: t.Held + u.Held, Claimed: t.Claimed + u.Claimed, Returning: t.Returning + u.Returning, Retired: t.Retired + u.Retired,
		Lost: t.Lost + u.Lost, Missing: t.Missing + u.Missing, Carried: t.Carried + u.Carried, Burned: t.Burned + u.Burned,
		Findings: t.Findings + u.Findings, Trail: t.Trail + u.Trail, Informing: t.Informing + u.Informing,
		Looked: t.Looked + u.Looked, ToLook: max(t.ToLook, u.ToLook),
	}
}
