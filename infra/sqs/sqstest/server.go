// Package sqstest is a stand-in for SQS in tests: as much of its protocol (AWS JSON 1.0) as sending needs. What was sent is
// taken out by the test, which then delivers it as it likes: twice, late, out of order, or never.
package sqstest

import (
	"crypto/md5" //nolint:gosec // SQS's protocol has it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// Server is a queue server with one queue.
type Server struct {
	URL      string // the endpoint
	QueueURL string

	mu     sync.Mutex
	bodies []string
	fail   int
	calls  int
}

// Start starts a server that ends with the test.
func Start(t testing.TB) *Server {
	t.Helper()
	s := &Server{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if err := s.serve(w, r); err != nil {
			t.Errorf("a request that SQS would not take: %v", err)
			w.WriteHeader(http.StatusBadRequest)
		}
	}))
	t.Cleanup(server.Close)
	s.URL, s.QueueURL = server.URL, server.URL+"/123456789012/jobs"
	return s
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) error {
	target := r.Header.Get("X-Amz-Target")
	var in struct{ QueueUrl, MessageBody string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return err
	}
	switch {
	case target != "AmazonSQS.SendMessage":
		return fmt.Errorf("its operation is %q", target)
	case in.QueueUrl != s.QueueURL, in.MessageBody == "":
		return fmt.Errorf("queue %q, %d bytes", in.QueueUrl, len(in.MessageBody))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	if s.fail > 0 {
		s.fail--
		w.WriteHeader(http.StatusInternalServerError)
		return nil
	}
	s.bodies = append(s.bodies, in.MessageBody)
	sum := md5.Sum([]byte(in.MessageBody)) //nolint:gosec // see above
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	return json.NewEncoder(w).Encode(map[string]string{
		"MessageId": fmt.Sprintf("message-%d", s.calls), "MD5OfMessageBody": hex.EncodeToString(sum[:]),
	})
}

// Take takes out the bodies that were sent since the last time, in their order.
func (s *Server) Take() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	bodies := s.bodies
	s.bodies = nil
	return bodies
}

// Fail makes the next n sends fail.
func (s *Server) Fail(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = n
}

// Calls is how many calls were made, the failed ones included.
func (s *Server) Calls() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls
}
