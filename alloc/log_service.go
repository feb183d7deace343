package alloc

import (
	"context"
	"fmt"
	"time"
)

// LogTaken makes a job that writes a log of what was taken of a pool, a line an ID that is not free, or leased of a sequence, a line a
// lease, between a line that says what the log is of (LogHead) and one that says what it has (LogTail). What was taken when the job was made is in it. With Since, what a backup of that time surely has as it is now is left out: that is what was claimed or leased logMargin before
// it, and neither confirmed nor carried into this table later than that. What is held, on its way back or retired is always there. An entry of a ledger that cannot be read has a line that says where it begins, and the
// last line counts these.
//
// The log has tokens: who has it, owns the IDs. Of a pool that forgets there is none. Needs ActionManage, to get it too. CodeInvalidRequest; CodePoolNotFound, CodePoolDeleted,
// CodePoolDamaged (rebuild it first), CodeSequenceNotFound, CodeSequenceDeleted; CodeBusy as in Export.
func (s *Service) LogTaken(ctx context.Context, r LogRequest) (j Job, err error) {
	if _, err := s.someone(ctx); err != nil {
		return Job{}, err
	}
	on, name, err := named(r.Pool, r.Sequence)
	if err != nil {
		return Job{}, err
	}
	wanted := Job{
		ID: newJobID(r.Intent, s.now()), Kind: JobLog, Pool: r.Pool, Why: r.Why,
		Spec: JobSpec{Sequence: r.Sequence, Since: wholeSeconds(r.Since)},
	}
	st := step{need: ActionManage, on: on, name: name, verb: "log", reason: said(&r.Why), detail: func() string {
		return fmt.Sprintf("job %s, since %s", wanted.ID, sinceWords(r.Since))
	}}
	return s.ask(ctx, st, wanted, r.Intent, func() error {
		if err := checkPast("since", r.Since, s.now()); err != nil {
			return err
		}
		if on == aSequence {
			return s.checkThere(ctx, wanted)
		}
		return s.onPool(ctx, r.Pool, Pool.checkLogged)()
	})
}

func sinceWords(since time.Time) string {
	if since.IsZero() {
		return "the beginning"
	}
	return since.UTC().Format(time.RFC3339)
}
