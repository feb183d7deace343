package sql

import (
	"context"
	"slices"
	"time"

	"idpool/alloc"
)

// How the record of a rebuild is written: see document.go. Its lists and what it holds of other values have forms of their own.
type (
	storedRebuild struct {
		Sequence alloc.SequenceName   `json:"sequence"`
		ID       alloc.JobID          `json:"id"`
		Version  alloc.Version        `json:"version"`
		Change   alloc.Token          `json:"change"`
		Step     alloc.RebuildStep    `json:"step"`
		By       alloc.ClientID       `json:"by"`
		Why      string               `json:"why,omitzero"`
		Auto     bool                 `json:"auto,omitzero"`
		Started  time.Time            `json:"started,omitzero"`
		Updated  time.Time            `json:"updated,omitzero"`
		Was      alloc.SequenceState  `json:"was,omitzero"`
		Epoch    alloc.Epoch          `json:"epoch,omitzero"`
		Config   storedSequenceConfig `json:"config"`
		Reported alloc.Number         `json:"reported,omitzero"`
		Margin   alloc.Count          `json:"margin,omitzero"`
		Since    time.Time            `json:"since,omitzero"`
		Share    int                  `json:"share,omitzero"`
		Base     alloc.Number         `json:"base,omitzero"`
		Replaces string               `json:"replaces,omitzero"`

		HasReported bool            `json:"has_reported,omitzero"`
		Ledger      storedLedgerSum `json:"ledger"`
		Sources     []storedSource  `json:"sources,omitempty"`
		Plan        storedPlan      `json:"plan"`
		Tested      []alloc.Number  `json:"tested,omitempty"`
		Check       storedLedgerSum `json:"check"`
		Applied     time.Time       `json:"applied,omitzero"`
		Resumed     time.Time       `json:"resumed,omitzero"`
		Autos       []time.Time     `json:"autos,omitempty"`
		Log         []storedEvent   `json:"log,omitempty"`
	}

	storedSequenceConfig struct {
		Description string             `json:"description,omitzero"`
		Start       alloc.Number       `json:"start,omitzero"`
		StartAtZero bool               `json:"start_at_zero,omitzero"`
		Limit       alloc.Number       `json:"limit,omitzero"`
		MaxLease    alloc.Count        `json:"max_lease,omitzero"`
		Segment     alloc.Count        `json:"segment,omitzero"`
		RequireKey  bool               `json:"require_key,omitzero"`
		AutoRebuild bool               `json:"auto_rebuild,omitzero"`
		ResumeShare int                `json:"resume_share,omitzero"`
		PeriodOf    alloc.SequenceName `json:"period_of,omitzero"`
		BornPaused  bool               `json:"born_paused,omitzero"`
	}

	storedLedgerSum struct {
		Mark     string       `json:"mark,omitzero"`
		Whole    bool         `json:"whole,omitzero"`
		Entries  alloc.Count  `json:"entries,omitzero"`
		Unproven alloc.Count  `json:"unproven,omitzero"`
		Damaged  alloc.Count  `json:"damaged,omitzero"`
		Blind    alloc.Number `json:"blind,omitzero"`
		Overlaps alloc.Count  `json:"overlaps,omitzero"`
		Highest  alloc.Number `json:"highest,omitzero"`
		Epoch    alloc.Epoch  `json:"epoch,omitzero"`
		Reach    alloc.Number `json:"reach,omitzero"`
	}

	storedSource struct {
		Kind  alloc.SourceKind `json:"kind"`
		Known bool             `json:"known,omitzero"`
		Last  alloc.Number     `json:"last,omitzero"`
		At    time.Time        `json:"at,omitzero"`
		Note  string           `json:"note,omitzero"`
	}

	storedPlan struct {
		ID     string       `json:"id,omitzero"`
		Floor  alloc.Number `json:"floor,omitzero"`
		Next   alloc.Number `json:"next,omitzero"`
		Burned alloc.Count  `json:"burned,omitzero"`
		Epoch  alloc.Epoch  `json:"epoch,omitzero"`
	}
)

