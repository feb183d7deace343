package admin

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"github.com/a-h/templ"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web/admin/plan"
)

// Bounds of a step that is taken with many pools at once.
const (
	bulkMost  = 100 // pools of one plan
	bulkPages = 50  // of 100 pools that are looked through
	bulkTyped = 10  // with more pools than that, how many they are has to be typed
)

const (
	paramPools = "pools"
	paramList  = "list" // address of the list that was come from
)

// bulkStep sets the state of many pools.
type bulkStep struct {
	segment, verb string // of the path, and of what is done: "Pause"
	from, to      alloc.PoolState
	effects       []string
}

var bulkSteps = []bulkStep{
	{"pause", "Pause", alloc.PoolActive, alloc.PoolPaused, []string{
		"Claims of all of them are refused with pool_paused until somebody resumes them; a repeat of an earlier claim still gets its answer.",
		"Every environment knows it within 30 seconds.",
	}},
	{"resume", "Resume", alloc.PoolPaused, alloc.PoolActive, []string{"Claims are served again, in every environment within 30 seconds."}},
}

// bulkPool is a pool of a plan, as it was looked at.
type bulkPool struct {
	Name    alloc.PoolName `json:"n"`
	Version alloc.Version  `json:"v"`
}

// bulkActions are the steps that are taken with many pools at once: with those that the confirmed page names, and no others.
func (d *dashboard) bulkActions() []action {
	var all []action
	for _, s := range bulkSteps {
		all = append(all, action{
			path: "/bulk/pools/" + s.segment, verb: "pools." + s.segment, need: alloc.ActionOperate, ask: s.ask,
			propose: func(r *http.Request) (proposal, error) { return d.proposeBulk(r, s) },
			carry: func(ctx context.Context, p plan.Plan, _ asked, a alloc.Attempt) (outcome, error) {
				return d.carryBulk(ctx, p, s, a)
			},
		})
	}
	return all
}

func (s bulkStep) ask(r *http.Request) (templates.Form, error) {
	v := filled(r)
	from := poolList(r)
	form := templates.Form{
		Title: s.verb + " pools", Button: "Review pools", Back: address("/pools", from),
		Intro: fmt.Sprintf("Of the pools whose name contains the text, those that are %s are taken. The next page names each of them; nothing is done before it is confirmed.", s.from),
		Groups: []templates.FieldGroup{{Fields: []templates.Field{
			textField(queryPart, "Part of the name", "", "Leave it empty for all pools."),
		}}},
	}
	for _, k := range poolListKeys {
		if k != queryPart && from.Has(k) {
			form.Hidden = append(form.Hidden, templates.Fact{Term: k, Value: from.Get(k)})
		}
	}
	return v.show(form), nil
}

// poolListKeys are what the query of a page has of the list of pools that was come from.
var poolListKeys = []string{queryPart, queryState, queryOrder, pageSize}

// poolList is the query of that list: who has taken a step comes back to it.
func poolList(r *http.Request) url.Values {
	from, all := url.Values{}, r.URL.Query()
	for _, k := range poolListKeys {
		if v := all.Get(k); v != "" {
			from.Set(k, v)
		}
	}
	return from
}

// words is the query, exactly as it is carried out.
func (s bulkStep) words(part string) string {
	if part == "" {
		return "every pool that is " + string(s.from)
	}
	return fmt.Sprintf("every pool that is %s and whose name contains “%s”", s.from, part)
}

func (d *dashboard) proposeBulk(r *http.Request, s bulkStep) (proposal, error) {
	part := filled(r).text(queryPart)
	pools, err := d.barePools(r.Context())
	if err != nil {
		return proposal{}, err
	}
	var chosen []bulkPool
	for _, p := range pools {
		if p.State == s.from && strings.Contains(string(p.Name), strings.ToLower(part)) {
			chosen = append(chosen, bulkPool{p.Name, p.Version})
		}
	}
	switch {
	case len(chosen) == 0:
		return proposal{}, alloc.Errorf(alloc.CodeInvalidRequest, "no pool is like that: %s", s.words(part))
	case len(chosen) > bulkMost:
		return proposal{}, alloc.Errorf(alloc.CodeInvalidRequest, "%d pools are like that, and at most %d are taken at once; say more of the name, and do it in parts", len(chosen), bulkMost)
	}
	text, err := json.Marshal(chosen)
	if err != nil {
		return proposal{}, alloc.Errorf(alloc.CodeInternal, "pools cannot be planned").Because(err)
	}
	count := countPools(len(chosen))
	p := proposal{
		name: "*", target: "pools", params: map[string]string{paramPools: string(text), paramList: address("/pools", poolList(r))}, title: s.verb + " " + count, button: s.verb + " " + count,
		facts:  []templates.Fact{{Term: "Query", Value: s.words(part)}, {Term: "Found", Value: count}},
		effect: append(append([]string{}, s.effects...), "A pool that is changed before you confirm is left as it is, and the next page says so. Pools made since are not taken."),
		twin:   bulkTwin(chosen, s.segment), back: withoutReview(r),
	}
	for _, c := range chosen {
		p.facts = append(p.facts, templates.Fact{Term: "Pool", Value: string(c.Name), Href: poolAddress(c.Name), Note: "version " + strconv.FormatInt(int64(c.Version), 10)})
	}
	if len(chosen) > bulkTyped {
		p.typed, p.reason = count, true
	}
	return p, nil
}

