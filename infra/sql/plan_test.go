package sql

import (
	dbsql "database/sql"
	"strings"
	"testing"
)

// What runs with every claim, lease and read finds its rows by an index, so that its cost does not grow with what was
// claimed before.
func TestPlansUseIndexes(t *testing.T) {
	_, path := storeOn(t)
	for name, c := range map[string]struct {
		query string
		args  int
		want  string // in the plan
	}{
		"claim":              {takeRows, 10, "SEARCH ids USING INDEX ids_free (pool=?)"},
		"claim that forgets": {forgetRows, 2, "SEARCH ids USING INDEX ids_free (pool=?)"},
		"proof of a lease":   {usedUpTo, 3, "SEARCH leases USING PRIMARY KEY (sequence=? AND low<?)"},
		"carried leases":     {usedUpTo, 3, "SEARCH leases USING COVERING INDEX leases_carried (sequence=? AND high>?)"},
		"pool":               {selectPool, 1, "SEARCH pools USING INDEX sqlite_autoindex_pools_1 (name=?)"},
		"page of pools":      {listPools, 2, "SEARCH pools USING INDEX sqlite_autoindex_pools_1 (name>?)"},
		"sequence":           {selectSequence, 1, "SEARCH s USING INDEX sqlite_autoindex_sequences_1 (name=?)"},
		"copy of a pool":     {selectPool, 1, "SEARCH n USING INDEX sqlite_autoindex_pool_names_1 (name=?)"},
		"page of sequences":  {listSequences, 2, "SEARCH s USING INDEX sqlite_autoindex_sequences_1 (name>?)"},
		"copy of a sequence": {selectSequence, 1, "SEARCH s USING INDEX sqlite_autoindex_sequence_names_1 (name=?)"},
		"number of a pool":   {insertPool, 14, "SEARCH ids USING COVERING INDEX"},
		"number of sequence": {insertSequence, 13, "SEARCH leases"},
		"counted last":       {newestSampled, 1, "SEARCH pool_samples USING PRIMARY KEY (pool=?)"},
		"key of a lease":     {selectLeaseKey, 2, "SEARCH k USING PRIMARY KEY (hash=?)"},
		"expired claim keys": {expireClaimKeys, 3, "SEARCH claim_keys USING COVERING INDEX claim_keys_expires (pool=? AND expires<?)"},
		"expired lease keys": {expireLeaseKeys, 2, "SEARCH lease_keys USING COVERING INDEX lease_keys_expires (expires<?)"},
		"replay":             {stateOfOwn, 3, "SEARCH ids USING INDEX sqlite_autoindex_ids_1 (pool=? AND id=?)"},
		"settlement":         {selectID, 2, "SEARCH ids USING INDEX sqlite_autoindex_ids_1 (pool=? AND id=?)"},
		"move":               {moveRow, 6, "SEARCH ids USING INTEGER PRIMARY KEY (rowid=?)"},
		"forgetting":         {forgetDue, 3, "SEARCH ids USING COVERING INDEX ids_forget (pool=? AND forget_at<?)"},
		"forgetting of one":  {forgetOneDue, 3, "SEARCH ids USING INDEX sqlite_autoindex_ids_1 (pool=? AND id=?)"},
		"holds that are due": {endHolds, 3, "SEARCH ids USING COVERING INDEX ids_held (pool=? AND hold_until<?)"},
		"what is returning":  {returning, 2, "SEARCH ids USING COVERING INDEX ids_returning (pool=?)"},
		"way back":           {freeRow, 1, "SEARCH ids USING INTEGER PRIMARY KEY (rowid=?)"},
		"walk":               {walkIDs, 3, "SEARCH i USING INDEX sqlite_autoindex_ids_1 (pool=? AND id>?)"},
		"recent claims":      {recentRows, 2, "SEARCH i USING INDEX ids_taken (pool=?)"},
		"use of credential":  {selectUse, 1, "SEARCH credential_uses USING PRIMARY KEY (id=?)"},
		"kept answer":        {selectKept, 2, "SEARCH kept_keys USING INDEX sqlite_autoindex_kept_keys_1 (hash=?)"},
		"expired answers":    {expireKeptKeys, 2, "SEARCH kept_keys USING INDEX kept_keys_expires (expires<?)"},
		"session":            {selectSession, 2, "SEARCH sessions USING PRIMARY KEY (id=?)"},
		"page of sessions":   {listSessions, 3, "SEARCH sessions USING PRIMARY KEY (id>?)"},
		"sessions of one":    {endSessionsOf, 2, "SEARCH sessions USING INDEX sessions_client (client=?)"},
		"expired sessions":   {expireSessions, 1, "SEARCH sessions USING INDEX sessions_ends (ends<?)"},
		"expired parts":      {expireParts, 2, "SEARCH jobs USING COVERING INDEX jobs_created (created<?)"},
		"expired jobs":       {expireJobs, 2, "SEARCH jobs USING COVERING INDEX jobs_created (created<?)"},
		"newest jobs":        {newestJobs, 2, "SCAN jobs"}, // backwards by its primary key
		"older jobs":         {olderJobs, 3, "SEARCH jobs USING PRIMARY KEY (id<?)"},
		"jobs that failed":   {failedJobs, 5, "SEARCH jobs USING INDEX jobs_failed (updated>? AND (updated,id)<(?,?))"},
		"jobs that go on":    {openJobs, 3, "SEARCH jobs USING INDEX jobs_open (id>?)"},
		"expired inputs":     {expireInputs, 2, "SEARCH jobs USING COVERING INDEX jobs_created (created<?)"},
		"piece of input":     {selectInput, 3, "SEARCH inputs USING INDEX sqlite_autoindex_inputs_1 (job=? AND name=?)"},
		"refill":             {selectRefill, 1, "SEARCH refills USING INDEX sqlite_autoindex_refills_1 (pool=?)"},
		"batch to be added":  {lookUpBatch, 2, "SEARCH i USING INDEX sqlite_autoindex_ids_1 (pool=? AND id=?) LEFT-JOIN"},
		"samples of a pool":  {poolSamples, 6, "SEARCH pool_samples USING PRIMARY KEY (pool=? AND minute>? AND minute<?)"},
		"other samples":      {sequenceSamples, 6, "SEARCH sequence_samples USING PRIMARY KEY (sequence=? AND minute>? AND minute<?)"},
		"old samples":        {expirePoolSamples, 3, "SEARCH pool_samples USING PRIMARY KEY (pool=? AND minute<?)"},
		"other old samples":  {expireSequenceSamples, 2, "SEARCH sequence_samples USING COVERING INDEX sequence_samples_minute (minute<?)"},
		"old seed batches":   {expireBatches, 3, "SEARCH seed_batches USING INDEX seed_batches_at (pool=? AND at<?)"},
		"reach of an epoch":  {reachOfEpoch, 2, "SEARCH leases USING COVERING INDEX leases_carried_epoch (sequence=? AND epoch=?)"},
		"walk over a ledger": {walkLedger, 3, "SEARCH leases USING PRIMARY KEY (sequence=? AND low>?)"},
		"stock":              {stockRows, 3, "SEARCH i USING INDEX ids_free (pool=? AND n>?)"},
		"counts anew":        {countRows, 1, "SEARCH ids USING COVERING INDEX ids_retired (pool=?)"},
		"all rows of a pool": {countRows, 1, "SEARCH ids USING COVERING INDEX sqlite_autoindex_ids_1 (pool=?)"},
		"carried ID":         {selectCarried, 2, "SEARCH ids USING INDEX sqlite_autoindex_ids_1 (pool=? AND id=?)"},
		"carrying":           {carryRow, 14, "SEARCH ids USING INTEGER PRIMARY KEY (rowid=?)"},
		"audited rows":       {auditedRows, 3, "SEARCH ids USING INDEX sqlite_autoindex_ids_1 (pool=? AND id>?)"},
		"audited keys":       {auditedKeys, 4, "SEARCH claim_keys USING INDEX claim_keys_expires (pool=? AND (expires,hash)>(?,?))"},
		"named by a key":     {namedByKey, 2, "SEARCH i USING INDEX sqlite_autoindex_ids_1 (pool=? AND id=?) LEFT-JOIN"},
		"end of the trail":   {lastRecord, 0, "SCAN trail USING INDEX trail_place"},
		"newest records":     {newestChained, 1, "SCAN trail USING INDEX trail_place"},
		"older records":      {olderChained, 3, "SEARCH trail USING INDEX trail_place ((month,position)<(?,?))"},
		"unlinked records":   {newestUnlinked, 1, "SCAN trail USING INDEX trail_unchained"},
		"older of these":     {olderUnlinked, 2, "SEARCH trail USING INDEX trail_unchained (id<?)"},
		"chain of a month":   {chain, 3, "SEARCH trail USING INDEX trail_place (month=? AND position>?)"},
	} {
		t.Run(name, func(t *testing.T) {
			plan := explain(t, path, c.query, c.args)
			if !strings.Contains(plan, c.want) {
				t.Errorf("got the plan\n%swant in it\n%s", plan, c.want)
			}
			for _, bad := range []string{"SCAN ids", "SCAN leases", "SCAN parts", "SCAN pools", "SCAN s\n", "TEMP B-TREE", "AUTOMATIC"} {
				if strings.Contains(plan, bad) {
					t.Errorf("got the plan\n%swant no %s", plan, bad)
				}
			}
		})
	}
}

// explain returns the steps of a query's plan, a line each.
func explain(t *testing.T, path, query string, args int) string {
	t.Helper()
	var plan strings.Builder
	byHand(t, path, func(db *dbsql.DB) error {
		rows, err := db.QueryContext(t.Context(), `EXPLAIN QUERY PLAN `+query, make([]any, args)...)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var id, parent, unused int
			var detail string
			if err := rows.Scan(&id, &parent, &unused, &detail); err != nil {
				return err
			}
			plan.WriteString(detail + "\n")
		}
		return rows.Err()
	})
	return plan.String()
}
