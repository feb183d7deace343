package alloc

import (
	"bytes"
	"strings"
	"unicode"
)

// HeaderMode says whether the first record of a seed file names the columns.
type HeaderMode string

// The modes. The empty mode is HeaderAuto.
const (
	// HeaderAuto takes the first record for a header if a column was asked for by name, or if its first cell is a word
	// that people put over such lists and nothing else: code, id, voucher, serial number … ([headerWords] has them all;
	// case, spaces, '_', '-', '.' and '#' do not count). A list that holds such a word as an ID is read with HeaderNo.
	HeaderAuto HeaderMode = "auto"
	HeaderYes  HeaderMode = "yes"
	HeaderNo   HeaderMode = "no"
)

// SeedFormat says how a seed file is to be read.
type SeedFormat struct {
	CSV    bool       // else plain text: one ID per line
	Column string     // the column that holds the IDs, in any case; "" for the first. CSV only
	Header HeaderMode // default HeaderAuto
	Ranges bool       // an ID such as 1000-1999 is each number from one to the other, with as many digits; else it is an ID of that form
}

// ReadSeed reads a seed file as people send them. It takes a UTF-8 mark at the beginning, lines that end in LF, CRLF or
// (where the file has no LF at all) CR, blank lines, and records with too many or too few cells. In CSV the separator
// is detected (see detectComma), cells may be quoted and then contain separators, line ends and doubled quotes.
//
// An entry's Line is the physical line on which its record begins, from 1. Raw is the cell as it stands, spaces
// included: what is wrong with one entry (empty, too long, control characters, not UTF-8) is for Service.Seed to report
// and never fails the file. A record without any text is no entry; one that has text, but none in the column of the
// IDs, is an entry with an empty Raw.
//
// Ranges are written out where the format says that there are any, and never by their look: an ID may have the form of one. What a range
// makes stands on its line.
//
// CodeInvalidRequest for what cannot be read at all: another encoding, a workbook, quotes that are not balanced, a
// column that is not there, a range that runs backwards or has ends of unlike length, ranges of more than MaxRangeIDs in all. The warnings say where the file may be meant in another way.
func ReadSeed(data []byte, f SeedFormat) (entries []SeedEntry, warnings []string, err error) {
	if err := checkFormat(f); err != nil {
		return nil, nil, err
	}
	r := beginSeedFile(f)
	warnings, err = r.read(data, func(e SeedEntry) { entries = append(entries, e) })
	if err != nil {
		return nil, nil, err
	}
	return entries, warnings, nil
}

func checkFormat(f SeedFormat) error {
	switch f.Header {
	case "", HeaderAuto, HeaderYes, HeaderNo:
	default:
		return Errorf(CodeInvalidRequest, "header must be %q, %q or %q", HeaderAuto, HeaderYes, HeaderNo)
	}
	if f.Column != "" && !f.CSV {
		return Errorf(CodeInvalidRequest, "plain text has no columns; send the file as CSV to choose one by name")
	}
	if f.Column != "" && f.Header == HeaderNo {
		return Errorf(CodeInvalidRequest, "a column can be chosen by name only where the first line names the columns; leave column or header out")
	}
	return nil
}

// checkEncoding refuses what would otherwise come out as thousands of strange findings.
func checkEncoding(data []byte) error {
	switch {
	case bytes.HasPrefix(data, []byte("\xFF\xFE")), bytes.HasPrefix(data, []byte("\xFE\xFF")),
		len(data) >= 4 && (data[0] == 0 && data[2] == 0 || data[1] == 0 && data[3] == 0):
		return Errorf(CodeInvalidRequest, "the file is in UTF-16; save it as UTF-8 (in a spreadsheet: \"CSV UTF-8\") and send it again")
	case bytes.HasPrefix(data, []byte("PK\x03\x04")), bytes.HasPrefix(data, []byte("\xD0\xCF\x11\xE0")):
		return Errorf(CodeInvalidRequest, "the file is a workbook or an archive; export the list as CSV or as text and send that")
	case bytes.HasPrefix(data, []byte("\x1F\x8B")):
		return Errorf(CodeInvalidRequest, "the file is compressed with gzip; unpack it and send what is in it")
	}
	return nil
}

