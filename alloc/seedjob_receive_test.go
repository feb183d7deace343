package alloc_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"idpool/alloc"
)

func (m *mill) receive(id alloc.JobID, n int, data string) error {
	_, _, err := m.ReceivePart(m.ctx, id, n, []byte(data))
	return err
}

func TestPartsComeInTheirOrder(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{}, "A1\nA2\n", "A3\n")
	wantCode(t, m.receive(j.ID, 3, "A5\n"), alloc.CodeInvalidRequest) // a gap
	wantCode(t, m.receive(j.ID, -1, "A5\n"), alloc.CodeInvalidRequest)
	wantCode(t, m.receive(j.ID, 1, "A4\n"), alloc.CodeInvalidRequest) // other bytes
	for n, part := range []string{"A1\nA2\n", "A3\n"} {
		if err := m.receive(j.ID, n, part); err != nil {
			t.Errorf("part %d again: %v", n, err)
		}
	}
	if now := m.now(t, j.ID); !now.Equal(j) || now.Total != 3 || len(now.Inputs) != 2 {
		t.Errorf("what was refused or came again has changed the job: %+v", now)
	}
	_, err := m.StartJob(m.ctx, j.ID, 1)
	wantCode(t, err, alloc.CodeInvalidRequest)
	m.start(t, j)
	m.start(t, j)
	for n, part := range []string{"A1\nA2\n", "A3\n"} {
		if err := m.receive(j.ID, n, part); err != nil {
			t.Errorf("part %d again after the start: %v", n, err)
		}
	}
	wantCode(t, m.receive(j.ID, 2, "A4\n"), alloc.CodeInvalidRequest)
	m.deliver(t)
	m.start(t, j)
	wantCode(t, m.receive(j.ID, 2, "A4\n"), alloc.CodeJobEnded)
	if err := m.receive(j.ID, 1, "A3\n"); err != nil {
		t.Errorf("part 1 again after the end: %v", err)
	}
	if now := m.now(t, j.ID); now.Tally != (alloc.Tally{Added: 3}) || now.State != alloc.JobDone || now.Parts != 1 {
		t.Errorf("the job is %+v", now)
	}
	if part, err := m.JobPart(m.ctx, j.ID, 0); err != nil || part == nil || len(part) > 0 {
		t.Errorf("of a file of which all was added part 0 is %q, %v, want it empty", part, err)
	}
}

func TestFilesThatAreRefused(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	open := func(r alloc.SeedJobRequest) error {
		_, err := m.OpenSeeding(m.ctx, r)
		return err
	}
	wantCode(t, open(alloc.SeedJobRequest{Pool: "none"}), alloc.CodePoolNotFound)
	wantCode(t, open(alloc.SeedJobRequest{Pool: pool, Format: alloc.SeedFormat{Column: "x"}}), alloc.CodeInvalidRequest)
	wantCode(t, open(alloc.SeedJobRequest{Pool: pool, Why: strings.Repeat("x", alloc.MaxDescription+1)}), alloc.CodeInvalidRequest)
	wantCode(t, open(alloc.SeedJobRequest{Pool: pool, Why: "a\x00"}), alloc.CodeInvalidRequest)

	j := m.file(t, alloc.SeedFormat{CSV: true})
	wantCode(t, m.receive(j.ID, 0, strings.Repeat("x", alloc.MaxInputBytes+1)), alloc.CodeInvalidRequest)
	wantCode(t, m.receive(j.ID, 0, "code\nA\"1\n"), alloc.CodeInvalidRequest)
	_, err := m.StartJob(m.ctx, j.ID, 0)
	wantCode(t, err, alloc.CodeInvalidRequest)
	if err := m.receive(j.ID, 0, "code\n\n"); err != nil {
		t.Fatal(err)
	}
	_, err = m.StartJob(m.ctx, j.ID, 1) // there is no ID in it
	wantCode(t, err, alloc.CodeInvalidRequest)
	must(t, m.model.SetPoolState, pool, alloc.PoolDraining)
	wantCode(t, open(alloc.SeedJobRequest{Pool: pool}), alloc.CodePoolDraining)
	if err := m.receive(j.ID, 1, "A1\n"); err != nil {
		t.Errorf("a file may come while its pool is drained: %v", err)
	}
	_, err = m.StartJob(m.ctx, j.ID, 2)
	wantCode(t, err, alloc.CodePoolDraining)
	must(t, m.model.SetPoolState, pool, alloc.PoolDeleted)
	wantCode(t, m.receive(j.ID, 2, "A2\n"), alloc.CodePoolDeleted)
	if _, err := m.CancelJob(m.ctx, j.ID); err != nil {
		t.Fatal(err)
	}
	_, err = m.StartJob(m.ctx, j.ID, 2)
	wantCode(t, err, alloc.CodeJobEnded)
	if now := m.now(t, j.ID); told(now) != "made by admin; cancelled by admin before it was started" {
		t.Errorf("the log says %s", told(now))
	}
}

