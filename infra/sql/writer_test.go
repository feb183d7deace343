package sql

import (
	"context"
	dbsql "database/sql"
	"errors"
	"os"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
)

// blocked runs do while the writer is inside a step, so that what do queues shares its transaction.
func blocked(t *testing.T, s *Store, do func()) {
	t.Helper()
	s.writer.groupTime = time.Hour // all that waits shares the transaction
	inside, release := make(chan struct{}), make(chan struct{})
	entered := sync.OnceFunc(func() { close(inside) }) // it may be run again
	var first sync.WaitGroup
	first.Go(func() {
		_ = s.writer.do(t.Context(), func(*tx) error { // it changes nothing
			entered()
			<-release
			return nil
		})
	})
	<-inside
	do()
	close(release)
	first.Wait()
}

// queued waits until n jobs wait in the queue.
func queued(t *testing.T, s *Store, n int) {
	t.Helper()
	for len(s.writer.queue) < n {
		if t.Context().Err() != nil {
			t.Fatal("the test ended before the jobs were queued")
		}
		time.Sleep(time.Millisecond)
	}
}

// mark is a step that leaves a trace.
func mark(name string) func(*tx) error {
	return func(t *tx) error {
		_, err := t.exec(`INSERT INTO pools (name, description, policy, fold_case, max_batch, state, version, created) VALUES ($1, '', 'keep', 0, 1, 'active', 1, 0)`, name)
		return err
	}
}

// marks are the traces on disk.
func marks(t *testing.T, s *Store) map[alloc.PoolName]bool {
	t.Helper()
	pools, err := s.ListPools(t.Context(), "", 1000)
	if err != nil {
		t.Fatal(err)
	}
	names := map[alloc.PoolName]bool{}
	for _, p := range pools {
		names[p.Name] = true
	}
	return names
}

// group queues the steps while the writer is blocked, so that they run in one transaction, and returns their errors.
func group(t *testing.T, s *Store, steps ...func(*tx) error) []error {
	t.Helper()
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	blocked(t, s, func() {
		for i, step := range steps {
			all.Go(func() { errs[i] = s.writer.do(t.Context(), step) })
			queued(t, s, i+1) // in this order
		}
	})
	all.Wait()
	return errs
}

func TestGroupUndoesARefusedStepAlone(t *testing.T) {
	s, _ := storeOn(t)
	refusal := alloc.Errorf(alloc.CodePoolPaused, "paused")
	errs := group(t, s, mark("a"), func(t *tx) error {
		return errors.Join(mark("b")(t), refusal)
	}, mark("c"))
	if errs[0] != nil || errs[2] != nil || !errors.Is(errs[1], refusal) {
		t.Errorf("got %v, want the refusal of the second alone", errs)
	}
	if got := marks(t, s); !got["a"] || got["b"] || !got["c"] {
		t.Errorf("on disk: got %v, want a and c", got)
	}
}

func TestGroupWithAFaultRunsTheOthersAgain(t *testing.T) {
	s, _ := storeOn(t)
	runs := 0
	errs := group(t, s, func(t *tx) error {
		runs++
		return mark("a")(t)
	}, func(t *tx) error {
		return errors.Join(mark("b")(t), errors.New("a fault that is nobody's refusal"))
	}, mark("c"))
	if errs[0] != nil || errs[2] != nil {
		t.Errorf("got %v, want the fault of the second alone", errs)
	}
	if e := wantCode(t, errs[1], alloc.CodeInternal); e.Unknown {
		t.Errorf("got %v with an unknown outcome, want it known: it was never committed", e)
	}
	if got := marks(t, s); !got["a"] || got["b"] || !got["c"] {
		t.Errorf("on disk: got %v, want a and c", got)
	}
	if runs != 2 {
		t.Errorf("runs of the first: got %d, want 2: once with the fault beside it and once alone", runs)
	}
}

// A commit that failed may be found in the log by the next who opens the file.
func TestFailedCommitIsUnknown(t *testing.T) {
	s, _ := storeOn(t)
	refusal := alloc.Errorf(alloc.CodePoolPaused, "paused")
	errs := group(t, s, mark("a"), func(t *tx) error {
		// A reference to nothing that is looked at when the transaction ends.
		_, err := t.exec(`PRAGMA defer_foreign_keys = ON`)
		if err == nil {
			_, err = t.exec(`INSERT INTO levels (pool) VALUES (4711)`)
		}
		return err
	}, func(*tx) error { return refusal })
	for i, err := range errs[:2] {
		if e := wantCode(t, err, alloc.CodeInternal); !e.Unknown {
			t.Errorf("step %d: got %v with a known outcome, want unknown", i, e)
		}
	}
	if !errors.Is(errs[2], refusal) {
		t.Errorf("the step that was refused: got %v, want its refusal", errs[2])
	}
	if got := marks(t, s); len(got) != 0 {
		t.Errorf("on disk: got %v, want nothing", got)
	}
	if err := s.writer.do(t.Context(), mark("b")); err != nil {
		t.Errorf("the next step: %v", err)
	}
}

func TestCallerWhoLeavesBeforeItsStepTakesItAlong(t *testing.T) {
	s, _ := storeOn(t)
	ctx, cancel := context.WithCancel(t.Context())
	left := make(chan error, 1)
	blocked(t, s, func() {
		go func() { left <- s.writer.do(ctx, mark("a")) }()
		queued(t, s, 1)
		cancel()
		if e := wantCode(t, <-left, alloc.CodeUnavailable); e.Unknown || e.RetryAfter == 0 {
			t.Errorf("got %+v, want a known outcome and a hint", e)
		}
	})
	if err := s.writer.do(t.Context(), mark("b")); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, s); got["a"] || !got["b"] {
		t.Errorf("on disk: got %v, want b alone", got)
	}
}

