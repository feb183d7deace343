package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"idpool/web/api/apitest"
)

// customer talks to idpool over HTTP by the client that was generated from the contract.
type customer struct {
	*apitest.ClientWithResponses
	t   *testing.T
	ctx context.Context
}

// newCustomer serves the world and gives a client of it with the credential.
func newCustomer(t *testing.T, w *world, secret string) customer {
	t.Helper()
	server := httptest.NewServer(w.h)
	t.Cleanup(server.Close)
	c, err := apitest.NewClientWithResponses(server.URL, apitest.WithRequestEditorFn(func(_ context.Context, r *http.Request) error {
		r.Header.Set("Authorization", "Bearer "+secret)
		return nil
	}))
	if err != nil {
		t.Fatal(err)
	}
	return customer{c, t, t.Context()}
}

// told returns an answer that must have come, with the status.
func told[A interface{ StatusCode() int }](c customer, want int) func(A, error) A {
	return func(a A, err error) A {
		c.t.Helper()
		if err != nil {
			c.t.Fatal(err)
		}
		if a.StatusCode() != want {
			c.t.Fatalf("got %d, want %d: %+v", a.StatusCode(), want, a)
		}
		return a
	}
}

func TestACustomerClaimsHoldsAndGivesBack(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)

	made := told[*apitest.PutPoolResponse](c, 201)(c.PutPoolWithResponse(c.ctx, "vouchers", &apitest.PutPoolParams{}, apitest.PoolConfig{MaxBatch: new(int64(10))}))
	seeded := told[*apitest.SeedPoolResponse](c, 200)(c.SeedPoolWithResponse(c.ctx, "vouchers", &apitest.SeedPoolParams{}, apitest.SeedList{Ids: []string{"A", "B", "C", "D"}}))
	if made.JSON201.Version != 1 || made.Headers201.ETag != `"1"` || seeded.JSON200.Added != 4 {
		t.Fatalf("made %+v, seeded %+v", made.JSON201, seeded.JSON200)
	}

	key := &apitest.ClaimParams{IdempotencyKey: new("order-4711")}
	two := apitest.ClaimRequest{Count: new(int64(2)), Metadata: &apitest.Metadata{"shop": "berlin"}}
	first := told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "vouchers", key, two))
	again := told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "vouchers", key, two))
	if diff := cmp.Diff(first.JSON201, again.JSON201); diff != "" {
		t.Errorf("the replay differs (-first +replay):\n%s", diff)
	}
	if first.Headers201.IdempotentReplayed != nil || again.Headers201.IdempotentReplayed == nil || *again.Headers201.IdempotencyKeyRetention != 86400 {
		t.Errorf("headers of the first answer %+v, of the replay %+v", first.Headers201, again.Headers201)
	}
	other := told[*apitest.ClaimResponse](c, 422)(c.ClaimWithResponse(c.ctx, "vouchers", key, apitest.ClaimRequest{}))
	if got := other.ApplicationProblemJSON422.Code; got != apitest.ProblemCodeKeyMismatch {
		t.Errorf("another request under the key: %s", got)
	}

	held := told[*apitest.ClaimResponse](c, 201)(c.ClaimWithResponse(c.ctx, "vouchers", nil, apitest.ClaimRequest{Hold: new(int64(60))})).JSON201
	if held.State != apitest.ClaimStateHeld || held.HeldUntil == nil || held.HeldUntil.Sub(held.ClaimedAt) != time.Minute {
		t.Errorf("a hold of 60 seconds: %+v", held)
	}
	mine := apitest.SettleRequest{Ids: held.Ids, Token: held.Token}
	confirmed := told[*apitest.ConfirmResponse](c, 200)(c.ConfirmWithResponse(c.ctx, "vouchers", nil, mine))
	released := told[*apitest.ReleaseResponse](c, 200)(c.ReleaseWithResponse(c.ctx, "vouchers", nil, mine))
	if confirmed.JSON200.State != apitest.SettledStateClaimed || released.JSON200.State != apitest.SettledStateReturning {
		t.Errorf("confirmed: %s, released: %s", confirmed.JSON200.State, released.JSON200.State)
	}
	refused := told[*apitest.RetireResponse](c, 409)(c.RetireWithResponse(c.ctx, "vouchers", nil, mine)).ApplicationProblemJSON409
	if refused.Code != apitest.ProblemCodeNotOwner || refused.Ids == nil || (*refused.Ids)[0].ID != held.Ids[0] {
		t.Errorf("retired after it was given back: %+v", refused)
	}
	empty := told[*apitest.ClaimResponse](c, 409)(c.ClaimWithResponse(c.ctx, "vouchers", nil, apitest.ClaimRequest{Count: new(int64(9))}))
	if got := empty.ApplicationProblemJSON409.Code; got != apitest.ProblemCodePoolExhausted {
		t.Errorf("more than there is: %s", got)
	}
}

