package admin

import (
	"slices"
	"testing"

	"idpool/local/gallery"
)

// TestEachScreenIsInTheGallery compares the table of screens with the pages that are looked at in every state.
func TestEachScreenIsInTheGallery(t *testing.T) {
	states := map[string][]gallery.State{}
	for _, p := range gallery.Pages() {
		states[p.Pattern] = append(states[p.Pattern], p.State)
	}
	patterns := []string{"/pools/{pool}/seed"}
	for _, s := range (&dashboard{}).screens() {
		patterns = append(patterns, s.path)
	}
	for _, pattern := range patterns {
		for _, want := range gallery.States() {
			if !slices.Contains(states[pattern], want) {
				t.Errorf("the gallery does not show %s in the state %s", pattern, want)
			}
		}
	}
}
