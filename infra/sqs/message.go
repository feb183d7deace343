// Package sqs takes word of a job's next step to a worker: by Amazon SQS where the functions are deployed, in process in
// the local program. A message names the job and the version that it was sent at, and holds nothing else: whatever
// becomes of it (lost, doubled, late, out of order), the job's record decides what is still to be done.
package sqs

import (
	"encoding/json"
	"fmt"

	"idpool/alloc"
)

// message is the body of a message.
type message struct {
	Job     alloc.JobID   `json:"job"`
	Version alloc.Version `json:"version"`
}

// Encode writes a step as the body of a message.
func Encode(s alloc.Step) (string, error) {
	body, err := json.Marshal(message(s))
	return string(body), err
}

// Decode reads the body of a message. A body that is none of ours is an error that names no content of it.
func Decode(body string) (alloc.Step, error) {
	var m message
	if err := json.Unmarshal([]byte(body), &m); err != nil || m.Job == "" || m.Version < 1 {
		return alloc.Step{}, fmt.Errorf("the message of %d bytes is no step of a job", len(body))
	}
	return alloc.Step(m), nil
}