func TestOnlySeedingsTakeAFile(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.job(t)
	wantCode(t, m.receive(j.ID, 0, "A1\n"), alloc.CodeInvalidRequest)
	_, err := m.StartJob(m.ctx, j.ID, 1)
	wantCode(t, err, alloc.CodeInvalidRequest)
}

func TestAFileHasSoManyParts(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{})
	for n := range alloc.MaxJobInputs {
		if err := m.receive(j.ID, n, fmt.Sprintf("A%d\n", n)); err != nil {
			t.Fatal(err)
		}
	}
	wantCode(t, m.receive(j.ID, alloc.MaxJobInputs, "B\n"), alloc.CodeInvalidRequest)
	if _, err := m.StartJob(m.ctx, j.ID, alloc.MaxJobInputs); err != nil {
		t.Fatal(err)
	}
	m.deliver(t)
	if now := m.now(t, j.ID); now.Tally != (alloc.Tally{Added: alloc.MaxJobInputs}) {
		t.Errorf("the job is %+v", now)
	}
}

// Of two that send the same part at once with other bytes, one is taken, whole.
func TestPartsAtOnce(t *testing.T) {
	for range 20 {
		m := newMill(t, alloc.PoolConfig{})
		j := m.file(t, alloc.SeedFormat{})
		var all sync.WaitGroup
		errs := make([]error, 6)
		for i := range errs {
			all.Go(func() {
				var part strings.Builder
				for k := range 2500 {
					fmt.Fprintf(&part, "%c-%d\n", 'A'+i%3, k)
				}
				errs[i] = m.receive(j.ID, 0, part.String())
			})
		}
		all.Wait()
		took := 0
		for i, err := range errs {
			if err == nil {
				took++
			} else if !alloc.Is(err, alloc.CodeInvalidRequest) || errs[(i+3)%6] == nil {
				t.Errorf("sender %d got %v, who sent the same %v", i, err, errs[(i+3)%6])
			}
		}
		if took != 2 {
			t.Errorf("%d senders succeeded, want the two who sent the same", took)
		}
		m.start(t, m.now(t, j.ID))
		m.deliver(t)
		page, _, err := m.model.WalkIDs(t.Context(), pool, "", "", 5000)
		if err != nil || len(page) != 2500 || page[0].ID[0] != page[2499].ID[0] {
			t.Errorf("the pool has %d IDs, %v", len(page), err)
		}
	}
}

func TestWarningsOfAFile(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{})
	for range 2 { // a repeat warns as well
		_, warnings, err := m.ReceivePart(m.ctx, j.ID, 0, []byte("A1;1\nA2;2\n"))
		if err != nil || len(warnings) != 1 {
			t.Errorf("warnings %q, %v, want one", warnings, err)
		}
	}
	if _, warnings, err := m.ReceivePart(m.ctx, j.ID, 1, []byte("A3;1\nA4;2\n")); err != nil || len(warnings) > 0 {
		t.Errorf("warnings %q, %v, want none again", warnings, err)
	}
}

// The IDs of a pool that folds case are brought to lower case before anything is compared.
func TestASeedingFoldsCase(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{FoldCase: true}, "a1")
	j := m.file(t, alloc.SeedFormat{}, " A1\nA2 \na2\n")
	m.start(t, j)
	m.deliver(t)
	if now := m.now(t, j.ID); now.Tally != (alloc.Tally{Added: 1, Duplicate: 2}) {
		t.Errorf("the job is %+v", now)
	}
}

func TestAFileThatNobodySendsOnIsGivenUp(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{}, "A1\n")
	for range 23 {
		m.clock.Advance(time.Hour)
		if r, err := m.Tend(m.ctx); err != nil || r.Open != 1 || r.Sent != 0 || !r.Oldest.IsZero() {
			t.Fatalf("the schedule says %+v, %v", r, err)
		}
	}
	if err := m.receive(j.ID, 1, "A2\n"); err != nil {
		t.Fatal(err)
	}
	m.clock.Advance(24 * time.Hour)
	if r, err := m.Tend(m.ctx); err != nil || r.Open != 0 {
		t.Errorf("the schedule says %+v, %v", r, err)
	}
	if now := m.now(t, j.ID); now.State != alloc.JobCancelled || !strings.Contains(told(now), "given up") {
		t.Errorf("the job is %+v", now)
	}
	wantCode(t, m.receive(j.ID, 2, "A3\n"), alloc.CodeJobEnded)
}

// A seeding that is cancelled keeps what it has added, and says so.
func TestACancelledSeedingKeepsWhatItHasAdded(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{}, "A1\nA2\n", "A3\n", "A4\n")
	m.start(t, j)
	seeds := 0
	m.store = nil
	s, err := alloc.NewService(alloc.Config{Store: &seedsThen{m.model, func() {
		if seeds++; seeds == 2 {
			if _, err := m.CancelJob(m.ctx, j.ID); err != nil {
				t.Error(err)
			}
		}
	}}, Now: m.clock.Now, Queue: &m.post})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range m.post.take() {
		if err := s.Work(m.ctx, step); err != nil {
			t.Error(err)
		}
	}
	now := m.now(t, j.ID)
	want := "cancelled by admin: of 2 entries 2 added, 0 duplicate, 0 conflict, 0 invalid; what it has added stays in the pool, also what a step that was under way still adds"
	if now.State != alloc.JobCancelled || !strings.HasSuffix(told(now), want) || seeds != 2 || len(m.post.take()) > 0 {
		t.Errorf("after %d steps the job is %+v", seeds, now)
	}
	if census := m.model.Census(pool); census[alloc.StateFree] != 3 {
		t.Errorf("the pool has %v, want three IDs", census)
	}
}

