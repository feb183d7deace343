//go:build !goonly

package main

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"idpool/infra/dynamo/dynamotest"
)

// TestOfTwiceAsManyProcessesExactlyNGetAnID gives a pool of N IDs to 2N processes on one table. Each has a cold stock,
// asks once for one ID, at the same moment as the others, and may be told to come back. Exactly N get one, each another
// one, and the rest hear that the pool is exhausted.
func TestOfTwiceAsManyProcessesExactlyNGetAnID(t *testing.T) {
	const pools = 3 // one after the other, each met cold
	for _, n := range []int{1, 20} {
		t.Run(fmt.Sprintf("N=%d", n), func(t *testing.T) {
			server := dynamotest.StartServer(t, "")
			programs := make([]*program, 2*n)
			for i := range programs {
				programs[i] = launch(t, "-data", t.TempDir(), "-dynamodb-endpoint", server.URL, "-refill-every", "1h")
			}
			for i := range pools {
				pool := fmt.Sprintf("pool-%d", i)
				must[poolSeen](t, programs[0], http.StatusCreated, request{method: "PUT", path: "/v1/pools/" + pool})
				ids := make([]string, n)
				for i := range ids {
					ids[i] = fmt.Sprintf("ID-%d", i)
				}
				must[seedSeen](t, programs[0], http.StatusOK, request{
					method: "POST", path: "/v1/pools/" + pool + "/seed", body: strings.Join(ids, "\n"), contentType: "text/plain",
				})
				taken, refused := claimOnceEach(t, programs, pool)
				if len(taken) != n || refused != n {
					t.Errorf("%d processes got %d different IDs, %d heard that the pool is exhausted; want %d and %d", 2*n, len(taken), refused, n, n)
				}
				if level, want := sweptLevel(t, programs[0], pool), (levelSeen{Seeded: n, Claimed: n}); level != want {
					t.Errorf("level %+v, want %+v", level, want)
				}
			}
		})
	}
}

func claimOnceEach(t *testing.T, programs []*program, pool string) (taken map[string]bool, refused int) {
	taken = map[string]bool{}
	var mu sync.Mutex
	var running sync.WaitGroup
	start := make(chan struct{})
	for _, p := range programs {
		running.Go(func() {
			client := newClient(t)
			<-start
			a, ok := insist(t, client, p.url, request{method: "POST", path: "/v1/pools/" + pool + "/claims"})
			if !ok {
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if a.status == http.StatusConflict {
				refused++
				return
			}
			for _, id := range decode[claimSeen](t, a.body).IDs {
				if taken[id] {
					t.Errorf("%q was handed out twice", id)
				}
				taken[id] = true
			}
		})
	}
	close(start)
	running.Wait()
	return taken, refused
}
