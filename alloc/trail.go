package alloc

import (
	"context"
	"fmt"
	"strings"
	"time"
)

// recordTimeout bounds the writing of an audit record or a kept answer, which goes on when the caller's context has ended.
const recordTimeout = 2 * time.Second

// begin is the record of a step of the caller that begins now, with nothing said of it yet.
func (s *Service) begin(caller Caller, on kind, name, verb string) AuditRecord {
	at := s.now().UTC()
	return by(caller, AuditRecord{ID: recordID(at, NewToken()), At: at, Action: string(on) + "." + verb, Target: on.target(name)})
}

// by is the record with who the caller is, and by what right.
func by(caller Caller, r AuditRecord) AuditRecord {
	r.Client, r.Role, r.Request, r.Address = caller.Client, caller.role(), caller.Request, caller.Address
	r.Reason, r.Plan = caller.Reason, caller.Plan
	return r
}

// role is by what right the caller asks.
func (c Caller) role() string {
	if c.Role != "" {
		return string(c.Role)
	}
	scopes := make([]string, len(c.Scopes))
	for i, scope := range c.Scopes {
		scopes[i] = scope.String()
	}
	return strings.Join(scopes, " ")
}

// end appends the record of a step that ended with that error, or without one.
func (s *Service) end(ctx context.Context, r AuditRecord, ended error) error {
	r.Result = "ok"
	if ended != nil {
		r.Result = string(CodeOf(ended))
	}
	return s.keep(ctx, r)
}

// record writes the audit record of a step that nobody was asked about before, as nobody can refuse it any more.
func (s *Service) record(ctx context.Context, caller Caller, on kind, name, verb, detail string, ended error) error {
	r := s.begin(caller, on, name, verb)
	r.Detail = detail
	return s.end(ctx, r, ended)
}

// recordID names a record, which sorts by the time.
func recordID(at time.Time, unique Token) string {
	return at.UTC().Format("20060102T150405.000000Z") + "-" + string(unique)
}

// keep appends a record. What was done is done, also when nobody waits for the answer any more.
func (s *Service) keep(ctx context.Context, r AuditRecord) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	return s.store.Record(ctx, bounded(r))
}

// bounded is the record with texts of bounded length, in UTF-8 all of them: what was refused may be of any, and what a Store could not give back as it was
// would show as changed.
func bounded(r AuditRecord) AuditRecord {
	client := string(r.Client)
	for _, text := range []*string{&r.ID, &client, &r.Role, &r.Action, &r.Target, &r.Detail, &r.Plan, &r.Reason, &r.Before, &r.After, &r.Result, &r.Request, &r.Address} {
		*text = clip(*text)
	}
	r.Client = ClientID(client)
	return r
}

// clip bounds a text of a record.
func clip(text string) string {
	if len(text) > MaxDetailBytes {
		text = text[:MaxDetailBytes-len("…")] + "…"
	}
	return strings.ToValidUTF8(text, "")
}

// standing implements standing.
func (p Pool) standing() string {
	return fmt.Sprintf("%s, version %d: %s", p.State, p.Version, p.Config.words())
}

// standing implements standing.
func (s Sequence) standing() string {
	return fmt.Sprintf("%s, version %d, next %d, epoch %d: %s", s.State, s.Version, s.Next, s.Epoch, s.Config.words())
}
