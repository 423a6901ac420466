// A whole API over memory, for tests: one sample of every thing, a handler and an input for every route, a
// token for every role. Handlers know no rules: they give the samples back, and remember what they were
// called with.

import type { Call, CallerRole, CallInput, Route } from "../../src/api/route.ts";
import type { Handlers, RouteName, Routes } from "../../src/api/routes.ts";
import { type ApiServer, createApiServer } from "../../src/api/server/create-server.ts";
import type { ApiServerOptions } from "../../src/api/server/server-options.ts";
import type {
	Chain,
	ChainAccountView,
	ChainEpoch,
	NetworkEvent,
	Probe,
	Provider,
	Rental,
	RollCall,
	RollCallAnswer,
	Token,
} from "../../src/api/types.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import type { ReceiptFile } from "../../src/protocol/chain/probe-receipt.ts";
import { sha256Of } from "../../src/protocol/hash/tagged-hash.ts";
import { createSigner, type Signer } from "../../src/protocol/probe/signer.ts";

export const NOW_MS = 1_800_000_000_000;
export const AUDIENCE = "a".repeat(64);
const hex = (digit: string, length: number): string => digit.repeat(length);
export const evidenceBytes: Uint8Array = Uint8Array.from({ length: 3000 }, (_, i) => i % 251);
export const EVIDENCE = bytesToHex(sha256Of(evidenceBytes));

const device = {
	device: 0,
	kind: "gpu" as const,
	claimedName: "NVIDIA H200",
	uuid: "GPU-1",
	memoryBytes: 150_000_000_000,
	profile: "h200",
	identity: "confirmed" as const,
};
const figure = { device: 0, name: "gemm.fp16", value: 667_000_000_000_000, unit: "op/s", challenge: 3 };
const proven = {
	model: "h200",
	gpuCount: 1,
	memoryBytes: 143_800_000_000,
	fp16OpsPerS: figure.value,
	memoryBytesPerS: 4_210_000_000_000,
	attestation: {
		...{ level: "none" as const, shown: "measured" as const, isSimulated: true, rounds: 1, guest: null },
		elsewhere: [{ key: hex("e", 64), providerId: hex("f", 64) }],
		devices: [
			{
				...{ kind: "gpu" as const, key: hex("e", 64), chip: "GH100", driver: "550.90.07", firmware: "96.00.74.00.1a" },
				level: "measured" as const,
			},
		],
		reasons: [{ code: "RELAYABLE", detail: "no quote" }],
		says: ["cpu: no /dev/sev-guest"],
	},
};
const { level, shown, isSimulated, elsewhere } = proven.attestation;
const attestation = { level, shown, isSimulated, elsewhere };
const holdings = [{ model: "h200", count: 1, figures: { "gemm.fp16": figure.value } }];