func countPools(n int) string {
	if n == 1 {
		return "1 pool"
	}
	return strconv.Itoa(n) + " pools"
}

// bulkTwin is the same by the API, one request a pool. Names have nothing that a shell reads.
func bulkTwin(pools []bulkPool, segment string) templates.Call {
	lines := []string{
		"while read -r pool version; do",
		`  curl -X POST "$IDPOOL/v1/pools/$pool/` + segment + `" \`, `    -H "Authorization: Bearer $TOKEN" -H "If-Match: \"$version\"" -H "Idempotency-Key: $(uuidgen)"`,
		"done <<'END'",
	}
	for _, p := range pools {
		lines = append(lines, string(p.Name)+" "+strconv.FormatInt(int64(p.Version), 10))
	}
	return templates.Call{Text: strings.Join(append(lines, "END"), "\n")}
}

// barePools are all pools that whoever asks may see, up to a bound beyond which nobody could say what "all" is.
func (d *dashboard) barePools(ctx context.Context) (all []alloc.Pool, err error) {
	var next alloc.Cursor
	for range bulkPages {
		page, more, err := d.svc.BarePools(ctx, next, 100)
		if err != nil {
			return nil, err
		}
		all = append(all, page...)
		if next = more; next == "" {
			return all, nil
		}
	}
	return nil, alloc.Errorf(alloc.CodeInvalidRequest, "there are more than %s pools, too many to look through here; pause and resume them by the API", grouped(alloc.Count(bulkPages*100)))
}

// toldPool is what became of a pool in a step that was taken with many.
type toldPool struct {
	Name alloc.PoolName `json:"n"`
	Code string         `json:"c"` // "ok", "changed", or the code of the error
}

// carryBulk sets the state of each pool of the plan that is as it was looked at. One that is not, or that fails, stops no other.
func (d *dashboard) carryBulk(ctx context.Context, p plan.Plan, s bulkStep, a alloc.Attempt) (outcome, error) {
	var pools []bulkPool
	if err := json.Unmarshal([]byte(p.Params[paramPools]), &pools); err != nil {
		return outcome{}, alloc.Errorf(alloc.CodeInternal, "the pools of a plan cannot be read").Because(err)
	}
	found, err := d.barePools(ctx)
	if err != nil {
		return outcome{}, err
	}
	now := map[alloc.PoolName]alloc.Pool{}
	for _, f := range found {
		now[f.Name] = f
	}
	to := outcome{Location: cmp.Or(p.Params[paramList], "/pools"), Step: s.segment}
	for _, planned := range pools {
		code := "ok"
		switch is := now[planned.Name]; {
		case is.State == s.to && a.Others: // by another attempt of this plan, as far as anybody knows
		case is.State != s.from || is.Version != planned.Version:
			code = "changed"
		default:
			if _, err := d.svc.SetPoolState(ctx, planned.Name, planned.Version, s.to); err != nil {
				code = string(alloc.CodeOf(err))
			}
		}
		to.Each = append(to.Each, toldPool{planned.Name, code})
	}
	return to, nil
}

// toldPage says of each pool what became of it.
func (d *dashboard) toldPage(r *http.Request, to outcome) templ.Component {
	p := templates.ToldPage{Frame: d.frame(r, "Pools"), Next: templates.Link{Text: "Go to the pools", Href: to.Location}}
	done := 0
	for _, t := range to.Each {
		row := templates.ToldRow{Name: string(t.Name), Href: poolAddress(t.Name), State: templates.State{Tone: templates.ToneWarn, Text: "left as it is"}}
		switch t.Code {
		case "ok":
			done++
			row.State = templates.State{Tone: templates.ToneGood, Text: to.Step + "d"}
		case "changed":
			row.Why = "It was changed since the plan was made; look at it, and make a new plan."
		default:
			row.State, row.Why = templates.State{Tone: templates.ToneBad, Text: "failed"}, cmp.Or(bulkReasons[alloc.Code(t.Code)], "It failed with "+t.Code+"; look at it, and try again.")
		}
		p.Rows = append(p.Rows, row)
	}
	p.Frame.Title = fmt.Sprintf("%s of %s %sd", strconv.Itoa(done), countPools(len(to.Each)), to.Step)
	return templates.Told(p)
}

// bulkReasons are why the step failed with one of the pools.
var bulkReasons = map[alloc.Code]string{
	alloc.CodeForbidden:       "You may not do this with it.",
	alloc.CodePoolDeleted:     "It was deleted meanwhile.",
	alloc.CodeVersionMismatch: "It was changed in this very moment; look at it, and make a new plan.",
}

// bulkButtons lead from the list of pools to the steps with many of them, with what the list is filtered by. The steps choose by state themselves, so
// they stand where the list does not choose by another.
func (d *dashboard) bulkButtons(r *http.Request, query alloc.BoardQuery) (buttons []templates.Link) {
	if d.readOnly || !may(r, alloc.ActionOperate, "*") {
		return nil
	}
	for _, s := range bulkSteps {
		if query.State == "" || query.State == string(s.from) {
			buttons = append(buttons, templates.Link{Text: s.verb + " pools", Href: address("/bulk/pools/"+s.segment, poolList(r))})
		}
	}
	return buttons
}
