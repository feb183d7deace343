package alloc_test

import (
	"context"
	"errors"
	"maps"
	"reflect"
	"slices"
	"testing"
	"time"

	"idpool/alloc"
	"idpool/alloc/alloctest"
	"idpool/alloc/generator"
)

// operation is a method of Service as the tests of permissions and of the trail see it.
type operation struct {
	need   alloc.Action
	or     alloc.Action                                      // does as well; "" for none
	on     string                                            // the name that the scope must cover; "*" for all
	record string                                            // the action of its audit record; "" for none
	ends   string                                            // the action of the record of the job that it carries to its end; "" for none
	target string                                            // of its audit record, where that is not what on names
	spared bool                                              // what refuses others of its kind does not refuse it
	finds  string                                            // the call by which it finds out what on is
	list   bool                                              // a list that leaves out what the caller may not read
	run    func(ctx context.Context, s *alloc.Service) error // on a world as newWorld makes it
}

// taken is an ID that somebody has in a world as newWorld makes it.
var taken = alloc.IDRecord{Pool: "team-a.vouchers", ID: "ID-T", State: alloc.StateClaimed, Token: "07PVVP48O0I9JMFEUNJ0E7T0P5", By: "shop", At: time.Unix(1_700_000_000, 0)}

const pool, sequence = alloc.PoolName("team-a.vouchers"), alloc.SequenceName("team-a.orders")

// credential and export are there in a world as newWorld makes it.
const (
	credential = alloc.CredentialID("aaaabbbbcccc")
	export     = alloc.JobID("0123456789ABCDEFGHIJKLMNOP")
	seeding    = alloc.JobID("0123456789ABCDEFGHIJKLMNOQ")
)

// credentialScopes are of the credential. Whoever may make credentials covers them.
var credentialScopes = []alloc.Scope{{Action: alloc.ActionCredentials, Pattern: "*"}}

