package alloctest

import (
	"bytes"
	"fmt"
	"sync"

	"idpool/alloc"
)

var keptKeyCases = []testCase{
	{"OpenKey puts the intent, and FindKey finds it open, in any process", func(w *world) {
		s, k, token := w.open(), someKey("k"), alloc.NewToken()
		w.noKey(s, k)
		for range 2 { // the second is a repeat of it
			w.isKept(w.openKey(s, k, token, nil), token, nil)
		}
		w.isKept(w.findKey(w.elsewhere(), k), token, nil)
		if at := w.findKey(w.elsewhere(), k).At; !sameTime(at, w.clock.Now()) {
			w.Fatalf("At: got %v, want %v", at, w.clock.Now())
		}
	}},
	{"whoever comes second gets the intent that stands", func(w *world) {
		k, first := someKey("k"), alloc.NewToken()
		w.openKey(w.open(), k, first, nil)
		for range 2 {
			w.isKept(w.openKey(w.open(), k, alloc.NewToken(), nil), first, nil)
			w.isKept(w.openKey(w.open(), k, alloc.NewToken(), []byte("an answer")), first, nil)
		}
	}},
	{"CloseKey keeps the answer, and the first one stays", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		w.openKey(w.open(), k, token, nil)
		w.isKept(w.closeKey(w.open(), k, token, []byte("first")), token, []byte("first"))
		w.isKept(w.closeKey(w.open(), k, token, []byte("second")), token, []byte("first"))
		w.isKept(w.findKey(w.elsewhere(), k), token, []byte("first"))
		w.isKept(w.openKey(w.open(), k, alloc.NewToken(), nil), token, []byte("first"))
		w.isKept(w.openKey(w.open(), k, token, nil), token, []byte("first"))
	}},
	{"OpenKey with an answer puts the record done at once, and that answer stays", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		for range 2 { // the second is a repeat of it
			w.isKept(w.openKey(w.open(), k, token, []byte("first")), token, []byte("first"))
		}
		w.isKept(w.openKey(w.open(), k, alloc.NewToken(), []byte("second")), token, []byte("first"))
		w.isKept(w.closeKey(w.open(), k, token, []byte("third")), token, []byte("first"))
		w.isKept(w.findKey(w.elsewhere(), k), token, []byte("first"))
	}},
	{"K08 the same key with another request is key_mismatch, open and done, and changes nothing", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		other := alloc.Key{Hash: k.Hash, Fingerprint: someKey("other").Fingerprint}
		w.openKey(w.open(), k, token, nil)
		for _, answer := range [][]byte{nil, []byte("answer")} {
			if answer != nil {
				w.closeKey(w.open(), k, token, answer)
			}
			for _, given := range [][]byte{nil, []byte("another")} {
				_, err := w.open().OpenKey(w.Context(), other, alloc.NewToken(), given)
				w.want(err, alloc.CodeKeyMismatch, "OpenKey of another request")
			}
			_, _, err := w.open().FindKey(w.Context(), other)
			w.want(err, alloc.CodeKeyMismatch, "FindKey of another request")
			w.isKept(w.findKey(w.elsewhere(), k), token, answer)
		}
	}},
	{"K20 a kept key is found a second before its retention ends, and a second after it the key is opened anew", func(w *world) {
		for name, answer := range map[string][]byte{"open": nil, "done": []byte("answer")} {
			warm, k, token := w.open(), someKey(name), alloc.NewToken()
			w.openKey(warm, k, token, answer)
			w.clock.Advance(beforeEnd)
			w.isKept(w.findKey(warm, k), token, answer)
			w.isKept(w.openKey(w.open(), k, alloc.NewToken(), nil), token, answer)
			w.clock.Advance(expiry - beforeEnd)
			w.noKey(warm, k)
			second := alloc.NewToken()
			changed := alloc.Key{Hash: k.Hash, Fingerprint: someKey("changed " + name).Fingerprint}
			w.isKept(w.openKey(w.open(), changed, second, nil), second, nil)
			w.clock.Advance(beforeEnd) // it counts from its own beginning
			w.isKept(w.findKey(warm, changed), second, nil)
		}
	}},
	{"the retention of a key counts from when it was opened, not from when it was closed", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		w.openKey(w.open(), k, token, nil)
		w.clock.Advance(beforeEnd)
		w.isKept(w.closeKey(w.open(), k, token, []byte("late")), token, []byte("late"))
		w.isKept(w.findKey(w.elsewhere(), k), token, []byte("late"))
		w.clock.Advance(expiry - beforeEnd)
		w.noKey(w.open(), k)
	}},
	{"K17 an attempt that overran its key's retention cannot close, complete or drop that of a later one", func(w *world) {
		k, early, late := someKey("k"), alloc.NewToken(), alloc.NewToken()
		w.openKey(w.open(), k, early, nil)
		w.clock.Advance(expiry)
		w.isKept(w.closeKey(w.open(), k, early, []byte("too late")), early, []byte("too late"))
		w.noKey(w.open(), k)
		w.openKey(w.open(), k, late, nil)
		w.isKept(w.closeKey(w.open(), k, early, []byte("too late")), early, []byte("too late"))
		w.dropKey(k, early)
		w.isKept(w.findKey(w.elsewhere(), k), late, nil)
		w.isKept(w.closeKey(w.open(), k, late, []byte("in time")), late, []byte("in time"))
		w.isKept(w.closeKey(w.open(), k, early, []byte("too late")), early, []byte("too late"))
		w.isKept(w.findKey(w.elsewhere(), k), late, []byte("in time"))
	}},
	{"DropKey removes an open record, and the key is opened anew with whatever request", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		w.dropKey(k, token) // that was never opened
		w.openKey(w.open(), k, token, nil)
		w.openKey(w.open(), k, token, nil) // a repeat of it is no other attempt
		for range 2 {                      // the second is a repeat of it
			w.dropKey(k, token)
			w.noKey(w.open(), k)
		}
		w.isKept(w.closeKey(w.open(), k, token, []byte("ours")), token, []byte("ours"))
		w.noKey(w.open(), k)
		repaired, second := alloc.Key{Hash: k.Hash, Fingerprint: someKey("repaired").Fingerprint}, alloc.NewToken()
		w.isKept(w.openKey(w.open(), repaired, second, nil), second, nil)
	}},
	{"DropKey leaves what is done, and what is another attempt's", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		w.openKey(w.open(), k, token, nil)
		w.dropKey(k, alloc.NewToken())
		w.isKept(w.findKey(w.elsewhere(), k), token, nil)
		w.closeKey(w.open(), k, token, []byte("answer"))
		w.isKept(w.leftKey(k, token), token, []byte("answer"))
		w.isKept(w.findKey(w.elsewhere(), k), token, []byte("answer"))
	}},
	{"DropKey leaves what another attempt has found open, which may have done the work", func(w *world) {
		for name, given := range map[string][]byte{"by its intent": nil, "by its answer": []byte("answer")} {
			k, first := someKey(name), alloc.NewToken()
			equal(w, w.openKey(w.open(), k, first, nil).Shared, false, "the first one's own record is shared")
			equal(w, w.openKey(w.open(), k, alloc.NewToken(), given).Shared, true, "the record that another has found is shared")
			equal(w, w.openKey(w.open(), k, first, nil).Shared, true, "the first one's record is shared since")
			equal(w, w.findKey(w.elsewhere(), k).Shared, true, "the record that is found is shared")
			for range 2 {
				left := w.leftKey(k, first)
				w.isKept(left, first, nil)
				equal(w, left.Shared, true, "what a drop left is shared")
			}
			other := alloc.Key{Hash: k.Hash, Fingerprint: someKey("other").Fingerprint}
			_, err := w.open().OpenKey(w.Context(), other, alloc.NewToken(), nil)
			w.want(err, alloc.CodeKeyMismatch, "OpenKey of another request")
			w.isKept(w.openKey(w.open(), k, alloc.NewToken(), nil), first, nil)
			w.isKept(w.closeKey(w.open(), k, first, []byte("done")), first, []byte("done"))
			equal(w, w.findKey(w.elsewhere(), k).Shared, false, "what is done is shared")
			w.isKept(w.leftKey(k, first), first, []byte("done"))
		}
	}},
	{"another request's opening does not share the record", func(w *world) {
		k, token := someKey("k"), alloc.NewToken()
		w.openKey(w.open(), k, token, nil)
		_, err := w.open().OpenKey(w.Context(), alloc.Key{Hash: k.Hash, Fingerprint: someKey("other").Fingerprint}, alloc.NewToken(), nil)
		w.want(err, alloc.CodeKeyMismatch, "OpenKey of another request")
		equal(w, w.findKey(w.elsewhere(), k).Shared, false, "the record is shared")
		w.dropKey(k, token)
		w.noKey(w.open(), k)
	}},
	{"many who find a key while it is dropped: it is gone, or the record of all", func(w *world) {
		n := w.callers() / 5
		for i := range 8 {
			k, first := someKey(fmt.Sprint(i)), alloc.NewToken()
			w.openKey(w.open(), k, first, nil)
			stores, found := w.processes(n), make([]alloc.Kept, n)
			left := false
			w.together(n, func(i int) {
				var err error
				if i == 0 {
					_, left, err = stores[i].DropKey(w.Context(), k, first)
				} else {
					found[i], err = stores[i].OpenKey(w.Context(), k, alloc.NewToken(), nil)
				}
				if err != nil {
					w.Errorf("a drop beside others who open: %v", err)
				}
			})
			for _, f := range found[1:] {
				if f.Token != found[1].Token || (f.Token == first) != left {
					w.Fatalf("the drop left the record of %s: %t; those who opened it have %s and %s", first, left, f.Token, found[1].Token)
				}
			}
		}
	}},
	{"an answer is kept byte for byte, up to the longest", func(w *world) {
		every := make([]byte, 256)
		for i := range every {
			every[i] = byte(i)
		}
		for i, answer := range [][]byte{{0}, []byte("\x00\xff\n"), every, bytes.Repeat(every, alloc.MaxAnswerBytes/len(every))} {
			opened, closed, token := someKey(fmt.Sprint("opened ", i)), someKey(fmt.Sprint("closed ", i)), alloc.NewToken()
			w.openKey(w.open(), opened, token, answer)
			w.openKey(w.open(), closed, token, nil)
			w.closeKey(w.open(), closed, token, answer)
			w.isKept(w.findKey(w.elsewhere(), opened), token, answer)
			w.isKept(w.findKey(w.elsewhere(), closed), token, answer)
		}
	}},
	{"K11 kept keys do not mix", func(w *world) {
		tokens := map[string]alloc.Token{}
		for _, key := range []string{"k", "K", "k ", " k", "k/1", "k#1", `"k"`, "%6B", "1", "01"} {
			tokens[key] = alloc.NewToken()
			w.openKey(w.open(), someKey(key), tokens[key], []byte(key))
		}
		for key, token := range tokens {
			w.isKept(w.findKey(w.elsewhere(), someKey(key)), token, []byte(key))
		}
	}},
	{"K10 many who open and close one key at once all get one intent and one answer", func(w *world) {
		n := w.callers() + w.callers()/4
		for _, withAnswer := range []bool{false, true} {
			k, all := someKey(fmt.Sprint(withAnswer)), &keptAnswers{}
			stores := w.processes(n)
			opened := make([]alloc.Kept, n)
			w.together(n, func(i int) {
				var first []byte
				if withAnswer {
					first = fmt.Append(nil, "answer ", i)
				}
				var err error
				if opened[i], err = stores[i].OpenKey(w.Context(), k, alloc.NewToken(), first); err != nil {
					w.Errorf("OpenKey beside others: got %v, want the record", err)
				}
			})
			w.together(n, func(i int) {
				got, err := stores[i].CloseKey(w.Context(), k, opened[i].Token, fmt.Append(nil, "closed ", i))
				if err != nil || withAnswer && !bytes.Equal(got.Answer, opened[i].Answer) {
					w.Errorf("CloseKey beside others: got %+v and %v, want the record with its answer", got, err)
				}
				all.add(got)
			})
			all.oneOf(w, n)
			w.isKept(w.findKey(w.elsewhere(), k), all.got[0].Token, all.got[0].Answer)
		}
	}},
	{"K20 an expired key is opened anew by one of many who come at once", func(w *world) {
		n := w.callers() / 5
		k, old, all := someKey("k"), alloc.NewToken(), &keptAnswers{}
		w.openKey(w.open(), k, old, []byte("old"))
		w.clock.Advance(expiry)
		stores := w.processes(n)
		w.together(n, func(i int) {
			got, err := stores[i].OpenKey(w.Context(), k, alloc.NewToken(), []byte(fmt.Sprint(i)))
			if err != nil || got.Token == old {
				w.Errorf("OpenKey of an expired key: got %+v and %v, want a new record", got, err)
			}
			all.add(got)
		})
		all.oneOf(w, n)
	}},
	{"K13 an opening, a closing and a drop whose answers are lost are repeated and end as one", func(w *world) {
		f := NewFaulty(w.open(), nil)
		for i, faults := range faultSeries() {
			k, token := someKey(fmt.Sprint(i)), alloc.NewToken()
			f.SetPlan(Script("OpenKey", faults...))
			w.untilDone("OpenKey", func() error { _, err := f.OpenKey(w.Context(), k, token, nil); return err })
			w.isKept(w.findKey(w.elsewhere(), k), token, nil)
			f.SetPlan(Script("CloseKey", faults...))
			w.untilDone("CloseKey", func() error { _, err := f.CloseKey(w.Context(), k, token, []byte("answer")); return err })
			w.isKept(w.findKey(w.elsewhere(), k), token, []byte("answer"))
			dropped := someKey(fmt.Sprint("dropped ", i))
			w.openKey(w.open(), dropped, token, nil)
			f.SetPlan(Script("DropKey", faults...))
			w.untilDone("DropKey", func() error { _, _, err := f.DropKey(w.Context(), dropped, token); return err })
			w.noKey(w.open(), dropped)
		}
	}},
}

