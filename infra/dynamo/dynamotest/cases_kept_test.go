package dynamotest

import (
	"context"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// open, shut and drop begin the steps of a request whose answer is kept.
func (s *script) open(p *process, body string, token alloc.Token) *step[alloc.Kept] {
	return begin(s, p, "open", func(ctx context.Context, store *dynamo.Store) (alloc.Kept, error) {
		return store.OpenKey(ctx, keptOf("key", body), token, nil)
	})
}

func (s *script) shut(p *process, token alloc.Token, answer string) *step[alloc.Kept] {
	return begin(s, p, "close", func(ctx context.Context, store *dynamo.Store) (alloc.Kept, error) {
		return store.CloseKey(ctx, keptOf("key", "body"), token, []byte(answer))
	})
}

func (s *script) drop(p *process, token alloc.Token) *step[bool] {
	return begin(s, p, "drop", func(ctx context.Context, store *dynamo.Store) (bool, error) {
		_, left, err := store.DropKey(ctx, keptOf("key", "body"), token)
		return left, err
	})
}

// keeps fails the schedule unless the record is of the token, done with the answer, or open where that is "".
func (s *script) keeps(token alloc.Token, answer string) {
	st := begin(s, s.on("reader", 0), "find", func(ctx context.Context, store *dynamo.Store) (alloc.Kept, error) {
		k, ok, err := store.FindKey(ctx, keptOf("key", "body"))
		if err == nil && !ok {
			s.note("there is no record")
		}
		return k, err
	})
	if k := st.must(); k.Token != token || k.Done != (answer != "") || string(k.Answer) != answer {
		s.fatalf("the record is %+v, want that of %s with the answer %q", k, token, answer)
	}
}

// anyWrite matches every write.
func anyWrite(c Call) bool { return c.Write() }

// An attempt closes its record when it has expired and a later one has put its own: late, and arriving twice.
func caseLateClose(s *script) {
	old, next := alloc.NewToken(), alloc.NewToken()
	s.open(s.on("first", 0), "body", old).must()
	st := s.shut(s.on("slow", 0), old, "late")
	late := st.until(anyWrite)
	time.Sleep(alloc.KeyRetention)
	s.open(s.on("second", 0), "body", next).must()
	s.decide(late, Repeated)
	st.must()
	s.keeps(next, "")
	s.shut(s.on("second", 0), next, "answer").must()
	s.arrive(late)
	s.keeps(next, "answer")
}

// Two carry out one record, and the second to close it has another answer; a third drops it, as for him it was refused.
func caseTwoCloses(s *script) {
	token := alloc.NewToken()
	s.open(s.on("first", 0), "body", token).must()
	first, second := s.shut(s.on("first", 0), token, "answer"), s.shut(s.on("second", 0), token, "another")
	third := s.drop(s.on("third", 0), token)
	late, refused := second.until(anyWrite), third.until(anyWrite)
	first.must()
	s.decide(late, None)
	if k := second.must(); string(k.Answer) != "answer" {
		s.fatalf("the second was answered %q, the first is kept", k.Answer)
	}
	s.decide(refused, None)
	third.must()
	s.keeps(token, "answer")
}

// A drop arrives when the key has been opened for the repaired request, and so does the first opening.
func caseLateDrop(s *script) {
	old, next := alloc.NewToken(), alloc.NewToken()
	st := s.open(s.on("first", 0), "bad", old)
	opening := st.until(anyWrite)
	s.decide(opening, None)
	st.must()
	dropping := s.drop(s.on("first", 0), old)
	drop := dropping.until(anyWrite)
	s.decide(drop, None)
	dropping.must()
	s.arrive(opening)
	s.open(s.on("second", 0), "body", next).must()
	s.arrive(drop)
	s.arrive(opening)
	s.keeps(next, "")
}

// Two open the key at once: one token counts.
func caseTwoOpenings(s *script) {
	first, second := alloc.NewToken(), alloc.NewToken()
	a, b := s.open(s.on("first", 0), "body", first), s.open(s.on("second", 0), "body", second)
	late := b.until(anyWrite)
	a.must()
	s.decide(late, None)
	if k := b.must(); k.Token != first {
		s.fatalf("the second was given %s, the first %s", k.Token, first)
	}
	s.keeps(first, "")
}

// caseFoundAndDropped: a second attempt finds the open record, and the first, refused, drops it before that is written, or
// just after. Whoever works has a record that is not dropped.
func caseFoundAndDropped(s *script) {
	first, second := alloc.NewToken(), alloc.NewToken()
	s.open(s.on("first", 0), "body", first).must()
	st := s.open(s.on("second", 0), "body", second)
	found := st.until(sharing)
	if s.drop(s.on("first", 0), first).must() {
		s.fatalf("the drop has left a record that nobody had found yet")
	}
	s.decide(found, None)
	if k := st.must(); k.Token != second || k.Shared {
		s.fatalf("the second has %+v, want a record of its own", k)
	}
	s.arrive(found)
	s.keeps(second, "")

	st = s.open(s.on("third", 0), "body", alloc.NewToken())
	found = st.until(sharing)
	dropping := s.drop(s.on("second", 0), second)
	drop := dropping.until(anyWrite)
	s.decide(found, Repeated)
	if k := st.must(); k.Token != second || !k.Shared {
		s.fatalf("the third has %+v, want the second's record, shared", k)
	}
	s.decide(drop, None)
	if !dropping.must() {
		s.fatalf("the drop has left nothing of a record that two have")
	}
	s.keeps(second, "")
	if k := s.open(s.on("fourth", 0), "body", alloc.NewToken()).must(); k.Token != second || !k.Shared {
		s.fatalf("the fourth has %+v, want the second's record, shared", k)
	}
	s.shut(s.on("third", 0), second, "answer").must()
	s.arrive(found)
	s.arrive(drop)
	s.keeps(second, "answer")
}

// sharing marks a record that more than one attempt has.
func sharing(c Call) bool { return c.Op == OpUpdate && c.Update.Set[dynamo.AttrShared] != nil }

// take begins to take of a quota of ten.
func (s *script) take(p *process, n alloc.Count) *step[alloc.Count] {
	hour := time.Now().Truncate(time.Hour)
	return begin(s, p, "take", func(ctx context.Context, store *dynamo.Store) (alloc.Count, error) {
		return store.TakeQuota(ctx, "credential", hour, n, 10)
	})
}

// Two begin an hour at once, a third has its write repeated after a lost answer, and a fourth wants what is more than
// left.
func caseQuota(s *script) {
	first, second := s.take(s.on("first", 0), 3), s.take(s.on("second", 0), 3)
	puts := func(c Call) bool { return c.Op == OpPut }
	a, b := first.until(puts), second.until(puts)
	s.decide(a, None)
	s.decide(b, None)
	got := first.must() + second.must()
	third := s.take(s.on("third", 0), 2)
	s.decide(third.until(anyWrite), Repeated)
	got += third.must()
	for range 2 {
		got += s.take(s.on("fourth", 0), 5).must()
	}
	if got != 10 {
		s.fatalf("together they got %d of 10", got)
	}
}

func TestSchedulesOfKeptKeysAndQuotas(t *testing.T) {
	for name, schedule := range map[string]func(*script){
		"K17 a close arrives at the record of a later attempt":   caseLateClose,
		"of two closes the first stays":                          caseTwoCloses,
		"K17 a drop arrives at the record of a repaired request": caseLateDrop,
		"of two openings one counts":                             caseTwoOpenings,
		"what a second attempt has found is not dropped":         caseFoundAndDropped,
		"a quota": caseQuota,
	} {
		t.Run(name, func(t *testing.T) { replay(t, schedule) })
	}
}

func isQuota(c Call) bool { return strings.HasPrefix(c.Key().PK, "Q#") }

func TestMutantsOfKeptKeysAndQuotasAreCaught(t *testing.T) {
	put := write(kindRecord, OpPut)
	quotaPut := func(c Call) bool { return isQuota(c) && c.Op == OpPut }
	quotaUpdate := func(c Call) bool { return isQuota(c) && c.Op == OpUpdate }
	for _, m := range []mutant{
		{
			name: "a record is closed without its token", schedule: caseLateClose,
			call: untested(recordTo(dynamo.RecordDone), dynamo.AttrToken),
		},
		{
			name: "a record is closed whatever its state", schedule: caseTwoCloses,
			call: untested(recordTo(dynamo.RecordDone), dynamo.AttrState),
		},
		{
			name: "a record is dropped without its token", schedule: caseLateDrop,
			call: untested(recordTo(dynamo.RecordFailed), dynamo.AttrToken),
		},
		{
			name: "a record is dropped whatever its state", schedule: caseTwoCloses,
			call: untested(recordTo(dynamo.RecordFailed), dynamo.AttrState),
		},
		{
			name: "a record is put over another", schedule: caseTwoOpenings,
			call: on(put, func(c *Call) { c.Cond = dynamo.Cond{} }),
		},
		{
			name: "a dropped record is removed", schedule: caseLateDrop,
			call: func(c Call) Call {
				if recordTo(dynamo.RecordFailed)(c) {
					c.Op, c.Update = OpDelete, dynamo.Update{}
				}
				return c
			},
		},
		{
			name: "a record that others have found is dropped", schedule: caseFoundAndDropped,
			call: untested(recordTo(dynamo.RecordFailed), dynamo.AttrShared),
		},
		{
			name: "a record that is dropped is found", schedule: caseFoundAndDropped,
			call: untested(sharing, dynamo.AttrState),
		},
		{
			name: "a record is found without its token", schedule: caseFoundAndDropped,
			call: untested(sharing, dynamo.AttrToken),
		},
		{
			name: "nobody writes that he has found a record", schedule: caseFoundAndDropped,
			call: on(sharing, func(c *Call) { c.Update.Set = map[string]any{dynamo.AttrOpened: int64(1)} }),
		},
		{
			name: "a quota begins anew over another's beginning", schedule: caseQuota,
			call: on(quotaPut, func(c *Call) { c.Cond = dynamo.Cond{} }),
		},
		{
			name: "a quota is taken without a test of what is left", schedule: caseQuota,
			call: on(quotaUpdate, func(c *Call) { c.Cond = dynamo.Exists(dynamo.AttrPK) }),
		},
		{
			name: "a repeat of a take does not know itself", schedule: caseQuota,
			call: untested(quotaUpdate, dynamo.AttrToken),
		},
	} {
		t.Run(m.name, func(t *testing.T) { m.caught(t) })
	}
}