// operations is every method of Service that a caller can ask for. The jobs there are of another client than the one that asks.
var operations = map[string]operation{
	"CreatePool": {need: alloc.ActionManage, on: string(pool), record: "pool.create", run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.CreatePool(ctx, pool, alloc.PoolConfig{})
		return err
	}},
	"ChangePool": {need: alloc.ActionManage, on: string(pool), record: "pool.change", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.ChangePool(ctx, pool, 1, alloc.PoolConfig{MaxBatch: 7})
		return err
	}},
	"SetPoolState": {need: alloc.ActionManage, on: string(pool), record: "pool.drain", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.SetPoolState(ctx, pool, 0, alloc.PoolDraining)
		return err
	}},
	"Pool": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Pool(ctx, pool)
		return err
	}},
	"Pools": {need: alloc.ActionRead, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		pools, _, err := s.Pools(ctx, "", 10)
		return oneOrHidden(len(pools), err)
	}},
	"Claim": {need: alloc.ActionClaim, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Claim(ctx, alloc.ClaimRequest{Pool: pool, Count: 1})
		return err
	}},
	"Settle": {need: alloc.ActionClaim, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Settle(ctx, alloc.SettleRequest{Pool: pool, Event: alloc.EventRelease, IDs: []alloc.ID{"ID-9"}, Token: alloc.NewToken()})
		if alloc.Is(err, alloc.CodeIDNotFound) { // it came as far as the pool
			return nil
		}
		return err
	}},
	"Keyed": {need: alloc.ActionManage, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		r := alloc.KeyedRequest{Need: alloc.ActionManage, Name: string(pool), Operation: "pause", Resource: "pool/" + string(pool), Key: "key", Print: "print"}
		_, _, err := s.Keyed(ctx, r, func(context.Context, alloc.Attempt) ([]byte, error) { return []byte("answer"), nil })
		return err
	}},
	"DeletedPool": {need: alloc.ActionManage, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.DeletedPool(ctx, pool)
		if alloc.Is(err, alloc.CodePoolNotFound) { // it came as far as the pool
			return nil
		}
		return err
	}},
	"DeletedSequence": {need: alloc.ActionManage, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.DeletedSequence(ctx, sequence)
		if alloc.Is(err, alloc.CodeSequenceNotFound) {
			return nil
		}
		return err
	}},
	"InspectID": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.InspectID(ctx, pool, "ID-1")
		return err
	}},
	"Seed": {need: alloc.ActionSeed, on: string(pool), record: "pool.seed", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Seed(ctx, alloc.SeedRequest{Pool: pool, Entries: entriesOf("ID-2")})
		return err
	}},
	"Sweep": {need: alloc.ActionTend, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Sweep(ctx, pool)
		return err
	}},
	"Tend": {need: alloc.ActionTend, on: "*", ends: "pool.done-export", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Tend(ctx)
		return err
	}},
	"PreviewGenerator": {need: alloc.ActionManage, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.PreviewGenerator(ctx, alloc.PreviewRequest{Pool: pool, Config: filled(1, 2, generator.Config{Kind: generator.UUIDv7})})
		return err
	}},
	"PoolForecast": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.PoolForecast(ctx, pool)
		return err
	}},
	"PoolSamples": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.PoolSamples(ctx, pool, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_001, 0), 1)
		return err
	}},
	"PoolRefill": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.PoolRefill(ctx, pool)
		return err
	}},
	"SequenceForecast": {need: alloc.ActionRead, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.SequenceForecast(ctx, sequence)
		return err
	}},
	"SequenceSamples": {need: alloc.ActionRead, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.SequenceSamples(ctx, sequence, time.Unix(1_000_000_000, 0), time.Unix(1_000_000_001, 0), 1)
		return err
	}},
	"CreateSequence": {need: alloc.ActionManage, on: string(sequence), record: "sequence.create", run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.CreateSequence(ctx, sequence, alloc.SequenceConfig{})
		return err
	}},
	"ChangeSequence": {need: alloc.ActionManage, on: string(sequence), record: "sequence.change", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.ChangeSequence(ctx, sequence, 1, alloc.SequenceConfig{Segment: 7})
		return err
	}},
	"SetSequenceState": {need: alloc.ActionOperate, or: alloc.ActionManage, on: string(sequence), record: "sequence.pause", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.SetSequenceState(ctx, sequence, 0, alloc.SequencePaused)
		return err
	}},
	"Sequence": {need: alloc.ActionRead, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Sequence(ctx, sequence)
		return err
	}},
	"Sequences": {need: alloc.ActionRead, on: string(sequence), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		sequences, _, err := s.Sequences(ctx, "", 10)
		return oneOrHidden(len(sequences), err)
	}},
	"Leases": {need: alloc.ActionRead, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.Leases(ctx, sequence, "", 10)
		return err
	}},
	"Lease": {need: alloc.ActionLease, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Lease(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 1})
		return err
	}},
	"Next": {need: alloc.ActionLease, on: string(sequence), run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.Next(ctx, alloc.LeaseRequest{Sequence: sequence, Count: 1})
		return err
	}},
	"CreateCredential": {need: alloc.ActionCredentials, on: "*", record: "credential.create", target: "credential/" + string(alloc.NewCredentialID("intent")), spared: true, run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.CreateCredential(ctx, alloc.CredentialRequest{Client: "shop", Scopes: credentialScopes, Intent: "intent"})
		return err
	}},
	"Credential": {need: alloc.ActionCredentials, on: "*", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Credential(ctx, credential)
		return err
	}},
	"Credentials": {need: alloc.ActionCredentials, on: "*", run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.Credentials(ctx, "", 10)
		return err
	}},
	"ChangeCredential": {need: alloc.ActionCredentials, on: "*", record: "credential.change", target: "credential/" + string(credential), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.ChangeCredential(ctx, credential, 1, alloc.CredentialRequest{Scopes: credentialScopes, Quota: 7})
		return err
	}},
	"RotateCredential": {need: alloc.ActionCredentials, on: "*", record: "credential.rotate", target: "credential/" + string(credential), run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.RotateCredential(ctx, credential, 0, time.Hour, "")
		return err
	}},
	"RevokeCredential": {need: alloc.ActionCredentials, on: "*", record: "credential.revoke", target: "credential/" + string(credential), spared: true, run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.RevokeCredential(ctx, credential, 0)
		return err
	}},
	"Export": {need: alloc.ActionExport, on: string(pool), record: "pool.export", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Export(ctx, alloc.ExportRequest{Pool: pool, Format: "lines"})
		return err
	}},
	"Job": {need: alloc.ActionExport, or: alloc.ActionManage, on: string(pool), finds: "Job", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.Job(ctx, export)
		return err
	}},
	"Jobs": {need: alloc.ActionExport, or: alloc.ActionManage, on: string(pool), list: true, run: func(ctx context.Context, s *alloc.Service) error {
		jobs, _, err := s.Jobs(ctx, "", 10)
		exports := slices.DeleteFunc(jobs, func(j alloc.Job) bool { return j.Kind != alloc.JobExport })
		return oneOrHidden(len(exports), err)
	}},
	"JobPart": {need: alloc.ActionExport, on: string(pool), finds: "Job", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.JobPart(ctx, export, 0)
		return err
	}},
	"CancelJob": {need: alloc.ActionManage, on: string(pool), record: "pool.cancel-export", finds: "Job", spared: true, run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.CancelJob(ctx, export)
		return err
	}},
	"OpenSeeding": {need: alloc.ActionSeed, on: string(pool), record: "pool.open-seed", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.OpenSeeding(ctx, alloc.SeedJobRequest{Pool: pool})
		return err
	}},
	"ReceivePart": {need: alloc.ActionManage, on: string(pool), finds: "Job", run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.ReceivePart(ctx, seeding, 1, []byte("ID-2\n"))
		return err
	}},
	"StartJob": {need: alloc.ActionManage, on: string(pool), record: "pool.start-seed", finds: "Job", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.StartJob(ctx, seeding, 1)
		return err
	}},
	"CountPool": {need: alloc.ActionRead, on: string(pool), run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.CountPool(ctx, alloc.CountRequest{Pool: pool})
		return err
	}},
	"Work": {need: alloc.ActionTend, on: "*", ends: "pool.done-export", run: func(ctx context.Context, s *alloc.Service) error {
		return s.Work(ctx, alloc.Step{Job: export, Version: 1})
	}},
	"ResumeJobs": {need: alloc.ActionTend, on: "*", run: func(ctx context.Context, s *alloc.Service) error {
		_, err := s.ResumeJobs(ctx)
		return err
	}},
	"Trail": {need: alloc.ActionRead, on: "*", run: func(ctx context.Context, s *alloc.Service) error {
		_, _, err := s.Trail(ctx, alloc.TrailFilter{}, "", 10)
		return err
	}},
}