func TestACustomerNumbersInvoices(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)

	told[*apitest.PutSequenceResponse](c, 201)(c.PutSequenceWithResponse(c.ctx, "invoices", nil, apitest.SequenceConfig{Limit: new("9007199254740995"), Start: new("9007199254740993")}))
	lease := told[*apitest.LeaseResponse](c, 201)(c.LeaseWithResponse(c.ctx, "invoices", nil, apitest.LeaseRequest{})).JSON201
	next := told[*apitest.NextResponse](c, 201)(c.NextWithResponse(c.ctx, "invoices", nil, apitest.NextRequest{Count: new(int64(2))})).JSON201
	if diff := cmp.Diff([]string{"9007199254740993", "9007199254740994", "9007199254740995"}, append([]string{lease.Start}, next.Numbers...)); diff != "" {
		t.Errorf("numbers above 2^53 (-want +got):\n%s", diff)
	}
	over := told[*apitest.NextResponse](c, 409)(c.NextWithResponse(c.ctx, "invoices", nil, apitest.NextRequest{})).ApplicationProblemJSON409
	if over.Code != apitest.ProblemCodeSequenceExhausted || over.Remaining == nil || *over.Remaining != 0 {
		t.Errorf("one more: %+v", over)
	}

	// A change names the version that it changes.
	blind := told[*apitest.PutSequenceResponse](c, 428)(c.PutSequenceWithResponse(c.ctx, "invoices", nil, apitest.SequenceConfig{Start: new("9007199254740993")}))
	etag := told[*apitest.GetSequenceResponse](c, 200)(c.GetSequenceWithResponse(c.ctx, "invoices")).Headers200.ETag
	told[*apitest.PutSequenceResponse](c, 200)(c.PutSequenceWithResponse(c.ctx, "invoices", &apitest.PutSequenceParams{IfMatch: &etag}, apitest.SequenceConfig{Start: new("9007199254740993")}))
	late := told[*apitest.PauseSequenceResponse](c, 412)(c.PauseSequenceWithResponse(c.ctx, "invoices", &apitest.PauseSequenceParams{IfMatch: &etag})).ApplicationProblemJSON412
	if blind.ApplicationProblemJSON428.Code != apitest.ProblemCodeVersionRequired || late.Code != apitest.ProblemCodeVersionMismatch || *late.CurrentVersion != 2 {
		t.Errorf("without a version: %+v; of an old one: %+v", blind.ApplicationProblemJSON428, late)
	}
}

