package web

import (
	"strconv"

	"idpool/alloc"
)

// ETag is a version as an entity tag: "3", quotes included.
func ETag(v alloc.Version) string { return `"` + strconv.FormatInt(int64(v), 10) + `"` }