// oneOrHidden makes a list without its one item what it would be of a single thing.
func oneOrHidden(n int, err error) error {
	if err == nil && n == 0 {
		return alloc.Errorf(alloc.CodeForbidden, "left out")
	}
	return err
}

func init() {
	maps.Copy(operations, rebuildOperations)
	maps.Copy(operations, repairOperations)
	maps.Copy(operations, sessionOperations)
	maps.Copy(operations, boardOperations)
}

// newWorld makes a model with the pool, one ID in it, and the sequence, and a Service over it that counts its calls.
func newWorld(t testing.TB, plan alloctest.Plan) (*alloc.Service, *alloctest.Faulty, *alloctest.Model) {
	t.Helper()
	m := alloctest.NewModel(nil)
	newRebuilds(t, m)
	ctx := asAdmin(t.Context())
	if _, _, err := m.CreatePool(ctx, pool, alloc.PoolConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Seed(ctx, alloc.SeedBatch{Pool: pool, Job: "job", IDs: []alloc.ID{"ID-1"}}); err != nil {
		t.Fatal(err)
	}
	if _, err := m.Carry(ctx, pool, time.Now(), []alloc.IDRecord{taken}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := m.CreateSequence(ctx, sequence, alloc.SequenceConfig{}.WithDefaults()); err != nil {
		t.Fatal(err)
	}
	c := alloc.Credential{ID: credential, Client: "shop", Scopes: credentialScopes, Created: time.Now(), Hash: "hash"}
	if err := errors.Join(m.CreateCredential(ctx, c), m.CreateSession(ctx, someSession)); err != nil {
		t.Fatal(err)
	}
	j := alloc.Job{ID: export, Kind: alloc.JobExport, Pool: pool, Format: "lines", State: alloc.JobRunning, Created: time.Now(), Parts: 1}
	if err := errors.Join(m.CreateJob(ctx, j), m.CreateJob(ctx, failedAudit()), m.PutPart(ctx, export, 0, alloc.Part{Data: []byte("ID-0\n"), IDs: 1})); err != nil {
		t.Fatal(err)
	}
	newBreak(t, m)
	newBoard(t, m)
	f := alloctest.NewFaulty(m, plan)
	file := alloc.Job{
		ID: seeding, Kind: alloc.JobSeed, Pool: pool, State: alloc.JobReceiving, Created: time.Now(), Updated: time.Now(),
		Mark: "0,lf,whole", Total: 1, Inputs: []alloc.JobInput{{Digest: "digest", Pieces: 1, Entries: 1, Lines: 1}},
	}
	if err := m.CreateJob(ctx, file); err != nil {
		t.Fatal(err)
	}
	return newService(t, f), f, m
}

func TestOperationsAreAllOfService(t *testing.T) {
	var methods []string
	for m := range reflect.TypeFor[*alloc.Service]().Methods() {
		switch m.Name {
		case "Ready", "Verify", "SignIn", "Authenticate", "SignOut", "Seal", "Unseal": // they need no caller
		case "NeedToChange": // it says what another needs
		case "Lines", "Verified": // these tests' own
		default:
			methods = append(methods, m.Name)
		}
	}
	slices.Sort(methods)
	if known := slices.Sorted(maps.Keys(operations)); !slices.Equal(methods, known) {
		t.Errorf("Service has %v, the tests of permissions and of the trail know %v", methods, known)
	}
}

// Each operation needs its own action on its own name, and nothing else will do.
func TestPermissions(t *testing.T) {
	actions := []alloc.Action{
		alloc.ActionClaim, alloc.ActionLease, alloc.ActionRead, alloc.ActionExport, alloc.ActionSeed, alloc.ActionOperate, alloc.ActionManage,
		alloc.ActionTend, alloc.ActionCredentials, "*", "", "Claim",
	}
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			patterns := map[string]bool{ // pattern → covers op.on
				op.on: true, "*": true, "team-a*": op.on != "*", "team-a.*": op.on != "*",
				"": false, "team-b*": false, "team-a": false, "x" + op.on: false, op.on + "x": false, "TEAM-A*": false, "**": false,
			}
			for _, action := range actions {
				for pattern, covers := range patterns {
					s, store, _ := newWorld(t, nil)
					scope := alloc.Scope{Action: action, Pattern: pattern}
					err := op.run(as(t.Context(), "c", scope), s)
					if may := covers && (action == op.need || action == "*" || op.or != "" && action == op.or); may && err != nil || !may && !alloc.Is(err, alloc.CodeForbidden) {
						t.Errorf("with the scope %s:%s: got %v, want it allowed: %t", action, pattern, err, may)
					}
					if !op.list && alloc.Is(err, alloc.CodeForbidden) {
						wantOnlyRecords(t, store, op.finds)
					}
				}
			}
			s, store, _ := newWorld(t, nil)
			wantErr(t, op.run(as(t.Context(), "c"), s), alloc.CodeForbidden)
			wantErr(t, op.run(as(t.Context(), "", alloc.AllScopes()...), s), alloc.CodeUnauthenticated)
			wantErr(t, op.run(t.Context(), s), alloc.CodeUnauthenticated)
			if !op.list {
				wantOnlyRecords(t, store, op.finds)
			}
			two := []alloc.Scope{{Action: op.need, Pattern: "team-b*"}, {Action: op.need, Pattern: op.on}}
			if err := op.run(as(t.Context(), "c", two...), s); err != nil {
				t.Errorf("the second of two scopes does not count: %v", err)
			}
		})
	}
}

