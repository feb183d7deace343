package api

// The formats of an export.
const (
	formatCSV  = "csv"
	formatJSON = "json" // one object a line
)
