package api

import (
	"bytes"
	"encoding/json"
	"time"

	"idpool/alloc"
)

// LogCodec is the form of logs, findings and what a restore says, for alloc.Config: lines of JSON. Tokens are in a log, and every text is exactly
// what it was. Numbers of 64 bits are strings, as in the whole API; times are RFC 3339 to the nanosecond.
func LogCodec() alloc.LogCodec {
	return alloc.LogCodec{
		EncodeHead:     func(h alloc.LogHead) ([]byte, error) { return logLines([]alloc.LogHead{h}, newHeadLine) },
		EncodeTail:     func(l alloc.LogTail) ([]byte, error) { return logLines([]alloc.LogTail{l}, newTailLine) },
		EncodeIDs:      func(ids []alloc.IDRecord) ([]byte, error) { return logLines(ids, newIDLine) },
		EncodeLeases:   encodeLeases,
		EncodeFindings: func(found []alloc.Finding) ([]byte, error) { return logLines(found, newFindingLine) },
		EncodeCarries:  func(carried []alloc.CarryLine) ([]byte, error) { return logLines(carried, newCarryLine) },
		Decode:         decodeLogLine,
	}
}

// headLine is the first line of a log. It is about a pool or about a sequence.
type headLine struct {
	Log      int                `json:"log"`
	Pool     alloc.PoolName     `json:"pool,omitzero"`
	Sequence alloc.SequenceName `json:"sequence,omitzero"`
	Since    time.Time          `json:"since,omitzero"`
	Begun    time.Time          `json:"begun"`
	Job      alloc.JobID        `json:"job"`
}

func newHeadLine(h alloc.LogHead) headLine {
	return headLine{Log: h.Format, Pool: h.Pool, Sequence: h.Sequence, Since: utc(h.Since), Begun: utc(h.Begun), Job: h.Job}
}

// tailLine is the last line of a log.
type tailLine struct {
	Whole  bool        `json:"whole"`
	Lines  alloc.Count `json:"lines"`
	Digest string      `json:"digest"`

	Unreadable alloc.Count `json:"unreadable,omitzero"`
}

func newTailLine(l alloc.LogTail) tailLine {
	return tailLine{Whole: true, Lines: l.Lines, Digest: l.Digest, Unreadable: l.Unreadable}
}

type idLine struct {
	Pool       alloc.PoolName    `json:"pool"`
	ID         alloc.ID          `json:"id"`
	State      alloc.State       `json:"state"`
	Generation alloc.Generation  `json:"generation,string"`
	Job        alloc.JobID       `json:"job,omitzero"`
	Token      alloc.Token       `json:"token,omitzero"`
	By         alloc.ClientID    `json:"by,omitzero"`
	Owner      string            `json:"owner,omitzero"`
	Metadata   map[string]string `json:"metadata,omitempty"`
	At         time.Time         `json:"at,omitzero"`
	HeldUntil  time.Time         `json:"held_until,omitzero"`
}

func newIDLine(r alloc.IDRecord) idLine {
	return idLine{
		Pool: r.Pool, ID: r.ID, State: r.State, Generation: r.Generation, Job: r.Job,
		Token: r.Token, By: r.By, Owner: r.Owner, Metadata: r.Metadata, At: utc(r.At), HeldUntil: utc(r.HeldUntil),
	}
}

type leaseLine struct {
	Sequence alloc.SequenceName `json:"sequence"`
	Start    alloc.Number       `json:"start,string"`
	End      alloc.Number       `json:"end,string"`
	Epoch    alloc.Epoch        `json:"epoch,string"`
	Token    alloc.Token        `json:"token,omitzero"`
	By       alloc.ClientID     `json:"by,omitzero"`
	At       time.Time          `json:"at,omitzero"`
	Proven   bool               `json:"proven"`
}

// unreadableLine is that of an entry of which nothing is known but where it begins.
type unreadableLine struct {
	Sequence   alloc.SequenceName `json:"sequence"`
	Start      alloc.Number       `json:"start,string"`
	Unreadable bool               `json:"unreadable"`
}

func encodeLeases(name alloc.SequenceName, leases []alloc.LeaseRecord) ([]byte, error) {
	return logLines(leases, func(r alloc.LeaseRecord) any {
		if r.Unreadable() {
			return unreadableLine{Sequence: name, Start: r.Start, Unreadable: true}
		}
		return leaseLine{Sequence: name, Start: r.Start, End: r.End, Epoch: r.Epoch, Token: r.Token, By: r.By, At: utc(r.At), Proven: r.Proven}
	})
}

type findingLine struct {
	Kind   alloc.FindingKind `json:"kind"`
	On     string            `json:"on"`
	Detail string            `json:"detail"`
	Remedy alloc.Remedy      `json:"remedy,omitzero"`
	Seen   string            `json:"seen,omitzero"`
}

func newFindingLine(f alloc.Finding) findingLine { return findingLine(f) }

// carryLine is about an ID or about a lease.
type carryLine struct {
	Pool     alloc.PoolName     `json:"pool,omitzero"`
	ID       alloc.ID           `json:"id,omitzero"`
	Sequence alloc.SequenceName `json:"sequence,omitzero"`
	Start    *numberText        `json:"start,omitempty"`
	End      *numberText        `json:"end,omitempty"`
	Outcome  alloc.CarryOutcome `json:"outcome,omitzero"`
	Detail   string             `json:"detail"`
}

func newCarryLine(c alloc.CarryLine) carryLine {
	l := carryLine{Pool: c.Pool, ID: c.ID, Sequence: c.Sequence, Outcome: c.Outcome, Detail: c.Detail}
	if c.Sequence != "" {
		l.Start = &numberText{c.Start}
		if c.End >= c.Start { // of an entry that cannot be read the end is not known
			l.End = &numberText{c.End}
		}
	}
	return l
}

// logLines writes a line for each entry.
func logLines[T, L any](entries []T, line func(T) L) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	for _, entry := range entries {
		if err := e.Encode(line(entry)); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
