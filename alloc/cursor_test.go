package alloc_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
)

// lister asks for one page of a list and says what is on it.
type lister func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) (entries []string, next alloc.Cursor, err error)

// names makes the page of a lister.
func names[T any](page []T, next alloc.Cursor, err error) func(name func(T) string) ([]string, alloc.Cursor, error) {
	return func(name func(T) string) (entries []string, _ alloc.Cursor, _ error) {
		for _, e := range page {
			entries = append(entries, name(e))
		}
		return entries, next, err
	}
}

func ledger(of alloc.SequenceName) lister {
	return func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) ([]string, alloc.Cursor, error) {
		return names(s.Leases(ctx, of, c, limit))(func(r alloc.LeaseRecord) string { return fmt.Sprint(r.Start) })
	}
}

// listers are all lists.
var listers = map[string]lister{
	"Pools": func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) ([]string, alloc.Cursor, error) {
		return names(s.Pools(ctx, c, limit))(func(p alloc.PoolStatus) string { return string(p.Pool.Name) })
	},
	"Sequences": func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) ([]string, alloc.Cursor, error) {
		return names(s.Sequences(ctx, c, limit))(func(q alloc.Sequence) string { return string(q.Name) })
	},
	"Leases of l-0": ledger("l-0"),
	"Leases of l-1": ledger("l-1"),
	"Trail": func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) ([]string, alloc.Cursor, error) {
		return names(s.Trail(ctx, alloc.TrailFilter{}, c, limit))(func(r alloc.AuditRecord) string { return r.ID })
	},
	"Credentials": func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) ([]string, alloc.Cursor, error) {
		return names(s.Credentials(ctx, c, limit))(func(c alloc.Credential) string { return string(c.ID) })
	},
	"Jobs": func(ctx context.Context, s *alloc.Service, c alloc.Cursor, limit int) ([]string, alloc.Cursor, error) {
		return names(s.Jobs(ctx, c, limit))(func(j alloc.Job) string { return string(j.ID) })
	},
}

// newLists makes a Service whose lists each have 7 entries: two more than fit twice into pages of 3. The ledgers begin
// at 0.
func newLists(t testing.TB) (*alloc.Service, *alloctest.Model) {
	t.Helper()
	m := alloctest.NewModel(nil)
	ctx := t.Context()
	for i := range 7 {
		at := time.Now().Add(time.Duration(i) * time.Second)
		name := strings.Repeat("p", 126) + fmt.Sprint("-", i)
		_, _, err1 := m.CreatePool(ctx, alloc.PoolName(name), alloc.PoolConfig{}.WithDefaults())
		_, _, err2 := m.CreateSequence(ctx, alloc.SequenceName(fmt.Sprint("l-", i)), alloc.SequenceConfig{StartAtZero: true}.WithDefaults())
		err3 := m.Record(ctx, alloc.AuditRecord{ID: fmt.Sprint("record-", i), At: at})
		err4 := m.CreateCredential(ctx, alloc.Credential{ID: alloc.NewCredentialID(""), Hash: "hash"})
		err5 := m.CreateJob(ctx, alloc.Job{ID: alloc.JobID(alloc.NewIntent(at)), Pool: alloc.PoolName(name), Created: at})
		if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
			t.Fatal(err)
		}
	}
	for range 7 {
		for _, name := range []alloc.SequenceName{"l-0", "l-1"} {
			if _, err := m.Lease(ctx, alloc.LeaseOrder{Sequence: name, Count: 5}); err != nil {
				t.Fatal(err)
			}
		}
	}
	return newService(t, m), m
}

func TestListsGoOnFromTheirCursors(t *testing.T) {
	s, m := newLists(t)
	ctx := asAdmin(t.Context())
	for list, page := range listers {
		whole, next, err := page(ctx, s, "", 100)
		if err != nil || len(whole) != 7 || next != "" {
			t.Fatalf("%s: got %v, %q, %v, want 7 entries on the one page", list, whole, next, err)
		}
		for _, limit := range []int{1, 3, 7} {
			var got []string
			pages := 0
			for c, more := alloc.Cursor(""), true; more; more = c != "" {
				s := newService(t, m) // another process each time
				entries, next, err := page(ctx, s, c, limit)
				if err != nil || len(entries) > limit || len(next) > alloc.MaxCursorBytes {
					t.Fatalf("%s in pages of %d: %d entries, a cursor of %d bytes, %v", list, limit, len(entries), len(next), err)
				}
				if pages++; pages > 8 {
					t.Fatalf("%s in pages of %d do not end", list, limit)
				}
				got, c = append(got, entries...), next
			}
			if !slices.Equal(got, whole) {
				t.Errorf("%s in pages of %d: got %v, want %v", list, limit, got, whole)
			}
		}
	}
	ledger, next, err := listers["Leases of l-0"](ctx, s, "", 7)
	if err != nil || ledger[6] != "0" || next != "" {
		t.Errorf("the ledger is %v, then %q, %v; want it to end with 0", ledger, next, err)
	}
}

