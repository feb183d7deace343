package alloc

import (
	"context"
	"errors"
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
	if _, err := permit(ctx, ActionRead, "*"); err != nil {
		return nil, err
	}
	if err := checkPage(limit); err != nil {
		return nil, err
	}
	return s.store.Records(ctx, before, limit)
}

// audited runs an administrative step and ends it with its audit record, of success and of refusal alike. A step whose
// record cannot be written is reported as failed with an unknown outcome: repeating it repeats the record.
func (s *Service) audited(ctx context.Context, c Caller, action, target, detail string, step func() error) error {
	err := step()
	result := "ok"
	if err != nil {
		result = string(CodeOf(err))
	}
	at := s.now().UTC()
	rec := AuditRecord{
		ID: at.Format("20060102T150405.000000Z") + "-" + string(NewToken()), At: at,
		Client: c.Client, Action: action, Target: target, Detail: detail, Result: result, Request: c.Request, Address: c.Address,
	}
	if rerr := s.store.Record(ctx, rec); rerr != nil && err == nil {
		e := Errorf(CodeUnavailable, "the change was made, but its audit record could not be written; repeat the request").Because(rerr)
		e.Unknown, e.RetryAfter = true, time.Second
		return e
	}
	return err
}

func checkPage(limit int) error {
	if limit < 1 || limit > 100 {
		return Errorf(CodeInvalidCount, "limit must be 1 to 100")
	}
	return nil
}
