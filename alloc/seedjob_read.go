package alloc

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// seedFile reads a seed file, in one part or in several that are whole lines each, as if it were all in one. It is where the
// reading stands between two parts; the format stays.
type seedFile struct {
	format SeedFormat
	column int     // of the IDs; -1 until the first record with text was read
	comma  rune    // between cells; 0 until that
	ends   lineEnd // unknown until the first line with an end was read
	lines  int     // that were read
	cut    bool    // the last of them had no end: there must be no other part
}

// lineEnd is what the lines of a file end in.
type lineEnd string

const (
	endsInLF lineEnd = "lf" // or in CRLF
	endsInCR lineEnd = "cr"
)

func beginSeedFile(f SeedFormat) *seedFile { return &seedFile{format: f, column: -1} }

// mark is what is kept between two parts, beside the format, the column and the number of lines.
func (r *seedFile) mark() string {
	rest := "whole"
	if r.cut {
		rest = "cut"
	}
	return fmt.Sprintf("%d,%s,%s", r.comma, r.ends, rest)
}

// goOn returns the reading as it stands after the parts that a job has received.
func goOn(j Job) (*seedFile, error) {
	r := beginSeedFile(j.Input)
	if len(j.Inputs) == 0 {
		return r, nil
	}
	for _, in := range j.Inputs {
		r.lines += in.Lines
	}
	r.column = j.Column
	words := strings.Split(j.Mark, ",")
	comma, err := strconv.ParseInt(words[0], 10, 32)
	if err != nil || len(words) != 3 {
		return nil, Errorf(CodeInternal, "how the file of the job is read on is not known").Because(err)
	}
	r.comma, r.ends, r.cut = rune(comma), lineEnd(words[1]), words[2] == "cut"
	return r, nil
}

// read reads the next part. It is ReadSeed for what is all of a file.
func (r *seedFile) read(data []byte, each func(SeedEntry)) (warnings []string, err error) {
	if r.cut {
		return nil, Errorf(CodeInvalidRequest, "the part before this one does not end with a line end, so nothing can come after it; "+
			"cut the file at ends of lines: cancel this job, and send the file to a new one")
	}
	if err := checkEncoding(data); err != nil {
		return nil, err
	}
	if r.lines == 0 {
		data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	}
	if data, err = r.toLF(data); err != nil {
		return nil, err
	}
	lines := bytes.Count(data, []byte("\n"))
	r.cut = len(data) > 0 && data[len(data)-1] != '\n'
	begins, noted, spread := r.column < 0, seedNotes{}, spreader{on: r.format.Ranges}
	noting := func(e SeedEntry) {
		if begins {
			noted.add(e)
		}
		spread.add(e, each)
	}
	guessed := false
	if r.format.CSV {
		guessed, err = r.readCSV(data, noting)
	} else {
		r.readText(data, noting)
	}
	if err = cmp.Or(err, spread.err); err != nil {
		return nil, err
	}
	if r.lines += lines; r.cut {
		r.lines++
	}
	switch {
	case !r.format.CSV:
		warnings = noted.warnOfCSV()
	case guessed:
		warnings = noted.warnOfHeader()
	}
	return append(warnings, spread.warnings()...), nil
}

// toLF brings lines that end in CR alone to LF, in a file that has no LF at all.
func (r *seedFile) toLF(data []byte) ([]byte, error) {
	lf, cr := bytes.Contains(data, []byte("\n")), bytes.Contains(data, []byte("\r"))
	switch {
	case r.ends == "" && lf:
		r.ends = endsInLF
	case r.ends == "" && cr:
		r.ends = endsInCR
	case r.ends == endsInCR && lf:
		return nil, Errorf(CodeInvalidRequest, "the lines of the parts before this one end in CR, and this one has lines that end in LF; bring the file to one of both")
	}
	if r.ends == endsInCR {
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	return data, nil
}

func (r *seedFile) readText(data []byte, each func(SeedEntry)) {
	n := r.lines
	for line := range bytes.Lines(data) {
		n++
		text := strings.TrimRight(string(line), "\r\n")
		if isBlank(text) {
			continue
		}
		if first := r.column < 0; first {
			r.column = 0
			if r.format.Header == HeaderYes || r.format.Header != HeaderNo && isHeaderWord(text) {
				continue
			}
		}
		each(SeedEntry{Line: n, Raw: text})
	}
}

// readCSV says of the first record of a file whether it was taken for data without being told.
func (r *seedFile) readCSV(data []byte, each func(SeedEntry)) (guessed bool, err error) {
	skipped := r.lines
	if r.lines == 0 {
		var declared bool
		if r.comma, data, declared = declaredComma(data); declared {
			skipped++
		}
	}
	comma := r.comma
	if comma == 0 {
		comma = detectComma(data)
	}
	in := csv.NewReader(bytes.NewReader(data))
	in.Comma, in.FieldsPerRecord, in.ReuseRecord = comma, -1, true
	for {
		record, err := in.Read()
		switch {
		case err == io.EOF:
			return guessed, nil
		case err != nil:
			return false, csvError(err, skipped)
		case isBlankRecord(record):
			continue
		}
		if first := r.column < 0; first {
			column, header, err := readHeader(record, r.format)
			if err != nil {
				return false, err
			}
			if r.column, r.comma = column, comma; header {
				continue
			}
			guessed = len(record) > 1 && r.format.Header != HeaderNo
		}
		line, _ := in.FieldPos(0)
		e := SeedEntry{Line: line + skipped}
		if r.column < len(record) {
			e.Raw = strings.Clone(record[r.column]) // the cells of a record share their memory
		}
		each(e)
	}
}

// declaredComma reads the line "sep=;" that some spreadsheets put before a table, and cuts it off.
func declaredComma(data []byte) (comma rune, rest []byte, declared bool) {
	line, rest, _ := bytes.Cut(data, []byte("\n"))
	value, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\r")), []byte("sep="))
	if !ok {
		return 0, data, false
	}
	r, size := utf8.DecodeRune(value)
	if size != len(value) || r == utf8.RuneError || r == '"' || unicode.IsControl(r) && r != '\t' {
		return 0, data, false
	}
	return r, rest, true
}

// csvError says where the quotes are wrong. Nothing else can be wrong with CSV that is read this way.
func csvError(err error, skipped int) error {
	e, ok := errors.AsType[*csv.ParseError](err)
	if !ok {
		return Errorf(CodeInternal, "the file could not be read").Because(err)
	}
	if errors.Is(e.Err, csv.ErrBareQuote) {
		return Errorf(CodeInvalidRequest, "line %d: a quote stands in a cell that does not begin with one; put the whole cell in quotes and double those inside it", e.Line+skipped).Because(err)
	}
	return Errorf(CodeInvalidRequest, "the quotes of the record that begins on line %d are not balanced (seen on line %d); close the cell, or double a quote that is part of it",
		e.StartLine+skipped, e.Line+skipped).Because(err)
}
