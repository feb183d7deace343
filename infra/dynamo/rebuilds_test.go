package dynamo_test

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
	"idpool/infra/dynamo/dynamotest"
)

// setAll sets every field of a value, however deep, to something that is not zero.
func setAll(v reflect.Value, n *int64) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+*n, *n).UTC()))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			setAll(field, n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		setAll(v.Index(0), n)
		setAll(v.Index(1), n)
	case v.Kind() == reflect.String:
		v.SetString(fmt.Sprint("text ", *n))
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(*n)
	case v.CanUint():
		v.SetUint(uint64(*n))
	}
}

func TestTheRecordOfARebuildIsReadAsItWasWritten(t *testing.T) {
	onTables(t, func(t *testing.T, table dynamo.Table) {
		var want alloc.Rebuild
		var n int64
		setAll(reflect.ValueOf(&want).Elem(), &n)
		want.Sequence = "s"
		got, err := process(t, table).ChangeRebuild(t.Context(), 0, want)
		refused(t, err, "")
		want.Version = 1
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("answered: -want +got:\n%s", diff)
		}
		got, err = process(t, table).Rebuild(t.Context(), "s")
		refused(t, err, "")
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("read: -want +got:\n%s", diff)
		}
	})
}

func TestADamagedRecordOfARebuildGivesWayToAnother(t *testing.T) {
	for name, it := range map[string]dynamo.Item{
		"its document": {"ver": int64(7), "change": "c", "doc": "{"},
		"its version":  {"ver": "7", "change": "c", "doc": "{}"},
	} {
		t.Run(name, func(t *testing.T) {
			mem := dynamotest.NewMemory()
			it["pk"], it["sk"] = "S#s", "B"
			mem.Set(it)
			s := process(t, mem)
			now, err := s.Rebuild(t.Context(), "s")
			refused(t, err, "")
			if !now.Step.Ended() || now.ID != "" {
				t.Errorf("read %+v, want no rebuild", now)
			}
			now, err = s.ChangeRebuild(t.Context(), now.Version, alloc.Rebuild{Sequence: "s", ID: "r", Step: alloc.RebuildGathering, Change: "d"})
			refused(t, err, "")
			if got, err := s.Rebuild(t.Context(), "s"); err != nil || got.ID != "r" || got.Version != now.Version {
				t.Errorf("then read %+v, %v", got, err)
			}
		})
	}
}

// An entry of which nobody can tell where it ends refuses what begins above it, until a rebuild has taken all that as used.
func TestADamagedEntryAtTheTopStopsTheSequenceUntilItIsRebuilt(t *testing.T) {
	for name, harm := range map[string]func(dynamo.Item){
		"without its end":   func(it dynamo.Item) { delete(it, "end") },
		"with another type": func(it dynamo.Item) { it["end"] = "10" },
		"with another key":  func(it dynamo.Item) { it["sk"] = "00000000000000000001x"; delete(it, "end") },
	} {
		t.Run(name, func(t *testing.T) {
			mem := dynamotest.NewMemory()
			s := process(t, mem)
			sequence(t, s, alloc.SequenceConfig{})
			lease(t, s, order(10))
			entry := mem.Item(dynamo.Key{PK: "S#s#L", SK: fmt.Sprintf("%020d", 1)})
			mem.Drop(entry.Key())
			harm(entry)
			mem.Set(entry)
			_, err := s.Lease(t.Context(), order(1))
			refused(t, err, alloc.CodeSequenceStopped)
			step, err := s.AuditSequence(t.Context(), "s", alloc.AuditOrder{Sample: 100})
			refused(t, err, "")
			if len(step.Findings) != 1 || step.Findings[0].Kind != alloc.FindLease || step.Findings[0].Remedy != alloc.RemedyRebuild {
				t.Errorf("the audit found %+v, want the entry, for a rebuild", step.Findings)
			}
			_, err = s.Freeze(t.Context(), "s", "r")
			refused(t, err, "")
			_, err = s.Restart(t.Context(), alloc.RestartOrder{Sequence: "s", Rebuild: "r", From: 1, To: 2, Next: 1000})
			refused(t, err, "")
			_, err = s.Thaw(t.Context(), "s", "r", alloc.SequenceActive, 0)
			refused(t, err, "")
			if r := lease(t, process(t, mem), order(5)); r.Start != 1000 {
				t.Errorf("got %d, want 1000", r.Start)
			}
		})
	}
}

func TestTheAuditOfALedgerOfManyStepsFindsAnOverlapAcrossThem(t *testing.T) {
	mem := dynamotest.NewMemory()
	s := process(t, mem)
	sequence(t, s, alloc.SequenceConfig{})
	entry := func(start, end int64) dynamo.Item {
		return dynamo.Item{
			"pk": "S#s#L", "sk": fmt.Sprintf("%020d", start), "end": end, "t": fmt.Sprint("t", start), "by": "tester", "at": int64(1), "ep": int64(1), "pr": true,
		}
	}
	for n := range int64(2500) {
		mem.Set(entry(10*n+1, 10*n+10))
	}
	setCounter(t, mem, 25001)
	audit := func(sample int) (findings []alloc.Finding, done alloc.Count, steps int) {
		o := alloc.AuditOrder{Sample: sample}
		for o.Step != "" || steps == 0 {
			step, err := s.AuditSequence(t.Context(), "s", o)
			refused(t, err, "")
			findings, done, o.Step = append(findings, step.Findings...), done+step.Done, step.Next
			steps++
		}
		return findings, done, steps
	}
	if findings, done, steps := audit(100); len(findings) != 0 || done != 2500 || steps < 3 {
		t.Errorf("of a healthy ledger: %+v, %d entries in %d steps", findings, done, steps)
	}
	if _, done, _ := audit(10); done < 100 || done > 500 {
		t.Errorf("a sample of 10 in 100 looked at %d of 2500", done)
	}
	mem.Set(entry(1, 20000))
	setCounter(t, mem, 24990)
	findings, _, _ := audit(100)
	kinds := map[alloc.FindingKind]int{}
	for _, f := range findings {
		kinds[f.Kind]++
	}
	if diff := cmp.Diff(map[alloc.FindingKind]int{alloc.FindOverlap: 1999, alloc.FindCounter: 1}, kinds); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
