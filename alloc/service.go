package alloc

import (
	"context"
	"errors"
	"fmt"
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

// withoutPanic makes of a panic in a call of the Store an error. In a goroutine that is no caller's own nobody above
// would stop it from ending the process.
func withoutPanic[A any](call func() (A, error)) (a A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Errorf(CodeInternal, "something went wrong on our side").Because(fmt.Errorf("panic in the Store: %v", p))
		}
	}()
	return call()
}
