package admin

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"strconv"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// jobStep is a step that makes a job for a pool or a sequence.
type jobStep struct {
	on      string // "pool" or "sequence": the variable of the path
	segment string // of the path
	need    alloc.Action
	button  string
	title   string // with the name
	effect  []string
	danger  bool
	fields  []templates.Field
	params  []string // fields that the plan has, beside the reason
	check   func(*values)
	intro   string                                                                    // of the form: why it asks
	asks    func(d *dashboard, r *http.Request, name string) (bool, error)            // whether it asks for the fields; nil for always
	said    func(p map[string]string) (facts []templates.Fact, effect []string)       // what was filled in, to be confirmed; nil for nothing
	seen    func(d *dashboard, r *http.Request, name string) *templates.EvidencePanel // what speaks for it; nil where nothing does
	last    func(d *dashboard, ctx context.Context, name string) (string, error)      // what a plan is bound to, beside what was filled in; nil for nothing
	make    func(d *dashboard, ctx context.Context, p plan.Plan, why string, intent alloc.Token) (alloc.Job, error)
	twin    func(p map[string]string, name string) (path string, body members)
}

// sampleField asks how much an audit looks at.
var sampleField = numberField("sample", "Percent that is looked at", "100", "Which IDs or leases a sample has is drawn by themselves: the same ones each time.")

func checkSample(v *values) {
	if n := v.number("sample", 100); n < 1 || n > 100 {
		v.problems["sample"] = "This is a whole number from 1 to 100."
	}
}

// sampleOf is the sample of a plan; 0, which is all, for what is none: the form has refused it by then.
func sampleOf(p plan.Plan) int { return int(numberOf(cmp.Or(p.Params["sample"], "100"))) }

var jobSteps = []jobStep{
	{
		on: "pool", segment: "verify", need: alloc.ActionManage, button: "Verify pool", title: "Verify the pool %s", fields: []templates.Field{sampleField}, params: []string{"sample"}, check: checkSample,
		effect: []string{"Every ID is looked at, with what lists it, with its key record and its way back; and the chain of the trail.", "Nothing is changed. Claims go on."},
		make: func(d *dashboard, ctx context.Context, p plan.Plan, why string, intent alloc.Token) (alloc.Job, error) {
			return d.svc.Audit(ctx, alloc.AuditRequest{Pool: alloc.PoolName(p.Name), Sample: sampleOf(p), Why: why, Intent: intent})
		},
		twin: func(p map[string]string, name string) (string, members) {
			return "/v1" + poolAddress(alloc.PoolName(name)) + "/audit", members{{"sample", numberOf(p["sample"])}, {"why", "…"}}
		},
	},
	{
		on: "sequence", segment: "verify", need: alloc.ActionManage, button: "Verify sequence", title: "Verify the sequence %s", fields: []templates.Field{sampleField}, params: []string{"sample"}, check: checkSample,
		effect: []string{"Every lease is held against the others, against the counter and the high-water mark; and the chain of the trail.", "Nothing is changed. Leases go on."},
		make: func(d *dashboard, ctx context.Context, p plan.Plan, why string, intent alloc.Token) (alloc.Job, error) {
			return d.svc.Audit(ctx, alloc.AuditRequest{Sequence: alloc.SequenceName(p.Name), Sample: sampleOf(p), Why: why, Intent: intent})
		},
		twin: func(p map[string]string, name string) (string, members) {
			return "/v1" + sequenceAddress(alloc.SequenceName(name)) + "/audit", members{{"sample", numberOf(p["sample"])}, {"why", "…"}}
		},
	},
	{
		on: "pool", segment: "count", need: alloc.ActionRead, button: "Count IDs", title: "Count the IDs of the pool %s",
		effect: []string{"Every ID is read, one by one, and counted by its state.", "Nothing is changed. Claims go on."},
		make: func(d *dashboard, ctx context.Context, p plan.Plan, why string, intent alloc.Token) (alloc.Job, error) {
			return d.svc.CountPool(ctx, alloc.CountRequest{Pool: alloc.PoolName(p.Name), Why: why, Intent: intent})
		},
		twin: func(_ map[string]string, name string) (string, members) {
			return "/v1" + poolAddress(alloc.PoolName(name)) + "/count", members{{"why", "…"}}
		},
	},
	{
		on: "pool", segment: "export", need: alloc.ActionExport, button: "Export IDs", title: "Export the IDs of the pool %s",
		fields: []templates.Field{
			choice("state", "Which", "", "", [2]string{"", "all"}, [2]string{"free", "free"}, [2]string{"held", "held"}, [2]string{"claimed", "claimed"}, [2]string{"returning", "on their way back"}, [2]string{"retired", "retired"}),
			choice("format", "As", "", "csv", [2]string{"csv", "CSV, for a spreadsheet"}, [2]string{"json", "lines of JSON"}),
		},
		params: []string{"state", "format"},
		effect: []string{"The IDs are written into a file, in parts that can be got on the page of the job for seven days.", "Whoever gets the file has every ID in it, also those that are free."},
		make: func(d *dashboard, ctx context.Context, p plan.Plan, _ string, intent alloc.Token) (alloc.Job, error) {
			return d.svc.Export(ctx, alloc.ExportRequest{Pool: alloc.PoolName(p.Name), Of: alloc.State(p.Params["state"]), Format: p.Params["format"], Intent: intent})
		},
		twin: func(p map[string]string, name string) (string, members) {
			return "/v1" + poolAddress(alloc.PoolName(name)) + "/exports", members{{"state", p["state"]}, {"format", p["format"]}}
		},
	},
	poolRebuild,
}

