package admin

import (
	"bytes"
	"fmt"
	"mime"
	"net/http"
	"path"
	"strconv"

	"idpool/alloc"
	"idpool/templates"
	"idpool/web"
)

// The result of a job is fetched in files of several parts, so that what one answer has is bounded, and all of it can be reached: pages list the
// files, page by page. Addresses and names count them from 1, as people do.
const (
	partsPerFile = 10 // of at most alloc.MaxPartBytes each
	filesShown   = 50
	queryFiles   = "files"
)

// jobResults lists the files of a job's result that are there.
func (d *dashboard) jobResults(r *http.Request, j alloc.Job) (list templates.Results) {
	files := (j.Parts + partsPerFile - 1) / partsPerFile
	if d.file == nil || files == 0 {
		return list
	}
	from, err := strconv.Atoi(r.URL.Query().Get(queryFiles))
	if err != nil || from < 1 || from > files {
		from = 1
	}
	for n := from; n < from+filesShown && n <= files; n++ {
		text := "The whole of it"
		if files > 1 {
			text = fmt.Sprintf("File %s of %s", grouped(alloc.Count(n)), grouped(alloc.Count(files)))
		}
		list.Files = append(list.Files, templates.Link{Text: text, Href: jobAddress(j.ID) + "/files/" + strconv.Itoa(n)})
	}
	if from > 1 {
		list.Before = with(r, queryFiles, strconv.Itoa(max(1, from-filesShown)))
	}
	if next := from + filesShown; next <= files {
		list.After = with(r, queryFiles, strconv.Itoa(next))
	}
	return list
}

// jobFile sends one file of a job's result.
func (d *dashboard) jobFile(w http.ResponseWriter, r *http.Request) {
	n, err := strconv.Atoi(r.PathValue("file"))
	if err != nil || n < 1 || n > 1<<30/partsPerFile || d.file == nil {
		d.failed(w, r, alloc.Errorf(web.CodeNotFound, "there is no such file of a result"))
		return
	}
	j, err := d.svc.Job(r.Context(), alloc.JobID(r.PathValue("job")))
	if err != nil {
		d.failed(w, r, err)
		return
	}
	var all bytes.Buffer
	var media, name string
	first := (n - 1) * partsPerFile
	for part := first; part < first+partsPerFile && (part < j.Parts || part == first); part++ {
		data, err := d.svc.JobPart(r.Context(), j.ID, part)
		if err != nil {
			d.failed(w, r, err)
			return
		}
		m, called, content, err := d.file(j, part, data)
		if err != nil {
			d.failed(w, r, err)
			return
		}
		if part == first {
			media, name = m, called
		}
		all.Write(content)
	}
	w.Header().Set("Content-Type", media)
	w.Header().Set("Content-Disposition", mime.FormatMediaType("attachment", map[string]string{"filename": fileName(j, n, path.Ext(name))}))
	w.Write(all.Bytes()) //nolint:errcheck // the client is gone; there is nobody to tell
}

// fileName is what file n of a job's result is called.
func fileName(j alloc.Job, n int, ending string) string {
	about := string(j.Pool)
	if about == "" {
		about = string(j.Spec.Sequence)
	}
	if about == "" {
		about = "trail"
	}
	what := string(j.Kind)
	if j.Kind == alloc.JobSeed || j.Kind == alloc.JobCheck {
		what = "rejects"
	}
	return fmt.Sprintf("%s-%s-%d%s", about, what, n, ending)
}
