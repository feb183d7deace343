package dynamo

import (
	"encoding/json"
	"fmt"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// Values of the domain that an item keeps in one attribute are JSON. Each is converted to a type of its own and back, which
// the compiler allows only while they have the same fields: what is renamed in the domain keeps its name in the table.
type (
	storedGenerator struct {
		Kind             generator.Kind      `json:"kind,omitzero"`
		Alphabet         string              `json:"alphabet,omitzero"`
		Length           int                 `json:"length,omitzero"`
		Prefix           string              `json:"prefix,omitzero"`
		Group            int                 `json:"group,omitzero"`
		Separator        string              `json:"separator,omitzero"`
		CheckChar        generator.CheckKind `json:"check,omitzero"`
		WithoutAmbiguous bool                `json:"without_ambiguous,omitzero"`
		Block            string              `json:"block,omitzero"`
		Sequence         string              `json:"sequence,omitzero"`
		Format           string              `json:"format,omitzero"`
		Overflow         generator.Overflow  `json:"overflow,omitzero"`
		TimeZone         string              `json:"time_zone,omitzero"`
	}

	storedMarks struct {
		Low         alloc.Count `json:"low,omitzero"`
		Target      alloc.Count `json:"target,omitzero"`
		LowHours    int         `json:"low_hours,omitzero"`
		TargetHours int         `json:"target_hours,omitzero"`
	}

	storedTally struct {
		Added     alloc.Count `json:"added,omitzero"`
		Duplicate alloc.Count `json:"duplicate,omitzero"`
		Conflict  alloc.Count `json:"conflict,omitzero"`
		Invalid   alloc.Count `json:"invalid,omitzero"`
		Free      alloc.Count `json:"free,omitzero"`
		Held      alloc.Count `json:"held,omitzero"`
		Claimed   alloc.Count `json:"claimed,omitzero"`
		Returning alloc.Count `json:"returning,omitzero"`
		Retired   alloc.Count `json:"retired,omitzero"`
		Lost      alloc.Count `json:"lost,omitzero"`
		Missing   alloc.Count `json:"missing,omitzero"`
		Carried   alloc.Count `json:"carried,omitzero"`
		Burned    alloc.Count `json:"burned,omitzero"`
		Findings  alloc.Count `json:"findings,omitzero"`
		Trail     alloc.Count `json:"trail,omitzero"`
		Informing alloc.Count `json:"informing,omitzero"`
		Looked    alloc.Count `json:"looked,omitzero"`
		ToLook    alloc.Count `json:"to_look,omitzero"`
	}

	storedFormat struct {
		CSV    bool             `json:"csv,omitzero"`
		Column string           `json:"column,omitzero"`
		Header alloc.HeaderMode `json:"header,omitzero"`
		Ranges bool             `json:"ranges,omitzero"`
	}

	storedInput struct {
		Digest  string      `json:"digest,omitzero"`
		Pieces  int         `json:"pieces,omitzero"`
		Entries alloc.Count `json:"entries,omitzero"`
		Lines   int         `json:"lines,omitzero"`
	}

	storedSpec struct {
		Sequence alloc.SequenceName  `json:"sequence,omitzero"`
		Sample   int                 `json:"sample,omitzero"`
		Since    time.Time           `json:"since,omitzero"`
		Source   alloc.RestoreSource `json:"source,omitzero"`
		AtMost   alloc.Count         `json:"at_most,omitzero"`
		Policy   alloc.Policy        `json:"policy,omitzero"`
		FoldCase bool                `json:"fold_case,omitzero"`
		File     alloc.JobID         `json:"file,omitzero"`
		Check    alloc.JobID         `json:"check,omitzero"`
		FirstNew string              `json:"first_new,omitzero"`
		LastNew  alloc.ID            `json:"last_new,omitzero"`
		Known    alloc.TrailMonth    `json:"known,omitzero"`
		Verified alloc.TrailMonth    `json:"verified,omitzero"`
	}

	storedEvent struct {
		At   time.Time `json:"at"`
		Text string    `json:"text,omitzero"`
	}
)

// document is a value as an attribute. One that is all zero is "{}" or "[]", never absent, so that a write knows its repeat.
func document[T any](v T) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // unreachable: plain values of valid text
	}
	return string(text)
}

// fromDocument reads an attribute; an item that is older than the attribute has the zero value.
func fromDocument[T any](it Item, attr string) (v T, err error) {
	text := it.Str(attr)
	if text == "" {
		return v, nil
	}
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		return v, internal(fmt.Errorf("the attribute %s of %s %s: %w", attr, it.Str(AttrPK), it.Str(AttrSK), err))
	}
	return v, nil
}

// listDocument is a list of values as an attribute.
func listDocument[T, S any](list []T, stored func(T) S) string {
	all := make([]S, len(list))
	for i, v := range list {
		all[i] = stored(v)
	}
	return document(all)
}

// listFromDocument reads such a list; nil for an empty one.
func listFromDocument[T, S any](it Item, attr string, loaded func(S) T) (list []T, err error) {
	all, err := fromDocument[[]S](it, attr)
	for _, v := range all {
		list = append(list, loaded(v))
	}
	return list, err
}
