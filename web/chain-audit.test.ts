// The browser's audit without a browser: three validators' reports, honest and then with one thing changed. Each change is found by the check that is for it, and named.
import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import type { Chain, ChainEpoch, ChainWeight } from "../src/api/types.ts";
import { signReport } from "../src/chain/contracts/slashing.ts";
import { accountOf } from "../src/chain/sending/sign.ts";
import { encodeReasons, type ReasonEntry } from "../src/market/epochs/reasons-file.ts";
import { createScoreReport } from "../src/market/epochs/score-report.ts";
import { createWeightProposal, proposalDigest, shareOf } from "../src/market/epochs/weight-proposal.ts";
import { given } from "../src/market/scores/recompute.ts";
import type { Hex } from "../src/protocol/chain/hex.ts";
import { encodeReport, encodeWeights } from "../src/protocol/chain/leaf-files.ts";
import { zipped } from "../src/validator/settlement/report-archive.ts";
import { type AuditSource, auditChainEpoch } from "./chain/chain-audit.ts";
import { elsewhere } from "./chain/chain-elsewhere.ts";
import { countdown, exactAmount, shortAccount, shortAmount } from "./chain/chain-format.ts";

const account = (n: number): Hex => `0x${n.toString(16).padStart(40, "0")}`;
const POT = 1000n * 10n ** 18n;
const STAKES = [5000n, 3000n, 2000n];
const KEYS = ["a1", "a2", "a3"].map((byte) => accountOf(`0x${byte.repeat(32)}`));
const VALIDATORS = KEYS.map(({ address }) => address.toLowerCase() as Hex);
const DOMAIN = { chainId: 31337, slashing: account(0x51) };
const PROVIDERS = [1, 2, 3, 4, 5].map(account);
const evidenceSha256: Hex = `0x${"00".repeat(32)}`;
/** The second and third say a little else; the third leaves one out. */
const REPORTS = VALIDATORS.map((_, v) =>
	createScoreReport(
		PROVIDERS.filter((_, i) => !(v === 2 && i === 4)).map((provider, i) => ({
			provider,
			scorePpm: 100_003 * (i + 1) + 7 * v,
			evidenceSha256,
		})),
	),
);
const SIGNATURES = await Promise.all(
	REPORTS.map(({ reportRoot: root }, v) =>
		signReport(KEYS[v]!, DOMAIN, { validator: VALIDATORS[v]!, epoch: 7n, root }),
	),
);
const REASONS = await buffer(
	zipped(
		encodeReasons(
			REPORTS[0]!.leaves.map(({ provider, scorePpm }): ReasonEntry => {
				const root = given("score", "ppm", scorePpm);
				return [provider, { version: 1, providerId: "", mode: "holistic", evidence: null, scorePpm, why: "", root }];
			}),
			null,
		),
	),
);

function honest(): { epoch: ChainEpoch; rows: ChainWeight[]; files: Map<string, Uint8Array> } {
	const right = createWeightProposal(
		REPORTS.map((report, v) => ({ validator: VALIDATORS[v]!, stake: STAKES[v]!, report })),
		POT,
	);
	const at = { hash: `0x${"1".repeat(64)}`, block: 3 };
	const proposal = {
		proposer: VALIDATORS[0]!,
		...right.proposal,
		totalWeight: String(right.proposal.totalWeight),
		emission: String(POT),
		thresholdRemainder: String(right.proposal.thresholdRemainder),
		finalAtMs: 5,
		proposed: at,
		leaves: "right" as const,
		leavesPath: "/weights",
		digest: proposalDigest(7, right.proposal),
	};
	const text = (value: string) => new TextEncoder().encode(value);
	const files = new Map<string, Uint8Array>([["/weights", text(encodeWeights(right.leaves))]]);
	for (const [v, { leaves }] of REPORTS.entries()) files.set(`/report${v}`, text(encodeReport(leaves, SIGNATURES[v]!)));
	files.set("/reasons0", REASONS);
	const epoch: ChainEpoch = {
		number: 7,
		phase: "final",
		startsAtMs: 0,
		endsAtMs: 1,
		revealsAtMs: 2,
		voidsAtMs: 3,
		proposesAtMs: 4,
		finalAtMs: 5,
		nextAtMs: null,
		reports: 3,
		providers: right.leaves.length,
		pot: String(POT),
		paid: "0",
		claims: 1,
		countedStake: "10000",
		totalStake: "10000",
		hasQuorum: true,
		reportsOf: REPORTS.map(({ reportRoot, leaves }, v) => ({
			account: VALIDATORS[v]!,
			isSelf: v === 0,
			endpoint: "",
			stake: String(STAKES[v]),
			state: "revealed",
			root: reportRoot,
			committed: at,
			revealed: at,
			voided: null,
			scores: leaves.length,
			leaves: "right",
			leavesPath: `/report${v}`,
			reasonsPath: v === 0 ? "/reasons0" : null,
			reasonsBytes: v === 0 ? 500 : null,
		})),
		proposal,
		rejected: [],
		claimsUntilMs: null,
		isSwept: false,
	};
	const rows = right.leaves.map((leaf, i): ChainWeight => {
		const share = String(shareOf(right.proposal, leaf));
		const claimed = i === 0 ? { amount: share, ...at } : null;
		return {
			account: leaf.provider,
			providerId: null,
			name: null,
			scores: [],
			medianPpm: leaf.weightPpm,
			weightPpm: leaf.weightPpm,
			share,
			claimed,
		};
	});
	return { epoch, rows, files };
}

