package generator_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"idpool/alloc/generator"
)

// wordList makes n different words of six letters.
func wordList(n int) string {
	var words []string
	for i := range n {
		x := uint32(i+1) * 2654435761
		w := make([]byte, 6)
		for j := range w {
			w[j], x = byte('a'+x%26), x/26+uint32(j*7919)
		}
		words = append(words, string(w))
	}
	return strings.Join(words, " ")
}

// BenchmarkGenerate makes a batch of a refill.
func BenchmarkGenerate(b *testing.B) {
	configs := map[string]generator.Config{
		"plain":                {Kind: generator.Random},
		"check":                {Kind: generator.Random, CheckChar: generator.CheckMod3736},
		"200 words":            {Kind: generator.Random, Block: wordList(200)},
		"200 words, check":     {Kind: generator.Random, CheckChar: generator.CheckMod3736, Block: wordList(200)},
		"200 words, check, 36": {Kind: generator.Random, CheckChar: generator.CheckMod3736, Block: wordList(200), Length: 30},
		"uuidv7":               {Kind: generator.UUIDv7},
	}
	for name, c := range configs {
		for _, n := range []int{1, 500} {
			b.Run(fmt.Sprintf("%s/%d", name, n), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := c.Generate(n, time.Unix(1, 0)); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func BenchmarkNumber(b *testing.B) {
	c := generator.Config{Kind: generator.Sequence, Sequence: "invoices", Format: "INV-{yyyy}{mm}-{n:6}", TimeZone: "Europe/Berlin"}
	b.ReportAllocs()
	for b.Loop() {
		if _, err := c.Number(17, time.Unix(1e9, 0)); err != nil {
			b.Fatal(err)
		}
	}
}
