package alloctest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
)

var sessionCases = []testCase{
	{"a session is read back as it was made, in every process", func(w *world) {
		full, bare := w.session('a', "user:ann"), w.session('b', "local")
		bare.Name, bare.Issuer, bare.Subject, bare.Address, bare.Agent = "", "", "", "", ""
		for _, s := range []alloc.Session{full, bare} {
			w.ok(w.open().CreateSession(w.Context(), s), "CreateSession")
			w.sameSession(w.readSession(s.ID), s)
		}
	}},
	{"a session that was never made is absent", func(w *world) {
		w.begun('a', "user:ann")
		id := w.session('b', "user:ann").ID
		w.absent(id, "never made")
		ok, err := w.open().TouchSession(w.Context(), id, w.clock.Now(), w.clock.Now().Add(time.Hour))
		w.ok(err, "TouchSession")
		equal(w, ok, false, "TouchSession of an absent session")
		ended, err := w.open().EndSession(w.Context(), id)
		w.ok(err, "EndSession")
		equal(w, ended, false, "EndSession of an absent session")
		w.absent(id, "touched and ended, and never made")
	}},
	{"a repeat of a sign-in changes nothing, and none brings back a session that was ended", func(w *world) {
		s := w.begun('a', "user:ann")
		w.clock.Advance(2 * time.Minute)
		used := w.touched(s, w.clock.Now())
		w.ok(w.open().CreateSession(w.Context(), s), "CreateSession again")
		w.sameSession(w.readSession(s.ID), used)
		other := s
		other.Client = "user:eve"
		w.want(w.open().CreateSession(w.Context(), other), alloc.CodeInternal, "CreateSession with the ID of another")
		w.sameSession(w.readSession(s.ID), used)
		w.ended(s.ID)
		w.want(w.open().CreateSession(w.Context(), s), alloc.CodeInternal, "CreateSession of one that was ended")
		w.absent(s.ID, "made again after its end")
	}},
	{"a session counts as absent from its end on, also in lists", func(w *world) {
		s := w.begun('a', "user:ann")
		w.clock.Advance(s.Expires.Sub(w.clock.Now()) - 1)
		w.sameSession(w.readSession(s.ID), s)
		w.clock.Advance(1)
		w.absent(s.ID, "expired")
		ok, err := w.open().TouchSession(w.Context(), s.ID, w.clock.Now(), s.Ends)
		w.ok(err, "TouchSession")
		equal(w, ok, false, "TouchSession of an expired session")
		w.absent(s.ID, "expired and touched")
		ended, err := w.open().EndSession(w.Context(), s.ID)
		w.ok(err, "EndSession")
		equal(w, ended, false, "EndSession of an expired session")
		n, err := w.open().EndSessions(w.Context(), s.Client)
		w.ok(err, "EndSessions")
		equal(w, n, 0, "EndSessions of an expired session")
	}},
	{"a use puts off the end, and an older one changes nothing", func(w *world) {
		s := w.begun('a', "user:ann")
		w.clock.Advance(20 * time.Minute)
		used := w.touched(s, w.clock.Now())
		w.sameSession(w.readSession(s.ID), used)
		for _, late := range []time.Time{s.Created.Add(10 * time.Minute), used.Seen} {
			w.touched(s, late)
			w.sameSession(w.readSession(s.ID), used)
		}
		w.clock.Advance(20 * time.Minute) // its first end is over
		w.sameSession(w.readSession(s.ID), used)
	}},
	{"a session that was ended is absent at once in every process, for good, and the others stay", func(w *world) {
		s, other := w.begun('a', "user:ann"), w.begun('b', "user:ann")
		w.ended(s.ID)
		w.absent(s.ID, "ended")
		for range 2 {
			ended, err := w.open().EndSession(w.Context(), s.ID)
			w.ok(err, "EndSession again")
			equal(w, ended, false, "EndSession again")
			ok, err := w.open().TouchSession(w.Context(), s.ID, w.clock.Now().Add(time.Minute), s.Ends)
			w.ok(err, "TouchSession of one that was ended")
			equal(w, ok, false, "TouchSession of one that was ended")
			w.absent(s.ID, "ended and touched")
		}
		w.sameSession(w.readSession(other.ID), other)
	}},
	{"EndSessions ends all of a client, and nobody else's", func(w *world) {
		const many = 130 // more than a page of any engine
		for i := range many {
			s := w.session('a', "user:ann")
			s.ID = numbered(s.ID, i)
			w.ok(w.open().CreateSession(w.Context(), s), "CreateSession")
		}
		others := []alloc.Session{w.begun('b', "user:anne"), w.begun('c', "user:an"), w.begun('d', "User:ann")}
		w.ended(numbered(w.session('a', "user:ann").ID, 7))
		n, err := w.open().EndSessions(w.Context(), "user:ann")
		w.ok(err, "EndSessions")
		equal(w, n, many-1, "sessions that were ended")
		left, err := w.elsewhere().ListSessions(w.Context(), "", 100)
		w.ok(err, "ListSessions")
		equal(w, len(left), len(others), "sessions that are left")
		for _, s := range others {
			w.sameSession(w.readSession(s.ID), s)
		}
		n, err = w.open().EndSessions(w.Context(), "user:ann")
		w.ok(err, "EndSessions again")
		equal(w, n, 0, "sessions that were ended again")
	}},
	{"ListSessions lists in the order of the IDs, page by page, without those that have ended", func(w *world) {
		var want []string
		shuffled(12, func(i int) {
			s := w.session(byte('a'+i), alloc.ClientID(fmt.Sprint("user:", i)))
			if i%4 == 1 {
				s.Expires = w.clock.Now().Add(time.Minute)
			}
			w.ok(w.open().CreateSession(w.Context(), s), "CreateSession")
			switch {
			case i%4 == 2:
				w.ended(s.ID)
			case i%4 != 1:
				want = append(want, string(s.ID[:1]))
			}
		})
		slices.Sort(want)
		w.clock.Advance(2 * time.Minute)
		for _, limit := range []int{1, 2, 5, 100} {
			var got []string
			for after := alloc.SessionID(""); ; {
				page, err := w.elsewhere().ListSessions(w.Context(), after, limit)
				w.ok(err, "ListSessions")
				if len(page) > limit {
					w.Fatalf("a page has %d sessions, want at most %d", len(page), limit)
				}
				for _, s := range page {
					w.sameSession(w.readSession(s.ID), s)
					got = append(got, string(s.ID[:1]))
					after = s.ID
				}
				if len(page) < limit {
					break
				}
			}
			equal(w, strings.Join(got, " "), strings.Join(want, " "), fmt.Sprintf("IDs in pages of %d", limit))
		}
	}},
	{"a session whose use and whose end are at once is ended", func(w *world) {
		s := w.begun('a', "user:ann")
		n := w.callers() / 5
		stores := w.processes(n)
		w.together(n, func(i int) {
			if i == n/2 {
				if ended, err := stores[i].EndSession(w.Context(), s.ID); err != nil || !ended {
					w.Errorf("EndSession beside others: got %t and %v, want it ended", ended, err)
				}
				return
			}
			if _, err := stores[i].TouchSession(w.Context(), s.ID, s.Seen.Add(time.Duration(i)*time.Second), s.Expires); err != nil {
				w.Errorf("TouchSession beside others: got %v", err)
			}
		})
		w.absent(s.ID, "ended beside uses")
	}},
	{"steps of a session whose answers are lost are repeated", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			s := w.session('a', "user:ann")
			s.ID = numbered(s.ID, i)
			f.SetPlan(Script("CreateSession", faults...))
			w.untilDone("CreateSession", func() error { return f.CreateSession(w.Context(), s) })
			f.SetPlan(Script("TouchSession", faults...))
			w.untilDone("TouchSession", func() error {
				_, err := f.TouchSession(w.Context(), s.ID, s.Seen.Add(time.Second), s.Expires.Add(time.Second))
				return err
			})
			s.Seen, s.Expires = s.Seen.Add(time.Second), s.Expires.Add(time.Second)
			w.sameSession(w.readSession(s.ID), s)
			f.SetPlan(Script("EndSession", faults...))
			w.untilDone("EndSession", func() error { _, err := f.EndSession(w.Context(), s.ID); return err })
			w.absent(s.ID, "ended with faults")
		}
	}},
}