// readHeader finds the column of the IDs by the first record with text, and says whether that record is a header.
func readHeader(record []string, f SeedFormat) (column int, header bool, err error) {
	if f.Column != "" {
		column, err = findColumn(record, f.Column)
		return column, true, err
	}
	if f.Header == HeaderYes || f.Header == HeaderNo {
		return 0, f.Header == HeaderYes, nil
	}
	if isHeaderWord(record[0]) {
		return 0, true, nil
	}
	// IDs of a wrong column could not be taken out of the pool again: better to ask.
	for _, cell := range record[1:] {
		if isHeaderWord(cell) {
			return 0, false, Errorf(CodeInvalidRequest,
				"the first line looks like a header, with the IDs under %s and not in the first column; name the column, or say that there is no header",
				quoteShort(strings.TrimSpace(cell)))
		}
	}
	return 0, false, nil
}

func findColumn(record []string, want string) (int, error) {
	found := -1
	names := make([]string, len(record))
	for i, cell := range record {
		names[i] = quoteShort(strings.TrimSpace(cell))
		if !strings.EqualFold(strings.TrimSpace(cell), strings.TrimSpace(want)) {
			continue
		}
		if found >= 0 {
			return 0, Errorf(CodeInvalidRequest, "the first line names the column %s more than once; rename one", names[i])
		}
		found = i
	}
	if found < 0 {
		const shown = 10
		more := ""
		if len(names) > shown {
			names, more = names[:shown], " …"
		}
		return 0, Errorf(CodeInvalidRequest, "there is no column %s; the first line names %s%s", quoteShort(want), strings.Join(names, ", "), more)
	}
	return found, nil
}

// headerWords are what a header's cell is compared with, in lower case, without the characters that [isHeaderWord] drops.
var headerWords = map[string]bool{
	"code": true, "codes": true, "id": true, "ids": true, "identifier": true, "identifiers": true,
	"voucher": true, "vouchers": true, "vouchercode": true, "vouchercodes": true, "voucherid": true, "vouchernumber": true, "voucherno": true,
	"coupon": true, "coupons": true, "couponcode": true, "couponcodes": true, "couponid": true,
	"promocode": true, "promocodes": true, "promotioncode": true, "discountcode": true, "discountcodes": true,
	"giftcode": true, "giftcard": true, "giftcardcode": true, "redeemcode": true, "activationcode": true, "accesscode": true,
	"serial": true, "serials": true, "serialnumber": true, "serialnumbers": true, "serialno": true,
	"key": true, "keys": true, "licensekey": true, "licensekeys": true, "licencekey": true, "licencekeys": true,
	"license": true, "licenses": true, "licence": true, "licences": true, "productkey": true, "productkeys": true,
	"number": true, "numbers": true, "phone": true, "phonenumber": true, "phonenumbers": true, "casenumber": true,
	"ticket": true, "ticketnumber": true, "token": true, "tokens": true, "pin": true, "pins": true,
}

func isHeaderWord(cell string) bool {
	return headerWords[strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r), r == '_', r == '-', r == '.', r == '#':
			return -1
		}
		return unicode.ToLower(r)
	}, cell)]
}

func isBlank(s string) bool { return strings.TrimSpace(s) == "" }

func isBlankRecord(record []string) bool {
	for _, cell := range record {
		if !isBlank(cell) {
			return false
		}
	}
	return true
}

// detectComma finds the separator: tab, semicolon or comma, in this order the first that stands in each of the first ten
// records with text the same number of times, outside quotes (so a decimal comma beside semicolons separates nothing);
// failing that the one most frequent in the first of them; failing that the comma.
func detectComma(data []byte) rune {
	counts := countCommas(data, 10)
	if len(counts) == 0 {
		return ','
	}
	candidates := []rune("\t;,")
	for i, c := range candidates {
		same := counts[0][i] > 0
		for _, n := range counts {
			same = same && n[i] == counts[0][i]
		}
		if same {
			return c
		}
	}
	best := 2
	for i := range candidates {
		if counts[0][i] > counts[0][best] {
			best = i
		}
	}
	return candidates[best]
}

// countCommas counts tabs, semicolons and commas outside quotes, per record with text, of the first records.
func countCommas(data []byte, records int) [][3]int {
	var counts [][3]int
	var n [3]int
	quoted, text := false, false
	end := func() {
		if text {
			counts = append(counts, n)
		}
		n, text = [3]int{}, false
	}
	for _, b := range data {
		if len(counts) == records {
			return counts
		}
		switch {
		case b == '"':
			quoted, text = !quoted, true
		case quoted:
		case b == '\n':
			end()
		case b == '\t':
			n[0]++
		case b == ';':
			n[1]++
		case b == ',':
			n[2]++
		case b != ' ' && b != '\r':
			text = true
		}
	}
	end()
	return counts
}
