package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"idpool/alloc"
	"idpool/alloc/generator"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// paramConfig is where a plan has a configuration.
const paramConfig = "config"

// formSteps are what makes one of a kind of thing, and changes its configuration.
type formSteps[C any] struct {
	kind                      string // "pool"
	address                   func(name string) string
	ask                       func(*http.Request) (templates.Form, error)
	proposeNew, proposeChange func(*http.Request) (proposal, error)
	create                    func(ctx context.Context, name string, c C) error
	change                    func(ctx context.Context, name string, version alloc.Version, c C) error
}

func (f formSteps[C]) actions() []action {
	step := func(path, verb, done string, propose func(*http.Request) (proposal, error), do func(context.Context, plan.Plan, C) error) action {
		return action{
			path: path, verb: f.kind + "." + verb, need: alloc.ActionManage, ask: f.ask, propose: propose,
			carry: func(ctx context.Context, p plan.Plan, _ asked, _ alloc.Attempt) (outcome, error) {
				c, err := planned[C](p)
				if err != nil {
					return outcome{}, err
				}
				if err := do(ctx, p, c); err != nil {
					return outcome{}, err
				}
				return outcome{Location: f.address(p.Name), Done: f.kind + done}, nil
			},
		}
	}
	return []action{
		step("/new/"+f.kind, "create", "-created", f.proposeNew, func(ctx context.Context, p plan.Plan, c C) error { return f.create(ctx, p.Name, c) }),
		step("/"+f.kind+"s/{"+f.kind+"}/edit", "change", "-changed", f.proposeChange, func(ctx context.Context, p plan.Plan, c C) error { return f.change(ctx, p.Name, p.Version, c) }),
	}
}

// poolFormActions are the steps that make a pool, and that change its configuration.
func (d *dashboard) poolFormActions() []action {
	return formSteps[alloc.PoolConfig]{
		kind: "pool", address: func(name string) string { return poolAddress(alloc.PoolName(name)) }, ask: d.askPool, proposeNew: d.proposeNewPool, proposeChange: d.proposePoolChange,
		create: func(ctx context.Context, name string, c alloc.PoolConfig) error {
			_, _, err := d.svc.CreatePool(ctx, alloc.PoolName(name), c)
			return err
		},
		change: func(ctx context.Context, name string, version alloc.Version, c alloc.PoolConfig) error {
			_, err := d.svc.ChangePool(ctx, alloc.PoolName(name), version, c)
			return err
		},
	}.actions()
}

// planned is the configuration of a plan.
func planned[C any](p plan.Plan) (c C, err error) {
	if err := json.Unmarshal([]byte(p.Params[paramConfig]), &c); err != nil {
		return c, alloc.Errorf(alloc.CodeInternal, "the configuration of a plan cannot be read").Because(err)
	}
	return c, nil
}

// toPlan is a configuration as a plan has it.
func toPlan[C any](c C) (map[string]string, error) {
	text, err := json.Marshal(c)
	if err != nil {
		return nil, alloc.Errorf(alloc.CodeInternal, "a configuration cannot be planned").Because(err)
	}
	return map[string]string{paramConfig: string(text)}, nil
}

// poolAtHand is the pool of the page's address; a new one, with defaults, where it names none.
func (d *dashboard) poolAtHand(r *http.Request) (alloc.Pool, error) {
	name := r.PathValue("pool")
	if name == "" {
		return alloc.Pool{Config: alloc.PoolConfig{}.WithDefaults()}, nil
	}
	st, err := d.svc.Pool(r.Context(), alloc.PoolName(name))
	return st.Pool, err
}

