// An input that each route takes, for tests of the API.
import type { CallInput } from "../../src/api/route.ts";
import type { RouteName, Routes } from "../../src/api/routes.ts";
import { chainAccount } from "./toy-chain.test-kit.ts";
import { toyBlob, toyOffer, toySpec } from "./toy-jobs.test-kit.ts";
import { EVIDENCE, evidenceBytes, hex, probe, provider, rental, token } from "./toy-network.test-kit.ts";

const byProvider = { params: { id: provider.id } };

const byBlob = { params: { root: EVIDENCE }, query: { size: evidenceBytes.length } };

const byRental = { params: { id: rental.id } };

const byJob = { params: { id: EVIDENCE } };

const byPart = { params: { id: EVIDENCE, part: 0 } };

/** An input that each route takes. */
export const inputs: { readonly [N in RouteName]: CallInput<Routes[N]> } = {
	health: {},
	ready: {},
	network: {},
	getParams: {},
	getAttestationPolicy: {},
	listProviders: {
		query: { model: "GeForce RTX 4090", minDevices: 1, rented: false, q: "on", sort: "price", limit: 2 },
	},
	getProvider: byProvider,
	registerProvider: { body: { link: "local", name: "here" } },
	changeProvider: { ...byProvider, body: { name: "new name", paused: true } },
	removeProvider: byProvider,
	listProviderProbes: { ...byProvider, query: { verdict: "valid" } },
	listProviderFigures: { ...byProvider, query: { name: "gemm.fp16", device: 0 } },
	getProviderScore: byProvider,
	askProbe: { ...byProvider, body: { why: "asked" } },
	listProbes: { query: { state: "done", limit: 500 } },
	getProbe: { params: { id: probe.id } },
	getProbeEvidence: { params: { id: probe.id } },
	getProbeReceipts: { params: { id: probe.id } },
	watchProbe: { params: { id: probe.id } },
	watchEvents: { query: { kind: "probe" } },
	getEvidence: { params: { sha256: EVIDENCE } },
	listRollCalls: { query: { state: "done" } },
	getRollCall: { params: { call: 1234 } },
	listRollCallAnswers: { params: { call: 1234 }, query: { state: "absent" } },
	getRollCallLeaves: { params: { call: 1234 } },
	listProviderRollCalls: { params: { id: provider.id } },
	getChain: {},
	fundTrialAccount: { params: { account: chainAccount.account } },
	sendTrialTransaction: { body: { raw: "0x02c0" } },
	listChainEpochs: { query: { limit: 5 } },
	getChainEpoch: { params: { number: 7 } },
	listChainWeights: { params: { number: 7 }, query: { limit: 500 } },
	listChainTransactions: { params: { number: 7 } },
	getChainAccount: { params: { account: chainAccount.account } },
	getProviderChain: byProvider,
	listOffers: { query: { minFp16OpsPerS: 5 } },
	rent: { body: { providerId: provider.id, publicKey: rental.publicKey, durationMs: 3_600_000 } },
	listRentals: {},
	getRental: byRental,
	extendRental: { ...byRental, body: { durationMs: 60_000 } },
	releaseRental: byRental,
	listTokens: {},
	makeToken: { body: { name: "ci", role: "customer" } },
	revokeToken: { params: { id: token.id } },
	beginBlob: { ...byBlob, body: new Uint8Array(32) },
	putBlob: { ...byBlob, query: { ...byBlob.query, offset: 0 }, body: evidenceBytes },
	getBlob: byBlob,
	listBlobs: {},
	releaseBlob: byBlob,
	shareBlob: { ...byBlob, query: { ...byBlob.query, holder: "ann", to: "job-1" } },
	getJobBlob: { params: { id: hex("a", 64), root: EVIDENCE }, query: byBlob.query },
	listJobHosts: { query: { limit: 1 } },
	quoteJob: { body: { spec: toySpec, mostMicros: null, account: null, salt: EVIDENCE } },
	submitJob: { body: { spec: toySpec, offer: toyOffer } },
	listJobs: { query: { open: true, kind: "train", q: "gpt" } },
	getJob: byJob,
	watchJob: byJob,
	getJobResult: byJob,
	cancelJob: byJob,
	getJobDraws: byJob,
	listJobProofs: byJob,
	getJobProof: { params: { ...byJob.params, segment: 1 } },
	listClaims: { query: { job: hex("a", 64), state: "checked" } },
	getClaim: { params: { hash: EVIDENCE } },
	getClaimCase: { params: { hash: EVIDENCE } },
	askClaim: { params: { hash: EVIDENCE }, body: { question: "{}" } },
	listFrauds: { query: { accused: provider.id } },
	getJobMarket: {},
	getProviderWork: { params: { id: provider.id } },
	getDispute: { params: { hash: EVIDENCE } },
	handInFraud: { body: evidenceBytes },
	getFraud: { params: { hash: EVIDENCE } },
	getPartOffer: { ...byPart, query: { audit: 0 } },
	acceptPart: { ...byPart, body: { attempt: 1 } },
	declinePart: { ...byPart, body: { attempt: 1, why: "full" } },
	beatPart: { ...byPart, body: { attempt: 1, done: 0, metrics: [{ step: 1, values: [0.5] }], previews: [] } },
	claimPart: {
		...byPart,
		body: { attempt: 1, segmentRoot: EVIDENCE, resultRoot: EVIDENCE, states: toyBlob, state: [], results: [toyBlob] },
	},
	answerAudit: { params: { ...byPart.params, at: 0 }, body: { attempt: 1, states: toyBlob } },
	listAudit: { query: { kind: "probe.done" } },
	codes: {},
	openapi: {},
	metrics: {},
};
