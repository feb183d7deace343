package dynamo_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/google/go-cmp/cmp"

	"idpool/alloc"
	"idpool/infra/dynamo"
)

// sentAfter returns when each attempt was sent.
func sentAfter(began time.Time, w *wire) []time.Duration {
	var at []time.Duration
	for _, r := range w.requests() {
		at = append(at, r.At.Sub(began))
	}
	return at
}

func TestASilentServerIsAskedWithinTheLimits(t *testing.T) {
	t.Run("before any answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: silence}
			table, began := wired(t, w), time.Now()
			_, err := table.Get(t.Context(), aKey)
			refused(t, err, alloc.CodeUnavailable)
			if took := time.Since(began); took != 2500*time.Millisecond {
				t.Errorf("it took %v, want 2.5 s", took)
			}
			at := sentAfter(began, w)
			if len(at) != 2 || at[1] < 1500*time.Millisecond || at[1] > 1525*time.Millisecond {
				t.Errorf("attempts at %v, want the second after 1.5 s and a short wait", at)
			}
		})
	})
	t.Run("after an answer", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: func(n int, r request) (*http.Response, error) {
				if n == 1 {
					return reply(200, `{}`)
				}
				return silence(n, r)
			}}
			table := wired(t, w)
			_, err := table.Get(t.Context(), aKey)
			refused(t, err, "")
			began := time.Now()
			_, err = table.Get(t.Context(), aKey)
			refused(t, err, alloc.CodeUnavailable)
			if took := time.Since(began); took < 2*time.Second || took > 2500*time.Millisecond {
				t.Errorf("it took %v, want four attempts of 500 ms within 2.5 s", took)
			}
			at := sentAfter(began, w)[1:]
			if len(at) != 4 {
				t.Fatalf("attempts at %v, want 4", at)
			}
			for i := 1; i < len(at); i++ {
				wait, limit := at[i]-at[i-1]-500*time.Millisecond, 25*time.Millisecond<<(i-1)
				if wait < limit/2 || wait > limit {
					t.Errorf("a wait of %v before attempt %d, want %v to %v", wait, i+1, limit/2, limit)
				}
			}
		})
	})
}

func TestTheCallersDeadlineKeepsAReserveToAnswerIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: silence}
		table, began := wired(t, w), time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		err := table.Put(ctx, dynamo.Item{"pk": "p", "sk": "s"}, dynamo.Absent("pk"))
		if e, ok := errors.AsType[*alloc.Error](err); !ok || e.Code != alloc.CodeUnavailable || !e.Unknown {
			t.Errorf("got %#v, want unavailable and unknown", err)
		}
		if took := time.Since(began); took != 700*time.Millisecond {
			t.Errorf("it took %v, want 700 ms of the second", took)
		}
	})
}

func TestWithTooLittleTimeNothingIsSent(t *testing.T) {
	for _, m := range methods {
		synctest.Test(t, func(t *testing.T) {
			w := &wire{answer: silence}
			table := wired(t, w)
			ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
			defer cancel()
			err := m.call(ctx, table)
			e, ok := errors.AsType[*alloc.Error](err)
			if !ok || e.Code != alloc.CodeUnavailable || e.Unknown || len(w.requests()) > 0 {
				t.Errorf("%s: got %#v after %d requests, want unavailable, nothing unknown, nothing sent", m.name, err, len(w.requests()))
			}
		})
	}
}

func TestOneSlowCallerDoesNotEndAnother(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: func(_ int, r request) (*http.Response, error) {
			if strings.Contains(r.Body, `"slow"`) {
				return silence(0, r)
			}
			time.Sleep(400 * time.Millisecond)
			return reply(200, `{}`)
		}}
		table := wired(t, w)
		ctx, cancel := context.WithCancel(t.Context())
		go func() { time.Sleep(time.Second); cancel() }()
		go table.Get(ctx, dynamo.Key{PK: "slow", SK: "s"})
		for range 10 {
			_, err := table.Get(t.Context(), aKey)
			refused(t, err, "")
		}
	})
}

