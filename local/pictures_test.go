package main

import (
	"image/png"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestThePicturesOfTheREADME compares what the README shows with what is there, both ways. `make screenshots` takes them.
func TestThePicturesOfTheREADME(t *testing.T) {
	text, err := os.ReadFile("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	var shown []string
	for _, m := range regexp.MustCompile(`(?:src|srcset)="([^"]+)"`).FindAllStringSubmatch(string(text), -1) {
		shown = append(shown, m[1])
	}
	if len(shown) < 12 {
		t.Errorf("the README shows %d pictures, want six in light and dark", len(shown))
	}
	for _, name := range shown {
		other := strings.Replace(name, "-light.", "-dark.", 1)
		if strings.Contains(name, "-dark.") {
			other = strings.Replace(name, "-dark.", "-light.", 1)
		}
		if !slices.Contains(shown, other) {
			t.Errorf("%s is shown, and not %s", name, other)
		}
		file, err := os.Open(filepath.Join("..", filepath.FromSlash(name)))
		if err != nil {
			t.Errorf("the README shows a picture that is not there: %v", err)
			continue
		}
		size, err := png.DecodeConfig(file)
		info, stat := file.Stat()
		file.Close()
		if err != nil || stat != nil {
			t.Errorf("%s: %v, %v", name, err, stat)
		} else if size.Width != 1280 || info.Size() > 150_000 {
			t.Errorf("%s is %d wide and has %d bytes, want 1280 and at most 150,000", name, size.Width, info.Size())
		}
	}
	there, err := filepath.Glob("../docs/screenshots/*")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range there {
		if !slices.Contains(shown, "docs/screenshots/"+filepath.Base(file)) {
			t.Errorf("the README does not show %s", file)
		}
	}
}
