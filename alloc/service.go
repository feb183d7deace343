package alloc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"time"
)

// Config is what a Service is made of.
type Config struct {
	Store Store            // required
	Now   func() time.Time // default time.Now

	// VerifyFor is how long a secret that was verified is trusted without reading the Store: 0 for not at all, at most
	// MaxVerifyFor. A revocation in another process holds that much later.
	VerifyFor time.Duration

	// SessionIdle is after how long without use a session at the dashboard ends, SessionLifetime after how long in any case. Zero for the
	// defaults; SessionIdle is two minutes at least, SessionLifetime at most MaxSessionLifetime.
	SessionIdle, SessionLifetime time.Duration

	// Queue takes word of a job's next step to a worker, which calls Work. Without one the schedule carries the jobs on itself.
	Queue Queue

	// Old is the table from before a restore, for jobs of RestoreTable; nil for none.
	Old Old

	// Encoders are the formats of an export, by their names. A process without a job's format leaves that to others.
	Encoders map[string]Encoder

	// Log is the form of logs, findings and restores. All of it or nothing: a process without it leaves the jobs that need it to others.
	Log LogCodec

	// Ended is told of each job that this process has brought to its end, once as far as is known: that of which the answer was lost, maybe not. It
	// returns soon. nil tells nobody.
	Ended func(context.Context, Job)

	// Stopped is told of each sequence that this process meets stopped, once until it meets that open again. It returns soon. nil tells nobody.
	Stopped func(context.Context, Stop)
}

// Service has the operations of idpool. Each checks its caller's scopes first (CodeUnauthenticated, CodeForbidden), then
// its input, then calls the Store. It is safe for concurrent use; one per process.
type Service struct {
	store    Store
	now      func() time.Time
	segments *segments
	quotas   *quotas
	cursors  *cursors
	verified *verified
	uses     *uses
	encoders map[string]Encoder
	queue    Queue
	old      Old
	log      LogCodec
	ended    func(context.Context, Job)

	sessionIdle, sessionLifetime time.Duration
}

// NewService returns a ready Service.
func NewService(c Config) (*Service, error) {
	if c.Store == nil {
		return nil, errors.New("alloc: Config.Store is required")
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.VerifyFor < 0 || c.VerifyFor > MaxVerifyFor {
		return nil, fmt.Errorf("alloc: Config.VerifyFor must be 0 to %s", MaxVerifyFor)
	}
	if c.Log.some() && !c.Log.whole() {
		return nil, errors.New("alloc: Config.Log lacks some of its functions")
	}
	idle, lifetime := cmp.Or(c.SessionIdle, DefaultSessionIdle), cmp.Or(c.SessionLifetime, DefaultSessionLifetime)
	if idle < 2*sessionTouch || lifetime < idle || lifetime > MaxSessionLifetime {
		return nil, fmt.Errorf("alloc: Config.SessionIdle must be at least %s, and Config.SessionLifetime that to %s", 2*sessionTouch, MaxSessionLifetime)
	}
	if c.Stopped != nil {
		c.Store = &watched{Store: c.Store, tell: c.Stopped, told: map[SequenceName]bool{}}
	}
	return &Service{
		sessionIdle: idle, sessionLifetime: lifetime,
		store: c.Store, now: c.Now, verified: newVerified(c.VerifyFor), uses: &uses{}, encoders: maps.Clone(c.Encoders), queue: c.Queue, old: c.Old, log: c.Log, ended: c.Ended,
		segments: newSegments(c.Store, c.Now), quotas: newQuotas(c.Store, c.Now), cursors: &cursors{store: c.Store},
	}, nil
}

// Ready makes one cheap read, to show that the engine answers. It needs no caller.
func (s *Service) Ready(ctx context.Context) error { return s.store.Ready(ctx) }

// withoutPanic makes of a panic in a call an error. In a goroutine that is no caller's own nobody above
// would stop it from ending the process.
func withoutPanic[A any](call func() (A, error)) (a A, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = Errorf(CodeInternal, "something went wrong on our side").Because(fmt.Errorf("panic: %v", p))
		}
	}()
	return call()
}