// session is one of the client that begins now, whose ID begins with the letter.
func (w *world) session(letter byte, client alloc.ClientID) alloc.Session {
	now := w.clock.Now()
	return alloc.Session{
		ID: alloc.SessionID(string(letter) + strings.Repeat("2", 51)), Client: client, Name: "Ännchen \"x\"", Role: alloc.RoleOperator,
		Issuer: "https://issuer.example", Subject: "subject|1", Created: now, Seen: now, Expires: now.Add(30 * time.Minute), Ends: now.Add(12 * time.Hour),
		Address: "2001:db8::1", Agent: "Mozilla/5.0",
	}
}

// numbered is another ID for each number.
func numbered(id alloc.SessionID, n int) alloc.SessionID {
	digits := strings.Map(func(r rune) rune { return r - '0' + 'a' }, fmt.Sprintf("%04d", n))
	return id[:len(id)-4] + alloc.SessionID(digits)
}

// begun is a session that stands.
func (w *world) begun(letter byte, client alloc.ClientID) alloc.Session {
	w.Helper()
	s := w.session(letter, client)
	w.ok(w.open().CreateSession(w.Context(), s), "CreateSession")
	return s
}

// touched uses the session at a time, and returns it as it is then.
func (w *world) touched(s alloc.Session, at time.Time) alloc.Session {
	w.Helper()
	s.Seen, s.Expires = at, at.Add(30*time.Minute)
	ok, err := w.open().TouchSession(w.Context(), s.ID, s.Seen, s.Expires)
	w.ok(err, "TouchSession")
	equal(w, ok, true, "TouchSession of a session that is there")
	return s
}

func (w *world) ended(id alloc.SessionID) {
	w.Helper()
	ended, err := w.open().EndSession(w.Context(), id)
	w.ok(err, "EndSession")
	equal(w, ended, true, "EndSession of a session that is there")
}

func (w *world) readSession(id alloc.SessionID) alloc.Session {
	w.Helper()
	s, ok, err := w.elsewhere().Session(w.Context(), id)
	w.ok(err, "Session")
	equal(w, ok, true, "the session is there")
	return s
}

// absent holds that no read and no list has the session.
func (w *world) absent(id alloc.SessionID, what string) {
	w.Helper()
	_, ok, err := w.elsewhere().Session(w.Context(), id)
	w.ok(err, "Session")
	equal(w, ok, false, "a session that was "+what+" is there")
	list, err := w.elsewhere().ListSessions(w.Context(), "", 100)
	w.ok(err, "ListSessions")
	for _, s := range list {
		if s.ID == id {
			w.Fatalf("a session that was %s is listed", what)
		}
	}
}

func (w *world) sameSession(got, want alloc.Session) {
	w.Helper()
	if diff := cmp.Diff(want, got, cmp.Comparer(sameTime)); diff != "" {
		w.Fatalf("session (-want +got):\n%s", diff)
	}
}