export const provider: Provider = {
	id: hex("b", 64),
	name: "one",
	link: "agent",
	state: "active",
	connected: true,
	rented: false,
	rentable: true,
	pricePerHourMicros: 2_500_000,
	registeredAtMs: NOW_MS - 10_000,
	lastSeenAtMs: NOW_MS,
	nextProbeAtMs: NOW_MS + 1000,
	failures: 0,
	lastVerdict: "valid",
	lastCode: null,
	lastProbeAtMs: NOW_MS - 5000,
	lastValidAtMs: NOW_MS - 5000,
	scorePpm: 431_250,
	reliabilityPpm: 1_000_000,
	uptimePpm: 990_000,
	answeredPpm: 980_000,
	...proven,
	target: null,
	claim: null,
	suspicion: null,
	devices: [device],
	holdings,
	figures: [
		{
			device: 0,
			name: figure.name,
			value: figure.value,
			unit: "op/s",
			probeId: hex("c", 32),
			evidenceSha256: EVIDENCE,
			atMs: NOW_MS,
		},
	],
};
export const probe: Probe = {
	id: hex("c", 32),
	providerId: provider.id,
	validator: AUDIENCE,
	link: "agent",
	state: "done",
	startedAtMs: NOW_MS - 5000,
	finishedAtMs: NOW_MS,
	verdict: "valid",
	code: null,
	where: null,
	detail: null,
	evidenceSha256: EVIDENCE,
	evidenceBytes: evidenceBytes.length,
	strength: "countersigned",
	figures: [figure],
	findings: [{ code: "LOW_SAMPLES", detail: "few" }],
	devices: [device],
	attestation: proven.attestation,
	host: { name: "a host", model: "h200", gpuCount: 1, fp16OpsPerS: 667_000_000_000_000 },
};
export const rental: Rental = {
	escrow: null,
	id: hex("d", 32),
	providerId: provider.id,
	customer: hex("e", 64),
	state: "active",
	endReason: null,
	publicKey: `ssh-ed25519 ${"A".repeat(68)} me`,
	pricePerHourMicros: 2_500_000,
	devices: [0],
	access: { host: "198.51.100.7", port: 2222, user: "renter", hostKey: `ssh-ed25519 ${"A".repeat(68)}` },
	reservedAtMs: NOW_MS,
	startedAtMs: NOW_MS,
	untilMs: NOW_MS + 3_600_000,
	endedAtMs: null,
	chargedMicros: null,
	refundMicros: null,
	lastHealthyAtMs: NOW_MS,
	detail: null,
};
const token: Token = {
	id: hex("f", 16),
	name: "ci",
	role: "reader",
	subject: null,
	createdAtMs: NOW_MS,
	expiresAtMs: null,
	revokedAtMs: null,
};
const bytes32 = `0x${hex("2", 64)}`;
const at = { hash: bytes32, block: 9 };
const accountOf = (digit: string) => `0x${hex(digit, 40)}`;
const chainWindows = {
	number: 7,
	phase: "final" as const,
	startsAtMs: NOW_MS - 9000,
	endsAtMs: NOW_MS - 5000,
	revealsAtMs: NOW_MS - 4000,
	signsAtMs: NOW_MS - 3000,
	signsUntilMs: NOW_MS - 2000,
	postedAtMs: NOW_MS - 2500,
	finalAtMs: NOW_MS - 1000,
	nextAtMs: null,
};
export const chain: Chain = {
	nowMs: NOW_MS,
	chainId: 31_337,
	isEmbedded: true,
	rpcUrl: "http://127.0.0.1:1",
	confirmations: 1,
	activity: 4,
	head: { number: 9, hash: bytes32, atMs: NOW_MS },
	contracts: {
		token: accountOf("1"),
		registry: accountOf("2"),
		scoreboard: accountOf("3"),
		rewards: accountOf("4"),
		slashing: accountOf("5"),
		rollCall: accountOf("6"),
		rentalEscrow: accountOf("7"),
		jobEscrow: accountOf("8"),
		disputes: accountOf("9"),
		judge: accountOf("b"),
		wireJudge: accountOf("d"),
		attestations: accountOf("d"),
		zkPlans: accountOf("a"),
		zkVerifier: accountOf("b"),
		zkKeys: accountOf("1"),
		zkRunVerifier: accountOf("2"),
		zkTraining: accountOf("c"),
		twinJudge: accountOf("d"),
		twinPosts: accountOf("e"),
		zkJobs: accountOf("f"),
		weightJudge: accountOf("1"),
		segmentProofs: accountOf("2"),
		deployedAtBlock: 1,
	},
	token: { symbol: "ASSAY", decimals: 18 },
	validator: { account: accountOf("a"), signer: accountOf("c"), stake: "10000", unbonding: "0", isValidator: true },
	validators: 1,
	totalStake: "10000",
	params: {
		genesis: 1_700_000_000,
		epochSeconds: 4320,
		commitSeconds: 60,
		revealSeconds: 60,
		signSeconds: 60,
		challengeSeconds: 60,
		unbondingSeconds: 604_800,
		deviceSeconds: 604_800,
		quorumPpm: 666_667,
		signerSlashPpm: 500_000,
		validatorPpm: 100_000,
		accuserPpm: 100_000,
		targetWeight: "1000000",
		stakePerWeight: "1000000000000000000000",
		minProviderStake: "10",
		minValidatorStake: "1000",
		emissionPerEpoch: "1000000000000000000000",
	},
	reserve: "99000000000000000000000000",
	earned: "1000000000000000000000000",
	claimed: "0",
	nextPot: "1000000000000000000000",
	epoch: 8,
	inFlight: [{ ...chainWindows, number: 8, phase: "open", postedAtMs: null, finalAtMs: null, nextAtMs: NOW_MS + 9000 }],
};
const statement = {
	epoch: 7,
	base: `0x${hex("0", 64)}`,
	set: "1",
	count: 2,
	totalWeight: "5",
	paid: "1000",
	root: bytes32,
};
const chainEpoch: ChainEpoch = {
	...chainWindows,
	reports: 1,
	accounts: 2,
	earned: "1000",
	pot: "1000",
	funded: "99000000000000000000000000",
	reportedStake: "10000",
	totalStake: "10000",
	hasQuorum: true,
	reportsOf: [
		{
			account: accountOf("a"),
			signer: accountOf("c"),
			isSelf: true,
			endpoint: "http://127.0.0.1:2",
			stake: "10000",
			seat: 0,
			state: "revealed",
			isCounted: true,
			hasSigned: true,
			root: bytes32,
			committed: at,
			revealed: at,
			scores: 1,
			leaves: "right",
			leavesPath: `/chain/7/report-${accountOf("a")}.json`,
			reasonsPath: null,
			reasonsBytes: null,
		},
	],
	posted: {
		id: bytes32,
		sender: accountOf("c"),
		weights: statement,
		signers: "1",
		signatures: [{ signer: accountOf("c"), signature: `0x${hex("1", 130)}` }],
		setStake: "10000",
		signedStake: "10000",
		total: "1000",
		finalAtMs: NOW_MS - 1000,
		at,
		leaves: "right",
		leavesPath: `/chain/7/rewards-${bytes32}.json`,
	},
	base: null,
	statementsPath: "/chain/7/statements.json",
	wrong: [
		{
			id: bytes32,
			reason: "weight",
			isPosted: false,
			by: accountOf("a"),
			punished: [{ account: accountOf("d"), amount: "500" }],
			at,
		},
	],
	dropped: [{ id: bytes32, at }],
};
const chainAccount: ChainAccountView = {
	account: accountOf("b"),
	signer: accountOf("b"),
	payout: accountOf("b"),
	providerId: provider.id,
	isKept: false,
	role: "provider",
	stake: "10",
	unbonding: "0",
	locked: "0",
	unlockAtMs: null,
	slashed: "0",
	earned: "1000",
	pending: "5",
	claimed: "900",
	claimable: "100",
	finalEpoch: 7,
	claims: [{ to: accountOf("b"), amount: "900", total: "900", at }],
	devices: [{ device: bytes32, evidenceSha256: bytes32, untilMs: NOW_MS + 9000, at }],
};
const receipts: ReceiptFile = {
	format: "assay-receipts",
	version: 2,
	evidence: EVIDENCE,
	probeId: probe.id,
	chainId: 7,
	slashing: `0x${"5a".repeat(20)}`,
	provider: `0x${"b0".repeat(20)}`,
	receipts: [
		{
			...{ challenge: 0, precision: 2, m: 128, n: 512, k: 128, rounds: 3 },
			tree: `0x${"01".repeat(32)}`,
			signature: `0x${"03".repeat(65)}`,
		},
	],
	missing: [{ challenge: 1, why: "refused" }],
};
export const rollCall: RollCall = {
	...{ call: 1234, chainId: 31_337, contract: accountOf("6"), beta0: hex("3", 64), state: "done", code: null },
	...{ calledAtMs: NOW_MS - 60_000, deadlineMs: 24_000, b0AtS: 1_700_000_000, b1: 1236, b1AtS: 1_700_000_024 },
	...{ b2: 1239, b2AtS: 1_700_000_060, beta2: hex("4", 64), root: hex("5", 64), leaves: 1, transaction: bytes32 },
	...{ endedAtMs: NOW_MS, hosts: 1, devices: 1, gigaOps: 21_840_000, megaBytes: 129_000, counted: 2 },
};
const answered: RollCallAnswer = {
	...{ providerId: provider.id, name: provider.name, state: "answered", code: null, ms: 17_012, paidPpm: null },
	...{ megaOps: 21_840_000_000, bytes: 129_000_000_000, files: [{ device: 0, sha256: EVIDENCE, bytes: 60_000 }] },
	attestation,
};
const absent: RollCallAnswer = {
	...{ ...answered, providerId: hex("9", 64), name: "not there", state: "absent", code: "PROVIDER_BUSY", ms: 12 },
	...{ megaOps: 0, bytes: 0, files: [] },
};
export const event = (n: number): NetworkEvent => ({
	id: String(n),
	atMs: NOW_MS,
	kind: "probe.progress",
	subject: probe.id,
	providerId: provider.id,
	detail: { n },
});