// keptAnswers collects what many callers were told of one key.
type keptAnswers struct {
	mu  sync.Mutex
	got []alloc.Kept
}

func (a *keptAnswers) add(k alloc.Kept) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.got = append(a.got, k)
}

// oneOf stops the test unless n callers got one record, done.
func (a *keptAnswers) oneOf(w *world, n int) {
	w.Helper()
	equal(w, len(a.got), n, "records")
	for _, k := range a.got {
		if k.Token != a.got[0].Token || !bytes.Equal(k.Answer, a.got[0].Answer) || !k.Done {
			w.Fatalf("records of one key: got %s %q and %s %q, want one, done", a.got[0].Token, a.got[0].Answer, k.Token, k.Answer)
		}
	}
}

func someKey(key string) alloc.Key {
	return *alloc.NewKey("client", "pool.create", "pool/p", key, "body of "+key)
}

func (w *world) openKey(s alloc.Store, k alloc.Key, token alloc.Token, answer []byte) alloc.Kept {
	w.Helper()
	got, err := s.OpenKey(w.Context(), k, token, answer)
	w.ok(err, "OpenKey")
	return got
}

func (w *world) closeKey(s alloc.Store, k alloc.Key, token alloc.Token, answer []byte) alloc.Kept {
	w.Helper()
	got, err := s.CloseKey(w.Context(), k, token, answer)
	w.ok(err, "CloseKey")
	return got
}

