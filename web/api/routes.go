package api

import (
	"net/http"

	"idpool/alloc"
)

// Routes is the table of all routes. The service may be nil for a caller that only wants to know them.
func Routes(svc *alloc.Service) []Route {
	a := api{svc}
	var table []Route
	for _, part := range [][]Route{a.allocation(), a.pools(), a.filling(), a.sequences(), a.credentials(), a.jobs(), a.rebuilds(), a.proof(), a.upkeep()} {
		table = append(table, part...)
	}
	return table
}

// The path values that name what a route is on, and the beginnings of paths.
const (
	onPool     = "pool"
	onSequence = "sequence"
	onJob      = "job" // what is permitted on its pool
	onInput    = "input"

	pool       = "/v1/pools/{pool}"
	sequence   = "/v1/sequences/{sequence}"
	credential = "/v1/credentials/{credential}"
	job        = "/v1/jobs/{job}"
)

const (
	get  = http.MethodGet
	put  = http.MethodPut
	post = http.MethodPost
	del  = http.MethodDelete
)

// listQuery is what every list takes.
func listQuery() []string { return []string{"cursor", "limit", "format"} }

// allocation is what takes IDs and numbers, and gives them back.
func (a api) allocation() []Route {
	take := func(path, operation string, need alloc.Action, on string, keys Keys, read reader) Route {
		return Route{Method: post, Path: path, Operation: operation, Function: FunctionAllocate, Need: need, On: on, Keys: keys, read: read}
	}
	return []Route{
		{Method: get, Path: "/healthz", Operation: "health", Function: FunctionAllocate, Open: true, read: plain(a.healthy)},
		take(pool+"/claims", "claim", alloc.ActionClaim, onPool, KeysOwn, withBody(a.claim)),
		take(pool+"/confirm", "confirm", alloc.ActionClaim, onPool, KeysAnswered, withBody(a.settle(alloc.EventConfirm))),
		take(pool+"/release", "release", alloc.ActionClaim, onPool, KeysAnswered, withBody(a.settle(alloc.EventRelease))),
		take(pool+"/retire", "retire", alloc.ActionClaim, onPool, KeysAnswered, withBody(a.settle(alloc.EventRetire))),
		take(sequence+"/leases", "lease", alloc.ActionLease, onSequence, KeysOwn, withBody(a.lease)),
		take(sequence+"/next", "next", alloc.ActionLease, onSequence, KeysOwn, withBody(a.next)),
		{
			Method: get, Path: pool + "/ids", Operation: "inspectID", Function: FunctionAllocate, Need: alloc.ActionRead, On: onPool,
			Query: []string{"id"}, read: plain(a.inspect),
		},
	}
}

// manageOn makes the routes by which an administrator changes one of what the path names.
func manageOn(on string) func(method, path, operation string, read reader) Route {
	return func(method, path, operation string, read reader) Route {
		return Route{
			Method: method, Path: path, Operation: operation, Function: FunctionAdmin, Need: alloc.ActionManage, On: on,
			Keys: KeysAnswered, Conditional: true, read: read,
		}
	}
}

// operateOn makes the routes by which one of what the path names is paused and resumed.
func operateOn(on string) func(path, operation string, read reader) Route {
	manage := manageOn(on)
	return func(path, operation string, read reader) Route {
		rt := manage(post, path, operation, read)
		rt.Need = alloc.ActionOperate
		return rt
	}
}

// pools is the administration of pools.
func (a api) pools() []Route {
	manage, operate := manageOn(onPool), operateOn(onPool)
	inPlace := func(verb, operation string, e alloc.Event) Route {
		rt := operate(pool+"/ids/"+verb, operation, withBody(a.settleFor(e)))
		rt.Conditional = false // the generation is in the body
		return rt
	}
	return []Route{
		{Method: get, Path: "/v1/pools", Operation: "listPools", Function: FunctionAdmin, Query: listQuery(), List: true, read: plain(a.listPools)},
		{Method: get, Path: pool, Operation: "getPool", Function: FunctionAdmin, Need: alloc.ActionRead, On: onPool, read: plain(a.pool)},
		manage(put, pool, "putPool", withBody(a.putPool)),
		manage(del, pool, "deletePool", withoutBody(a.setPool(alloc.PoolDeleted))),
		operate(pool+"/pause", "pausePool", withoutBody(a.setPool(alloc.PoolPaused))),
		operate(pool+"/resume", "resumePool", withoutBody(a.setPool(alloc.PoolActive))),
		manage(post, pool+"/drain", "drainPool", withoutBody(a.setPool(alloc.PoolDraining))),
		inPlace("release", "releaseForOwner", alloc.EventRelease),
		inPlace("retire", "retireForOwner", alloc.EventRetire),
		{
			Method: post, Path: pool + "/seed", Operation: "seedPool", Function: FunctionAdmin, Need: alloc.ActionSeed, On: onPool,
			Query: []string{"column", "header", "ranges"}, Keys: KeysAnswered, read: a.seed,
		},
		{
			Method: post, Path: pool + "/seedings", Operation: "openSeeding", Function: FunctionAdmin, Need: alloc.ActionSeed, On: onPool,
			Keys: KeysAnswered, read: withBody(a.openSeeding),
		},
		{
			Method: post, Path: pool + "/count", Operation: "countPool", Function: FunctionAdmin, Need: alloc.ActionRead, On: onPool,
			Keys: KeysAnswered, read: withBody(a.count),
		},
		{
			Method: post, Path: pool + "/sweep", Operation: "sweepPool", Function: FunctionAdmin, Need: alloc.ActionTend, On: onPool,
			Keys: KeysAnswered, read: withoutBody(a.sweep),
		},
		{
			Method: post, Path: pool + "/exports", Operation: "exportPool", Function: FunctionAdmin, Need: alloc.ActionExport, On: onPool,
			Keys: KeysAnswered, read: withBody(a.export),
		},
	}
}

