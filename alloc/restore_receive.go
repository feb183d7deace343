package alloc

import (
	"bytes"
	"context"
	"errors"
	"slices"
)

// A log comes in parts of whole lines, as a seed file does, and is cut into pieces of lines as they came. Every line is read when it
// comes, and a part with one that cannot be read, or that is about another pool or sequence, is refused as a whole: what is missing from a restore may be
// given to somebody else, so it is for people to decide what such a line was.
const (
	logLineBytes = 64 << 10 // at most
	logPiece     = 500      // lines that a piece has at most

	// What a line of the result has at most: six times the bytes of an ID, as a character may be escaped, and this beside it.
	carryBytes = 700
)

// logIntake is how a restore reads its log.
var logIntake = intake{
	read:    (*Service).readLogPart,
	again:   func(Job, receivedPart) []string { return nil },
	ready:   (*Service).readyToRestore,
	nothing: "there are no lines in the log; cancel the job, or send at least one",
}

const logCut = "cut" // the mark where the last line that was received had no end

// readLogPart implements intake.
func (s *Service) readLogPart(_ context.Context, j Job, p receivedPart) (to Job, warnings []string, pieces [][]byte, err error) {
	switch {
	case !s.log.whole():
		return j, nil, nil, Errorf(CodeUnavailable, "this process cannot read logs; send the part to the API")
	case j.Mark == logCut:
		return j, nil, nil, Errorf(CodeInvalidRequest, "the part before this one does not end with a line end, so nothing can come after it; "+
			"cut the log at ends of lines: cancel this job, and send the log to a new one")
	}
	if err := checkEncoding(p.data); err != nil {
		return j, nil, nil, err
	}
	before := 0
	for _, in := range j.Inputs {
		before += in.Lines
	}
	var c logCutter
	lines := before
	for line := range bytes.Lines(p.data) {
		lines++
		text := bytes.TrimSpace(line)
		if len(text) == 0 {
			continue
		}
		l, err := s.readLogLine(j, text)
		if err != nil {
			return j, nil, nil, Errorf(CodeInvalidRequest, "line %d of the log: %s. Nothing of this part was taken", lines, asError(err).Message).Because(err)
		}
		c.add(text, l)
	}
	to = j
	to.Mark = ""
	if len(p.data) > 0 && p.data[len(p.data)-1] != '\n' {
		to.Mark = logCut
	}
	to.Total += c.count
	in := JobInput{Digest: p.digest, Pieces: len(c.pieces), Entries: c.count, Lines: lines - before}
	to.Inputs = append(slices.Clone(j.Inputs), in)
	return to, nil, c.pieces, nil
}

// readLogLine reads a line, and refuses one that the job cannot carry.
func (s *Service) readLogLine(j Job, text []byte) (LogLine, error) {
	if len(text) > logLineBytes {
		return LogLine{}, Errorf(CodeInvalidRequest, "it has more than %d bytes, which no line of a log has", logLineBytes)
	}
	l, err := withoutPanic(func() (LogLine, error) { return s.log.Decode(text) })
	if err != nil {
		return LogLine{}, Errorf(CodeInvalidRequest, "it cannot be read: %s", decodeMessage(err)).Because(err)
	}
	return l, l.checkFor(j)
}

// decodeMessage is what an error of a codec says.
func decodeMessage(err error) string {
	if e, ok := errors.AsType[*Error](err); ok {
		return clip(e.Message)
	}
	return clip(err.Error())
}

// checkFor refuses a line that is not about what the job restores, or that says what cannot be.
func (l LogLine) checkFor(j Job) error {
	switch {
	case (l.ID == nil) == (l.Lease == nil):
		return Errorf(CodeInvalidRequest, "it is neither about an ID nor about a lease")
	case l.ID != nil && (j.Pool == "" || l.ID.Pool != j.Pool):
		return Errorf(CodeInvalidRequest, "it is about the pool %s, and this job restores %s", quoteShort(string(l.ID.Pool)), j.restores())
	case l.Lease != nil && (j.Spec.Sequence == "" || l.Sequence != j.Spec.Sequence):
		return Errorf(CodeInvalidRequest, "it is about the sequence %s, and this job restores %s", quoteShort(string(l.Sequence)), j.restores())
	case l.Lease != nil:
		return l.Lease.checkLogged()
	}
	return l.ID.checkLogged()
}

// restores is what a job restores, in words.
func (j Job) restores() string {
	on, name := j.on()
	return "the " + string(on) + " " + quoteShort(name)
}

func (r IDRecord) checkLogged() error {
	if err := CheckID(string(r.ID)); err != nil {
		return err
	}
	switch r.State {
	case StateFree, StateHeld, StateClaimed, StateReturning, StateRetired:
	default:
		return Errorf(CodeInvalidRequest, "there is no state %s", quoteShort(string(r.State)))
	}
	if r.Generation < 0 {
		return Errorf(CodeInvalidRequest, "its generation is below 0")
	}
	return nil
}

func (e LeaseRecord) checkLogged() error {
	if e.Start > e.End || e.End > MaxNumber {
		return Errorf(CodeInvalidRequest, "no lease is from %d to %d", e.Start, e.End)
	}
	return nil
}

// logCutter cuts lines into pieces, each with its end. A piece is cut so that a line of the result for each of its lines surely fits a part.
type logCutter struct {
	pieces         [][]byte
	count          Count // lines in all
	lines, results int   // of the last piece
}

func (c *logCutter) add(text []byte, l LogLine) {
	result := carryBytes
	if l.ID != nil {
		result += 6 * len(l.ID.ID)
	}
	full := c.lines == logPiece || c.results+result > MaxPartBytes
	if n := len(c.pieces); n == 0 || full || len(c.pieces[n-1])+len(text)+1 > MaxPartBytes {
		c.pieces = append(c.pieces, nil)
		c.lines, c.results = 0, 0
	}
	last := &c.pieces[len(c.pieces)-1]
	*last = append(append(*last, text...), '\n')
	c.lines, c.results = c.lines+1, c.results+result
	c.count++
}
