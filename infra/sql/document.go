package sql

import (
	"database/sql/driver"
	"encoding/json"
	"fmt"
	"time"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// document is a column that holds a value as JSON.
type document[T any] struct{ of *T }

// asJSON is the value for a column, or the place for what is read of it.
func asJSON[T any](of *T) document[T] { return document[T]{of} }

// Value implements driver.Valuer.
func (d document[T]) Value() (driver.Value, error) {
	text, err := json.Marshal(d.of)
	return string(text), err
}

// Scan implements sql.Scanner. NULL leaves the value as it is.
func (d document[T]) Scan(column any) error {
	switch text := column.(type) {
	case nil:
		return nil
	case string:
		return json.Unmarshal([]byte(text), d.of)
	}
	return fmt.Errorf("a column of JSON has a %T", column)
}

// How values of the domain are written as JSON. Each is converted to its type and back, which the compiler allows only
// while they have the same fields: a field that is added there must be added here, and one that is renamed there keeps
// its name in the file.
type (
	storedGenerator struct {
		Kind             generator.Kind      `json:"kind"`
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
		Digest  string      `json:"digest"`
		Pieces  int         `json:"pieces"`
		Entries alloc.Count `json:"entries"`
		Lines   int         `json:"lines"`
	}

	storedEvent struct {
		At   int64  `json:"at"` // as the columns of times
		Text string `json:"text"`
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

	// storedIntent is what an intent has to say. It has no place in the trail yet.
	storedIntent struct {
		ID      string         `json:"id"`
		At      time.Time      `json:"at"`
		Client  alloc.ClientID `json:"client"`
		Role    string         `json:"role,omitzero"`
		Action  string         `json:"action"`
		Target  string         `json:"target"`
		Detail  string         `json:"detail,omitzero"`
		Plan    string         `json:"plan,omitzero"`
		Reason  string         `json:"reason,omitzero"`
		Before  string         `json:"before,omitzero"`
		After   string         `json:"after,omitzero"`
		Result  string         `json:"result,omitzero"`
		Request string         `json:"request,omitzero"`
		Address string         `json:"address,omitzero"`

		alloc.Link `json:"-"`
	}
)

// generatorColumn is the column's value of a generator: NULL for none.
func generatorColumn(c generator.Config) any {
	if c == (generator.Config{}) {
		return nil
	}
	return asJSON(new(storedGenerator(c)))
}