// seedsThen is a Store in which something happens after each batch.
type seedsThen struct {
	alloc.Store
	then func()
}

func (s *seedsThen) Seed(ctx context.Context, b alloc.SeedBatch) ([]alloc.SeedOutcome, error) {
	outcomes, err := s.Store.Seed(ctx, b)
	s.then()
	return outcomes, err
}

// In a pool that forgets a worker may come so late that what it met in its first try is gone. What it then puts stays out of
// the counts.
func TestAPartThatCameTooLateCountsForNothing(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{Policy: alloc.PolicyForget})
	j := m.file(t, alloc.SeedFormat{}, "A1\n", "A2\nbad\x01\n")
	m.start(t, j)
	late := alloc.Part{Data: []byte("1,A1,duplicate,it is in the pool already\r\n"), IDs: 1, Tally: alloc.Tally{Duplicate: 1}, Next: "1"}
	s, err := alloc.NewService(alloc.Config{Store: &seedsThen{m.model, func() {
		if m.now(t, j.ID).Mark == "1" {
			if err := m.model.PutPart(t.Context(), j.ID, 0, late); err != nil {
				t.Error(err)
			}
		}
	}}, Now: m.clock.Now, Queue: &m.post})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range m.post.take() {
		if err := s.Work(m.ctx, step); err != nil {
			t.Error(err)
		}
	}
	if now := m.now(t, j.ID); now.State != alloc.JobDone || now.Tally != (alloc.Tally{Added: 2, Invalid: 1}) || now.Parts != 2 {
		t.Errorf("the job is %+v", now)
	}
	if part, err := m.JobPart(m.ctx, j.ID, 1); err != nil || !strings.Contains(string(part), "invalid") {
		t.Errorf("part 1 is %q, %v", part, err)
	}
}

// A piece that is lost fails the job in the end, and does not let it stand for ever.
func TestASeedingWhosePieceIsLost(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	j := m.file(t, alloc.SeedFormat{}, "A1\n")
	lost := m.now(t, j.ID)
	lost.Inputs[0].Digest = "another"
	if _, err := m.model.ChangeJob(t.Context(), lost.Version, lost); err != nil {
		t.Fatal(err)
	}
	m.start(t, j)
	for range alloc.MaxJobTries {
		if _, err := newTimed(t, m).Tend(m.ctx); err != nil {
			t.Fatal(err)
		}
	}
	if now := m.now(t, j.ID); now.State != alloc.JobFailed || !strings.Contains(now.Failure, "missing") {
		t.Errorf("the job is %+v", now)
	}
}

// A record of a job that was damaged is a fault of ours, and never read as something else.
func TestADamagedMark(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{})
	for _, mark := range []string{"", "0", "0,lf", "x,lf,whole", "0,lf,whole,cut", "99999999999,lf,whole"} {
		j := m.file(t, alloc.SeedFormat{}, "A1\n")
		j.Mark = mark
		if _, err := m.model.ChangeJob(t.Context(), j.Version, j); err != nil {
			t.Fatal(err)
		}
		wantCode(t, m.receive(j.ID, 1, "A2\n"), alloc.CodeInternal)
		if _, err := m.CancelJob(m.ctx, j.ID); err != nil {
			t.Fatal(err)
		}
	}
	for _, mark := range []string{"x", "-1", "1", "1.5"} {
		j := m.file(t, alloc.SeedFormat{}, "A1\n")
		m.start(t, j)
		j = m.now(t, j.ID)
		j.Mark = mark
		if _, err := m.model.ChangeJob(t.Context(), j.Version, j); err != nil {
			t.Fatal(err)
		}
		m.post.take()
		for range alloc.MaxJobTries {
			if r, err := newTimed(t, m).Tend(m.ctx); err != nil || len(r.Jobs) != 1 || !alloc.Is(r.Jobs[0].Err, alloc.CodeInternal) {
				t.Fatalf("with the mark %q: %+v, %v", mark, r.Jobs, err)
			}
		}
		if now := m.now(t, j.ID); now.State != alloc.JobFailed || now.Done != 0 {
			t.Errorf("with the mark %q the job is %+v", mark, now)
		}
	}
}

// newTimed is a Service without a queue, on the clock of the mill.
func newTimed(t testing.TB, m *mill) *alloc.Service {
	t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: m.model, Now: m.clock.Now, Encoders: encoders})
	if err != nil {
		t.Fatal(err)
	}
	return s
}
