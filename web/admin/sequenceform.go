package admin

import (
	"context"
	"fmt"
	"math"
	"net/http"

	"idpool/alloc"
	"idpool/templates"
)

// sequenceFormActions are the steps that make a sequence, and that change its configuration.
func (d *dashboard) sequenceFormActions() []action {
	return formSteps[alloc.SequenceConfig]{
		kind: "sequence", address: func(name string) string { return sequenceAddress(alloc.SequenceName(name)) }, ask: d.askSequence, proposeNew: d.proposeNewSequence, proposeChange: d.proposeSequenceChange,
		create: func(ctx context.Context, name string, c alloc.SequenceConfig) error {
			_, _, err := d.svc.CreateSequence(ctx, alloc.SequenceName(name), c)
			return err
		},
		change: func(ctx context.Context, name string, version alloc.Version, c alloc.SequenceConfig) error {
			_, err := d.svc.ChangeSequence(ctx, alloc.SequenceName(name), version, c)
			return err
		},
	}.actions()
}

// sequenceAtHand is the sequence of the page's address; a new one, with defaults, where it names none.
func (d *dashboard) sequenceAtHand(r *http.Request) (alloc.Sequence, error) {
	name := r.PathValue("sequence")
	if name == "" {
		return alloc.Sequence{Config: alloc.SequenceConfig{}.WithDefaults()}, nil
	}
	return d.svc.Sequence(r.Context(), alloc.SequenceName(name))
}

// askSequence is the form of a sequence's configuration.
func (d *dashboard) askSequence(r *http.Request) (templates.Form, error) {
	q, err := d.sequenceAtHand(r)
	if err != nil {
		return templates.Form{}, err
	}
	c, isNew := q.Config, q.Name == ""
	f := templates.Form{Title: "Create a sequence", Button: "Review sequence", Back: "/sequences"}
	first := []templates.Field{{
		Kind: templates.FieldText, Name: "name", Label: "Name", Required: true,
		Hint: "Lower-case letters, digits, '.', '_' and '-'. It is never used again, even when the sequence is deleted.",
	}}
	if !isNew {
		f.Title, f.Button, f.Back = "Edit the sequence "+string(q.Name), "Review change", sequenceAddress(q.Name)
		first = nil
	}
	f.Groups = []templates.FieldGroup{
		{Fields: append(first, textField("description", "Description", c.Description, ""))},
		{Title: "Numbers", Fields: []templates.Field{
			fixed(numberField("start", "First number", fmt.Sprint(c.Start), "Fixed when the sequence is created."), !isNew),
			numberField("limit", "Last number", fmt.Sprint(c.Limit), "It may be raised, and lowered to what is leased."),
			numberField("max_lease", "Most numbers a lease", number0(c.MaxLease), ""),
			numberField("segment", "Numbers leased at once to answer next", number0(c.Segment), "They are lost where an environment ends before it has given them."),
			checkField("require_key", "Every lease needs an Idempotency-Key", c.RequireKey, ""),
		}},
		{Title: "After a loss", Fields: []templates.Field{
			checkField("auto_rebuild", "The schedule rebuilds it by itself, where the evidence allows", c.AutoRebuild, ""),
			numberField("resume_share", "Percent of the callers that are served first after a rebuild", number0(c.ResumeShare), ""),
		}},
	}
	v := filled(r)
	readSequence(v, c)
	return v.show(f), nil
}

// readSequence is the configuration that was filled in; what is fixed stays as it was.
func readSequence(v *values, was alloc.SequenceConfig) alloc.SequenceConfig {
	c := was
	c.Description, c.Limit = v.text("description"), alloc.Number(v.numberFrom1("limit", math.MaxInt64))
	c.MaxLease, c.Segment = alloc.Count(v.numberFrom1("max_lease", int64(alloc.MaxLeaseLimit))), alloc.Count(v.numberFrom1("segment", int64(alloc.MaxSegment)))
	c.RequireKey, c.AutoRebuild, c.ResumeShare = v.flag("require_key"), v.flag("auto_rebuild"), int(v.numberFrom1("resume_share", 100))
	if v.query.Has("name") { // a new one
		c.Start = alloc.Number(v.number("start", 1))
		c.StartAtZero = c.Start == 0
	}
	return c.WithDefaults()
}

func (d *dashboard) proposeNewSequence(r *http.Request) (proposal, error) {
	v := filled(r)
	c := readSequence(v, alloc.SequenceConfig{})
	name := v.text("name")
	if err := v.readable(); err != nil {
		return proposal{}, err
	}
	if err := alloc.CheckName(name); err != nil {
		return proposal{}, err
	}
	if err := c.Check(); err != nil {
		return proposal{}, err
	}
	params, err := toPlan(c)
	if err != nil {
		return proposal{}, err
	}
	body, err := sequenceTwin(c)
	return proposal{
		name: name, target: "sequence/" + name, params: params, title: "Create the sequence " + name, button: "Create sequence", back: withoutReview(r),
		facts:  changes(nil, sequenceConfig(alloc.Sequence{Config: c}, d.now()), true),
		effect: []string{"The sequence is made, and leases begin at its first number.", "Its name and its first number are fixed from then on."},
		twin:   call{method: http.MethodPut, path: "/v1" + sequenceAddress(alloc.SequenceName(name)), keyed: true, body: body}.twin(),
	}, err
}

func (d *dashboard) proposeSequenceChange(r *http.Request) (proposal, error) {
	q, err := d.sequenceAtHand(r)
	if err != nil {
		return proposal{}, err
	}
	v := filled(r)
	c := readSequence(v, q.Config)
	if err := v.readable(); err != nil {
		return proposal{}, err
	}
	if err := c.Check(); err != nil {
		return proposal{}, err
	}
	if err := q.Config.CheckChange(c, q.Next); err != nil {
		return proposal{}, err
	}
	if c == q.Config {
		return proposal{}, nothingChanged()
	}
	params, err := toPlan(c)
	if err != nil {
		return proposal{}, err
	}
	changed := q
	changed.Config = c
	body, err := sequenceTwin(c)
	return proposal{
		name: string(q.Name), target: "sequence/" + string(q.Name), version: q.Version, params: params,
		title: "Change the sequence " + string(q.Name), button: "Change sequence", back: withoutReview(r), facts: changes(sequenceConfig(q, d.now()), sequenceConfig(changed, d.now()), false),
		effect: []string{"It takes effect in every environment within 30 seconds.", fmt.Sprintf("Nothing is changed if the sequence is not at version %d any more.", q.Version)},
		twin:   call{method: http.MethodPut, path: "/v1" + sequenceAddress(q.Name), version: q.Version, keyed: true, body: body}.twin(),
	}, err
}
