package alloc

import "time"

// taken is numbers that a caller has taken out of a line. Those of a request with an Idempotency-Key come back where the
// key turns out to have been answered before.
//
// No number is ever in two hands. A range is leased once: the Store answers it only when its ledger shows it apart from
// every other, and a rebuild of the sequence, whatever it finds, begins above all that the ledger has. So nobody else can
// be given its numbers, neither before nor after a rebuild; in this process each is in the stock or out with one caller,
// pop and put move it under the lock, and it is put back only by a caller who surely kept it under no key. A rebuild
// between the taking and the keeping therefore changes nothing for a number that is out. One that comes back after it is
// dropped as the stock was (settle): a restore of the whole table may have taken back the ledger's entry too, and what
// is not handed out can clash with nothing.
type taken struct {
	line    *line
	numbers stock
	drops   int // of the line, when they were taken
	keyed   bool
}

// takeWarm takes numbers without waiting or calling the Store, if it can.
func (s *segments) takeWarm(name SequenceName, a ask) (t taken, ok bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.lines[name]
	if l == nil || !l.isWarm(a, s.now()) {
		return taken{}, false
	}
	return l.pop(a), true
}

// isWarm reports whether the line can answer at once, out of turn for nobody.
func (l *line) isWarm(a ask, now time.Time) bool {
	return len(l.waiting) == 0 && l.isCurrent(now) && l.check(a) == nil && a.n <= l.stock.count()
}

// check is the part of Sequence.CheckLease that is about the request and its caller: a sequence that was just rebuilt serves only
// some, and those whom it does not serve get nothing out of memory either.
func (l *line) check(a ask) error {
	if err := l.sequence.checkShare(a.by); err != nil {
		return err
	}
	if err := l.sequence.checkCount(a.n); err != nil {
		return err
	}
	if l.sequence.Config.RequireKey && !a.keyed {
		return keyRequired("sequence", string(l.name))
	}
	return nil
}

func (l *line) pop(a ask) taken {
	if a.keyed {
		l.out += a.n
	}
	return taken{line: l, numbers: l.stock.pop(a.n), drops: l.drops, keyed: a.keyed}
}

// settle says of keyed numbers that they are used, or may be, or that they come back.
func (s *segments) settle(t taken, used bool) {
	if !t.keyed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := t.line
	l.out -= t.numbers.count()
	if !used && t.drops == l.drops {
		t.numbers.drop(func(p piece) bool { return p.epoch < l.sequence.Epoch })
		l.stock.put(t.numbers)
	}
	s.tidy(l)
}

// exhausted refuses a waiter beside whom only left are to be had. Where what is out might come back and be enough, it
// cannot be told yet.
func (l *line) exhausted(left Count, w *waiter) error {
	if w.n <= left+l.out {
		return Errorf(CodeBusy, "the last numbers of the sequence %q are on their way to requests that may not need them; nothing was taken; repeat the request", l.name).
			After(retrySoon)
	}
	return l.sequence.exhausted(left, w.n)
}