type Case = ReturnType<typeof honest>;
const audit = ({ epoch, rows, files }: Case) => {
	const file: AuditSource["file"] = async (path) => files.get(path) ?? null;
	const chain = {
		chainId: DOMAIN.chainId,
		contracts: { slashing: DOMAIN.slashing },
		params: { quorumPpm: 666_666 },
	} as AuditSource["chain"];
	return auditChainEpoch({ chain, epoch, rows, file, onStep: () => {} });
};
const rewrite = (one: Case, path: string, change: (file: LeafFile) => void) => {
	const file = JSON.parse(new TextDecoder().decode(one.files.get(path))) as LeafFile;
	change(file);
	one.files.set(path, new TextEncoder().encode(JSON.stringify(file)));
};
type LeafFile = { leaves: (string | number)[][]; signature?: Hex };
const edit = (one: Case, path: string, change: (leaves: LeafFile["leaves"]) => void) =>
	rewrite(one, path, ({ leaves }) => change(leaves));
const sign = (one: Case, path: string, signature: Hex) => rewrite(one, path, (file) => (file.signature = signature));

test("an honest epoch is equal in every check", async () => {
	const found = await audit(honest());
	assert.deepEqual(found.differences, []);
	assert.deepEqual(
		found.checks.filter(({ state }) => state !== "equal"),
		[],
	);
	assert.ok(found.isEqual);
});

/** What is changed, the checks that must differ, and the accounts that must be named, nobody else. */
const CASES: [string, (one: Case) => void, string[], string[]][] = [
	[
		"a score that moves a median",
		(one) => edit(one, "/report0", (leaves) => (leaves[1]![1] = 1)),
		["Report", "Scores"],
		[VALIDATORS[0]!, PROVIDERS[1]!],
	],
	[
		"a score that moves none",
		(one) => edit(one, "/report2", (leaves) => (leaves[0]![1] = 900_000)),
		["Report"],
		[VALIDATORS[2]!],
	],
	[
		"an evidence hash",
		(one) => edit(one, "/report0", (leaves) => (leaves[3]![2] = `0x${"ab".repeat(32)}`)),
		["Report", "Scores"],
		[VALIDATORS[0]!, PROVIDERS[3]!],
	],
	[
		"a leaf left out",
		(one) => edit(one, "/report0", (leaves) => leaves.splice(2, 1)),
		["Report", "Scores"],
		[VALIDATORS[0]!, PROVIDERS[2]!],
	],
	["leaves out of order", (one) => edit(one, "/report1", (leaves) => leaves.reverse()), ["Report"], [VALIDATORS[1]!]],
	["a signature", (one) => sign(one, "/report1", SIGNATURES[0]!), ["Report"], [VALIDATORS[1]!]],
	["reasons that are none", (one) => one.files.set("/reasons0", new Uint8Array(9)), ["Scores"], [VALIDATORS[0]!]],
	["no list of leaves", (one) => one.files.set("/report1", new TextEncoder().encode("<html>")), ["Report"], []],
	[
		"a published weight",
		(one) => edit(one, "/weights", (leaves) => (leaves[1]![1] = 5)),
		["Published", "Medians"],
		[VALIDATORS[0]!, PROVIDERS[1]!],
	],
	["a running sum", (one) => edit(one, "/weights", (leaves) => (leaves[1]![3] = "5")), ["Published"], [VALIDATORS[0]!]],
	[
		"the proposal's root",
		(one) => Object.assign(one.epoch.proposal!, { root: `0x${"cd".repeat(32)}` }),
		["Published", "Proposal", "Digest"],
		[VALIDATORS[0]!],
	],
	[
		"the proposal's total",
		(one) => Object.assign(one.epoch.proposal!, { totalWeight: "5000000" }),
		["Proposal", "Digest", "Shares"],
		[VALIDATORS[0]!, ...PROVIDERS],
	],
	["a share", (one) => Object.assign(one.rows[2]!, { share: "5" }), ["Shares"], [PROVIDERS[2]!]],
	[
		"a claim",
		(one) => Object.assign(one.rows[0]!, { claimed: { ...one.rows[0]!.claimed!, amount: "5" } }),
		["Claims"],
		[PROVIDERS[0]!],
	],
];
for (const [what, change, checks, named] of CASES)
	test(`changed: ${what}`, async () => {
		const one = structuredClone(honest());
		change(one);
		const found = await audit(one);
		assert.equal(found.isEqual, false);
		const differing = found.checks.filter(({ state }) => state === "differs").map(({ title }) => title.split(" ")[0]);
		assert.deepEqual(differing, checks);
		assert.deepEqual([...new Set(found.differences.map(({ who }) => who))].sort(), [...named].sort());
	});

