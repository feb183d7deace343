package admin

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"time"

	"idpool/alloc"
	"idpool/templates"
)

// values are what was filled in, or before that what stands already. What cannot be read is noted by the name of its field.
type values struct {
	sent     bool // it was filled in
	query    url.Values
	problems map[string]string
}

// filled are the values of a request's query. A form that was sent says so by queryReview.
func filled(r *http.Request) *values {
	q := r.URL.Query()
	return &values{sent: q.Has(queryReview), query: q, problems: map[string]string{}}
}

// text is a value as it was typed, without spaces around it.
func (v *values) text(name string) string { return strings.TrimSpace(v.query.Get(name)) }

// grouping is how a number with thousands separators looks, by what separates them.
var grouping = func() map[string]*regexp.Regexp {
	by := map[string]*regexp.Regexp{}
	for _, separator := range []string{",", " ", "_", "\u00a0", "\u202f"} {
		by[separator] = regexp.MustCompile(`^[0-9]{1,3}(` + separator + `[0-9]{3})+$`)
	}
	return by
}()

// number reads a whole number, which may have thousands separators where they belong, all the same; usual where nothing was typed.
func (v *values) number(name string, usual int64) int64 {
	text := v.text(name)
	if text == "" {
		return usual
	}
	for separator, looks := range grouping {
		if looks.MatchString(text) {
			text = strings.ReplaceAll(text, separator, "")
			break
		}
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		v.problems[name] = "This is a whole number from 0 to 9,223,372,036,854,775,807; a comma or a space parts thousands alone."
		return usual
	}
	return n
}

// numberFrom1 reads a whole number of which 0 would say something else; 0 where nothing was typed.
func (v *values) numberFrom1(name string, most int64) int64 {
	n := v.number(name, 0)
	if v.text(name) != "" && v.problems[name] == "" && (n < 1 || n > most) {
		v.problems[name] = "This is a whole number from 1 to " + grouped(most) + "."
	}
	return n
}

// flag reads a box: of a form that was sent, what has no value is off.
func (v *values) flag(name string) bool { return v.query.Get(name) != "" }

// moment reads a time in UTC, "2026-11-30 14:05" or RFC 3339; zero where nothing was typed.
func (v *values) moment(name string) time.Time {
	text := v.text(name)
	if text == "" {
		return time.Time{}
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02 15:04:05", "2006-01-02 15:04", "2006-01-02"} {
		if t, err := time.ParseInLocation(layout, text, time.UTC); err == nil {
			return t
		}
	}
	v.problems[name] = "This is a time in UTC, as 2026-11-30 14:05."
	return time.Time{}
}

// show puts into the fields of a form what was filled in and what is wrong with it. Before anything was sent they keep what they have.
func (v *values) show(f templates.Form) templates.Form {
	v.showAll(f.Groups)
	if len(v.problems) > 0 {
		f.Problem = "Some of it is missing or cannot be read; see below."
	}
	return f
}

// showAll unfolds a part in which something was filled in, so that nothing of that is hidden, and no problem is.
func (v *values) showAll(groups []templates.FieldGroup) {
	for i := range groups {
		g := &groups[i]
		for n := range g.Fields {
			f := &g.Fields[n]
			v.showIn(f)
			g.Open = g.Open || f.Problem != "" || v.text(f.Name) != ""
		}
		v.showAll(g.Parts)
	}
}

func (v *values) showIn(f *templates.Field) {
	f.Problem = v.problems[f.Name]
	if !v.query.Has(f.Name) && !v.sent || f.Fixed {
		return
	}
	switch typed := v.query.Get(f.Name); f.Kind {
	case templates.FieldCheck:
		f.Checked = typed != ""
	case templates.FieldChoice:
		for i := range f.Options {
			f.Options[i].Selected = f.Options[i].Value == typed
		}
	default:
		f.Value = typed
	}
}

// readable reports whether all of it could be read.
func (v *values) readable() error {
	if len(v.problems) == 0 {
		return nil
	}
	return alloc.Errorf(alloc.CodeInvalidRequest, "some of what was filled in cannot be read; see below")
}

// number0 is a number as it stands in a field: nothing for 0.
func number0[N ~int64 | ~int](n N) string {
	if n == 0 {
		return ""
	}
	return strconv.FormatInt(int64(n), 10)
}

// choice is a field with options, of which one is taken.
func choice(name, label, hint, taken string, options ...[2]string) templates.Field {
	f := templates.Field{Kind: templates.FieldChoice, Name: name, Label: label, Hint: hint}
	for _, o := range options {
		f.Options = append(f.Options, templates.Option{Value: o[0], Text: o[1], Selected: o[0] == taken})
	}
	return f
}

func textField(name, label, value, hint string) templates.Field {
	return templates.Field{Kind: templates.FieldText, Name: name, Label: label, Value: value, Hint: hint}
}

func numberField(name, label, value, hint string) templates.Field {
	return templates.Field{Kind: templates.FieldNumber, Name: name, Label: label, Value: value, Hint: hint}
}

func checkField(name, label string, on bool, hint string) templates.Field {
	return templates.Field{Kind: templates.FieldCheck, Name: name, Label: label, Value: "yes", Checked: on, Hint: hint}
}

// fixed makes a field one that is shown and cannot be changed.
func fixed(f templates.Field, is bool) templates.Field {
	f.Fixed = is
	return f
}
