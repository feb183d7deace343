package alloc

import (
	"context"
	"errors"
	"sort"
	"time"

	"idpool/alloc/generator"
)

// generate makes up to n IDs for the batch that was ordered. why says for what reason it can make none; "" where it can.
func (f *filling) generate(ctx context.Context, n Count) (ids []ID, why string, err error) {
	g := f.pool.Config.Generator
	if g.Kind == generator.Sequence {
		return f.number(ctx, n)
	}
	made, err := g.Generate(int(n), f.now())
	if err != nil {
		return nil, "", badGenerator(err)
	}
	if len(made) == 0 {
		return nil, "it has no IDs to make: change it so that there are some", nil
	}
	ids, err = asIDs(made)
	return ids, "", err
}

// asIDs checks what a generator has made: a Store trusts it.
func asIDs(made []string) ([]ID, error) {
	ids := make([]ID, len(made))
	for i, text := range made {
		if err := CheckID(text); err != nil {
			return nil, badGenerator(err)
		}
		ids[i] = ID(text)
	}
	return ids, nil
}

// badGenerator is for a stored generator that does not work, though it was checked before it was stored.
func badGenerator(cause error) *Error {
	return Errorf(CodeInternal, "the pool's generator does not work; change it").Because(cause)
}

// number makes IDs of the numbers of the sequence. They are leased under the name of the order, so that every run that
// carries it out has the same ones, and none is lost to a crash: within KeyRetention, that is. Where the order's period is
// over, the numbers that were leased for it are still used. If none were, one is: a run that sleeps since it was ordered gets the
// same one when it wakes, and not others that nobody would have. After KeyRetention, or where there is none to be had, it
// is ordered anew.
func (f *filling) number(ctx context.Context, n Count) (ids []ID, why string, err error) {
	g, at, now := f.pool.Config.Generator, orderOf(f.rec).at(), f.now()
	wanted, over := n, periodOf(g, at) != periodOf(g, now) && now.After(at)
	var old *Error
	if over {
		wanted = 1
	}
	if over && now.Sub(at) >= KeyRetention {
		old = Errorf(CodeSequenceExhausted, "the period of the sequence %q is over", periodOf(g, at))
	}
	r, refusal, err := f.lease(ctx, periodOf(g, at), at, wanted, old)
	if over && refusal != nil {
		if err := f.orderAnew(ctx); err != nil {
			return nil, "", err
		}
		at = orderOf(f.rec).at()
		r, refusal, err = f.lease(ctx, periodOf(g, at), at, n, nil)
	}
	switch {
	case err != nil:
		return nil, "", err
	case refusal != nil:
		return nil, refusal.Message, nil
	}
	return f.numbered(r, at)
}

// orderAnew puts an order of this moment in the place of one for which nothing was leased.
func (f *filling) orderAnew(ctx context.Context) error {
	r := f.rec
	f.order(&r)
	_, err := f.change(ctx, r)
	return err
}

// numbered writes the numbers as IDs of the period that the time is in, as far as they fit the format.
func (f *filling) numbered(r Range, at time.Time) (ids []ID, why string, err error) {
	g := f.pool.Config.Generator
	for i := r.Start; i <= r.End; i++ {
		text, err := g.Number(uint64(i), at)
		switch {
		case errors.Is(err, generator.ErrOverflow) && len(ids) > 0:
			return ids, "", nil
		case errors.Is(err, generator.ErrOverflow):
			return nil, overflows(g, err).Message, nil
		case err == nil:
			err = CheckID(text)
		}
		if err != nil {
			return nil, "", badGenerator(err)
		}
		ids = append(ids, ID(text))
	}
	return ids, "", nil
}

func overflows(g generator.Config, cause error) *Error {
	return Errorf(CodeSequenceExhausted, "the numbers of the sequence %q do not fit the format %q any more: give it more places, or let it overflow", g.Sequence, g.Format).
		Because(cause)
}

// lease takes up to n numbers, or those that were taken for this order before: these alone where there is a refusal. The
// refusal that is returned is why there are none to be had.
func (f *filling) lease(ctx context.Context, name SequenceName, at time.Time, n Count, refusal *Error) (Range, *Error, error) {
	if refusal == nil {
		var err error
		if n, refusal, err = f.grant(ctx, name, at, n); err != nil {
			return Range{}, nil, err
		}
	}
	key := NewKey("", "refill", aPool.target(string(f.pool.Name)), string(name)+"/"+string(orderOf(f.rec)), string(f.pool.Name), string(name))
	o := LeaseOrder{Sequence: name, Count: max(1, n), By: f.caller.Client, Key: key, Refusal: refusal}
	r, err := f.store.Lease(ctx, o)
	if e := asError(err); err != nil && e.Code == CodeSequenceExhausted && refusal == nil && e.Remaining > 0 {
		o.Count = e.Remaining // somebody else took some
		r, err = f.store.Lease(ctx, o)
	}
	switch CodeOf(err) {
	case "":
		return r, nil, nil
	case CodeSequenceExhausted, CodeSequencePaused, CodeSequenceStopped, CodeSequenceDeleted, CodeSequenceNotFound, CodeSequenceExists:
		if refusal != nil && Is(err, refusal.Code) { // which says more
			return Range{}, refusal, nil
		}
		return Range{}, asError(err), nil
	}
	return Range{}, nil, err
}

// grant is how many numbers, up to n, may be leased now, with the refusal where it is none.
func (f *filling) grant(ctx context.Context, name SequenceName, at time.Time, n Count) (Count, *Error, error) {
	q, refusal, err := f.counter(ctx, name)
	if err != nil || refusal != nil {
		return 0, refusal, err
	}
	if n = min(n, q.Config.MaxLease, q.Remaining()); n == 0 {
		return 0, nil, nil // the Store refuses
	}
	n, refusal = fitting(f.pool.Config.Generator, q.Next, at, n)
	return n, refusal, nil
}

// fitting is how many numbers from next on, up to n, there is room for in the format, with the refusal where it is none.
func fitting(g generator.Config, next Number, at time.Time, n Count) (Count, *Error) {
	var first error
	fit := sort.Search(int(n), func(i int) bool {
		_, err := g.Number(uint64(next)+uint64(i), at)
		if i == 0 {
			first = err
		}
		return errors.Is(err, generator.ErrOverflow)
	})
	if fit == 0 {
		return 0, overflows(g, first)
	}
	return Count(fit), nil
}