func TestACustomersCredentialHasALife(t *testing.T) {
	w := newWorld(t)
	admin := newCustomer(t, w, token)
	key := &apitest.CreateCredentialParams{IdempotencyKey: new("shop")}
	wanted := apitest.NewCredential{Client: "web-shop", Scopes: []string{"claim:p"}, Quota: new(int64(1))}
	made := told[*apitest.CreateCredentialResponse](admin, 201)(admin.CreateCredentialWithResponse(admin.ctx, key, wanted)).JSON201
	again := told[*apitest.CreateCredentialResponse](admin, 201)(admin.CreateCredentialWithResponse(admin.ctx, key, wanted)).JSON201
	if made.Secret == nil || again.Secret != nil || again.SecretWithheld == nil || again.ID != made.ID {
		t.Fatalf("made %+v, replayed %+v", made, again)
	}

	shop := newCustomer(t, w, *made.Secret)
	told[*apitest.ClaimResponse](shop, 201)(shop.ClaimWithResponse(shop.ctx, "p", nil, apitest.ClaimRequest{}))
	told[*apitest.ClaimResponse](shop, 429)(shop.ClaimWithResponse(shop.ctx, "p", nil, apitest.ClaimRequest{}))
	told[*apitest.LeaseResponse](shop, 403)(shop.LeaseWithResponse(shop.ctx, "s", nil, apitest.LeaseRequest{}))

	rotated := told[*apitest.RotateCredentialResponse](admin, 200)(admin.RotateCredentialWithResponse(admin.ctx, made.ID, nil, apitest.RotateRequest{Overlap: new(int64(60))})).JSON200
	for _, secret := range []string{*made.Secret, *rotated.Secret} {
		c := newCustomer(t, w, secret)
		told[*apitest.ClaimResponse](c, 429)(c.ClaimWithResponse(c.ctx, "p", nil, apitest.ClaimRequest{}))
	}
	w.clock.Advance(2 * time.Minute)
	told[*apitest.ClaimResponse](shop, 401)(shop.ClaimWithResponse(shop.ctx, "p", nil, apitest.ClaimRequest{}))
	told[*apitest.RevokeCredentialResponse](admin, 200)(admin.RevokeCredentialWithResponse(admin.ctx, made.ID, nil))
	late := newCustomer(t, w, *rotated.Secret)
	told[*apitest.ClaimResponse](late, 401)(late.ClaimWithResponse(late.ctx, "p", nil, apitest.ClaimRequest{}))
}

func TestACustomerReadsListsAndFiles(t *testing.T) {
	w := newWorld(t)
	c := newCustomer(t, w, token)
	for _, name := range []string{"q", "r"} {
		told[*apitest.PutPoolResponse](c, 201)(c.PutPoolWithResponse(c.ctx, name, nil, apitest.PoolConfig{}))
	}
	var names []string
	params := &apitest.ListPoolsParams{Limit: new(2)}
	for {
		page := told[*apitest.ListPoolsResponse](c, 200)(c.ListPoolsWithResponse(c.ctx, params)).JSON200
		for _, p := range page.Pools {
			names = append(names, p.Name)
		}
		if params.Cursor = page.NextCursor; params.Cursor == nil {
			break
		}
	}
	if diff := cmp.Diff([]string{"p", "q", "r"}, names); diff != "" {
		t.Errorf("pools, page by page (-want +got):\n%s", diff)
	}
	told[*apitest.ListAuditResponse](c, 400)(c.ListAuditWithResponse(c.ctx, &apitest.ListAuditParams{Cursor: new("made-up")}))

	job := told[*apitest.ExportPoolResponse](c, 202)(c.ExportPoolWithResponse(c.ctx, "p", nil, apitest.ExportRequest{State: new(apitest.IDStateFree)})).JSON202
	for range 20 {
		told[*apitest.TendResponse](c, 200)(c.TendWithResponse(c.ctx, nil))
		if job = told[*apitest.GetJobResponse](c, 200)(c.GetJobWithResponse(c.ctx, job.ID)).JSON200; job.State == apitest.JobStateDone {
			break
		}
	}
	if job.State != apitest.JobStateDone || job.Done != 3 || job.Parts != 1 {
		t.Fatalf("the job: %+v", job)
	}
	part := told[*apitest.GetJobPartResponse](c, 200)(c.GetJobPartWithResponse(c.ctx, job.ID, 0))
	if got := string(part.Body); !strings.HasPrefix(got, "id,state,") || strings.Count(got, "\r\n") != 4 {
		t.Errorf("the file of three free IDs:\n%s", got)
	}
}
