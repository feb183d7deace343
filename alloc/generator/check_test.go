package generator_test

import (
	"strings"
	"testing"
	"time"

	"idpool/alloc/generator"
)

// TestWhatCheckRefuses has a row for each way in which a configuration can be wrong. The words name the field and what to do.
func TestWhatCheckRefuses(t *testing.T) {
	const (
		random   = generator.Random
		sequence = generator.Sequence
	)
	type config = generator.Config
	tests := map[string]struct {
		config config
		words  []string
	}{
		"nothing":      {config{}, []string{"kind", "random", "uuidv7"}},
		"unknown kind": {config{Kind: "snowflake"}, []string{"kind"}},

		"a character twice":                   {config{Kind: random, Alphabet: "ABCA"}, []string{"alphabet", "'A' twice"}},
		"a space in the alphabet":             {config{Kind: random, Alphabet: "AB C"}, []string{"alphabet", "no space"}},
		"a letter beyond ASCII":               {config{Kind: random, Alphabet: "ABÇ"}, []string{"alphabet", "ASCII"}},
		"a control character":                 {config{Kind: random, Alphabet: "AB\x7f"}, []string{"alphabet", "printable"}},
		"an alphabet of one":                  {config{Kind: random, Alphabet: "A"}, []string{"alphabet", "2 to 64", "has 1"}},
		"an alphabet of 65":                   {config{Kind: random, Alphabet: asciiFrom('!', 65)}, []string{"alphabet", "2 to 64", "has 65"}},
		"only ambiguous ones":                 {config{Kind: random, Alphabet: "0O1IA", WithoutAmbiguous: true}, []string{"without_ambiguous", "leaves 1 of the 5"}},
		"a negative length":                   {config{Kind: random, Length: -1}, []string{"length", "1 to 64"}},
		"a length of 65":                      {config{Kind: random, Length: 65}, []string{"length", "1 to 64"}},
		"a long prefix":                       {config{Kind: random, Prefix: strings.Repeat("x", 33)}, []string{"prefix", "32 bytes", "has 33"}},
		"a prefix with a space at its end":    {config{Kind: random, Prefix: "INV "}, []string{"prefix", "space"}},
		"a prefix with a tabulator":           {config{Kind: random, Prefix: "A\tB"}, []string{"prefix", "U+0009"}},
		"a prefix that is no UTF-8":           {config{Kind: random, Prefix: "A\xff"}, []string{"prefix", "U+FFFD"}},
		"a prefix with a combining mark":      {config{Kind: random, Prefix: "e\u0301"}, []string{"prefix", "U+0301"}},
		"a prefix with a zero-width space":    {config{Kind: random, Prefix: "A\u200bB"}, []string{"prefix", "U+200B"}},
		"a negative group":                    {config{Kind: random, Group: -1}, []string{"group"}},
		"a group as long as the ID":           {config{Kind: random, Length: 4, Group: 4}, []string{"group", "less than length"}},
		"a separator without groups":          {config{Kind: random, Separator: "-"}, []string{"separator", "group"}},
		"a separator of two":                  {config{Kind: random, Group: 4, Separator: "--"}, []string{"separator", "one"}},
		"a separator beyond ASCII":            {config{Kind: random, Group: 4, Separator: "·"}, []string{"separator", "ASCII"}},
		"a separator of the alphabet":         {config{Kind: random, Alphabet: "AB-", Group: 4}, []string{"separator", "alphabet"}},
		"a letter as separator":               {config{Kind: random, Alphabet: "0123", Group: 4, Separator: "x"}, []string{"separator", "letter"}},
		"an unknown check":                    {config{Kind: random, CheckChar: "crc"}, []string{"check", "luhn", "damm", "mod37_36"}},
		"Luhn with letters":                   {config{Kind: random, Alphabet: "012A", CheckChar: generator.CheckLuhn}, []string{"check", "luhn", "digits"}},
		"Damm with letters":                   {config{Kind: random, Alphabet: "012A", CheckChar: generator.CheckDamm}, []string{"check", "damm", "digits"}},
		"mod 37,36 with letters of two cases": {config{Kind: random, Alphabet: "0Aa", CheckChar: generator.CheckMod3736}, []string{"check", "mod37_36", "all upper or all lower"}},
		"mod 37,36 with punctuation":          {config{Kind: random, Alphabet: "0A.", CheckChar: generator.CheckMod3736}, []string{"check", "mod37_36"}},
		"a long list of words":                {config{Kind: random, Block: strings.Repeat("abcdefghij ", 182)}, []string{"block", "2000 bytes"}},
		"many words":                          {config{Kind: random, Block: strings.Repeat("abc ", 201)}, []string{"block", "200 words", "has 201"}},
		"a list of no words":                  {config{Kind: random, Block: "  "}, []string{"block", "no word"}},
		"a word of one letter":                {config{Kind: random, Block: "ab x"}, []string{"block", "\"x\"", "alphabet"}},
		"a word with a separator":             {config{Kind: random, Block: "a-b"}, []string{"block", "\"a-b\"", "without"}},
		"a blocked word in the prefix":        {config{Kind: random, Prefix: "INV-BAD", Block: "bad"}, []string{"prefix", "\"bad\""}},
		"one over a hyphen of the prefix":     {config{Kind: random, Prefix: "B-AD", Block: "bad"}, []string{"prefix", "\"bad\""}},
		"words that leave nothing":            {config{Kind: random, Alphabet: "ab", Length: 2, Block: "aa ab ba bb"}, []string{"no ID can be made", "block"}},
		"an ID of 129 bytes":                  {config{Kind: random, Length: 64, Group: 1, Prefix: "ab"}, []string{"129 bytes", "128"}},
		"a format for random ones":            {config{Kind: random, Format: "{n}"}, []string{"format", "sequence"}},
		"a time zone for random ones":         {config{Kind: random, TimeZone: "UTC"}, []string{"time_zone"}},
		"a length for UUIDs":                  {config{Kind: generator.UUIDv7, Length: 36}, []string{"uuidv7", "leave them out"}},
		"a format for ULIDs":                  {config{Kind: generator.ULID, Format: "{n}"}, []string{"ulid", "leave them out"}},

		"no sequence":              {config{Kind: sequence, Format: "{n}"}, []string{"sequence", "name"}},
		"no format":                {config{Kind: sequence, Sequence: "s"}, []string{"format", "{n}"}},
		"an alphabet for numbers":  {config{Kind: sequence, Sequence: "s", Format: "{n}", Alphabet: "ab"}, []string{"sequence", "leave out"}},
		"no number":                {config{Kind: sequence, Sequence: "s", Format: "INV"}, []string{"format", "one {n}"}},
		"the number twice":         {config{Kind: sequence, Sequence: "s", Format: "{n}-{n:2}"}, []string{"format", "{n} 2 times"}},
		"an unknown placeholder":   {config{Kind: sequence, Sequence: "s", Format: "{n}{year}"}, []string{"format", "{year}", "{yyyy}"}},
		"no place":                 {config{Kind: sequence, Sequence: "s", Format: "{n:0}"}, []string{"{n:0}", "1 to 19"}},
		"20 places":                {config{Kind: sequence, Sequence: "s", Format: "{n:20}"}, []string{"{n:20}", "1 to 19"}},
		"places with a zero":       {config{Kind: sequence, Sequence: "s", Format: "{n:06}"}, []string{"{n:06}", "{n:6}"}},
		"an open brace":            {config{Kind: sequence, Sequence: "s", Format: "{n}{"}, []string{"format", "{ without"}},
		"a closing brace":          {config{Kind: sequence, Sequence: "s", Format: "}{n}"}, []string{"format", "} without"}},
		"a month without its year": {config{Kind: sequence, Sequence: "s", Format: "{mm}-{n}"}, []string{"{mm} without a year"}},
		"a day without its month":  {config{Kind: sequence, Sequence: "s", Format: "{yyyy}{dd}-{n}"}, []string{"{dd} without {mm}"}},
		"a long format":            {config{Kind: sequence, Sequence: "s", Format: "{n}" + strings.Repeat("x", 98)}, []string{"format", "100 bytes", "has 101"}},
		"a format that ends in a space": {
			config{Kind: sequence, Sequence: "s", Format: "{n} "}, []string{"format", "space"},
		},
		"a format with what cannot be seen": {
			config{Kind: sequence, Sequence: "s", Format: "A\u00ad{n}"}, []string{"format", "U+00AD"},
		},
		"a character that the number cuts in two": {
			config{Kind: sequence, Sequence: "s", Format: "\xeb\x84{n}\x96"}, []string{"format", "U+FFFD"},
		},
		"an unknown overflow":  {config{Kind: sequence, Sequence: "s", Format: "{n}", Overflow: "wrap"}, []string{"overflow", "refuse", "grow"}},
		"an unknown time zone": {config{Kind: sequence, Sequence: "s", Format: "{yy}{n}", TimeZone: "Europe/Berlingen"}, []string{"time_zone", "Berlingen"}},
		"the machine's time zone": {
			config{Kind: sequence, Sequence: "s", Format: "{yy}{n}", TimeZone: "Local"}, []string{"time_zone", "Local"},
		},
		"a time zone without a date": {
			config{Kind: sequence, Sequence: "s", Format: "{n}", TimeZone: "Europe/Berlin"}, []string{"time_zone", "no date"},
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			err := tt.config.Check()
			if err == nil {
				t.Fatal("Check allows it")
			}
			for _, w := range tt.words {
				if !strings.Contains(err.Error(), w) {
					t.Errorf("Check = %q, want %q in it", err, w)
				}
			}
			refusedEverywhere(t, tt.config)
		})
	}
}

