package alloc_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"idpool/alloc"
)

// post is a queue that keeps what it is sent until a test takes it.
type post struct {
	mu    sync.Mutex
	steps []alloc.Step
	fails error
}

func (p *post) Send(_ context.Context, s alloc.Step) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.fails != nil {
		return p.fails
	}
	p.steps = append(p.steps, s)
	return nil
}

func (p *post) take() []alloc.Step {
	p.mu.Lock()
	defer p.mu.Unlock()
	taken := p.steps
	p.steps = nil
	return taken
}

// mill is a Service with a queue, over a pool that has a few IDs.
type mill struct {
	*office
	post post
}

func newMill(t testing.TB, config alloc.PoolConfig, there ...alloc.ID) *mill {
	t.Helper()
	m := &mill{office: newOffice(t)}
	m.Service = m.another(t)
	if _, _, err := m.model.CreatePool(t.Context(), pool, config.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if len(there) > 0 {
		if _, err := m.model.Seed(t.Context(), alloc.SeedBatch{Pool: pool, Job: "before", IDs: there}); err != nil {
			t.Fatal(err)
		}
	}
	return m
}

// another is another process.
func (m *mill) another(t rapid.TB) *alloc.Service {
	t.Helper()
	s, err := alloc.NewService(alloc.Config{Store: m.store, Now: m.clock.Now, Encoders: encoders, Queue: &m.post, Log: logCodec})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// file opens a seeding and sends the parts of its file.
func (m *mill) file(t testing.TB, f alloc.SeedFormat, parts ...string) alloc.Job {
	t.Helper()
	j, err := m.OpenSeeding(m.ctx, alloc.SeedJobRequest{Pool: pool, Format: f, Why: "spring campaign"})
	if err != nil {
		t.Fatal(err)
	}
	for n, part := range parts {
		if j, _, err = m.ReceivePart(m.ctx, j.ID, n, []byte(part)); err != nil {
			t.Fatal(err)
		}
	}
	return j
}

func (m *mill) start(t testing.TB, j alloc.Job) {
	t.Helper()
	if _, err := m.StartJob(m.ctx, j.ID, len(j.Inputs)); err != nil {
		t.Fatal(err)
	}
}

// deliver gives what was sent to the Service, until nothing is.
func (m *mill) deliver(t testing.TB) {
	t.Helper()
	for steps := m.post.take(); len(steps) > 0; steps = m.post.take() {
		for _, step := range steps {
			if err := m.Work(m.ctx, step); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// rejects is what a seeding did not add, a line each.
func (m *mill) rejects(t rapid.TB, id alloc.JobID) []string {
	t.Helper()
	j, err := m.Job(m.ctx, id)
	if err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for n := range j.Parts {
		part, err := m.JobPart(m.ctx, id, n)
		if err != nil || len(part) > alloc.MaxPartBytes {
			t.Fatalf("part %d has %d bytes, %v", n, len(part), err)
		}
		text.Write(part)
	}
	return strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
}

func TestASeedingAddsItsFile(t *testing.T) {
	m := newMill(t, alloc.PoolConfig{}, "ID-0003", "ID-0004")
	if _, err := m.model.Claim(t.Context(), alloc.ClaimOrder{Pool: pool, Count: 1}); err != nil {
		t.Fatal(err)
	}
	var first, second strings.Builder
	for i := range 3000 {
		to := &first
		if i >= 1500 {
			to = &second
		}
		fmt.Fprintf(to, "ID-%04d\n", i)
	}
	second.WriteString("ID-2999\nID-0000\nbad\x01\nID-9999")
	j := m.file(t, alloc.SeedFormat{}, "code\n"+first.String(), second.String())
	m.start(t, j)
	m.deliver(t)
	got, err := m.Job(m.ctx, j.ID)
	if err != nil || got.State != alloc.JobDone || got.Done != 3004 || got.Total != 3004 {
		t.Fatalf("the job is %+v, %v", got, err)
	}
	if want := (alloc.Tally{Added: 2999, Duplicate: 3, Conflict: 1, Invalid: 1}); got.Tally != want {
		t.Errorf("the tally is %+v, want %+v", got.Tally, want)
	}
	if census := m.model.Census(pool); census[alloc.StateFree]+census[alloc.StateClaimed] != 3001 {
		t.Errorf("the pool has %v", census)
	}
	want := []string{
		"5,ID-0003,conflict,it is in the pool and taken",
		"6,ID-0004,duplicate,it is in the pool already",
		"3002,ID-2999,duplicate,it is on line 3001 already",
		"3003,ID-0000,duplicate,it is in the pool already",
		`3004,"""bad�""",invalid,"it has a character that cannot be seen, U+0001"`,
	}
	if diff := cmp.Diff(want, m.rejects(t, j.ID)); diff != "" {
		t.Errorf("the rejects (-want +got):\n%s", diff)
	}
}