/** Three events after the one that the reader names, then the end. */
async function* threeEvents({ lastEventId }: { lastEventId: string | null }): AsyncGenerator<NetworkEvent> {
	const first = Number(lastEventId ?? 0) + 1;
	for (let n = first; n < first + 3; n++) yield event(n);
}

const toyBlob = { root: EVIDENCE, size: evidenceBytes.length };
const bytesOf = (bytes: Uint8Array) => ({ bytes, sizeBytes: bytes.length, sha256: null });

export const toySpec = {
	...({ format: "assay-job", version: 1, title: "a job", kind: "program", program: toyBlob } as const),
	...{ seed: EVIDENCE, given: [{ tensor: 0, ...toyBlob }], segments: 4, metrics: [], previews: [1] },
	method: { name: "sampled", count: 2 } as const,
};
const toyTerms = {
	...{ customer: "ann", program: EVIDENCE, inputs: EVIDENCE, method: toySpec.method, segments: 4, parts: 1 },
	...{ priceMicros: 1, feeMicros: 1, auditMicros: 1, bondMicros: 1, startByMs: NOW_MS, workMs: 1000 },
	...{ windowMs: 1000, checkedMs: 1000 },
};
const toyOffer = {
	...{ id: EVIDENCE, terms: toyTerms, escrow: null, salt: EVIDENCE, perWindow: 1, secretCommitment: EVIDENCE },
	...{ untilMs: NOW_MS, signature: EVIDENCE + EVIDENCE },
};
const toyCounts = { checked: 1, paid: 1, lost: 0, late: 0, declined: 0, convicted: 0 };
const toyClaim = {
	attestation: {
		...proven.attestation,
		fault: { code: "NONCE_WRONG", where: "rounds[1]", detail: "other" },
		file: EVIDENCE,
	},
	...{ hash: EVIDENCE, job: hex("a", 64), part: 0, attempt: 1, provider: provider.id, atMs: 1 },
	...{ state: "claimed" as const, segmentRoot: EVIDENCE, resultRoot: EVIDENCE, first: EVIDENCE, ends: null },
};
const toyJob = {
	...{ id: EVIDENCE, customer: "ann", createdAtMs: 1, isOver: false, spec: toySpec, offer: toyOffer },
	record: { id: EVIDENCE, terms: toyTerms, parts: [] },
};

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
		providers: { active: 1, paused: 0, connected: 1, rented: 0, proven: 1 },
		gpus: 1,
		models: [{ model: "h200", gpus: 1, providers: 1 }],
		probes: {
			running: 0,
			due: 0,
			day: { valid: 1, invalid: 0, inconclusive: 0 },
			total: { valid: 1, invalid: 0, inconclusive: 0 },
			cheats: { day: 0, total: 0 },
			hours: [{ atMs: NOW_MS, valid: 1, invalid: 0, inconclusive: 0, cheats: 0, files: 1 }],
		},
		proven: { fp16MopPerS: 667_000_000, memoryMiB: 137_000, memoryMBPerS: 4_210_000 },
		evidence: { files: 1, bytes: 3000 },
	}),
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
				...{ memoryBytes: 4, int8OpsPerS: 5, bytesPerS: 6, mostWorkMs: 7, methods: ["sampled" as const] },
				...{ attested: "none" as const, isSimulated: false },
			},
		],
		cursor: null,
	}),
	quoteJob: () => ({ offer: toyOffer, totalMicros: 3, estimatedMs: 4, hosts: 5, tenthFoundPpm: 6, isSimulated: false }),
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
		...{ assignment: null, first: 0, count: 4, start: EVIDENCE, begin: null, previous: null, perWindow: 1 },
		...{ beatMs: 15_000, untilMs: NOW_MS },
	}),
	acceptPart: () => ({ state: "running", untilMs: 1 }),
	declinePart: () => ({ state: "open", untilMs: 1 }),
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