// refusedEverywhere holds that what Check refuses nothing is made by.
func refusedEverywhere(t *testing.T, c generator.Config) {
	t.Helper()
	if ids, err := c.Generate(1, time.Unix(0, 0)); err == nil {
		t.Errorf("Generate makes %q all the same", ids)
	}
	if id, err := c.Number(1, time.Unix(0, 0)); err == nil {
		t.Errorf("Number makes %q all the same", id)
	}
	if c.CheckTarget(1) == nil || c.FoldedOK() == nil {
		t.Error("CheckTarget and FoldedOK should refuse it too")
	}
	if s := c.Space(); s != nil && s.Sign() != 0 {
		t.Errorf("Space = %s, want 0", s)
	}
	if p := c.Period(time.Unix(0, 0)); p != "" {
		t.Errorf("Period = %q, want none", p)
	}
}

func asciiFrom(first byte, n int) string {
	b := make([]byte, n)
	for i := range b {
		b[i] = first + byte(i)
	}
	return string(b)
}

// TestWhatCheckAllows has what is near to being refused.
func TestWhatCheckAllows(t *testing.T) {
	tests := map[string]generator.Config{
		"the defaults":               {Kind: generator.Random},
		"digits for Luhn":            {Kind: generator.Random, CheckChar: generator.CheckLuhn},
		"64 characters":              {Kind: generator.Random, Alphabet: asciiFrom('!', 64), Length: 64},
		"128 bytes":                  {Kind: generator.Random, Length: 64, Group: 1, Prefix: "a"},
		"a prefix beyond ASCII":      {Kind: generator.Random, Prefix: "Fälle №"},
		"words of other letters":     {Kind: generator.Random, Alphabet: "0123456789", Block: "bad wörse"},
		"a list over several lines":  {Kind: generator.Random, Block: "bad\nworse"},
		"UUIDs":                      {Kind: generator.UUIDv7},
		"ULIDs":                      {Kind: generator.ULID},
		"19 places":                  {Kind: generator.Sequence, Sequence: "s", Format: "{n:19}"},
		"a date twice":               {Kind: generator.Sequence, Sequence: "s", Format: "{yyyy}/{yy}/{mm}/{dd}/{mm}/{n}"},
		"the default time zone":      {Kind: generator.Sequence, Sequence: "s", Format: "{n}", TimeZone: "UTC"},
		"a format of the year's end": {Kind: generator.Sequence, Sequence: "s", Format: "請求書-{n:6}-{yy}", TimeZone: "Asia/Tokyo", Overflow: generator.OverflowGrow},
	}
	for name, c := range tests {
		t.Run(name, func(t *testing.T) {
			if err := c.Check(); err != nil {
				t.Error(err)
			}
			if err := c.WithDefaults().Check(); err != nil {
				t.Errorf("with its defaults filled in: %v", err)
			}
			if c.WithDefaults() != c.WithDefaults().WithDefaults() {
				t.Error("defaults filled in twice differ")
			}
		})
	}
}

func TestRemoveAmbiguous(t *testing.T) {
	if got, want := generator.RemoveAmbiguous(generator.DefaultAlphabet), "34679ACDEFGHJKMNPQRTWXY"; got != want {
		t.Errorf("RemoveAmbiguous = %s, want %s", got, want)
	}
}
