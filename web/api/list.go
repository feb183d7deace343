package api

import (
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"idpool/alloc"
	"idpool/web"
)

// list is a page of a list as a table, and how the list goes on.
type list struct {
	name   string // of the file
	header []string
	rows   [][]string
	next   alloc.Cursor
}

// column is one column of a list as a table.
type column[T any] struct {
	name  string
	value func(T) string
}

func listOf[T any](name string, columns []column[T], entries []T, next alloc.Cursor) *list {
	l := &list{name: name, next: next, rows: make([][]string, len(entries))}
	for _, c := range columns {
		l.header = append(l.header, c.name)
		for i, e := range entries {
			l.rows[i] = append(l.rows[i], c.value(e))
		}
	}
	return l
}

// listed answers with a list in the form that the client wants: as JSON in the body, or as CSV.
func (q request) listed(body any, l *list) (answer, error) {
	a := answer{status: http.StatusOK, body: body, list: l}
	csv, err := q.wantsCSV()
	if err != nil || !csv {
		return a, err
	}
	data, err := web.WriteCSV(append([][]string{l.header}, l.rows...))
	a.file = &file{media: mediaCSV, name: l.name + ".csv", data: data}
	return a, err
}

// file is an answer that is sent as it is.
type file struct {
	media string
	name  string // under which it is to be stored; "" to show it
	data  []byte
}

// wantsCSV decides by the query, and where that says nothing by the Accept header.
func (q request) wantsCSV() (bool, error) {
	switch format := q.query.Get("format"); {
	case !q.query.Has("format"):
		accept := strings.Join(q.http.Header.Values("Accept"), ",")
		return preference(accept, "text", "csv") > preference(accept, "application", "json"), nil
	case format == "csv", format == "json":
		return format == "csv", nil
	}
	return false, alloc.Errorf(alloc.CodeInvalidRequest, "format must be csv or json; leave it out for what the Accept header says")
}

// preference is the weight that an Accept header gives a media type, by the range that fits it most closely (RFC 9110).
func preference(accept, kind, sub string) float64 {
	weight, closest := 0.0, 0
	for media := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(media)
		if err != nil {
			continue
		}
		fit := 0
		switch name {
		case kind + "/" + sub:
			fit = 3
		case kind + "/*":
			fit = 2
		case "*/*":
			fit = 1
		}
		if fit <= closest {
			continue
		}
		closest, weight = fit, 1
		if q, err := strconv.ParseFloat(params["q"], 64); err == nil {
			weight = q
		}
	}
	return weight
}

// nextPage is the Link header to the next page: the query alone, which is right below whatever path this is served.
func nextPage(r *http.Request, next alloc.Cursor) string {
	query, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil { // it was read before
		query = url.Values{}
	}
	query.Set("cursor", string(next))
	return "<?" + query.Encode() + `>; rel="next"`
}

// How many entries a page of a list has: at most, and when the query does not say.
const (
	maxPage     = 100
	defaultPage = 50
)

// page says which part of a list the client wants: from which cursor on ("": from the beginning), which the service checks,
// and how much.
func (q request) page() (cursor alloc.Cursor, limit int, err error) {
	limit, err = q.limit(maxPage, defaultPage)
	return alloc.Cursor(q.query.Get("cursor")), limit, err
}

// limit is how many entries the client wants at most.
func (q request) limit(most, without int) (int, error) {
	if !q.query.Has("limit") {
		return without, nil
	}
	n, err := strconv.ParseUint(q.query.Get("limit"), 10, 16)
	if err != nil || n < 1 || n > uint64(most) {
		return 0, alloc.Errorf(alloc.CodeInvalidCount, "limit must be 1 to %d", most)
	}
	return int(n), nil
}
