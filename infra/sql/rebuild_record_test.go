package sql

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

// fillAll sets every field to a value that is not its zero, and every list to two of them.
func fillAll(v reflect.Value, n *int64) {
	*n++
	switch {
	case v.Type() == reflect.TypeFor[time.Time]():
		v.Set(reflect.ValueOf(time.Unix(1_800_000_000+*n, *n).UTC()))
	case v.Kind() == reflect.Struct:
		for _, field := range v.Fields() {
			fillAll(field, n)
		}
	case v.Kind() == reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 2, 2))
		fillAll(v.Index(0), n)
		fillAll(v.Index(1), n)
	case v.Kind() == reflect.String:
		v.SetString(time.Unix(*n, 0).String())
	case v.Kind() == reflect.Bool:
		v.SetBool(true)
	case v.CanInt():
		v.SetInt(*n)
	default:
		v.SetUint(uint64(*n))
	}
}

// No field of a rebuild, or of what it holds, is left out of its record.
func TestTheWholeRebuildIsStored(t *testing.T) {
	s, _ := storeOn(t)
	var r alloc.Rebuild
	fillAll(reflect.ValueOf(&r).Elem(), new(int64))
	r.Version = 1
	changed, err := s.ChangeRebuild(t.Context(), 0, r)
	if diff := cmp.Diff(r, changed); err != nil || diff != "" {
		t.Errorf("changed: %v (-want +got):\n%s", err, diff)
	}
	read, err := s.Rebuild(t.Context(), r.Sequence)
	if diff := cmp.Diff(r, read); err != nil || diff != "" {
		t.Errorf("read: %v (-want +got):\n%s", err, diff)
	}
}

// No field of an intent is left out of what Intended tells.
func TestTheWholeIntentIsStored(t *testing.T) {
	s, path := storeOn(t)
	var r alloc.AuditRecord
	fillAll(reflect.ValueOf(&r).Elem(), new(int64))
	if err := s.Intend(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	r.Link = alloc.Link{}
	got, err := s.Intended(t.Context(), time.Now().Add(time.Minute), 10)
	if diff := cmp.Diff([]alloc.AuditRecord{r}, got); err != nil || diff != "" {
		t.Errorf("intended: %v (-want +got):\n%s", err, diff)
	}
	if err := s.Record(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	if left := ask[int](t, path, `SELECT count(*) FROM intents`); left != 0 {
		t.Errorf("%d intents are left after the record", left)
	}
	chain, err := s.Chain(t.Context(), alloc.MonthOf(time.Now()), 0, 10)
	if err != nil || len(chain) != 1 || !chain[0].Intact() {
		t.Fatalf("chain: got %+v and %v, want one whole record", chain, err)
	}
	chain[0].Link = alloc.Link{}
	if diff := cmp.Diff(r, chain[0]); diff != "" {
		t.Errorf("recorded (-want +got):\n%s", diff)
	}
}

// A record of a rebuild that cannot be read is as none: the next one takes its place, from its version.
func TestAnUnreadableRebuildIsReplaced(t *testing.T) {
	s, path := storeOn(t)
	r, err := s.ChangeRebuild(t.Context(), 0, alloc.Rebuild{Sequence: "s", ID: "first", Change: "1"})
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{`{`, `{"version": "x"}`, ``} {
		edit(t, path, `UPDATE rebuilds SET record = $1`, text)
		read, err := s.Rebuild(t.Context(), "s")
		if diff := cmp.Diff(alloc.Rebuild{Sequence: "s", Version: r.Version}, read); err != nil || diff != "" {
			t.Fatalf("read from %q: %v (-want +got):\n%s", text, err, diff)
		}
		r, err = s.ChangeRebuild(t.Context(), read.Version, alloc.Rebuild{Sequence: "s", ID: "next", Change: alloc.Token("of " + text)})
		if err != nil || r.ID != "next" {
			t.Fatalf("replaced after %q: %+v, %v", text, r, err)
		}
	}
}

// A step's intent that cannot be read does not hide the others.
func TestAnUnreadableIntentHidesNothing(t *testing.T) {
	s, path := storeOn(t)
	for _, id := range []string{"a", "b"} {
		if err := s.Intend(t.Context(), alloc.AuditRecord{ID: id, Action: "pool.create", Target: "p"}); err != nil {
			t.Fatal(err)
		}
	}
	edit(t, path, `UPDATE intents SET record = '{' WHERE id = 'a'`)
	got, err := s.Intended(t.Context(), time.Now().Add(time.Minute), 10)
	if err != nil || len(got) != 2 || got[0].ID != "a" || got[0].Detail == "" || got[0].At.IsZero() || got[1].Action != "pool.create" {
		t.Errorf("intended: %+v, %v", got, err)
	}
}
