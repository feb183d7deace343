package web

import (
	"bytes"
	"encoding/csv"
	"strings"
)

// WriteCSV writes rows as RFC 4180 has them. Each cell is made harmless: see harmless.
func WriteCSV(rows [][]string) ([]byte, error) {
	var b bytes.Buffer
	w := csv.NewWriter(&b)
	w.UseCRLF = true
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = harmless(cell)
		}
		if err := w.Write(cells); err != nil {
			return nil, err
		}
	}
	w.Flush()
	return b.Bytes(), w.Error()
}

// harmless puts ' before what a spreadsheet would run as a formula: clients choose such texts, and an administrator opens
// the file. That is at the beginning of a cell, and after what separates cells in other countries. A number with its
// sign, as a telephone number has it, runs nothing and stays as it is. Whoever needs every text exactly takes JSON.
func harmless(s string) string {
	if number, ok := strings.CutPrefix(strings.Replace(s, "-", "+", 1), "+"); ok && number != "" && strings.Trim(number, "0123456789") == "" {
		return s
	}
	var b strings.Builder
	begins := true
	for _, r := range s {
		if begins && strings.ContainsRune("=+-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20", r) {
			b.WriteByte('\'')
		}
		b.WriteRune(r)
		begins = r == ';' || r == '\t'
	}
	return b.String()
}
