package alloc

import (
	"cmp"
	"context"
	"fmt"
	"time"
)

// kind is what there is to administer. Pools and sequences are administered alike.
type kind string

const (
	aPool       kind = "pool"
	aSequence   kind = "sequence"
	aCredential kind = "credential"
	aSession    kind = "session"
	aClient     kind = "client" // whose sessions they are
	aTrail      kind = "trail"  // there is one, which has no name
)

// check refuses a name that none of the kind can have.
func (k kind) check(name string) error {
	switch k {
	case aCredential:
		return CredentialID(name).check()
	case aSession:
		return SessionID(name).check()
	case aClient:
		return checkSignedIn(ClientID(name))
	case aTrail:
		return nil
	}
	return CheckName(name)
}

// covered is what the scope for a step on the one of the name has to cover.
func (k kind) covered(name string) string {
	switch k {
	case aCredential: // what it may do has nothing to do with its ID
		return everything
	case aTrail, aSession, aClient: // they are about everything
		return everything
	}
	return name
}

// target is how the trail and the keys name one of the kind.
func (k kind) target(name string) string {
	if k == aTrail {
		return string(k)
	}
	return string(k) + "/" + name
}

// config is a configuration with its defaults filled in.
type config interface {
	Check() error
	words() string
}

// standing is one of the kinds as a Store has it.
type standing interface {
	standing() string // its state and its configuration, in words
}

// create checks the configuration, makes the thing and leaves the record of it.
func create[N ~string, C config, T standing](
	ctx context.Context, s *Service, on kind, name N, c C, do func(context.Context, N, C) (T, bool, error),
) (made T, created bool, err error) {
	before, after := "", ""
	st := step{need: ActionManage, on: on, name: string(name), verb: "create", detail: c.words, before: said(&before), after: said(&after)}
	err = s.administer(ctx, st, func() (err error) {
		if err := c.Check(); err != nil {
			return err
		}
		if made, created, err = do(ctx, name, c); err != nil {
			return err
		}
		if after = made.standing(); !created {
			before = after
		}
		return nil
	})
	return made, created, err
}

// change checks the configuration, puts it in the place of that at version from and leaves the record of it, with what look
// reads before.
func change[N ~string, C config, T standing](
	ctx context.Context, s *Service, on kind, name N, from Version, c C,
	look func(context.Context, N) (T, error), do func(context.Context, N, Version, C) (T, error),
) (changed T, err error) {
	before, after := "", ""
	st := step{need: ActionManage, on: on, name: string(name), verb: "change", before: said(&before), after: said(&after), detail: func() string {
		return fmt.Sprintf("from version %d to %s", from, c.words())
	}}
	err = s.administer(ctx, st, func() (err error) {
		if err := c.Check(); err != nil {
			return err
		}
		before = looked(ctx, name, look)
		if changed, err = do(ctx, name, from, c); err == nil {
			after = changed.standing()
		}
		return err
	})
	return changed, err
}

// setState sets one of the states for which there is a verb and leaves the record of it, with what look reads before.
func setState[N, S ~string, T standing](
	ctx context.Context, s *Service, on kind, name N, from Version, to S, verbs map[S]string,
	look func(context.Context, N) (T, error), do func(context.Context, N, Version, S) (T, error),
) (changed T, err error) {
	before, after := "", ""
	st := step{
		need: needFor(string(to)), on: on, name: string(name), verb: cmp.Or(verbs[to], "state"), before: said(&before), after: said(&after),
		detail: func() string { return "to " + quoteShort(string(to)) },
	}
	err = s.administer(ctx, st, func() (err error) {
		if verbs[to] == "" {
			return Errorf(CodeInvalidRequest, "a %s cannot be set to the state %s", on, quoteShort(string(to)))
		}
		before = looked(ctx, name, look)
		if changed, err = do(ctx, name, from, to); err == nil {
			after = changed.standing()
		}
		return err
	})
	return changed, err
}

// needFor is what it takes to set a state: to pause and to resume is to operate, which takes nothing away for good.
func needFor(state string) Action {
	if state == string(PoolActive) || state == string(PoolPaused) { // those of sequences have the same names
		return ActionOperate
	}
	return ActionManage
}

// looked is how the thing stands, for the record of a step: "" where that cannot be read, as the step itself will say why.
func looked[N ~string, T standing](ctx context.Context, name N, look func(context.Context, N) (T, error)) string {
	t, err := look(ctx, name)
	if err != nil {
		return ""
	}
	return t.standing()
}

// said gives what a variable says when it is asked for.
func said(text *string) func() string { return func() string { return *text } }

// step is an administrative operation: what it needs, and what its record says. What is told by a function is asked for when the
// operation is over, and for the intent of it before it begins; nil is nothing.
type step struct {
	need   Action
	on     kind
	name   string // of the one of that kind
	verb   string
	detail func() string
	plan   func() string // the ID of the plan that is carried out
	reason func() string // that the caller gave
	before func() string // how the thing stood before, and after it, in words
	after  func() string
}

// says returns the record as it is to be at this moment, without a result.
func (st step) says(r AuditRecord) AuditRecord {
	ask := func(f func() string) string {
		if f == nil {
			return ""
		}
		return f()
	}
	r.Detail, r.Before, r.After = ask(st.detail), ask(st.before), ask(st.after)
	r.Plan, r.Reason = cmp.Or(ask(st.plan), r.Plan), cmp.Or(ask(st.reason), r.Reason) // the caller's where the step has none
	return r
}

// administer checks caller, name and scope, keeps the intent in the trail, runs the operation and ends it with its audit record.
// Every call of a known caller on a well-formed name leaves exactly one, of success and of refusal alike; without a caller
// or a name there is nobody and nothing to write down.
//
// It fails closed: where the intent cannot be written, nothing is done. A change whose record cannot be written after it is reported as failed with an
// unknown outcome: the schedule ends its record as ResultUnknown, and the request can be repeated, which leaves a record of its own.
func (s *Service) administer(ctx context.Context, st step, run func() error) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	if err := st.on.check(st.name); err != nil {
		return err
	}
	r := s.begin(caller, st.on, st.name, st.verb)
	_, err = s.permit(ctx, st.need, st.on.covered(st.name))
	switch {
	case err == nil:
		if err := s.intend(ctx, st.says(r)); err != nil {
			return err
		}
		err = run()
	case !Is(err, CodeForbidden):
		return err
	}
	if rerr := s.end(ctx, st.says(r), err); rerr != nil && err == nil {
		e := Errorf(CodeUnavailable, "the change was made, but its audit record could not be written; repeat the request").Because(rerr)
		e.Unknown, e.RetryAfter = true, time.Second
		return e
	}
	return err
}

// intend keeps the record of a step that is about to begin. A failure is the reason not to begin.
func (s *Service) intend(ctx context.Context, r AuditRecord) error {
	ctx, cancel := context.WithTimeout(ctx, recordTimeout)
	defer cancel()
	if err := insist(func() error { return s.store.Intend(ctx, bounded(r)) }); err != nil {
		e := Errorf(CodeUnavailable, "nothing was changed, as the trail could not take down what was about to be; repeat the request").Because(err)
		e.RetryAfter = max(time.Second, asError(err).RetryAfter)
		return e
	}
	return nil
}
