package alloc

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// kind is what there is to administer. Pools and sequences are administered alike.
type kind string

const (
	aPool       kind = "pool"
	aSequence   kind = "sequence"
	aCredential kind = "credential"
)

// check refuses a name that none of the kind can have.
func (k kind) check(name string) error {
	if k == aCredential {
		return CredentialID(name).check()
	}
	return CheckName(name)
}

// covered is what the scope for a step on the one of the name has to cover.
func (k kind) covered(name string) string {
	if k == aCredential {
		return everything // what a credential may do has nothing to do with its ID
	}
	return name
}

// target is how the trail and the keys name one of the kind.
func (k kind) target(name string) string { return string(k) + "/" + name }

// config is a configuration with its defaults filled in.
type config interface {
	Check() error
	words() string
}

// create checks the configuration, makes the thing and leaves the record of it.
func create[N ~string, C config, T any](
	ctx context.Context, s *Service, on kind, name N, c C, do func(context.Context, N, C) (T, bool, error),
) (made T, created bool, err error) {
	st := step{need: ActionManage, on: on, name: string(name), verb: "create", detail: c.words}
	err = s.administer(ctx, st, func() (err error) {
		if err := c.Check(); err != nil {
			return err
		}
		made, created, err = do(ctx, name, c)
		return err
	})
	return made, created, err
}

// change checks the configuration, puts it in the place of that at version from and leaves the record of it.
func change[N ~string, C config, T any](
	ctx context.Context, s *Service, on kind, name N, from Version, c C, do func(context.Context, N, Version, C) (T, error),
) (changed T, err error) {
	st := step{need: ActionManage, on: on, name: string(name), verb: "change", detail: func() string {
		return fmt.Sprintf("from version %d to %s", from, c.words())
	}}
	err = s.administer(ctx, st, func() (err error) {
		if err := c.Check(); err != nil {
			return err
		}
		changed, err = do(ctx, name, from, c)
		return err
	})
	return changed, err
}

// setState sets one of the states for which there is a verb and leaves the record of it.
func setState[N, S ~string, T any](
	ctx context.Context, s *Service, on kind, name N, from Version, to S, verbs map[S]string, do func(context.Context, N, Version, S) (T, error),
) (changed T, err error) {
	st := step{need: ActionManage, on: on, name: string(name), verb: cmp.Or(verbs[to], "state"), detail: func() string {
		return "to " + quoteShort(string(to))
	}}
	err = s.administer(ctx, st, func() (err error) {
		if verbs[to] == "" {
			return Errorf(CodeInvalidRequest, "a %s cannot be set to the state %s", on, quoteShort(string(to)))
		}
		changed, err = do(ctx, name, from, to)
		return err
	})
	return changed, err
}

// recordTimeout bounds the writing of an audit record or a kept answer, which goes on when the caller's context has ended.
const recordTimeout = 2 * time.Second

// step is an administrative operation: what it needs, and what its record says.
type step struct {
	need   Action
	on     kind
	name   string // of the one of that kind
	verb   string
	detail func() string // asked for when the operation is over
}

// administer checks caller, name and scope, runs the operation and ends it with its audit record. Every call of a known
// caller on a well-formed name leaves exactly one, of success and of refusal alike; without a caller or a name there is
// nobody and nothing to write down. A change whose record cannot be written is reported as failed with an unknown
// outcome: repeating it repeats the record.
func (s *Service) administer(ctx context.Context, st step, run func() error) error {
	caller, err := s.someone(ctx)
	if err != nil {
		return err
	}
	if err := st.on.check(st.name); err != nil {
		return err
	}
	_, err = s.permit(ctx, st.need, st.on.covered(st.name))
	switch {
	case err == nil:
		err = run()
	case !Is(err, CodeForbidden):
		return err
	}
	if rerr := s.record(ctx, caller, st.on, st.name, st.verb, st.detail(), err); rerr != nil && err == nil {
		e := Errorf(CodeUnavailable, "the change was made, but its audit record could not be written; repeat the request").Because(rerr)
		e.Unknown, e.RetryAfter = true, time.Second
		return e
	}
	return err
}

// record writes the audit record of a step that ended with that error, or without one.
func (s *Service) record(ctx context.Context, caller Caller, on kind, name, verb, detail string, ended error) error {
	result := "ok"
	if ended != nil {
		result = string(CodeOf(ended))
	}
	at := s.now().UTC()
	return s.keep(ctx, caller, AuditRecord{
		ID: recordID(at, NewToken()), At: at, Action: string(on) + "." + verb, Target: on.target(name), Detail: detail, Result: result,
	})
}

// recordID names a record, which sorts by the time.
func recordID(at time.Time, unique Token) string {
	return at.UTC().Format("20060102T150405.000000Z") + "-" + string(unique)
}

// keep writes a record of what the caller did.
func (s *Service) keep(ctx context.Context, caller Caller, r AuditRecord) error {
	r.Client, r.Request, r.Address, r.Detail = caller.Client, caller.Request, caller.Address, clip(r.Detail)
	// What was done is done, also when nobody waits for the answer any more.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return s.store.Record(ctx, r)
}

// clip bounds a record's detail: what was refused may be of any length.
func clip(detail string) string {
	if len(detail) > MaxDetailBytes {
		detail = detail[:MaxDetailBytes-len("…")] + "…"
	}
	return strings.ToValidUTF8(detail, "")
}
