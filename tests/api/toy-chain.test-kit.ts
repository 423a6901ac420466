// Samples for tests of the API: a chain, one of its epochs, an account, receipts, a roll call.
import type { Chain, ChainAccountView, ChainEpoch, RollCall, RollCallAnswer } from "../../src/api/types.ts";
import type { ReceiptFile } from "../../src/protocol/chain/probe-receipt.ts";
import { attestation, EVIDENCE, hex, NOW_MS, probe, provider } from "./toy-network.test-kit.ts";

const bytes32 = `0x${hex("2", 64)}`;

export const at = { hash: bytes32, block: 9 };

export const accountOf = (digit: string) => `0x${hex(digit, 40)}`;

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
	trialAccounts: true,
	rpcUrl: "http://127.0.0.1:1",
	behindSinceMs: null,
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

export const chainEpoch: ChainEpoch = {
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

export const chainAccount: ChainAccountView = {
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

export const receipts: ReceiptFile = {
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

export const answered: RollCallAnswer = {
	...{ providerId: provider.id, name: provider.name, state: "answered", code: null, ms: 17_012, paidPpm: null },
	...{ megaOps: 21_840_000_000, bytes: 129_000_000_000, files: [{ device: 0, sha256: EVIDENCE, bytes: 60_000 }] },
	attestation,
};

export const absent: RollCallAnswer = {
	...{ ...answered, providerId: hex("9", 64), name: "not there", state: "absent", code: "PROVIDER_BUSY", ms: 12 },
	...{ megaOps: 0, bytes: 0, files: [] },
};
