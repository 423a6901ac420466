// A handler for every route, for tests of the API. They know no rules: they give the samples back.

import type { Handlers } from "../../src/api/routes.ts";
import { DEFAULT_PARAMS } from "../../src/market/params.ts";
import {
	absent,
	accountOf,
	answered,
	at,
	chain,
	chainAccount,
	chainEpoch,
	receipts,
	rollCall,
} from "./toy-chain.test-kit.ts";
import { bytesOf, toyBlob, toyClaim, toyCounts, toyJob, toyOffer, toySpec, toyTerms } from "./toy-jobs.test-kit.ts";
import {
	AUDIENCE,
	attestation,
	EVIDENCE,
	evidenceBytes,
	hex,
	holdings,
	NOW_MS,
	probe,
	proven,
	provider,
	rental,
	threeEvents,
	token,
} from "./toy-network.test-kit.ts";

export const toyHandlers: Handlers = {
	ready: () => ({ ready: true, checks: [{ name: "database", ok: true, detail: "" }] }),
	getAttestationPolicy: () => {
		const policy = { hash: EVIDENCE, rules: { format: "assay-attestation-policy" } };
		return { vendors: policy, simulated: policy, countsSimulated: false };
	},
	network: () => ({
		version: "1",
		nowMs: NOW_MS,
		scoring: "assay",
		intervalMs: 4_320_000,
		validator: { key: AUDIENCE, name: "v" },
		providers: { active: 1, paused: 0, connected: 1, rented: 0, proven: 1, offered: 1 },
		gpus: 1,
		models: [{ model: "h200", gpus: 1, providers: 1 }],
		probes: {
			running: 0,
			due: 0,
			lastHour: 1,
			day: { valid: 1, invalid: 0, inconclusive: 0 },
			total: { valid: 1, invalid: 0, inconclusive: 0 },
			cheats: { day: 0, total: 0 },
			hours: [{ atMs: NOW_MS, valid: 1, invalid: 0, inconclusive: 0, cheats: 0, files: 1 }],
		},
		proven: { fp16MopPerS: 667_000_000, memoryMiB: 137_000, memoryMBPerS: 4_210_000 },
		evidence: { files: 1, bytes: 3000 },
	}),
	getParams: () => ({ params: { ...DEFAULT_PARAMS } }),
	listProviders: ({ query }) =>
		query.cursor === undefined
			? { rows: [provider], cursor: "second" }
			: { rows: [{ ...provider, name: "two" }], cursor: null },
	getProvider: () => provider,
	registerProvider: () => provider,
	changeProvider: ({ body }) => ({ ...provider, ...(body.name === undefined ? {} : { name: body.name }) }),
	removeProvider: () => ({ ...provider, state: "removed" }),
	listProviderProbes: () => ({ rows: [probe], cursor: null }),
	listProviderFigures: () => ({ rows: [{ atMs: NOW_MS, value: 5, unit: "op/s", probeId: probe.id }] }),
	getProviderScore: () => ({
		providerId: provider.id,
		atMs: NOW_MS,
		scorePpm: 6,
		mode: "assay",
		terms: {
			version: 1,
			providerId: provider.id,
			mode: "holistic",
			evidence: EVIDENCE,
			scorePpm: 6,
			why: "",
			root: {
				name: "score",
				value: 6,
				unit: "ppm",
				rule: "product",
				from: [{ name: "gpu", value: 6, unit: "ppm", rule: "given", from: [EVIDENCE] }],
			},
		},
	}),
	askProbe: () => ({ providerId: provider.id, dueAtMs: NOW_MS }),
	listProbes: () => ({ rows: [probe], cursor: null }),
	getProbe: () => probe,
	getProbeReceipts: () => receipts,
	getProbeEvidence: () => ({ bytes: evidenceBytes, sizeBytes: evidenceBytes.length, sha256: EVIDENCE }),
	watchProbe: threeEvents,
	watchEvents: threeEvents,
	getEvidence: () => ({
		bytes: (async function* () {
			yield evidenceBytes.subarray(0, 1000);
			yield evidenceBytes.subarray(1000);
		})(),
		sizeBytes: evidenceBytes.length,
		sha256: EVIDENCE,
	}),
	listRollCalls: () => ({ rows: [rollCall], cursor: null }),
	getRollCall: () => rollCall,
	listRollCallAnswers: () => ({ rows: [answered, absent], cursor: null }),
	getRollCallLeaves: () => ({
		...{ root: rollCall.root!, count: 1 },
		hosts: [
			{
				...{
					providerId: provider.id,
					leaf: 0,
					account: accountOf("0"),
					signature: hex("6", 128),
					accountSignatures: null,
				},
				answers: [
					{
						...{ device: 0, m: 16_384, n: 16_384, k: 65_536, rounds: 600, keep: 240 },
						...{ end: hex("7", 64), last: hex("8", 64) },
					},
				],
			},
		],
	}),
	listProviderRollCalls: () => ({
		rows: [{ call: 1234, atMs: NOW_MS, state: "answered", code: null, ms: 17_012, files: answered.files }],
		cursor: null,
	}),
	getChain: () => ({ chain }),
	fundTrialAccount: () => ({ nonce: 3, gas: 2_000_000, maxFeePerGas: "2000000000", maxPriorityFeePerGas: "1" }),
	sendTrialTransaction: () => ({ hash: chain.head.hash, isDone: true }),
	listChainEpochs: () => ({ rows: [chainEpoch], cursor: null }),
	getChainEpoch: () => chainEpoch,
	listChainWeights: () => ({
		validators: [accountOf("a")],
		rows: [
			{
				account: accountOf("b"),
				isValidator: false,
				providerId: provider.id,
				name: provider.name,
				attestation,
				scores: [5],
				medianPpm: 5,
				weightPpm: 5,
				earned: "900",
				total: "1000",
				claimed: "900",
			},
		],
		cursor: null,
	}),
	listChainTransactions: () => ({
		rows: [
			{
				...at,
				logIndex: 0,
				atMs: NOW_MS,
				what: "punish",
				about: accountOf("d"),
				from: accountOf("a"),
				amount: "500",
				gasUsed: 77_310,
			},
		],
		cursor: null,
	}),
	getChainAccount: () => chainAccount,
	getProviderChain: () => ({ account: chainAccount }),
	listOffers: () => ({
		rows: [
			{
				providerId: provider.id,
				name: provider.name,
				pricePerHourMicros: provider.pricePerHourMicros,
				...proven,
				holdings,
				lastValidAtMs: NOW_MS,
				uptimePpm: 5,
				answeredPpm: 5,
				reliabilityPpm: 5,
				scorePpm: 5,
			},
		],
		cursor: null,
	}),
	rent: () => rental,
	listRentals: () => ({ rows: [rental], cursor: null }),
	getRental: () => rental,
	extendRental: () => rental,
	releaseRental: () => ({ ...rental, state: "ended", endReason: "released" }),
	listTokens: () => ({ rows: [token], cursor: null }),
	makeToken: ({ body }) => ({ token: { ...token, role: body.role }, secret: `assay_${body.role}_${"x".repeat(43)}` }),
	revokeToken: () => ({ ...token, revokedAtMs: NOW_MS }),
	beginBlob: () => ({ offset: 0 }),
	putBlob: ({ body, query }) => ({ offset: query.offset + body.length }),
	getBlob: ({ query }) => bytesOf(evidenceBytes.subarray(query.first, query.first + query.length)),
	getJobBlob: ({ query }) => bytesOf(evidenceBytes.subarray(query.first, query.first + query.length)),
	listBlobs: () => ({ rows: [toyBlob], cursor: null }),
	releaseBlob: () => toyBlob,
	shareBlob: () => toyBlob,
	listJobHosts: () => ({
		rows: [
			{
				...{ provider: provider.id, isFree: true, pricePerHourMicros: 1, reliabilityPpm: 2, freeBondMicros: 3 },
				...{ mostWorkMs: 7, methods: ["sampled" as const] },
				devices: [{ device: 0, isFree: true, memoryBytes: 4, int8OpsPerS: 5, bytesPerS: 6, int32OpsPerS: 8 }],
				...{ attested: "none" as const, isSimulated: false },
			},
		],
		cursor: null,
	}),
	quoteJob: () => ({
		offer: toyOffer,
		totalMicros: 3,
		estimatedMs: 4,
		referenceMs: 2,
		hosts: 5,
		tenthFoundPpm: 6,
		isSimulated: false,
	}),
	submitJob: () => toyJob,
	listJobs: () => ({
		rows: [
			{
				...{ id: toyJob.id, customer: toyJob.customer, createdAtMs: 1, isOver: false, title: "a job", kind: "program" },
				...{ method: toySpec.method, segments: 4, done: 0, totalMicros: 3 },
				parts: [{ state: "open", provider: null, isChecked: false }],
			},
		],
		cursor: null,
	}),
	getJob: () => toyJob,
	watchJob: threeEvents,
	getJobResult: () => ({ parts: [], state: [], results: [{ tensor: 1, ...toyBlob }] }),
	cancelJob: () => toyJob,
	getJobDraws: () => ({
		...{ id: toyJob.id, offer: toyOffer, secretCommitment: EVIDENCE, secret: null, perWindow: 1, draws: [], parts: [] },
	}),
	listClaims: () => ({ rows: [toyClaim], cursor: null }),
	getClaim: () => ({ ...toyClaim, ends: { last: EVIDENCE, states: toyBlob, state: [toyBlob], results: [] } }),
	getClaimCase: () => ({
		...{ ...toyClaim, spec: toySpec, terms: toyTerms, escrow: null, account: null, firstSegment: 0, segments: 4 },
		begin: null,
	}),
	askClaim: () => ({ answer: "00ff", signature: null }),
	listFrauds: () => ({
		rows: [
			{
				...{ hash: EVIDENCE, claim: EVIDENCE, job: toyJob.id, part: 0, attempt: 1, accused: provider.id },
				...{ atMs: NOW_MS, body: { why: "an element" } },
			},
		],
		cursor: null,
	}),
	getJobMarket: () => ({
		...{ nowMs: NOW_MS, jobs: { open: 1, over: 2 }, outcomes: { total: toyCounts, day: toyCounts }, auditPpm: 100_000 },
		...{ paidMicros: { total: 5, day: 1 }, claims: { stored: 0, claimed: 1, checked: 0, paid: 1, fallen: 1 } },
		workloads: [{ kind: "train", jobs: 3, partMicros: 5, jobMicros: 9 }],
		providers: [{ provider: provider.id, valueMicros: 5, ...toyCounts }],
		watchers: [{ account: `0x${"ab".repeat(20)}`, convictions: 1, earned: "5" }],
	}),
	getProviderWork: () => ({
		...{ nowMs: NOW_MS, rows: [], claims: [toyClaim], questions: [] },
		reputation: { counts: toyCounts, valueMicros: 5, checkedInARow: 1, isBarred: false, weightPpm: 1_000_000 },
	}),
	getDispute: () => ({ claim: toyClaim, relayed: [], chain: null, frauds: [] }),
	handInFraud: () => ({
		...{ hash: EVIDENCE, claim: EVIDENCE, job: toyJob.id, part: 0, attempt: 1, accused: provider.id },
		...{ atMs: NOW_MS, body: {} },
	}),
	listJobProofs: () => ({
		segments: 8,
		proofs: [
			{
				...{ segment: 1, prover: `0x${"ab".repeat(20)}`, transaction: `0x${EVIDENCE}`, gas: 560_000, amount: "5" },
			},
		],
	}),
	getJobProof: () => ({ bytes: evidenceBytes, sizeBytes: evidenceBytes.length, sha256: EVIDENCE }),
	getFraud: () => ({ bytes: evidenceBytes, sizeBytes: evidenceBytes.length, sha256: EVIDENCE }),
	getPartOffer: () => ({
		...{ id: toyJob.id, part: 0, attempt: 1, audit: null, spec: toySpec, terms: toyTerms, escrow: null },
		...{ device: 0, assignment: null, first: 0, count: 4, start: EVIDENCE, begin: null, previous: null, perWindow: 1 },
		...{ beatMs: 15_000, untilMs: NOW_MS, nowMs: NOW_MS },
	}),
	acceptPart: () => ({ state: "running", untilMs: 1, nowMs: 1 }),
	declinePart: () => ({ state: "open", untilMs: 1, nowMs: 1 }),
	beatPart: () => ({ go: true }),
	claimPart: () => ({ claim: EVIDENCE, stored: null, state: "claimed", untilMs: 1 }),
	answerAudit: () => ({ stored: true }),
	listAudit: () => ({
		rows: [
			{
				seq: 1,
				atMs: NOW_MS,
				actor: "system",
				kind: "probe.done",
				subject: provider.id,
				detail: { a: [1, null] },
				hash: EVIDENCE,
			},
		],
		cursor: null,
	}),
};