func TestCallerWhoLeavesDuringItsStepDoesNotKnow(t *testing.T) {
	s, _ := storeOn(t)
	ctx, cancel := context.WithCancel(t.Context())
	inside, release := make(chan struct{}), make(chan struct{})
	left := make(chan error, 1)
	go func() {
		left <- s.writer.do(ctx, func(t *tx) error {
			close(inside)
			<-release
			return mark("a")(t)
		})
	}()
	<-inside
	cancel()
	if e := wantCode(t, <-left, alloc.CodeUnavailable); !e.Unknown {
		t.Errorf("got %+v, want an unknown outcome", e)
	}
	close(release)
	if err := s.writer.do(t.Context(), mark("b")); err != nil {
		t.Fatal(err)
	}
	if got := marks(t, s); !got["a"] || !got["b"] {
		t.Errorf("on disk: got %v, want both: a step that has begun ends", got)
	}
}

func TestEndedContextTakesNothing(t *testing.T) {
	s, path := storeOn(t)
	filled(t, s, "p", 1)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := s.Claim(ctx, one("p"))
	if e := wantCode(t, err, alloc.CodeUnavailable); e.Unknown {
		t.Errorf("got %+v, want a known outcome", e)
	}
	if _, err := s.Pool(ctx, "p"); alloc.CodeOf(err) != alloc.CodeUnavailable {
		t.Errorf("a read: got %v, want %s", err, alloc.CodeUnavailable)
	}
	if got := census(t, path, "p"); got[alloc.StateFree] != 1 {
		t.Errorf("got %v, want 1 free", got)
	}
}

func TestCloseRefusesWhatWaits(t *testing.T) {
	path := newFile(t)
	s, err := OpenSQLite(t.Context(), Config{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	filled(t, s, "p", 200)
	var callers sync.WaitGroup
	for range 100 {
		callers.Go(func() {
			switch _, err := s.Claim(t.Context(), one("p")); {
			case err == nil:
			default:
				if e, ok := errors.AsType[*alloc.Error](err); !ok || e.Code != alloc.CodeUnavailable || e.Unknown {
					t.Errorf("a claim beside Close: got %v, want an ID, or unavailable with a known outcome", err)
				}
			}
		})
	}
	for range 3 {
		callers.Go(func() {
			if err := s.Close(); err != nil {
				t.Errorf("close: %v", err)
			}
		})
	}
	callers.Wait()
	_, err = s.Claim(t.Context(), one("p"))
	wantCode(t, err, alloc.CodeUnavailable)
	wantCode(t, second(s.Pool(t.Context(), "p")), alloc.CodeUnavailable)
	for _, ending := range []string{"-wal", "-shm"} {
		if _, err := os.Stat(path + ending); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("%s after Close: got %v, want it gone: no connection is left open", ending, err)
		}
	}
}

func TestLockHeldElsewhere(t *testing.T) {
	path := newFile(t)
	s := openAt(t, Config{Path: path, LockWait: 50 * time.Millisecond})
	filled(t, s, "p", 2)
	order := alloc.ClaimOrder{Pool: "p", Count: 1, Key: alloc.NewKey("c", "claim", "pool/p", "k")}
	byHand(t, path, func(db *dbsql.DB) error {
		if _, err := db.ExecContext(t.Context(), `BEGIN IMMEDIATE`); err != nil {
			return err
		}
		for name, err := range map[string]error{
			"claim": second(s.Claim(t.Context(), order)),
			"lease": second(s.Lease(t.Context(), alloc.LeaseOrder{Sequence: "q", Count: 1})),
		} {
			if e := wantCode(t, err, alloc.CodeBusy); e.Unknown || e.RetryAfter == 0 {
				t.Errorf("%s: got %+v, want a known outcome and a hint", name, e)
			}
		}
		if e := wantCode(t, second(s.Sweep(t.Context(), "p")), alloc.CodeUnavailable); e.Unknown || e.RetryAfter == 0 {
			t.Errorf("sweep: got %+v, want a known outcome and a hint", e)
		}
		if _, err := s.Level(t.Context(), "p"); err != nil {
			t.Errorf("a read beside a writer: %v", err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
		defer cancel()
		if e := wantCode(t, second(s.Claim(ctx, order)), alloc.CodeUnavailable); e.Unknown {
			t.Errorf("a claim whose time ends first: got %+v, want a known outcome", e)
		}
		_, err := db.ExecContext(t.Context(), `COMMIT`)
		return err
	})
	c, err := s.Claim(t.Context(), order)
	if err != nil || c.Replayed {
		t.Errorf("the same key when the lock is free: got %+v and %v, want a first answer", c, err)
	}
}

// A writer that never rests must not keep another process out.
func TestBusyWriterLetsOthersIn(t *testing.T) {
	path := newFile(t)
	busy := openAt(t, Config{Path: path})
	filled(t, busy, "p", 1)
	other := openAt(t, Config{Path: path})
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	for range 16 {
		load.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				_, _ = busy.Lease(ctx, alloc.LeaseOrder{Sequence: "q", Count: 1}) // only load
			}
		})
	}
	if _, _, err := busy.CreateSequence(t.Context(), "q", alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	for i := range 20 {
		if err := other.Record(t.Context(), alloc.AuditRecord{ID: string(rune('a' + i)), At: time.Unix(0, 0)}); err != nil {
			t.Errorf("step %d of the other: %v", i, err)
		}
	}
	cancel()
	load.Wait()
}

// second is the error of a step's answer.
func second[T any](_ T, err error) error { return err }

func third[T, U any](_ T, _ U, err error) error { return err }