test("a signed report that was not revealed is a conflict, as for the command line", async () => {
	const one = structuredClone(honest());
	const lie = createScoreReport(REPORTS[1]!.leaves.slice(1));
	const report = { validator: VALIDATORS[1]!, epoch: 7n, root: lie.reportRoot };
	const signature = await signReport(KEYS[1]!, DOMAIN, report);
	one.files.set("/report1", new TextEncoder().encode(encodeReport(lie.leaves, signature)));
	assert.deepEqual(
		(await audit(one)).differences.map(({ what, who }) => [what, who]),
		[
			["conflict", VALIDATORS[1]],
			["report", VALIDATORS[1]],
		],
	);
});

test("what is not here yet is not called equal", async () => {
	const missing = structuredClone(honest());
	missing.files.delete("/report1");
	const found = await audit(missing);
	assert.equal(found.isEqual, false);
	assert.deepEqual(found.differences, [], "nobody is accused for want of a file");
	assert.ok(found.checks.some(({ title, state }) => title.startsWith("Report") && state === "unknown"));
	const early = await audit({ ...honest(), epoch: { ...honest().epoch, proposal: null, reportsOf: [] } });
	assert.deepEqual(
		early.checks.map(({ state }) => state),
		["unknown", "unknown"],
	);
	const few = structuredClone(honest());
	few.epoch.totalStake = "20000";
	assert.equal((await audit(few)).checks.find(({ title }) => title === "Quorum")!.state, "unknown");
});

test("commands for elsewhere carry the contract's own selectors", () => {
	const contracts = { scoreboard: account(0x5c) };
	const chain = { contracts, rpcUrl: null, isEmbedded: false } as unknown as Chain;
	const [own, proposalOf, ...reportOf] = elsewhere(chain, honest().epoch);
	assert.equal(own!.command, "assay audit 7 --rpc $RPC_URL");
	assert.match(proposalOf!.command, /^curl -s \$RPC_URL .*"data":"0x[0-9a-f]{8}0{63}7"/);
	assert.equal(reportOf.length, 3);
});

test("amounts are cut, never rounded up; every digit can be had", () => {
	const cases: [string, number, string, string][] = [
		["0", 18, "0", "0"],
		["1", 18, "< 0.000001", "0.000000000000000001"],
		["999999999999999999", 18, "0.999999", "0.999999999999999999"],
		["1000000000000000000", 18, "1", "1"],
		["166666666666666666667", 18, "166.66", "166.666666666666666667"],
		["1500000000000000000", 18, "1.50", "1.5"],
		["100000000000000000000000000", 18, "100\u202f000\u202f000", "100000000"],
		["12345", 0, "12\u202f345", "12345"],
	];
	for (const [amount, decimals, short, exact] of cases)
		assert.deepEqual([shortAmount(amount, decimals), exactAmount(amount, decimals)], [short, exact]);
	assert.equal(shortAccount(`0x${"ab".repeat(18)}cdef`), "0xababab…cdef");
	assert.deepEqual([countdown(-5), countdown(59_001), countdown(3_600_000)], ["0:00", "1:00", "1:00:00"]);
});