// dropKey drops, and wants no record of the token to stand.
func (w *world) dropKey(k alloc.Key, token alloc.Token) {
	w.Helper()
	left, ok, err := w.open().DropKey(w.Context(), k, token)
	w.ok(err, "DropKey")
	if ok {
		w.Fatalf("DropKey: got %+v left, want nothing", left)
	}
}

// leftKey is the record that a drop leaves.
func (w *world) leftKey(k alloc.Key, token alloc.Token) alloc.Kept {
	w.Helper()
	left, ok, err := w.open().DropKey(w.Context(), k, token)
	w.ok(err, "DropKey")
	equal(w, ok, true, "DropKey leaves the record")
	return left
}

func (w *world) findKey(s alloc.Store, k alloc.Key) (got alloc.Kept) {
	w.Helper()
	var ok bool
	w.untilDone("FindKey", func() (err error) { // a long answer may be cut off, which a client repeats
		got, ok, err = s.FindKey(w.Context(), k)
		return err
	})
	equal(w, ok, true, "the key is found")
	return got
}

func (w *world) noKey(s alloc.Store, k alloc.Key) {
	w.Helper()
	got, ok, err := s.FindKey(w.Context(), k)
	w.ok(err, "FindKey")
	if ok {
		w.Fatalf("FindKey: got %+v, want none", got)
	}
}

// isKept stops the test unless the record is the token's, with the answer; nil for an open one.
func (w *world) isKept(got alloc.Kept, token alloc.Token, answer []byte) {
	w.Helper()
	if got.Token != token || got.Done != (answer != nil) || !bytes.Equal(got.Answer, answer) {
		w.Fatalf("record of a key: got %s, done %t, %.40q; want %s, done %t, %.40q", got.Token, got.Done, got.Answer, token, answer != nil, answer)
	}
}
