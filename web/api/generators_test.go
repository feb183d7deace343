package api

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/alloc/generator"
)

// FuzzPoolBody holds that whatever a client sends is refused by a code for bad input or understood in full: what a GET
// would then answer, sent back, means the same.
func FuzzPoolBody(f *testing.F) {
	for _, s := range []string{
		``, `{}`, `{"description":"d","policy":"forget","fold_case":true,"max_batch":7,"on_release":"retire","require_key":true}`,
		`{"generator":null,"refill":null}`, `{"generator":{}}`, `{"refill":{}}`, `{"refill":{"low":5,"target":10,"low_hours":1,"target_hours":2}}`,
		`{"generator":{"kind":"random","alphabet":"0123456789","length":8,"prefix":"P-","group":4,"separator":".","check":"luhn","without_ambiguous":true,"block":["AB","CDE"]}}`,
		`{"generator":{"kind":"sequence","sequence":"s","format":"INV-{yyyy}-{n:6}","overflow":"grow","time_zone":"Europe/Berlin"}}`,
		`{"generator":{"kind":"ulid","kind":"ulid"}}`, `{"generator":{"block":["A B"]}}`, `{"generator":{"kind":"random","block":["\u2003"]}}`, `{"refill":{"low":1e3}}`, `{"refill":{"refill.low":1}}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var b poolConfig
		if err := decode(data, b.fields()); err != nil {
			switch alloc.CodeOf(err) {
			case alloc.CodeInvalidRequest, alloc.CodeInvalidConfig:
				return
			}
			t.Fatalf("%q: %v", data, err)
		}
		config := b.config().WithDefaults()
		var again poolConfig
		form := canonical(newPoolConfig(config))
		if err := decode([]byte(form), again.fields()); err != nil {
			t.Fatalf("%q was understood as %s, which is refused: %v", data, form, err)
		}
		if got := again.config().WithDefaults(); got != config {
			t.Fatalf("%q was understood as %s, and that as %s", data, form, canonical(newPoolConfig(got)))
		}
	})
}

// Each member of a generator and of the marks has its place in the configuration, there and back.
func TestGeneratorsAreUnderstood(t *testing.T) {
	for body, want := range map[string]alloc.PoolConfig{
		`{}`:                                  {},
		`{"generator": null, "refill": null}`: {},
		`{"refill": {}}`:                      {},
		`{"generator": {"kind": "ulid"}}`:     {Generator: generator.Config{Kind: generator.ULID}},
		`{"refill": {"low": 1, "target": 2, "low_hours": 3, "target_hours": 4}}`: {Marks: alloc.Marks{Low: 1, Target: 2, LowHours: 3, TargetHours: 4}},
		`{"generator": {"kind": "random", "alphabet": "ABC", "length": 8, "prefix": "P-", "group": 4, "separator": ".", "check": "mod37_36", "without_ambiguous": true, "block": ["XX", "YYY"]}}`: {
			Generator: generator.Config{
				Kind: generator.Random, Alphabet: "ABC", Length: 8, Prefix: "P-", Group: 4, Separator: ".", CheckChar: generator.CheckMod3736, WithoutAmbiguous: true, Block: "XX YYY",
			},
		},
		`{"generator": {"kind": "sequence", "sequence": "s", "format": "{n}", "overflow": "grow", "time_zone": "Europe/Berlin"}}`: {
			Generator: generator.Config{Kind: generator.Sequence, Sequence: "s", Format: "{n}", Overflow: generator.OverflowGrow, TimeZone: "Europe/Berlin"},
		},
	} {
		var b poolConfig
		if err := decode([]byte(body), b.fields()); err != nil {
			t.Errorf("%s: %v", body, err)
			continue
		}
		if diff := cmp.Diff(want, b.config()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", body, diff)
		}
		if diff := cmp.Diff(want, new(newPoolConfig(want)).config()); diff != "" {
			t.Errorf("%s, answered and read again (-want +got):\n%s", body, diff)
		}
	}
}

func TestRefusalsOfGeneratorsSayWhereTheyAre(t *testing.T) {
	for body, want := range map[string]string{
		`{"generator": 5}`:                                         "generator must be an object, or null for none, not a number",
		`{"generator": {"kind": 5}}`:                               "generator.kind must be a string, not a number",
		`{"generator": {"knid": "ulid"}}`:                          `the field "generator.knid" is not known; known are: generator.kind, generator.alphabet, `,
		`{"generator": {"kind": "ulid", "kind": "ulid"}}`:          `generator has the field "kind" twice; give it once`,
		`{"generator": {"generator.kind": "ulid"}}`:                `the field "generator.generator.kind" is not known; `,
		`{"generator.kind": "ulid"}`:                               `the field "generator.kind" is not known; known are: description, `,
		`{"generator": {"kind": "random", "block": ["", "A"]}}`:    "generator.block[0] must be one word without spaces",
		`{"generator": {"kind": "random", "block": ["A", "B C"]}}`: "generator.block[1] must be one word without spaces",
		`{"generator": {}}`:                                        "generator.kind must be random, sequence, uuidv7 or ulid; for no generator leave generator out, or send null",
		`{"refill": {"low": "5"}}`:                                 "refill.low must be a whole number such as 5, not a string",
		`{"refill": {"high": 5}}`:                                  `the field "refill.high" is not known; known are: refill.low, refill.target, refill.low_hours, refill.target_hours`,
	} {
		var b poolConfig
		err := decode([]byte(body), b.fields())
		if e, ok := errors.AsType[*alloc.Error](err); !ok || !strings.HasPrefix(e.Message, want) {
			t.Errorf("%s:\n got %v\nwant %s", body, err, want)
		}
	}
}