// wantOnlyRecords fails the test if a forbidden operation touched the Store, but to say so in the trail, or by the call
// that it finds out with what it is about.
func wantOnlyRecords(t *testing.T, store *alloctest.Faulty, finds string) {
	t.Helper()
	for _, c := range store.Calls() {
		if c.Method != "Record" && c.Method != finds {
			t.Errorf("a forbidden operation called %s", c.Method)
		}
	}
}

// Names are checked before anything else is done with them, in every operation that takes one.
func TestOperationsCheckNames(t *testing.T) {
	s, store, _ := newWorld(t, nil)
	ctx := asAdmin(t.Context())
	for _, name := range []string{"", "A", "a/b", "..", "é"} {
		p, q := alloc.PoolName(name), alloc.SequenceName(name)
		_, _, err := s.CreatePool(ctx, p, alloc.PoolConfig{})
		wantCode(t, err, alloc.CodeInvalidName)
		_, err = s.Claim(ctx, alloc.ClaimRequest{Pool: p, Count: 1})
		wantCode(t, err, alloc.CodeInvalidName)
		_, err = s.Seed(ctx, alloc.SeedRequest{Pool: p, Entries: entriesOf("1")})
		wantCode(t, err, alloc.CodeInvalidName)
		_, _, err = s.Next(ctx, alloc.LeaseRequest{Sequence: q, Count: 1})
		wantCode(t, err, alloc.CodeInvalidName)
		_, _, err = s.CreateSequence(ctx, q, alloc.SequenceConfig{})
		wantCode(t, err, alloc.CodeInvalidName)
		_, _, err = s.Leases(ctx, q, "", 10)
		wantCode(t, err, alloc.CodeInvalidName)
	}
	if calls := store.Calls(); len(calls) > 0 {
		t.Errorf("bad names reached the Store: %+v", calls)
	}
}

func TestScopeCheck(t *testing.T) {
	for _, s := range []alloc.Scope{{"claim", "a"}, {"*", "*"}, {"tend", "*"}, {"export", "a"}, {"read", "team-a.*"}, {"lease", "team-a*"}} {
		if err := s.Check(); err != nil {
			t.Errorf("%+v is refused: %v", s, err)
		}
	}
	for _, s := range []alloc.Scope{{}, {"claim", ""}, {"Claim", "a"}, {"", "a"}, {"claim", "**"}, {"claim", "*a"}, {"claim", "a*b"}, {"claim", "A*"}, {"write", "*"}} {
		wantCode(t, s.Check(), alloc.CodeInvalidRequest)
	}
}
