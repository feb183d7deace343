package dynamotest

import (
	"bytes"
	"context"
	"encoding/json"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// jsonLog is a log of IDs as lines of JSON.
var jsonLog = alloc.LogCodec{
	EncodeIDs:      jsonLines[alloc.IDRecord],
	EncodeLeases:   func(alloc.SequenceName, []alloc.LeaseRecord) ([]byte, error) { return nil, nil },
	EncodeFindings: jsonLines[alloc.Finding],
	EncodeCarries:  jsonLines[alloc.CarryLine],
	EncodeHead:     func(h alloc.LogHead) ([]byte, error) { return jsonLines([]alloc.LogHead{h}) },
	EncodeTail:     func(t alloc.LogTail) ([]byte, error) { return jsonLines([]alloc.LogTail{t}) },
	Decode: func(line []byte) (l alloc.LogLine, err error) {
		l.ID = new(alloc.IDRecord)
		return l, json.Unmarshal(line, l.ID)
	},
}

func jsonLines[T any](all []T) ([]byte, error) {
	var text bytes.Buffer
	for _, one := range all {
		line, err := json.Marshal(one)
		if err != nil {
			return nil, err
		}
		text.Write(append(line, '\n'))
	}
	return text.Bytes(), nil
}

// restoreFrom carries forward what was taken in the old table, as a job does, and returns what it tells to be in two hands.
func (s *auditStage) restoreFrom(old *auditStage) map[alloc.ID]bool {
	s.Helper()
	ctx := alloc.WithCaller(s.Context(), alloc.Caller{Client: "admin", Scopes: alloc.AllScopes()})
	svc, err := alloc.NewService(alloc.Config{Store: s.open(), Now: s.clock.Now, Log: jsonLog, Old: old.open()})
	if err != nil {
		s.Fatal(err)
	}
	r := alloc.RestoreRequest{Pool: pool, Source: alloc.RestoreTable, Point: s.point}
	if _, err := svc.Restore(ctx, r); !alloc.Is(err, alloc.CodeRebuildStep) {
		s.Fatalf("a restore of a pool that is not paused: %v", err)
	}
	if _, err := s.open().SetPoolState(ctx, pool, 0, alloc.PoolPaused); err != nil {
		s.Fatal(err)
	}
	j, err := svc.Restore(ctx, r)
	if err != nil {
		s.Fatal(err)
	}
	if err := svc.Work(ctx, alloc.Step{Job: j.ID, Version: j.Version}); err != nil {
		s.Fatal(err)
	}
	if j, err = svc.Job(ctx, j.ID); err != nil || j.State != alloc.JobDone {
		s.Fatalf("the restore: %+v, %v", j, err)
	}
	told := map[alloc.ID]bool{}
	for n := range j.Parts {
		part, err := svc.JobPart(ctx, j.ID, n)
		if err != nil {
			s.Fatal(err)
		}
		for line := range bytes.Lines(part) {
			var l alloc.CarryLine
			if err := json.Unmarshal(line, &l); err != nil {
				s.Fatal(err)
			}
			told[l.ID] = told[l.ID] || l.Outcome == alloc.CarryClash
		}
	}
	if _, err := s.open().SetPoolState(ctx, pool, 0, alloc.PoolActive); err != nil {
		s.Fatal(err)
	}
	return told
}

// warm is a process that goes on with what it remembers on whatever table is restored.
func (s *auditStage) warm() *dynamo.Store {
	s.Helper()
	store, err := dynamo.New(dynamo.Config{Table: Through(func(ctx context.Context, c Call) Answer { return c.Do(ctx, s.mem) }), Now: s.clock.Now})
	if err != nil {
		s.Fatal(err)
	}
	return store
}

// settle settles IDs of a claim, by a process of its own.
func (s *auditStage) settle(e alloc.Event, c alloc.Claim, which ...int) {
	s.Helper()
	for _, i := range which {
		if _, err := s.open().Settle(s.Context(), alloc.SettleOrder{Pool: pool, Event: e, IDs: c.IDs[i : i+1], Token: c.Token}); err != nil {
			s.Fatal(err)
		}
	}
}

// Between the restore and the carrying holds of before end, of which some were confirmed in the old table, and somebody takes IDs: what both have is
// told, and nothing else is given twice, also in a pool that forgets, of which the old table shows nothing of what was claimed without a key.
func TestTimeTravelWithTrafficBeforeTheCarry(t *testing.T) {
	for _, policy := range []alloc.Policy{alloc.PolicyKeep, alloc.PolicyForget} {
		t.Run(string(policy), func(t *testing.T) {
			s := newAuditStage(t, 120, alloc.PoolConfig{Policy: policy})
			g := &given{TB: t, ids: map[alloc.ID]string{}}
			frozen := s.warm() // sleeps through the restore with stock in memory
			g.claimed("before the backup", s.claimBy(frozen, 1))
			g.claimed("before the backup", s.claim(order(3, "a key")))
			held := s.claim(heldOrder(6, time.Hour))
			g.claimed("before the backup", held)
			back := s.claim(order(2, "another key"))
			s.sweep()
			backup := copied(s.mem)
			s.point = s.clock.Now()

			s.clock.Advance(time.Minute)
			s.settle(alloc.EventConfirm, held, 0, 1, 2)
			s.settle(alloc.EventRetire, held, 3)
			s.settle(alloc.EventRelease, held, 4)
			delete(g.ids, held.IDs[4])
			s.settle(alloc.EventRelease, back, 0, 1)
			s.sweep()
			for range 15 {
				g.claimed("after the backup", s.claim(order(2, "")))
			}
			g.claimed("after the backup", s.claim(order(4, "a third key")))
			g.claimed("after the backup", s.claim(heldOrder(4, 100*time.Hour)))
			old := &auditStage{TB: t, mem: s.mem, clock: s.clock}

			s.mem = backup
			s.clock.Advance(2 * time.Hour)
			delete(g.ids, held.IDs[5]) // its hold is over everywhere
			s.sweep()
			s.sweep()
			since := s.claim(heldOrder(8, 100*time.Hour))
			told := s.restoreFrom(old)
			twice := 0
			for _, id := range since.IDs {
				if _, was := g.ids[id]; was && told[id] {
					twice++
					delete(g.ids, id)
				} else if was {
					t.Errorf("%s is in two hands, and nobody is told", id)
				}
				if r := s.inspect(id); r.Token != since.Token {
					t.Errorf("%s was taken since the restore, and is %+v", id, r)
				}
			}
			if policy == alloc.PolicyKeep && twice == 0 {
				t.Error("nothing was in two hands: the test shows nothing of that")
			}
			g.claimed("since the restore", since)
			if again := s.restoreFrom(old); len(again) != len(told) {
				t.Errorf("a repeat tells of %d IDs, and the first time of %d", len(again), len(told))
			}
			s.clock.Advance(time.Minute)
			s.sweep()
			for _, store := range []*dynamo.Store{frozen, s.open()} {
				for {
					c := s.claimBy(store, 1)
					if len(c.IDs) == 0 {
						break
					}
					g.claimed("at last", c)
				}
			}
			if found, _ := s.findings(100); len(found) > 0 {
				t.Errorf("the audit finds %s", words(found))
			}
		})
	}
}

// What is carried into a later generation than it is said to be of cannot be had by that generation's listings: in chunks, in memory, or by a claim that
// is on its way in that very moment.
func TestACarriedIDIsHadByNoListing(t *testing.T) {
	const lost = alloc.ID("id-00")
	for name, how := range map[string]func(s *auditStage, carry func()){
		"before a claim": func(_ *auditStage, carry func()) { carry() },
		"in the moment of its claim": func(s *auditStage, carry func()) {
			done := false
			store, err := dynamo.New(dynamo.Config{Now: s.clock.Now, Table: Through(func(ctx context.Context, c Call) Answer {
				if c.Op == OpUpdate && c.Key() == idItem(lost) && !done {
					done = true
					carry()
				}
				return c.Do(ctx, s.mem)
			})})
			if err != nil {
				s.Fatal(err)
			}
			for len(s.claimBy(store, 1).IDs) > 0 {
			}
			if !done {
				s.Fatal("nobody has claimed it: the test shows nothing")
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newAuditStage(t, 0, alloc.PoolConfig{})
			s.seed("setup", lost)
			held := s.claim(heldOrder(1, time.Hour))
			s.point = s.clock.Now()
			s.seed("more", ids("more", 30)...)
			s.clock.Advance(2 * time.Hour)
			s.sweep()
			if r := s.inspect(lost); r.State != alloc.StateFree || r.Generation != 1 {
				t.Fatalf("the hold has not ended: %+v", r)
			}
			warm := s.warm()
			for range 2 { // its listing is in memory, if it was not claimed
				s.claimBy(warm, 1)
			}
			if r := s.inspect(lost); r.State != alloc.StateFree {
				t.Fatalf("it was claimed before the carry: %+v", r)
			}
			how(s, func() {
				said := alloc.IDRecord{Pool: pool, ID: lost, State: alloc.StateClaimed, Token: held.Token, At: s.point, By: "client"}
				if got := s.carry(said); got[0] != alloc.CarryDone {
					t.Errorf("the carry: %s", got[0])
				}
			})
			for _, store := range []*dynamo.Store{warm, s.open()} {
				for c := s.claimBy(store, 1); len(c.IDs) > 0; c = s.claimBy(store, 1) {
					if c.IDs[0] == lost {
						t.Fatalf("%s is given to somebody, and was confirmed", lost)
					}
				}
			}
			if r := s.inspect(lost); r.State != alloc.StateClaimed || r.Token != held.Token || r.Generation != 1 {
				t.Errorf("it is %+v", r)
			}
			s.settle(alloc.EventRelease, held, 0) // its owner gives it back, and it is given once more
			s.whole()
			if c := s.claim(order(1, "")); c.IDs[0] != lost {
				t.Errorf("%s is given, want %s", c.IDs[0], lost)
			}
		})
	}
}
