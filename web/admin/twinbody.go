package admin

import (
	"encoding/json"
	"strconv"
	"strings"

	"idpool/alloc"
)

// members are those of a JSON object, in their order; one without a value is left out.
type members []member

type member struct {
	name  string
	value any
}

// MarshalJSON implements json.Marshaler.
func (m members) MarshalJSON() ([]byte, error) {
	var text strings.Builder
	for _, f := range m {
		switch v := f.value.(type) {
		case nil:
			continue
		case string:
			if v == "" {
				continue
			}
		case int64:
			if v == 0 {
				continue
			}
		case bool:
			if !v {
				continue
			}
		case []string:
			if len(v) == 0 {
				continue
			}
		}
		value, err := json.Marshal(f.value)
		if err != nil {
			return nil, err
		}
		if text.Len() > 0 {
			text.WriteByte(',')
		}
		text.WriteString(strconv.Quote(f.name) + ":" + string(value))
	}
	return []byte("{" + text.String() + "}"), nil
}

// body is an object as it is shown.
func body(m members) (string, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return "", alloc.Errorf(alloc.CodeInternal, "a request cannot be shown").Because(err)
	}
	return string(text), nil
}

// poolTwin is a configuration as the API takes it.
func poolTwin(c alloc.PoolConfig) (string, error) {
	g, m := c.Generator, c.Marks
	all := members{
		{"description", c.Description},
		{"policy", string(c.Policy)},
		{"fold_case", c.FoldCase},
		{"max_batch", int64(c.MaxBatch)},
		{"on_release", string(c.OnRelease)},
		{"require_key", c.RequireKey},
	}
	if !g.IsZero() {
		all = append(all, member{"generator", members{
			{"kind", string(g.Kind)},
			{"alphabet", g.Alphabet},
			{"length", int64(g.Length)},
			{"prefix", g.Prefix},
			{"group", int64(g.Group)},
			{"separator", g.Separator},
			{"check", string(g.CheckChar)},
			{"without_ambiguous", g.WithoutAmbiguous},
			{"block", strings.Fields(g.Block)},
			{"sequence", g.Sequence},
			{"format", g.Format},
			{"overflow", string(g.Overflow)},
			{"time_zone", g.TimeZone},
		}})
	}
	if m != (alloc.Marks{}) {
		all = append(all, member{"refill", members{
			{"low", int64(m.Low)},
			{"target", int64(m.Target)},
			{"low_hours", int64(m.LowHours)},
			{"target_hours", int64(m.TargetHours)},
		}})
	}
	return body(all)
}

// sequenceTwin is a configuration as the API takes it.
func sequenceTwin(c alloc.SequenceConfig) (string, error) {
	return body(members{
		{"description", c.Description},
		{"start", strconv.FormatInt(int64(c.Start), 10)},
		{"limit", strconv.FormatInt(int64(c.Limit), 10)},
		{"max_lease", int64(c.MaxLease)},
		{"segment", int64(c.Segment)},
		{"require_key", c.RequireKey},
		{"auto_rebuild", c.AutoRebuild},
		{"resume_share", int64(c.ResumeShare)},
	})
}