// A cursor is good for the list that gave it, and whatever is changed in it makes it none.
func TestCursorsOfNoListAreRefused(t *testing.T) {
	s, _ := newLists(t)
	ctx := asAdmin(t.Context())
	given := map[string]alloc.Cursor{}
	for list, page := range listers {
		_, next, err := page(ctx, s, "", 2)
		if err != nil || next == "" {
			t.Fatalf("%s: got %q, %v, want a cursor", list, next, err)
		}
		given[list] = next
	}
	refuse := func(what, list string, c alloc.Cursor) {
		t.Helper()
		if entries, _, err := listers[list](ctx, s, c, 2); !alloc.Is(err, alloc.CodeInvalidCursor) || len(entries) > 0 {
			t.Errorf("%s with %s: got %v, %v, want it refused", list, what, entries, err)
		}
	}
	others, _ := newLists(t) // with another secret
	for list := range listers {
		for other, c := range given {
			if other != list {
				refuse("the cursor of "+other, list, c)
			}
		}
		_, foreign, err := listers[list](ctx, others, "", 2)
		if err != nil {
			t.Fatal(err)
		}
		refuse("the cursor of another system", list, foreign)
		refuse("too long a cursor", list, given[list]+alloc.Cursor(strings.Repeat("A", 400)))
		refuse("two cursors", list, given[list]+given[list])
		refuse("a line end in the cursor", list, given[list][:10]+"\n"+given[list][10:])
		refuse("padding", list, given[list]+"=")
		for _, text := range []string{"x", "p-1", "0", "record-1", "%00", "é", string(given[list][:44]), string(given[list][:43])} {
			refuse(fmt.Sprintf("%q", text), list, alloc.Cursor(text))
		}
		raw, err := base64.RawURLEncoding.DecodeString(string(given[list]))
		if err != nil {
			t.Fatal(err)
		}
		for i := range raw {
			forged := slices.Clone(raw)
			forged[i] ^= 1
			refuse(fmt.Sprintf("byte %d changed", i), list, alloc.Cursor(base64.RawURLEncoding.EncodeToString(forged)))
		}
	}
}

// What is refused for its form alone costs no call of the Store, and the secret is read once.
func TestCursorsCostOneCallOfTheStore(t *testing.T) {
	_, m := newLists(t)
	f := alloctest.NewFaulty(m, nil)
	s := newService(t, f)
	ctx := asAdmin(t.Context())
	for _, bad := range []alloc.Cursor{"x", "p-1", "!", alloc.Cursor(strings.Repeat("A", 40))} {
		_, _, err := s.Trail(ctx, alloc.TrailFilter{}, bad, 2)
		wantCode(t, err, alloc.CodeInvalidCursor)
	}
	if calls := f.Calls(); len(calls) != 0 {
		t.Errorf("bad cursors reached the Store: %+v", calls)
	}
	if _, _, err := s.Trail(ctx, alloc.TrailFilter{}, "", 100); err != nil {
		t.Fatal(err)
	}
	if n := called(f, "SharedSecret"); n != 0 {
		t.Errorf("the secret was read %d times for a list without a cursor", n)
	}
	f.SetPlan(alloctest.Script("SharedSecret", alloctest.Refused))
	_, _, err := s.Trail(ctx, alloc.TrailFilter{}, "", 2)
	wantCode(t, err, alloc.CodeUnavailable)
	c := alloc.Cursor("")
	for range 3 {
		if _, c, err = s.Trail(ctx, alloc.TrailFilter{}, c, 2); err != nil || c == "" {
			t.Fatalf("got %q, %v", c, err)
		}
	}
	if n := called(f, "SharedSecret"); n != 2 {
		t.Errorf("the secret was read %d times, want once that failed and once that did not", n)
	}
}

// called counts the calls of the method.
func called(f *alloctest.Faulty, method string) (n int) {
	for _, c := range f.Calls() {
		if c.Method == method {
			n++
		}
	}
	return n
}

// shortSecret is a Store that gives a secret by which anybody could sign.
type shortSecret struct{ alloc.Store }

func (shortSecret) SharedSecret(context.Context) ([]byte, error) { return nil, nil }

func TestNoCursorIsSignedWithoutASecret(t *testing.T) {
	_, m := newLists(t)
	_, c, err := newService(t, shortSecret{m}).Trail(asAdmin(t.Context()), alloc.TrailFilter{}, "", 2)
	if wantCode(t, err, alloc.CodeInternal); c != "" {
		t.Errorf("got the cursor %q", c)
	}
}

func FuzzCursor(f *testing.F) {
	s, _ := newLists(f)
	_, good, err := s.Trail(asAdmin(f.Context()), alloc.TrailFilter{}, "", 2)
	if err != nil {
		f.Fatal(err)
	}
	f.Add(string(good))
	f.Add(string(good[:len(good)-1]))
	f.Add("")
	f.Add("AQ")
	f.Fuzz(func(t *testing.T, text string) {
		_, _, err := s.Trail(asAdmin(t.Context()), alloc.TrailFilter{}, alloc.Cursor(text), 2)
		if ours := text == "" || text == string(good); ours != (err == nil) || !ours && !alloc.Is(err, alloc.CodeInvalidCursor) {
			t.Errorf("the cursor %q: got %v", text, err)
		}
	})
}
