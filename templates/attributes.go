package templates

import (
	"strconv"

	"github.com/a-h/templ"
)

// describedBy ties a field to its hint and to what is wrong with it.
func describedBy(f Field) templ.Attributes {
	ids := ""
	if f.Hint != "" {
		ids = "h-" + f.Name
	}
	if f.Problem == "" {
		if ids == "" {
			return templ.Attributes{}
		}
		return templ.Attributes{"aria-describedby": ids}
	}
	if ids != "" {
		ids += " "
	}
	return templ.Attributes{"aria-describedby": ids + "p-" + f.Name, "aria-invalid": "true"}
}

func refreshSeconds(r Refresh) string { return strconv.Itoa(r.Seconds) }
