package dynamo

import (
	"context"
	"time"

	"idpool/alloc"
)

// The record of a sequence's rebuild is the item S#NAME / B:
//
//	ver  version     change  what the last change is known by     id  of the rebuild     step  how far it is     doc  all of it, in JSON
//
// One that cannot be read is as none, with its version: the next rebuild takes its place.
const skRebuildRecord = "B"

func rebuildRecordKey(name alloc.SequenceName) Key {
	return Key{PK: sequenceKey(name).PK, SK: skRebuildRecord}
}

// What is in doc: see documents.go.
type (
	storedRebuild struct {
		Sequence    alloc.SequenceName   `json:"sequence,omitzero"`
		ID          alloc.JobID          `json:"id,omitzero"`
		Version     alloc.Version        `json:"version,omitzero"`
		Change      alloc.Token          `json:"change,omitzero"`
		Step        alloc.RebuildStep    `json:"step,omitzero"`
		By          alloc.ClientID       `json:"by,omitzero"`
		Why         string               `json:"why,omitzero"`
		Auto        bool                 `json:"auto,omitzero"`
		Started     time.Time            `json:"started,omitzero"`
		Updated     time.Time            `json:"updated,omitzero"`
		Was         alloc.SequenceState  `json:"was,omitzero"`
		Epoch       alloc.Epoch          `json:"epoch,omitzero"`
		Config      storedSequenceConfig `json:"config,omitzero"`
		Reported    alloc.Number         `json:"reported,omitzero"`
		HasReported bool                 `json:"has_reported,omitzero"`
		Margin      alloc.Count          `json:"margin,omitzero"`
		Since       time.Time            `json:"since,omitzero"`
		Share       int                  `json:"share,omitzero"`
		Base        alloc.Number         `json:"base,omitzero"`
		Replaces    string               `json:"replaces,omitzero"`
		Ledger      storedLedgerSum      `json:"ledger,omitzero"`
		Sources     []storedSource       `json:"sources,omitempty"`
		Plan        storedPlan           `json:"plan,omitzero"`
		Tested      []alloc.Number       `json:"tested,omitempty"`
		Check       storedLedgerSum      `json:"check,omitzero"`
		Applied     time.Time            `json:"applied,omitzero"`
		Resumed     time.Time            `json:"resumed,omitzero"`
		Autos       []time.Time          `json:"autos,omitempty"`
		Log         []storedEvent        `json:"log,omitempty"`
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
		Kind  alloc.SourceKind `json:"kind,omitzero"`
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

func converted[T, S any](list []T, to func(T) S) []S {
	var all []S
	for _, v := range list {
		all = append(all, to(v))
	}
	return all
}

func plainTime(t time.Time) time.Time { return t.Round(0).UTC() }

// storedFrom is the form of a record, and rebuild the way back; a test sees to it that neither leaves out a field.
func storedFrom(r alloc.Rebuild) storedRebuild {
	return storedRebuild{
		Sequence: r.Sequence, ID: r.ID, Version: r.Version, Change: r.Change, Step: r.Step, By: r.By, Why: r.Why, Auto: r.Auto,
		Started: plainTime(r.Started), Updated: plainTime(r.Updated), Was: r.Was, Epoch: r.Epoch, Config: storedSequenceConfig(r.Config),
		Reported: r.Reported, HasReported: r.HasReported, Margin: r.Margin, Since: plainTime(r.Since), Share: r.Share, Base: r.Base, Replaces: r.Replaces,
		Ledger: storedLedgerSum(r.Ledger), Check: storedLedgerSum(r.Check), Plan: storedPlan(r.Plan), Tested: r.Tested,
		Applied: plainTime(r.Applied), Resumed: plainTime(r.Resumed), Autos: converted(r.Autos, plainTime),
		Sources: converted(r.Sources, func(s alloc.Source) storedSource { s.At = plainTime(s.At); return storedSource(s) }),
		Log:     converted(r.Log, func(e alloc.JobEvent) storedEvent { e.At = plainTime(e.At); return storedEvent(e) }),
	}
}

func (d storedRebuild) rebuild() alloc.Rebuild {
	return alloc.Rebuild{
		Sequence: d.Sequence, ID: d.ID, Version: d.Version, Change: d.Change, Step: d.Step, By: d.By, Why: d.Why, Auto: d.Auto,
		Started: d.Started, Updated: d.Updated, Was: d.Was, Epoch: d.Epoch, Config: alloc.SequenceConfig(d.Config),
		Reported: d.Reported, HasReported: d.HasReported, Margin: d.Margin, Since: d.Since, Share: d.Share, Base: d.Base, Replaces: d.Replaces,
		Ledger: alloc.LedgerSum(d.Ledger), Check: alloc.LedgerSum(d.Check), Plan: alloc.RebuildPlan(d.Plan), Tested: d.Tested,
		Applied: d.Applied, Resumed: d.Resumed, Autos: d.Autos,
		Sources: converted(d.Sources, func(s storedSource) alloc.Source { return alloc.Source(s) }),
		Log:     converted(d.Log, func(e storedEvent) alloc.JobEvent { return alloc.JobEvent(e) }),
	}
}

func rebuildItem(r alloc.Rebuild) Item {
	return item(rebuildRecordKey(r.Sequence), Item{
		"ver": int64(r.Version), "change": string(r.Change), "id": string(r.ID), "step": string(r.Step), "doc": document(storedFrom(r)),
	})
}

func decodeRebuild(name alloc.SequenceName, it Item) alloc.Rebuild {
	d, err := fromDocument[storedRebuild](it, "doc")
	if err != nil || d.Version != alloc.Version(it.Int("ver")) {
		return alloc.Rebuild{Sequence: name, Version: alloc.Version(it.Int("ver"))}
	}
	r := d.rebuild()
	r.Sequence = name
	return r
}

// Rebuild implements alloc.Rebuilds.
func (s *Store) Rebuild(ctx context.Context, name alloc.SequenceName) (alloc.Rebuild, error) {
	it, err := s.table.Get(ctx, rebuildRecordKey(name))
	if err != nil {
		return alloc.Rebuild{}, err
	}
	return decodeRebuild(name, it), nil
}

// ChangeRebuild implements alloc.Rebuilds.
func (s *Store) ChangeRebuild(ctx context.Context, from alloc.Version, r alloc.Rebuild) (alloc.Rebuild, error) {
	r.Version = from + 1
	it := rebuildItem(r)
	cond := Eq("ver", int64(from))
	if from == 0 {
		cond = Absent("pk")
	}
	for range changeTries {
		err := s.table.Put(ctx, it, cond)
		old, met := refusedBy(err)
		_, versioned := old["ver"].(int64)
		switch {
		case err != nil && !met:
			return alloc.Rebuild{}, err
		case err == nil:
			return decodeRebuild(r.Sequence, it), nil
		case alloc.Version(old.Int("ver")) == r.Version && old.Str("change") == string(r.Change):
			return decodeRebuild(r.Sequence, old), nil // a repeat
		case old == nil || versioned || from != 0:
			return alloc.Rebuild{}, alloc.VersionMismatch("rebuild of sequence", string(r.Sequence), alloc.Version(old.Int("ver")))
		}
		cond = All(Exists("pk"), asRead(old, "ver", "change")) // its version is damaged: it counts as none
	}
	return alloc.Rebuild{}, sequenceBusy(r.Sequence)
}