// askPool is the form of a pool's configuration.
func (d *dashboard) askPool(r *http.Request) (templates.Form, error) {
	p, err := d.poolAtHand(r)
	if err != nil {
		return templates.Form{}, err
	}
	c, isNew, v := p.Config, p.Name == "", filled(r)
	f := templates.Form{Title: "Create a pool", Button: "Review pool", Back: "/pools"}
	first := []templates.Field{{
		Kind: templates.FieldText, Name: "name", Label: "Name", Required: true,
		Hint: "Lower-case letters, digits, '.', '_' and '-'. It is never used again, even when the pool is deleted.",
	}}
	if !isNew {
		f.Title, f.Button, f.Back = "Edit the pool "+string(p.Name), "Review change", poolAddress(p.Name)
		first = nil
	}
	f.Groups = []templates.FieldGroup{
		{Fields: append(first, textField("description", "Description", c.Description, ""))},
		{Title: "Claims", Fields: []templates.Field{
			numberField("max_batch", "Most IDs a claim", number0(c.MaxBatch), ""),
			choice("on_release", "A released ID", "", string(c.OnRelease), [2]string{string(alloc.ReleaseReturns), "comes back, and is claimed again"}, [2]string{string(alloc.ReleaseRetires), "is retired for good"}),
			checkField("require_key", "Every claim needs an Idempotency-Key", c.RequireKey, "Without one, a claim whose answer is lost takes an ID that nobody knows of."),
			fixed(choice("policy", "A claimed ID", "Fixed when the pool is created.", string(c.Policy), [2]string{string(alloc.PolicyKeep), "is kept, so that it can never be added again"}, [2]string{string(alloc.PolicyForget), "is forgotten; who adds it again, hands it out again"}), !isNew),
			fixed(checkField("fold_case", "Upper and lower case are the same", c.FoldCase, "Fixed when the pool is created."), !isNew),
		}},
		{Title: "Kept between", Hint: "Below the low mark the schedule fills the pool to its target, where it has a generator; without one the mark is an alarm.", Fields: []templates.Field{
			numberField("low", "Low mark, IDs", number0(c.Marks.Low), ""), numberField("target", "Target, IDs", number0(c.Marks.Target), ""),
			numberField("low_hours", "Low mark, hours of use", number0(c.Marks.LowHours), ""), numberField("target_hours", "Target, hours of use", number0(c.Marks.TargetHours), ""),
		}},
		generatorGroup(c.Generator, generator.Kind(cmp.Or(v.text("kind"), string(c.Generator.Kind)))),
	}
	readPool(v, c)
	return v.show(f), nil
}

// generatorGroup asks for the kind, and folds away what belongs to another.
func generatorGroup(g generator.Config, kind generator.Kind) templates.FieldGroup {
	return templates.FieldGroup{
		Title: "Generator", Fields: []templates.Field{
			choice("kind", "Kind", "Fill in what belongs to the kind, and leave the rest empty.", string(g.Kind), [2]string{"", "none: IDs are seeded"}, [2]string{string(generator.Random), "random characters"},
				[2]string{string(generator.Sequence), "numbers of a sequence, in a format"}, [2]string{string(generator.UUIDv7), "UUIDv7"}, [2]string{string(generator.ULID), "ULID"}),
		},
		Parts: []templates.FieldGroup{
			{Title: "Random characters", Open: kind == generator.Random, Fields: []templates.Field{
				numberField("length", "Characters", number0(g.Length), "Without prefix, separators and check character."),
				numberField("group", "Characters in a group", number0(g.Group), ""), textField("separator", "Separator of groups", g.Separator, ""),
				textField("alphabet", "Alphabet", g.Alphabet, ""), textField("prefix", "Prefix", g.Prefix, ""),
				choice("check", "Check character", "", string(g.CheckChar), [2]string{"", "none"}, [2]string{string(generator.CheckLuhn), "Luhn"}, [2]string{string(generator.CheckDamm), "Damm"}, [2]string{string(generator.CheckMod3736), "mod 37,36"}),
				checkField("without_ambiguous", "Leave out characters that look alike", g.WithoutAmbiguous, ""),
				{Kind: templates.FieldLong, Name: "block", Label: "Blocked words", Value: g.Block, Hint: "Separated by spaces. No ID has one."},
			}},
			{Title: "Numbers of a sequence", Open: kind == generator.Sequence, Fields: []templates.Field{
				textField("sequence", "Sequence", g.Sequence, "Its name."), textField("format", "Format", g.Format, "As CASE-{yyyy}-{n:6}."),
				choice("overflow", "A number that is too long", "", string(g.Overflow), [2]string{"", "default"}, [2]string{string(generator.OverflowRefuse), "is refused"}, [2]string{string(generator.OverflowGrow), "is written with more digits"}),
				textField("time_zone", "Time zone", g.TimeZone, "As Europe/Berlin; UTC where it is empty."),
			}},
		},
	}
}