func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// jobStepActions are the steps that make jobs.
func (d *dashboard) jobStepActions() []action {
	var all []action
	for _, s := range jobSteps {
		a := action{
			path: "/" + s.on + "s/{" + s.on + "}/" + s.segment, verb: s.on + "." + s.segment, need: s.need,
			propose: func(r *http.Request) (proposal, error) { return d.proposeJob(r, s) },
			carry: func(ctx context.Context, p plan.Plan, asked asked, attempt alloc.Attempt) (outcome, error) {
				j, err := s.make(d, ctx, p, asked.reason, attempt.Intent)
				if err != nil {
					return outcome{}, err
				}
				return outcome{Location: jobAddress(j.ID), Done: "job-made"}, nil
			},
		}
		if len(s.fields) > 0 {
			a.ask = func(r *http.Request) (templates.Form, error) { return d.askJob(r, s) }
		}
		all = append(all, a)
	}
	return all
}

// onPage is the pool or the sequence that a page is about, with its version and its facts.
func (d *dashboard) onPage(r *http.Request, on string) (name, back string, facts []templates.Fact, err error) {
	if on == "sequence" {
		q, err := d.svc.Sequence(r.Context(), alloc.SequenceName(r.PathValue(on)))
		if alloc.Is(err, alloc.CodeSequenceStopped) {
			name := alloc.SequenceName(r.PathValue(on))
			return string(name), sequenceAddress(name), []templates.Fact{{Term: "Sequence", Value: string(name)}, {Term: "State", Value: "stopped"}}, nil
		}
		return string(q.Name), sequenceAddress(q.Name), sequenceFacts(q), err
	}
	st, err := d.svc.Pool(r.Context(), alloc.PoolName(r.PathValue(on)))
	if alloc.Is(err, alloc.CodePoolDamaged) {
		name := alloc.PoolName(r.PathValue(on))
		return string(name), poolAddress(name), []templates.Fact{{Term: "Pool", Value: string(name)}, {Term: "State", Value: "damaged"}}, nil
	}
	return string(st.Pool.Name), poolAddress(st.Pool.Name), poolFacts(st), err
}

func (d *dashboard) askJob(r *http.Request, s jobStep) (templates.Form, error) {
	name, back, _, err := d.onPage(r, s.on)
	if err != nil {
		return templates.Form{}, err
	}
	if ask, err := s.asksFor(d, r, name); err != nil || !ask {
		return templates.Form{}, err
	}
	fields := make([]templates.Field, len(s.fields))
	for i, f := range s.fields {
		f.Options = append([]templates.Option(nil), f.Options...)
		fields[i] = f
	}
	v := filled(r)
	if s.check != nil {
		s.check(v)
	}
	return v.show(templates.Form{Title: fmt.Sprintf(s.title, name), Intro: s.intro, Button: "Review", Back: back, Groups: []templates.FieldGroup{{Fields: fields}}}), nil
}

func (d *dashboard) proposeJob(r *http.Request, s jobStep) (proposal, error) {
	name, back, facts, err := d.onPage(r, s.on)
	if err != nil {
		return proposal{}, err
	}
	v := filled(r)
	p := proposal{
		name: name, target: s.on + "/" + name, danger: s.danger, reason: s.danger, title: fmt.Sprintf(s.title, name), button: s.button,
		effect: append([]string(nil), s.effect...), back: back, facts: facts, params: map[string]string{},
	}
	if s.danger {
		p.typed = name
	}
	if s.seen != nil {
		p.seen = s.seen(d, r, name)
	}
	if s.last != nil {
		if p.params[paramLast], err = s.last(d, r.Context(), name); err != nil {
			return proposal{}, err
		}
	}
	ask, err := s.asksFor(d, r, name)
	if err != nil {
		return proposal{}, err
	}
	if ask {
		p.back = withoutReview(r)
		s.fill(v, &p)
	}
	path, fields := s.twin(p.params, name)
	text, err := body(fields)
	p.twin = call{method: http.MethodPost, path: path, keyed: true, body: text}.twin()
	return p, err
}

// asksFor reports whether there is something to be filled in.
func (s jobStep) asksFor(d *dashboard, r *http.Request, name string) (bool, error) {
	if s.asks == nil || len(s.fields) == 0 {
		return len(s.fields) > 0, nil
	}
	return s.asks(d, r, name)
}

// fill puts into a proposal what was filled in.
func (s jobStep) fill(v *values, p *proposal) {
	for _, key := range s.params {
		p.params[key] = v.text(key)
	}
	if s.said != nil {
		facts, effect := s.said(p.params)
		p.facts, p.effect = append(p.facts, facts...), append(p.effect, effect...)
	}
}

// jobButtons lead to the steps that make jobs, for who may take them.
func (d *dashboard) jobButtons(r *http.Request, on, name, address string) (buttons []templates.Link) {
	for _, s := range jobSteps {
		if s.on == on && !d.readOnly && may(r, s.need, name) {
			buttons = append(buttons, templates.Link{Text: s.button, Href: address + "/" + s.segment, Danger: s.danger})
		}
	}
	return buttons
}