func TestA25TheRetryRulesAreOursWhateverTheEnvironmentSays(t *testing.T) {
	t.Setenv("AWS_MAX_ATTEMPTS", "17")
	t.Setenv("AWS_RETRY_MODE", "adaptive")
	t.Setenv("AWS_DEFAULTS_MODE", "mobile")
	synctest.Test(t, func(t *testing.T) {
		for name, answer := range map[string]func() (*http.Response, error){"throttles": throttle, "faults": failing} {
			w := &wire{answer: always(answer)}
			table, began := wired(t, w), time.Now()
			if _, err := table.Get(t.Context(), aKey); err == nil {
				t.Fatal("no error")
			}
			if got := len(w.requests()); got != 4 {
				t.Errorf("%s: %d attempts, want 4", name, got)
			}
			if took := time.Since(began); took > 350*time.Millisecond {
				t.Errorf("%s: the waits took %v, want at most 50 + 100 + 200 ms", name, took)
			}
		}
	})
	client, err := dynamo.NewClient(t.Context(), dynamo.ClientConfig{Region: "eu-west-1", Endpoint: "http://dynamodb.test"})
	refused(t, err, "")
	o := client.Options()
	if o.RetryMaxAttempts != 4 || o.RetryMode != aws.RetryModeStandard || o.Retryer.MaxAttempts() != 4 {
		t.Errorf("attempts %d and %d, mode %s; want 4, 4, standard", o.RetryMaxAttempts, o.Retryer.MaxAttempts(), o.RetryMode)
	}
}

func TestA24ASpentRetryQuotaIsUnavailableAndSparesTheServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: always(failing)}
		table := wired(t, w)
		const n = 200
		var wrong atomic.Int64
		together(n, func(int) {
			err := table.Put(t.Context(), dynamo.Item{"pk": "p", "sk": "s"}, dynamo.Absent("pk"))
			if e, ok := errors.AsType[*alloc.Error](err); !ok || e.Code != alloc.CodeUnavailable || !e.Unknown || e.RetryAfter <= 0 {
				wrong.Add(1)
			}
		})
		if wrong.Load() > 0 {
			t.Errorf("%d of %d errors are not unavailable with a hint", wrong.Load(), n)
		}
		// 500 tokens are 35 repeats at 14 tokens each.
		if got := len(w.requests()); got != n+35 {
			t.Errorf("%d requests, want %d and 35 repeats", got, n)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		w := &wire{answer: always(throttle)}
		table := wired(t, w)
		for range 200 {
			_, err := table.Get(t.Context(), aKey)
			refused(t, err, alloc.CodeThrottled)
		}
	})
}

func TestA23RequestsGoToTheHostOfTheRegionAndNotOfTheAccount(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAIOSFODNN7EXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_ACCOUNT_ID", "123456789012")
	t.Setenv("AWS_ACCOUNT_ID_ENDPOINT_MODE", "required")
	t.Setenv("AWS_ENABLE_ENDPOINT_DISCOVERY", "true")
	w := &wire{answer: always(func() (*http.Response, error) { return reply(200, `{}`) })}
	client, err := dynamo.NewClient(t.Context(), dynamo.ClientConfig{Region: "eu-west-1", HTTPClient: w})
	refused(t, err, "")
	_, err = dynamo.NewSDKTable(client, "ids").Get(t.Context(), aKey)
	refused(t, err, "")
	var hosts []string
	for _, r := range w.requests() {
		hosts = append(hosts, r.Host)
	}
	if diff := cmp.Diff([]string{"dynamodb.eu-west-1.amazonaws.com"}, hosts); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

func TestAnEndpointNeedsNoCredentialsOnTheMachine(t *testing.T) {
	for _, name := range []string{"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION"} {
		t.Setenv(name, "")
	}
	none := t.TempDir() + "/none"
	t.Setenv("AWS_CONFIG_FILE", none)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", none)
	w := &wire{answer: always(func() (*http.Response, error) { return reply(200, `{}`) })}
	client, err := dynamo.NewClient(t.Context(), dynamo.ClientConfig{Endpoint: "http://dynamodb.test", HTTPClient: w})
	refused(t, err, "")
	_, err = dynamo.NewSDKTable(client, "ids").Get(t.Context(), aKey)
	refused(t, err, "")
	if _, err := dynamo.NewClient(t.Context(), dynamo.ClientConfig{}); err == nil {
		t.Error("no region and no endpoint: want an error that says so")
	}
}
