package alloc

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"time"
)

// A log comes in parts of whole lines, as a seed file does, and is cut into pieces of lines as they came. Every line is read when it
// comes, and a part with one that cannot be read, or that is about another pool or sequence, is refused as a whole: what is missing from a restore may be
// given to somebody else, so it is for people to decide what such a line was. So the first line has to say what the log is of, and the last one, after
// which nothing comes, that the lines before it are all of it: nothing is carried of a log that is not whole.
const (
	logLineBytes = 64 << 10 // at most
	logPiece     = 500      // lines that a piece has at most

	// The greatest generation and epoch of a line: half of what there is, as each rises by one in what follows.
	maxLogged = math.MaxInt64 / 2

	// What a line of the result has at most: six times the bytes of an ID, as a character may be escaped, and this beside it.
	carryBytes = 700
)

// logIntake is how a restore reads its log.
var logIntake = intake{
	read:  (*Service).readLogPart,
	again: func(Job, receivedPart) []string { return nil },
	ready: func(s *Service, ctx context.Context, j Job) error {
		if j.Mark != logWhole {
			return Errorf(CodeInvalidRequest, "the log is not whole: its last line is missing, with the number of its lines; send the rest, or cancel the job and have a new log written")
		}
		return s.readyToRestore(ctx, j)
	},
}

const logWhole = "whole" // the mark where all lines of the log have come; before that it is their logSum

// readLogPart implements intake.
func (s *Service) readLogPart(_ context.Context, j Job, p receivedPart) (to Job, warnings []string, pieces [][]byte, err error) {
	if !s.log.whole() {
		return j, nil, nil, Errorf(CodeUnavailable, "this process cannot read logs; send the part to the API")
	}
	if err := checkEncoding(p.data); err != nil {
		return j, nil, nil, err
	}
	r, err := s.goOnReading(j)
	if err != nil {
		return j, nil, nil, err
	}
	before := r.lines
	for line := range bytes.Lines(p.data) {
		r.lines++
		if err := r.read(line); err != nil {
			return j, nil, nil, Errorf(CodeInvalidRequest, "line %d of the log: %s. Nothing of this part was taken", r.lines, asError(err).Message).Because(err)
		}
	}
	to = j
	to.Mark = r.mark()
	to.Total += r.cut.count
	in := JobInput{Digest: p.digest, Pieces: len(r.cut.pieces), Entries: r.cut.count, Lines: r.lines - before}
	to.Inputs = append(slices.Clone(j.Inputs), in)
	return to, nil, r.cut.pieces, nil
}

// logReader reads a log for a job, line by line.
type logReader struct {
	s     *Service
	job   Job
	lines int // of the file
	sum   logSum
	whole bool
	cut   logCutter
}

// goOnReading returns a reader as the parts that the job has have left it.
func (s *Service) goOnReading(j Job) (r *logReader, err error) {
	r = &logReader{s: s, job: j, whole: j.Mark == logWhole}
	for _, in := range j.Inputs {
		r.lines += in.Lines
	}
	if j.Mark != "" && !r.whole {
		r.sum, err = readLogSum(j.Mark)
	}
	return r, err
}

func (r *logReader) mark() string {
	if r.whole {
		return logWhole
	}
	return r.sum.String()
}

// read takes the next line, with its end.
func (r *logReader) read(line []byte) error {
	text := bytes.TrimSpace(line)
	if len(text) == 0 {
		return nil
	}
	l, err := r.s.readLogLine(text)
	switch {
	case err != nil:
		return err
	case r.whole && l.Head != nil:
		return Errorf(CodeInvalidRequest, "another log begins here; a job takes one: make a job for each, the oldest first")
	case r.whole:
		return Errorf(CodeInvalidRequest, "the log has come to its end before it, so it does not belong to it; send the log as it was fetched")
	case l.Tail != nil:
		return r.end(*l.Tail)
	case line[len(line)-1] != '\n':
		return Errorf(CodeInvalidRequest, "it has no end, and is not the last of the log; cut the log at ends of lines")
	}
	err = l.checkFor(r.job)
	switch {
	case !r.sum.begun() && l.Head == nil:
		return Errorf(CodeInvalidRequest, "a log begins with a line that says what it is of, and this one does not: its beginning is missing, "+
			"or it was written by a version whose logs do not tell whether they are whole. Send the log from its beginning, or have a new one written")
	case r.sum.begun() && l.Head != nil:
		return Errorf(CodeInvalidRequest, "another log begins here, before this one has come to its end; a job takes one, and the whole of it")
	case err != nil:
		return err
	case l.Head != nil:
		r.sum.add(withEnd(text), 0)
		return nil
	}
	r.sum.add(withEnd(text), 1)
	r.cut.add(text, l)
	return nil
}

