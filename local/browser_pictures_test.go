//go:build !goonly

package main

import (
	"bytes"
	"cmp"
	"context"
	"flag"
	"fmt"
	"image"
	"image/color"
	"image/png"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
)

var picturesTo = flag.String("pictures", "", "the `folder` that the pictures of the README are written to; needs the fonts of `.ci/tools pictures`")

// Bounds of a picture: all have one width, what is further down is left out, and a clone of the repository stays small.
const (
	pictureWidth  = 1280
	pictureHeight = 900
	pictureBytes  = 150_000
)

// pictureDay is when the pictures are taken, by the clock of the program: it is the same day each time.
var pictureDay = time.Date(2026, time.March, 18, 14, 5, 0, 0, time.UTC)

// TestBrowserTakesThePictures takes the pictures of the README, of the running program on its day of sample data. Without a folder they are
// taken and thrown away: what leads to each still works.
func TestBrowserTakesThePictures(t *testing.T) {
	folder, options := *picturesTo, []chromedp.ExecAllocatorOption{chromedp.Flag("font-render-hinting", "none")}
	if folder == "" {
		folder = t.TempDir()
	} else {
		options = append(options, chromedp.Env("FONTCONFIG_FILE="+pictureFonts(t)))
	}
	ahead := time.Until(pictureDay)
	s := newSite(t, func(s *settings) { s.now = func() time.Time { return time.Now().Add(ahead) } })
	p := s.signedIn(t, newBrowser(t, options...))
	take := func(name string) { p.take(filepath.Join(folder, name)) }

	p.visit("/sequences/invoice-de/rebuild/plan?review=1&margin=500&reported=910112")
	p.confirm("a customer has an invoice of a number above the counter")
	p.until("/sequences/invoice-de/rebuild", `a[href$="/apply"]`)
	take("rebuild")

	p.visit("/pools/iccid-lot-7/seed")
	p.must("type IDs", chromedp.SetValue(`#text`, seedText()), chromedp.Click(`#ranges`), chromedp.SetValue(`#why`, "lot 7, second delivery"), chromedp.Submit(`form.form`), chromedp.WaitVisible(`.steps .done`))
	p.until("", `main .panel`)
	take("seed")

	p.visit("/pools/voucher-spring/verify?review=1&sample=100")
	p.confirm("before the month is closed")
	p.until("", `.files a`)
	take("audit")

	p.visit("/")
	take("overview")
	p.visit("/pools/voucher-spring")
	take("pool")
	p.visit("/audit")
	take("trail")
}

// confirm fills in the page of a confirmation and sends it.
func (p *tab) confirm(reason string) {
	p.t.Helper()
	if typed := value[string](p, `document.querySelector("form.confirm label strong.id")?.textContent ?? ""`); typed != "" {
		p.must("type the name", chromedp.SendKeys(`#typed`, typed))
	}
	p.must("confirm", chromedp.SetValue(`#reason`, reason), chromedp.Submit(`form.confirm`), chromedp.WaitNotPresent(`form.confirm`))
}

// until opens the address, or this page, again and again until it has what is looked for: the work of a job is on its way.
func (p *tab) until(address, selector string) {
	p.t.Helper()
	if address == "" {
		address = p.path()
	}
	for range 200 {
		p.visit(address)
		if value[bool](p, fmt.Sprintf(`document.querySelector(%q) !== null`, selector)) {
			return
		}
	}
	p.t.Fatalf("%s never had %s", address, selector)
}

// seedText is a lot of numbers, of which some are there already and some are wrong.
func seedText() string {
	return "8943100000000000394-8943100000000002893\n8943100000000000500\n8943100000000000501\n" + strings.Repeat("894310", 50) + "\n8943100000000\x07000503\n"
}

