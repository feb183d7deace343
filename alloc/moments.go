package alloc

import "time"

// Times that callers give are within these: every Store keeps them exactly, and what is outside is a slip.
var (
	firstMoment = time.Date(2000, time.January, 1, 0, 0, 0, 0, time.UTC)
	lastMoment  = time.Date(2200, time.January, 1, 0, 0, 0, 0, time.UTC)
)

// checkMoment is the one rule for times that callers give; the zero time is one that is not given. what names it.
func checkMoment(what string, t time.Time) error {
	if !t.IsZero() && (t.Before(firstMoment) || !t.Before(lastMoment)) {
		return Errorf(CodeInvalidRequest, "%s must be a time from the year 2000 on and before the year 2200", what)
	}
	return nil
}

// checkPast is checkMoment for a time at which something has been.
func checkPast(what string, t, now time.Time) error {
	if err := checkMoment(what, t); err != nil {
		return err
	}
	if t.After(now) {
		return Errorf(CodeInvalidRequest, "%s must not be in the future", what)
	}
	return nil
}
