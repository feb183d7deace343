package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// Bounds of insisting on a call.
const (
	insistFirst    = 20 * time.Millisecond
	insistLongest  = time.Second
	insistThrottle = 60 // attempts, of a call that is throttled
	insistLost     = 4  // attempts, of a call that gets no answer
)

// insist repeats a call that was throttled or got no answer, with growing pauses, within the context. Only calls that
// may be repeated blindly are made through it: puts that know themselves again and conditional changes of state. Claims
// never are; whoever makes one waits for the answer and had rather repeat by himself.
func (s *Store) insist(ctx context.Context, call func() error) error {
	var throttles, losses int
	var doubt bool // an earlier attempt may have been applied
	for pause := insistFirst; ; pause = min(2*pause, insistLongest) {
		err := call()
		switch alloc.CodeOf(err) {
		case alloc.CodeThrottled:
			throttles++
		case alloc.CodeUnavailable:
			losses++
		default:
			return err
		}
		if doubt = doubt || isUnknown(err); doubt {
			err = unsettled(err)
		}
		if throttles == insistThrottle || losses == insistLost {
			return err
		}
		if s.wait(ctx, pause/2+time.Duration(s.intN(int(pause/2)))) != nil {
			return err
		}
	}
}

// wait waits within the context.
func (s *Store) wait(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return outOfTime(ctx)
	}
}
