// Package static has the files that the dashboard's pages refer to. Each is served under a name that holds a hash of its
// content, so browsers may keep it for ever and a new release is never shown with an old stylesheet.
package static

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"sync"
)

// The files.
const (
	Stylesheet = "app.css"
	Script     = "app.js"
	Icon       = "icon.svg"
)

// Prefix is where Handler belongs.
const Prefix = "/static/"

//go:embed app.css app.js icon.svg
var embedded embed.FS

// mediaTypes are fixed: what the machine knows of extensions must not change an answer.
var mediaTypes = map[string]string{
	".css": "text/css; charset=utf-8",
	".js":  "text/javascript; charset=utf-8",
	".svg": "image/svg+xml",
}

type file struct {
	content   []byte
	mediaType string
}

type set struct {
	addresses map[string]string // by plain name
	files     map[string]file   // by address
}

var load = sync.OnceValue(func() set {
	s := set{addresses: map[string]string{}, files: map[string]file{}}
	entries, err := fs.ReadDir(embedded, ".")
	if err != nil {
		panic(err) // the files are part of the program
	}
	for _, e := range entries {
		content, err := embedded.ReadFile(e.Name())
		if err != nil {
			panic(err)
		}
		sum := sha256.Sum256(content)
		ext := path.Ext(e.Name())
		address := Prefix + strings.TrimSuffix(e.Name(), ext) + "-" + hex.EncodeToString(sum[:6]) + ext
		s.addresses[e.Name()] = address
		s.files[address] = file{content, mediaTypes[ext]}
	}
	return s
})

// Address returns where the file is served: "/static/app-0123456789ab.css" for "app.css"; "" for one that is not there.
func Address(name string) string { return load().addresses[name] }

// Handler serves GET of the files and leaves every other path to notFound.
func Handler(notFound http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		f, ok := load().files[r.URL.Path]
		if !ok {
			notFound.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Type", f.mediaType)
		w.Header().Set("Cache-Control", "public, max-age=31536000, immutable")
		w.Write(f.content) //nolint:errcheck // the client is gone; there is nobody to tell
	})
}