export const ROLES = ["reader", "customer", "provider", "validator", "admin"] as const;
export const tokenOf = (role: Exclude<CallerRole, "public">): string => `assay_${role}_${"t".repeat(43)}`;
/** One key for each role that signs; made once, since every request with a token looks its key up. */
const signers = ROLES.map((_, i) => createSigner(new Uint8Array(32).fill(i + 1)));
export const signerOf = (role: (typeof ROLES)[number]): Signer => signers[ROLES.indexOf(role)]!;

export async function collect<T>(source: AsyncIterable<T>): Promise<T[]> {
	const all: T[] = [];
	for await (const one of source) all.push(one);
	return all;
}

export interface ToyApi {
	readonly url: string;
	readonly server: ApiServer;
	/** Every call that reached a handler. */
	readonly calls: { readonly name: string; readonly call: Call<Route> }[];
	readonly clock: { nowMs: number };
}

export async function startToyApi(overrides: Partial<ApiServerOptions> = {}): Promise<ToyApi> {
	const calls: { name: string; call: Call<Route> }[] = [];
	const clock = { nowMs: NOW_MS };
	const nonces = new Set<string>();
	let requests = 0;
	const recorded = Object.fromEntries(
		Object.entries({ ...toyHandlers, ...overrides.handlers }).map(([name, handler]) => [
			name,
			(call: Call<Route>) => {
				calls.push({ name, call });
				return (handler as (call: Call<Route>) => unknown)(call);
			},
		]),
	) as unknown as Handlers;
	const server = createApiServer({
		audience: AUDIENCE,
		version: "1.2.3",
		nowMs: () => clock.nowMs,
		randomId: () => `request-${requests++}`,
		auth: {
			findToken: async (secret) => {
				const role = ROLES.find((one) => tokenOf(one) === secret);
				return role === undefined ? null : { id: `token-${role}`, role, key: signerOf(role).key };
			},
			rolesOfKey: async (key) => ROLES.filter((role) => role !== "reader" && signerOf(role).key === key) as never,
			takeNonce: async (key, nonce) => {
				const size = nonces.size;
				return nonces.add(`${key} ${nonce}`).size > size;
			},
		},
		...overrides,
		// The clock of these tests stands still, so buckets are never refilled.
		limits: { readsPerS: 1e6, writesPerS: 1e6, transfersPerS: 1e6, ...overrides.limits },
		handlers: recorded,
	});
	const url = await server.listen({ host: "127.0.0.1", port: 0 });
	return { url, server, calls, clock };
}