// filling is how pools are kept full, and how long pools and sequences last.
func (a api) filling() []Route {
	see := func(path, operation, on string, do endpoint, query ...string) Route {
		return Route{Method: get, Path: path, Operation: operation, Function: FunctionAdmin, Need: alloc.ActionRead, On: on, Query: query, CSV: len(query) > 0, read: plain(do)}
	}
	return []Route{
		{Method: post, Path: pool + "/preview", Operation: "previewPool", Function: FunctionAdmin, Need: alloc.ActionManage, On: onPool, read: withBody(a.preview)},
		see(pool+"/refill", "getRefill", onPool, a.poolRefill),
		see(pool+"/forecast", "forecastPool", onPool, a.poolForecast),
		see(pool+"/samples", "listPoolSamples", onPool, a.poolSamples, "from", "until", "limit", "format"),
		see(sequence+"/forecast", "forecastSequence", onSequence, a.sequenceForecast),
		see(sequence+"/samples", "listSequenceSamples", onSequence, a.sequenceSamples, "from", "until", "limit", "format"),
	}
}

// sequences is the administration of sequences.
func (a api) sequences() []Route {
	manage, operate := manageOn(onSequence), operateOn(onSequence)
	return []Route{
		{Method: get, Path: "/v1/sequences", Operation: "listSequences", Function: FunctionAdmin, Query: listQuery(), List: true, read: plain(a.listSequences)},
		{Method: get, Path: sequence, Operation: "getSequence", Function: FunctionAdmin, Need: alloc.ActionRead, On: onSequence, read: plain(a.sequence)},
		manage(put, sequence, "putSequence", withBody(a.putSequence)),
		manage(del, sequence, "deleteSequence", withoutBody(a.setSequence(alloc.SequenceDeleted))),
		operate(sequence+"/pause", "pauseSequence", withoutBody(a.setSequence(alloc.SequencePaused))),
		operate(sequence+"/resume", "resumeSequence", withoutBody(a.setSequence(alloc.SequenceActive))),
		{
			Method: get, Path: sequence + "/leases", Operation: "listLeases", Function: FunctionAdmin, Need: alloc.ActionRead, On: onSequence,
			Query: listQuery(), List: true, read: plain(a.listLeases),
		},
	}
}

// credentials is the administration of credentials.
func (a api) credentials() []Route {
	need := func(rt Route) Route {
		rt.Function, rt.Need, rt.On = FunctionAdmin, alloc.ActionCredentials, Everything
		return rt
	}
	return []Route{
		need(Route{Method: get, Path: "/v1/credentials", Operation: "listCredentials", Query: listQuery(), List: true, read: plain(a.listCredentials)}),
		need(Route{Method: post, Path: "/v1/credentials", Operation: "createCredential", Keys: KeysAnswered, read: withBody(a.createCredential)}),
		need(Route{Method: get, Path: credential, Operation: "getCredential", read: plain(a.credential)}),
		need(Route{Method: put, Path: credential, Operation: "putCredential", Keys: KeysAnswered, Conditional: true, read: withBody(a.putCredential)}),
		need(Route{Method: post, Path: credential + "/rotate", Operation: "rotateCredential", Keys: KeysAnswered, Conditional: true, read: withBody(a.rotateCredential)}),
		need(Route{Method: del, Path: "/v1/sessions/{session}", Operation: "endSession", Keys: KeysAnswered, read: withoutBody(a.endSession)}),
		need(Route{Method: post, Path: credential + "/revoke", Operation: "revokeCredential", Keys: KeysAnswered, Conditional: true, read: withoutBody(a.revokeCredential)}),
	}
}

// jobNeeds are what each kind of job needs to be seen: what it needed to be made.
func jobNeeds() map[alloc.JobKind]alloc.Action {
	return map[alloc.JobKind]alloc.Action{
		alloc.JobExport: alloc.ActionExport, alloc.JobSeed: alloc.ActionSeed, alloc.JobCheck: alloc.ActionSeed, alloc.JobCount: alloc.ActionRead,
		alloc.JobRebuild: alloc.ActionManage, alloc.JobAudit: alloc.ActionManage, alloc.JobLog: alloc.ActionManage, alloc.JobRestore: alloc.ActionManage,
	}
}

