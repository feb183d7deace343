package alloc

import (
	"context"
	"errors"
	"strings"
	"time"
)

// Config is what a Service is made of.
type Config struct {
	Store Store            // required
	Now   func() time.Time // default time.Now
}

// Service has the operations of idpool. Each checks its caller's scopes first (CodeUnauthenticated, CodeForbidden), then
// its input, then calls the Store. It is safe for concurrent use; one per process.
type Service struct {
	store    Store
	now      func() time.Time
	segments *segments
}

// NewService returns a ready Service.
func NewService(c Config) (*Service, error) {
	if c.Store == nil {
		return nil, errors.New("alloc: Config.Store is required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return &Service{store: c.Store, now: c.Now, segments: newSegments(c.Store, c.Now)}, nil
}

// Ready makes one cheap read, to show that the engine answers. It needs no caller.
func (s *Service) Ready(ctx context.Context) error { return s.store.Ready(ctx) }

// Trail returns the administrative steps, newest first, older than the record ID given ("": from the newest); at most
// limit, 1 to 100.
func (s *Service) Trail(ctx context.Context, before string, limit int) ([]AuditRecord, error) {
	if _, err := permit(ctx, ActionRead, everything); err != nil {
		return nil, err
	}
	if err := checkPage(limit); err != nil {
		return nil, err
	}
	if before != "" && CheckKey(before) != nil {
		return nil, Errorf(CodeInvalidRequest, "before must be the ID of a record, as an earlier page gave it")
	}
	return s.store.Records(ctx, before, limit)
}

// recordTimeout bounds the writing of an audit record, which goes on when the caller's context has ended.
const recordTimeout = 2 * time.Second

// step is an administrative operation: what it needs, and what its record says.
type step struct {
	need   Action
	name   string // of the pool or sequence
	action string
	target string
	detail func() string // asked for when the operation is over
}

// administer checks caller, name and scope, runs the operation and ends it with its audit record. Every call of a known
// caller on a well-formed name leaves exactly one, of success and of refusal alike; without a caller or a name there is
// nobody and nothing to write down. A change whose record cannot be written is reported as failed with an unknown
// outcome: repeating it repeats the record.
func (s *Service) administer(ctx context.Context, st step, run func() error) error {
	caller, err := admit(ctx, st.need, st.name)
	switch {
	case err == nil:
		err = run()
	case !Is(err, CodeForbidden):
		return err
	}
	result := "ok"
	if err != nil {
		result = string(CodeOf(err))
	}
	at := s.now().UTC()
	rec := AuditRecord{
		ID: at.Format("20060102T150405.000000Z") + "-" + string(NewToken()), At: at,
		Client: caller.Client, Action: st.action, Target: st.target, Detail: clip(st.detail()), Result: result,
		Request: caller.Request, Address: caller.Address,
	}
	// What was done is done, also when nobody waits for the answer any more.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordTimeout)
	defer cancel()
	if rerr := s.store.Record(rctx, rec); rerr != nil && err == nil {
		e := Errorf(CodeUnavailable, "the change was made, but its audit record could not be written; repeat the request").Because(rerr)
		e.Unknown, e.RetryAfter = true, time.Second
		return e
	}
	return err
}

// clip bounds a record's detail: what was refused may be of any length.
func clip(detail string) string {
	if len(detail) > MaxDetailBytes {
		detail = detail[:MaxDetailBytes-len("…")] + "…"
	}
	return strings.ToValidUTF8(detail, "")
}

// checkList checks the bounds of a page of a list by names.
func checkList(after string, limit int) error {
	if after != "" {
		if err := CheckName(after); err != nil {
			return err
		}
	}
	return checkPage(limit)
}

func checkPage(limit int) error {
	if limit < 1 || limit > 100 {
		return Errorf(CodeInvalidCount, "limit must be 1 to 100")
	}
	return nil
}