// readPool is the configuration that was filled in; what is fixed stays as it was.
func readPool(v *values, was alloc.PoolConfig) alloc.PoolConfig {
	c := alloc.PoolConfig{
		Description: v.text("description"), Policy: alloc.Policy(v.text("policy")), FoldCase: v.flag("fold_case"), MaxBatch: alloc.Count(v.numberFrom1("max_batch", int64(alloc.MaxBatchLimit))),
		OnRelease: alloc.OnRelease(v.text("on_release")), RequireKey: v.flag("require_key"),
		Marks: alloc.Marks{
			Low: alloc.Count(v.number("low", 0)), Target: alloc.Count(v.number("target", 0)), LowHours: int(v.number("low_hours", 0)), TargetHours: int(v.number("target_hours", 0)),
		},
		Generator: generator.Config{
			Kind: generator.Kind(v.text("kind")), Alphabet: v.text("alphabet"), Length: int(v.number("length", 0)), Prefix: v.text("prefix"), Group: int(v.number("group", 0)),
			Separator: v.text("separator"), CheckChar: generator.CheckKind(v.text("check")), WithoutAmbiguous: v.flag("without_ambiguous"), Block: strings.Join(strings.Fields(v.text("block")), " "),
			Sequence: v.text("sequence"), Format: v.text("format"), Overflow: generator.Overflow(v.text("overflow")), TimeZone: v.text("time_zone"),
		},
	}
	if was.Policy != "" && !v.query.Has("name") {
		c.Policy, c.FoldCase = was.Policy, was.FoldCase
	}
	return c.WithDefaults()
}

func (d *dashboard) proposeNewPool(r *http.Request) (proposal, error) {
	v := filled(r)
	c := readPool(v, alloc.PoolConfig{})
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
	preview, err := d.previewFacts(r, alloc.PoolName(name), c, alloc.PoolConfig{})
	if err != nil {
		return proposal{}, err
	}
	body, err := poolTwin(c)
	return proposal{
		name: name, target: "pool/" + name, params: params, title: "Create the pool " + name, button: "Create pool", back: withoutReview(r),
		facts:  append(changes(nil, poolConfig(alloc.Pool{Config: c}, d.now()), true), preview...),
		effect: []string{"The pool is made, empty. Seed it, or its generator fills it at the next run of the schedule.", "Its name, its policy and its treatment of case are fixed from then on."},
		twin:   call{method: http.MethodPut, path: "/v1" + poolAddress(alloc.PoolName(name)), keyed: true, body: body}.twin(),
	}, err
}

func (d *dashboard) proposePoolChange(r *http.Request) (proposal, error) {
	p, err := d.poolAtHand(r)
	if err != nil {
		return proposal{}, err
	}
	v := filled(r)
	c := readPool(v, p.Config)
	if err := v.readable(); err != nil {
		return proposal{}, err
	}
	if err := c.Check(); err != nil {
		return proposal{}, err
	}
	if reflect.DeepEqual(c, p.Config) {
		return proposal{}, nothingChanged()
	}
	params, err := toPlan(c)
	if err != nil {
		return proposal{}, err
	}
	preview, err := d.previewFacts(r, p.Name, c, p.Config)
	if err != nil {
		return proposal{}, err
	}
	changed := p
	changed.Config = c
	body, err := poolTwin(c)
	return proposal{
		name: string(p.Name), target: "pool/" + string(p.Name), version: p.Version, params: params,
		title: "Change the pool " + string(p.Name), button: "Change pool", back: withoutReview(r), facts: append(changes(poolConfig(p, d.now()), poolConfig(changed, d.now()), false), preview...),
		effect: []string{"It takes effect in every environment within 30 seconds.", fmt.Sprintf("Nothing is changed if the pool is not at version %d any more.", p.Version)},
		twin:   call{method: http.MethodPut, path: "/v1" + poolAddress(p.Name), version: p.Version, keyed: true, body: body}.twin(),
	}, err
}

// changes are the facts that are another after a change, with what they were; or all of them, of what is new.
func changes(before, after []templates.Fact, isNew bool) (facts []templates.Fact) {
	words := func(f templates.Fact) string { return cmp.Or(f.Time.Text, f.Value) }
	for i, f := range after {
		switch {
		case slices.Contains([]string{"Created", "Version", "Last used"}, f.Term): // it says so later
		case isNew && words(f) != "":
			facts = append(facts, f)
		case !isNew && words(before[i]) != words(f):
			f.Note = "was " + cmp.Or(words(before[i]), "nothing")
			f.Value = cmp.Or(f.Value, "nothing")
			facts = append(facts, f)
		}
	}
	return facts
}

func nothingChanged() error {
	return alloc.Errorf(alloc.CodeInvalidRequest, "nothing is changed by this; change something, or go back")
}

// withoutReview is the page's form with all that was filled in.
func withoutReview(r *http.Request) string { return with(r, queryReview, "") }