// stored is the form of a record, and rebuild the way back. Both name each field, so that the compiler sees to it that none is left
// out of the types above; rebuild_record_test.go sees to it that none is left out here.
func stored(r alloc.Rebuild) storedRebuild {
	d := storedRebuild{
		Sequence: r.Sequence, ID: r.ID, Version: r.Version, Change: r.Change, Step: r.Step, By: r.By, Why: r.Why, Auto: r.Auto,
		Started: plainTime(r.Started), Updated: plainTime(r.Updated), Was: r.Was, Epoch: r.Epoch, Config: storedSequenceConfig(r.Config),
		Reported: r.Reported, Margin: r.Margin, Since: plainTime(r.Since), Share: r.Share, Base: r.Base, Replaces: r.Replaces, HasReported: r.HasReported,
		Ledger: storedLedgerSum(r.Ledger), Plan: storedPlan(r.Plan), Tested: slices.Clone(r.Tested), Check: storedLedgerSum(r.Check),
		Applied: plainTime(r.Applied), Resumed: plainTime(r.Resumed),
	}
	for _, at := range r.Autos {
		d.Autos = append(d.Autos, plainTime(at))
	}
	for _, s := range r.Sources {
		s.At = plainTime(s.At)
		d.Sources = append(d.Sources, storedSource(s))
	}
	for _, e := range r.Log {
		d.Log = append(d.Log, storedEvent{instant(e.At), e.Text})
	}
	return d
}

func (d storedRebuild) rebuild() alloc.Rebuild {
	r := alloc.Rebuild{
		Sequence: d.Sequence, ID: d.ID, Version: d.Version, Change: d.Change, Step: d.Step, By: d.By, Why: d.Why, Auto: d.Auto,
		Started: d.Started, Updated: d.Updated, Was: d.Was, Epoch: d.Epoch, Config: alloc.SequenceConfig(d.Config),
		Reported: d.Reported, Margin: d.Margin, Since: d.Since, Share: d.Share, Base: d.Base, Replaces: d.Replaces, HasReported: d.HasReported,
		Ledger: alloc.LedgerSum(d.Ledger), Plan: alloc.RebuildPlan(d.Plan), Tested: slices.Clone(d.Tested), Check: alloc.LedgerSum(d.Check),
		Applied: d.Applied, Resumed: d.Resumed, Autos: slices.Clone(d.Autos),
	}
	for _, s := range d.Sources {
		r.Sources = append(r.Sources, alloc.Source(s))
	}
	for _, e := range d.Log {
		r.Log = append(r.Log, alloc.JobEvent{At: moment(e.At), Text: e.Text})
	}
	return r
}

const putRebuild = `INSERT INTO rebuilds (sequence, version, record) VALUES ($1, $2, $3)
	ON CONFLICT (sequence) DO UPDATE SET version = excluded.version, record = excluded.record`

// rebuildOf reads the record of a sequence; one of version 0 where there is none. One that cannot be read is as none, with its version:
// the next rebuild takes its place.
func (t *tx) rebuildOf(name alloc.SequenceName) (alloc.Rebuild, error) {
	r := alloc.Rebuild{Sequence: name}
	var text string
	if found, err := t.row(`SELECT version, record FROM rebuilds WHERE sequence = $1`, []any{name}, &r.Version, &text); err != nil || !found {
		return r, err
	}
	var d storedRebuild
	if err := asJSON(&d).Scan(text); err != nil {
		return r, nil //nolint:nilerr // see above
	}
	return d.rebuild(), nil
}

// Rebuild reads the record of a sequence's rebuild.
func (s *Store) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	return read(ctx, s.reader, func(t *tx) (alloc.Rebuild, error) { return t.rebuildOf(name) })
}

// ChangeRebuild replaces the record if it is at version from, or puts it if that is 0 and there is none.
func (s *Store) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	r.Version = from + 1
	record := stored(r) // a copy, as the step may outlive this call
	return write(ctx, s.writer, func(t *tx) (alloc.Rebuild, error) {
		present, err := t.rebuildOf(record.Sequence)
		switch {
		case err != nil:
			return alloc.Rebuild{}, err
		case present.Version == record.Version && present.Change == record.Change:
			return present, nil
		case present.Version != from:
			return alloc.Rebuild{}, alloc.VersionMismatch("rebuild of sequence", string(record.Sequence), present.Version)
		}
		_, err = t.exec(putRebuild, record.Sequence, record.Version, asJSON(&record))
		return record.rebuild(), err
	})
}