// end compares the last line with what has come.
func (r *logReader) end(said LogTail) error {
	if !r.sum.begun() {
		return Errorf(CodeInvalidRequest, "it is the last line of a log, and nothing has come before it; send the log from its beginning")
	}
	switch have := r.sum.tail(); {
	case have.Lines != said.Lines:
		return Errorf(CodeInvalidRequest, "the log says that it has %s, and %d have come; cancel this job, and send all of it to another, or have a new one written", several(said.Lines, "line", "lines"), have.Lines)
	case have.Digest != said.Digest:
		return Errorf(CodeInvalidRequest, "the lines of the log are not those that were written, by its digest; cancel this job, and send it to another as it was fetched, or have a new one written")
	}
	r.whole = true
	return nil
}

func withEnd(text []byte) []byte { return append(slices.Clone(text), '\n') }

// readLogLine reads a line.
func (s *Service) readLogLine(text []byte) (LogLine, error) {
	if len(text) > logLineBytes {
		return LogLine{}, Errorf(CodeInvalidRequest, "it has more than %d bytes, which no line of a log has", logLineBytes)
	}
	l, err := withoutPanic(func() (LogLine, error) { return s.log.Decode(text) })
	if err != nil {
		return LogLine{}, Errorf(CodeInvalidRequest, "it cannot be read: %s", decodeMessage(err)).Because(err)
	}
	return l, nil
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
	case l.Head != nil:
		return l.Head.checkFor(j)
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

// checkFor refuses a log of something else, and one that cannot know all that was taken after the point up to when it was written.
func (h LogHead) checkFor(j Job) error {
	point := j.Spec.Since
	switch of := (Job{Pool: h.Pool, Spec: JobSpec{Sequence: h.Sequence}}); {
	case h.Format != LogFormat:
		return Errorf(CodeInvalidRequest, "the log is of the format %d, and this version reads %d; have a new one written", h.Format, LogFormat)
	case h.Pool != j.Pool || h.Sequence != j.Spec.Sequence:
		return Errorf(CodeInvalidRequest, "the log is of %s, and this job restores %s", of.restores(), j.restores())
	case h.Begun.IsZero():
		return Errorf(CodeInvalidRequest, "it does not say when the log was begun")
	case h.Since.After(point):
		return Errorf(CodeInvalidRequest, "the log leaves out what was taken before %s, and the backup was restored to %s; take a log since that or an earlier time", instant(h.Since), instant(point))
	case h.Begun.Before(point):
		return Errorf(CodeInvalidRequest, "the log was begun at %s, so it knows nothing of what was taken after %s, to which the backup was restored; take a later log", instant(h.Begun), instant(point))
	}
	return nil
}

// instant is a time as messages have it.
func instant(t time.Time) string { return t.UTC().Format(time.RFC3339) }

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
	switch {
	case r.Generation < 0:
		return Errorf(CodeInvalidRequest, "its generation is below 0")
	case r.Generation > maxLogged:
		return Errorf(CodeInvalidRequest, "its generation is %d, and no ID has come back so often; send the log as it was fetched", r.Generation)
	}
	return cmp.Or(checkMoment("the time at which it was taken", r.At), checkMoment("the end of its hold", r.HeldUntil))
}

func (e LeaseRecord) checkLogged() error {
	switch {
	case e.Start > MaxNumber:
		return Errorf(CodeInvalidRequest, "no lease begins at %d", e.Start)
	case e.Unreadable():
		return nil
	case e.Epoch > maxLogged:
		return Errorf(CodeInvalidRequest, "its epoch is %d, and no sequence was rebuilt so often; send the log as it was fetched", e.Epoch)
	case e.Start > e.End || e.End > MaxNumber:
		return Errorf(CodeInvalidRequest, "no lease is from %d to %d", e.Start, e.End)
	}
	return checkMoment("the time at which it was leased", e.At)
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