// jobs is long work. What changes a job needs for those of the caller's client what made them, and for others ActionManage.
func (a api) jobs() []Route {
	return []Route{
		{Method: get, Path: "/v1/jobs", Operation: "listJobs", Function: FunctionAdmin, Query: listQuery(), List: true, read: plain(a.listJobs)},
		{Method: get, Path: job, Operation: "getJob", Function: FunctionAdmin, NeedOf: jobNeeds(), On: onJob, read: plain(a.job)},
		{Method: get, Path: job + "/parts/{part}", Operation: "getJobPart", Function: FunctionAdmin, NeedOf: jobNeeds(), On: onJob, read: plain(a.jobPart)},
		{
			Method: put, Path: job + "/input/{" + onInput + "}", Operation: "putJobInput", Function: FunctionAdmin, Need: alloc.ActionManage, On: onJob,
			Keys: KeysAnswered, read: a.receivePart,
		},
		{
			Method: post, Path: job + "/start", Operation: "startJob", Function: FunctionAdmin, Need: alloc.ActionManage, On: onJob,
			Keys: KeysAnswered, read: withBody(a.startJob),
		},
		{
			Method: post, Path: job + "/check", Operation: "checkJob", Function: FunctionAdmin, Need: alloc.ActionManage, On: onJob,
			Keys: KeysAnswered, read: withoutBody(a.checkJob),
		},
		{
			Method: post, Path: job + "/cancel", Operation: "cancelJob", Function: FunctionAdmin, Need: alloc.ActionManage, On: onJob,
			Keys: KeysAnswered, read: withoutBody(a.cancelJob),
		},
	}
}

// adminOf makes the routes by which an administrator has something done to what the path names that has no version of its own.
func adminOf(on string) func(path, operation string, read reader) Route {
	return func(path, operation string, read reader) Route {
		return Route{Method: post, Path: path, Operation: operation, Function: FunctionAdmin, Need: alloc.ActionManage, On: on, Keys: KeysAnswered, read: read}
	}
}

// rebuilds is the way back of pools and sequences that are damaged.
func (a api) rebuilds() []Route {
	onThePool, onTheSequence := adminOf(onPool), adminOf(onSequence)
	return []Route{
		{Method: get, Path: sequence + "/rebuild", Operation: "getRebuild", Function: FunctionAdmin, Need: alloc.ActionRead, On: onSequence, read: plain(a.rebuild)},
		onTheSequence(sequence+"/rebuild", "planRebuild", withBody(a.planRebuild)),
		onTheSequence(sequence+"/rebuild/apply", "applyRebuild", withBody(a.applyRebuild)),
		onTheSequence(sequence+"/rebuild/resume", "resumeRebuild", withBody(a.resumeRebuild)),
		onTheSequence(sequence+"/rebuild/cancel", "cancelRebuild", withoutBody(a.cancelRebuild)),
		{Method: get, Path: sequence + "/evidence", Operation: "getSequenceEvidence", Function: FunctionAdmin, Need: alloc.ActionRead, On: onSequence, read: plain(a.sequenceEvidence)},
		{Method: get, Path: pool + "/evidence", Operation: "getEvidence", Function: FunctionAdmin, Need: alloc.ActionRead, On: onPool, read: plain(a.poolEvidence)},
		onThePool(pool+"/rebuild", "rebuildPool", withBody(a.rebuildPool)),
	}
}

// proof is what shows that all is well, and what is kept for the day when it is not.
func (a api) proof() []Route {
	onThePool, onTheSequence := adminOf(onPool), adminOf(onSequence)
	return []Route{
		onThePool(pool+"/audit", "auditPool", withBody(a.auditPool)),
		onTheSequence(sequence+"/audit", "auditSequence", withBody(a.auditSequence)),
		adminOf(Everything)("/v1/audit/verify", "verifyAudit", withBody(a.verifyTrail)),
		adminOf(Everything)("/v1/audit/acknowledge", "acknowledgeAudit", withBody(a.acknowledgeTrail)),
		onThePool(pool+"/log", "logPool", withBody(a.logPool)),
		onTheSequence(sequence+"/log", "logSequence", withBody(a.logSequence)),
		onThePool(pool+"/restore", "restorePool", withBody(a.restorePool)),
		onTheSequence(sequence+"/restore", "restoreSequence", withBody(a.restoreSequence)),
	}
}

// upkeep is the schedule's work, and what shows how things are.
func (a api) upkeep() []Route {
	return []Route{
		{Method: get, Path: "/readyz", Operation: "ready", Function: FunctionAdmin, Open: true, read: plain(a.ready)},
		{Method: get, Path: "/openapi.json", Operation: "contract", Function: FunctionAdmin, Open: true, read: plain(a.contract)},
		{
			Method: post, Path: "/v1/tend", Operation: "tend", Function: FunctionAdmin, Need: alloc.ActionTend, On: Everything,
			Keys: KeysAnswered, read: withoutBody(a.tend),
		},
		{
			Method: get, Path: "/v1/audit", Operation: "listAudit", Function: FunctionAdmin, Need: alloc.ActionRead, On: Everything,
			Query: append(listQuery(), "client", "action", "target", "result", "month", "from", "until"), List: true, read: plain(a.listTrail),
		},
	}
}