// take writes two pictures of what the tab shows: NAME-light.png and NAME-dark.png.
func (p *tab) take(name string) {
	p.t.Helper()
	p.size(pictureWidth, min(value[int64](p, `document.documentElement.scrollHeight`), pictureHeight))
	for _, scheme := range []string{"light", "dark"} {
		p.scheme(scheme)
		shot := p.shot()
		picture, err := png.Decode(bytes.NewReader(shot))
		if err != nil {
			p.t.Fatal(err)
		}
		var b bytes.Buffer
		if err := (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&b, inFewColours(picture)); err != nil {
			p.t.Fatal(err)
		}
		file := name + "-" + scheme + ".png"
		if b.Len() > pictureBytes {
			p.t.Errorf("%s has %d bytes, at most %d are wanted", file, b.Len(), pictureBytes)
		}
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			p.t.Fatal(err)
		}
	}
	p.scheme("light")
	p.size(pictureWidth, pictureHeight)
}

// shot is what the tab shows, as a PNG.
func (p *tab) shot() []byte {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.ctx, patience)
	defer cancel()
	shot, err := chromedp.Run(ctx, chromedp.CaptureScreenshot())
	if err != nil {
		p.t.Fatalf("take a picture: %v", err)
	}
	return shot
}

// pictureFonts writes a configuration of fonts: the same two on every machine, or none.
func pictureFonts(t *testing.T) string {
	t.Helper()
	folders := ""
	for _, folder := range []string{"/usr/share/fonts/opentype/inter", "/usr/share/fonts/truetype/jetbrains-mono"} {
		if _, err := os.Stat(folder); err != nil {
			t.Fatalf("a font of the pictures is missing: %v; run `.ci/tools pictures`", err)
		}
		folders += "<dir>" + folder + "</dir>"
	}
	prefer := func(kind, font string) string {
		return "<alias binding=\"same\"><family>" + kind + "</family><prefer><family>" + font + "</family></prefer></alias>"
	}
	text := "<?xml version=\"1.0\"?><!DOCTYPE fontconfig SYSTEM \"fonts.dtd\"><fontconfig>" + folders + "<cachedir>" + t.TempDir() + "</cachedir>" +
		prefer("system-ui", "Inter") + prefer("sans-serif", "Inter") + prefer("ui-monospace", "JetBrains Mono") + prefer("monospace", "JetBrains Mono") + "</fontconfig>"
	file := filepath.Join(t.TempDir(), "fonts.conf")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// inFewColours is the picture in 256 colours. Each that is taken is the one that saves most: by how much of the picture has it, and by how far it
// is from those that were taken before, so that a small green dot stays green.
func inFewColours(m image.Image) image.Image {
	counts := map[color.NRGBA]float64{}
	bounds := m.Bounds()
	at := func(x, y int) color.NRGBA { return color.NRGBAModel.Convert(m.At(x, y)).(color.NRGBA) }
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			counts[at(x, y)]++
		}
	}
	all := slices.SortedFunc(maps.Keys(counts), func(a, b color.NRGBA) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(fmt.Sprint(a), fmt.Sprint(b)))
	})
	nearest, far := map[color.NRGBA]uint8{}, map[color.NRGBA]float64{}
	var palette color.Palette
	for next := all[0]; len(palette) < 256; {
		palette = append(palette, next)
		most := 0.0
		for _, c := range all {
			if d := apart(c, palette[len(palette)-1].(color.NRGBA)); len(palette) == 1 || d < far[c] {
				far[c], nearest[c] = d, uint8(len(palette)-1) //nolint:gosec // a palette has at most 256
			}
			if saves := counts[c] * far[c]; saves > most {
				most, next = saves, c
			}
		}
		if most == 0 {
			break
		}
	}
	few := image.NewPaletted(bounds, palette)
	for y := bounds.Min.Y; y < bounds.Max.Y; y++ {
		for x := bounds.Min.X; x < bounds.Max.X; x++ {
			few.SetColorIndex(x, y, nearest[at(x, y)])
		}
	}
	return few
}

// apart is how far two colours are from each other, squared.
func apart(a, b color.NRGBA) float64 {
	square := func(a, b uint8) float64 { d := float64(a) - float64(b); return d * d }
	return square(a.R, b.R) + square(a.G, b.G) + square(a.B, b.B)
}
