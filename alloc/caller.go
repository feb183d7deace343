package alloc

import (
	"context"
	"strings"
	"time"
)

// ClientID names a caller: the credential's client, or a scheduled function. It scopes idempotency keys.
type ClientID string

// Action is what a scope permits.
type Action string

// The actions. An operation of Service names the one that it needs.
const (
	ActionClaim       Action = "claim"       // claim IDs of a pool
	ActionLease       Action = "lease"       // lease ranges and take numbers of a sequence
	ActionRead        Action = "read"        // see configuration, level, position, an ID by its name, the trail
	ActionExport      Action = "export"      // have the IDs of a pool, also those that are free, written to a file, and get it
	ActionSeed        Action = "seed"        // add IDs to a pool
	ActionOperate     Action = "operate"     // pause and resume what is active or paused
	ActionManage      Action = "manage"      // create, change, pause, drain, delete: whoever may do that may operate too
	ActionTend        Action = "tend"        // the schedule's work: sweep
	ActionCredentials Action = "credentials" // make, change, rotate and revoke credentials; it needs the pattern "*"
)

// Scope permits one action on the pools and sequences whose name matches Pattern: a name, or a prefix ending in '*'.
// The action "*" permits all.
type Scope struct {
	Action  Action
	Pattern string
}

// AllScopes permits everything on everything.
func AllScopes() []Scope { return []Scope{{Action: "*", Pattern: "*"}} }

// everything stands for all names, where an operation needs its action on all: only the pattern "*" covers it.
const everything = "*"

// Check refuses a scope that permits nothing or something else than it seems to, with CodeInvalidRequest.
func (s Scope) Check() error {
	switch s.Action {
	case "*", ActionClaim, ActionLease, ActionRead, ActionExport, ActionSeed, ActionOperate, ActionManage, ActionTend, ActionCredentials:
	default:
		return Errorf(CodeInvalidRequest, "a scope cannot permit %s; its action is claim, lease, read, export, seed, operate, manage, tend, credentials or *", quoteShort(string(s.Action)))
	}
	if s.Pattern == everything {
		return nil
	}
	if err := CheckName(strings.TrimSuffix(s.Pattern, "*")); err != nil {
		return Errorf(CodeInvalidRequest, "the scope's pattern %s is not allowed: it is a name, the beginning of one and '*', or '*' alone", quoteShort(s.Pattern))
	}
	return nil
}

// includes reports whether whoever is permitted the action is permitted the other.
func (a Action) includes(other Action) bool {
	return a == other || a == "*" || a == ActionManage && other == ActionOperate
}

// Permits reports whether the scope covers the action on the name.
func (s Scope) Permits(a Action, name string) bool {
	if !s.Action.includes(a) {
		return false
	}
	if name == everything {
		return s.Pattern == everything
	}
	if prefix, ok := strings.CutSuffix(s.Pattern, "*"); ok {
		return strings.HasPrefix(name, prefix)
	}
	return s.Pattern == name
}

// Caller is who asks. The edge (lambdahttp, local) puts it into the context; Service takes it from there.
type Caller struct {
	Client  ClientID
	Scopes  []Scope
	Request string // request ID, for the trail
	Address string // remote address, for the trail
	Reason  string // why, for the trail, where the request itself has no place for it
	Plan    string // that was confirmed, for the trail, the same

	Role Role // of whoever is signed in to the dashboard; "" for a credential

	// Of a credential that is stored; zero for the one of the configuration.
	Credential CredentialID
	Quota      Count     // IDs and numbers that it may take in an hour; 0 for no bound
	Expires    time.Time // zero for never
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// AsSchedule returns a context whose caller is the schedule: it may tend everything, and nothing else.
func AsSchedule(ctx context.Context) context.Context {
	return WithCaller(ctx, Caller{Client: ScheduleClient, Scopes: []Scope{{Action: ActionTend, Pattern: everything}}})
}

// CallerFrom returns the caller that WithCaller put into ctx.
func CallerFrom(ctx context.Context) (Caller, bool) {
	c, ok := ctx.Value(callerKey{}).(Caller)
	return c, ok && c.Client != ""
}

func (c Caller) permits(a Action, name string) bool {
	for _, s := range c.Scopes {
		if s.Permits(a, name) {
			return true
		}
	}
	return false
}

// permit returns the caller and whether its scopes cover the action on the name: CodeUnauthenticated without a caller,
// CodeForbidden without the scope (the caller is returned all the same, for the trail).
func (s *Service) permit(ctx context.Context, a Action, name string) (Caller, error) {
	c, err := s.someone(ctx)
	if err != nil {
		return Caller{}, err
	}
	if !c.permits(a, name) {
		return c, Errorf(CodeForbidden, "this needs the scope %s:%s, which this credential does not have; ask an administrator for it", a, name)
	}
	return c, nil
}

// someone returns the caller, or CodeUnauthenticated. A caller may have been made a while ago, so its end is looked at
// again.
func (s *Service) someone(ctx context.Context) (Caller, error) {
	c, ok := CallerFrom(ctx)
	if !ok {
		return Caller{}, Errorf(CodeUnauthenticated, "send a credential: Authorization: Bearer …")
	}
	if !c.Expires.IsZero() && !s.now().Before(c.Expires) {
		return Caller{}, expired()
	}
	return c, nil
}

// admit checks that there is a caller, then the name, then the scope: see permit.
func (s *Service) admit(ctx context.Context, a Action, name string) (Caller, error) {
	if _, err := s.someone(ctx); err != nil {
		return Caller{}, err
	}
	if err := CheckName(name); err != nil {
		return Caller{}, err
	}
	return s.permit(ctx, a, name)
}
