// The browser's audit without a browser: three validators' reports, honest and then with one thing changed in
// a file or in what the API says. Each change is found by the check that is for it, and named. Weights that a
// hostile quorum signed are src/market/audit/audit-epoch.test.ts.
import assert from "node:assert/strict";
import { buffer } from "node:stream/consumers";
import { test } from "node:test";
import type { Chain, ChainEpoch, ChainWeight } from "../src/api/types.ts";
import {
	account,
	BASE,
	BASE_LEAVES,
	DOMAIN,
	FACTS,
	forged,
	PROVIDERS,
	REPORTS,
	RIGHT,
	RULES,
	SEATS,
	sceneOf,
	signedBy,
	VALIDATORS,
} from "../src/market/audit/epoch-scene.test-kit.ts";
import { encodeReasons, type ReasonEntry } from "../src/market/epochs/reasons-file.ts";
import { given } from "../src/market/scores/recompute.ts";
import type { Weights } from "../src/protocol/chain/epoch-shapes.ts";
import { encodeReport, encodeRewards } from "../src/protocol/chain/leaf-files.ts";
import { encodeStatements } from "../src/protocol/chain/statements-file.ts";
import { zipped } from "../src/validator/settlement/report-archive.ts";
import { type AuditSource, auditChainEpoch } from "./chain/chain-audit.ts";
import { elsewhere } from "./chain/chain-elsewhere.ts";
import { countdown, exactAmount, shortAccount, shortAmount } from "./chain/chain-format.ts";

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
const { posted: POSTED } = (await sceneOf()).view;
const at = { hash: `0x${"1".repeat(64)}`, block: 3 };
const text = (value: string) => new TextEncoder().encode(value);
const said = ({ epoch, base, set, count, totalWeight, paid, root }: Weights) => ({
	epoch: Number(epoch),
	base,
	set: String(set),
	count,
	totalWeight: String(totalWeight),
	paid: String(paid),
	root,
});

function honest(): { epoch: ChainEpoch; rows: ChainWeight[]; files: Map<string, Uint8Array> } {
	const files = new Map<string, Uint8Array>([
		["/rewards", text(encodeRewards(RIGHT.leaves))],
		["/base", text(encodeRewards(BASE_LEAVES))],
		["/statements", text(encodeStatements([{ weights: RIGHT.weights, signatures: POSTED!.signatures! }]))],
		["/reasons0", REASONS],
	]);
	for (const [v, { leaves }] of REPORTS.entries()) files.set(`/report${v}`, text(encodeReport(leaves)));
	const { id, weights, signers, signatures, total } = POSTED!;
	const epoch: ChainEpoch = {
		number: 7,
		phase: "final",
		startsAtMs: 0,
		endsAtMs: 1,
		revealsAtMs: 2,
		signsAtMs: 3,
		signsUntilMs: 4,
		postedAtMs: 4,
		finalAtMs: 5,
		nextAtMs: null,
		reports: 3,
		accounts: weights.count,
		earned: String(weights.paid),
		pot: String(FACTS.pot),
		funded: String(10n ** 24n),
		reportedStake: String(FACTS.totalStake),
		totalStake: String(FACTS.totalStake),
		hasQuorum: true,
		reportsOf: SEATS.map(({ validator, signer, stake, root }, v) => ({
			account: validator,
			signer,
			isSelf: v === 0,
			endpoint: "",
			stake: String(stake),
			seat: v,
			state: "revealed",
			isCounted: true,
			hasSigned: v < 2,
			root,
			committed: at,
			revealed: at,
			scores: REPORTS[v]!.leaves.length,
			leaves: "right",
			leavesPath: `/report${v}`,
			reasonsPath: v === 0 ? "/reasons0" : null,
			reasonsBytes: v === 0 ? 500 : null,
		})),
		posted: {
			id,
			sender: VALIDATORS[0]!,
			weights: said(weights),
			signers: String(signers),
			signatures: [...signatures!],
			setStake: String(FACTS.totalStake),
			signedStake: String(FACTS.totalStake),
			total: String(total),
			finalAtMs: 5,
			at,
			leaves: "right",
			leavesPath: "/rewards",
		},
		base: { id: BASE.id, weights: said(BASE.weights), total: String(BASE.total), leaves: "right", leavesPath: "/base" },
		statementsPath: "/statements",
		wrong: [],
		dropped: [],
	};
	const rows = RIGHT.leaves.map(
		({ account: who, weightPpm, earned, total }): ChainWeight => ({
			account: who,
			isValidator: false,
			providerId: null,
			attestation: null,
			name: null,
			scores: [],
			medianPpm: weightPpm,
			weightPpm,
			earned: String(earned),
			total: String(total),
			claimed: who === account(9) ? String(total) : "0",
		}),
	);
	return { epoch, rows, files };
}

type Case = ReturnType<typeof honest>;
const audit = ({ epoch, rows, files }: Case) => {
	const file: AuditSource["file"] = async (path) => files.get(path) ?? null;
	const chain = {
		chainId: DOMAIN.chainId,
		contracts: { scoreboard: DOMAIN.scoreboard },
		params: { ...RULES, targetWeight: "0", emissionPerEpoch: String(RULES.emissionPerEpoch) },
	} as unknown as AuditSource["chain"];
	return auditChainEpoch({ chain, epoch, rows, file, onStep: () => {} });
};
type Leaves = (string | number)[][];
const edit = (one: Case, path: string, change: (leaves: Leaves) => void) => {
	const file = JSON.parse(new TextDecoder().decode(one.files.get(path))) as { leaves: Leaves };
	change(file.leaves);
	one.files.set(path, text(JSON.stringify(file)));
};
const rowOf = ({ rows }: Case, who: string) => rows.find((row) => row.account === who)!;

test("an honest epoch is equal in every check", async () => {
	const found = await audit(honest());
	assert.deepEqual(found.differences, []);
	assert.deepEqual(
		found.checks.filter(({ state }) => state !== "equal"),
		[],
	);
	assert.ok(found.isEqual);
});

const ID = POSTED!.id;
/** What is changed, the checks that must differ, and whose it must be called, nobody else's. */
const CASES: [string, (one: Case) => void | Promise<void>, string[], string[]][] = [
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
	["reasons that are none", (one) => one.files.set("/reasons0", new Uint8Array(9)), ["Scores"], [VALIDATORS[0]!]],
	["no list of leaves", (one) => one.files.set("/report1", text("<html>")), ["Report"], []],
	[
		"a published weight",
		(one) => edit(one, "/rewards", (leaves) => (leaves[1]![1] = 5)),
		["Published"],
		[ID, PROVIDERS[1]!],
	],
	["a running sum", (one) => edit(one, "/rewards", (leaves) => (leaves[1]![2] = "5")), ["Published"], [ID]],
	[
		"a signature",
		async (one) => {
			const [first] = await signedBy(RIGHT.weights, 1n);
			one.epoch.posted!.signatures![1]!.signature = first!.signature;
		},
		["Signatures", "Stake"],
		[VALIDATORS[1]!, ID],
	],
	[
		"the stake behind them",
		(one) => {
			one.epoch.totalStake = String(2n * FACTS.totalStake);
		},
		["Set", "Stake"],
		[ID],
	],
	[
		"a reward that is shown",
		(one) => Object.assign(rowOf(one, PROVIDERS[2]!), { earned: "5" }),
		["Table"],
		[PROVIDERS[2]!],
	],
	[
		"a total that is shown",
		(one) => Object.assign(rowOf(one, PROVIDERS[2]!), { total: "5" }),
		["Table"],
		[PROVIDERS[2]!],
	],
	[
		"a payment",
		(one) => Object.assign(rowOf(one, account(9)), { claimed: String(10n ** 30n) }),
		["Payments"],
		[account(9)],
	],
	[
		"a wrong statement that somebody signed",
		async (one) => {
			const { weights } = forged(() => ({}), { set: 15n });
			one.files.set("/statements", text(encodeStatements([{ weights, signatures: await signedBy(weights, 2n) }])));
		},
		[],
		[VALIDATORS[1]!],
	],
];
for (const [what, change, checks, named] of CASES)
	test(`changed: ${what}`, async () => {
		const one = structuredClone(honest());
		await change(one);
		const found = await audit(one);
		assert.equal(found.isEqual, false);
		const differing = found.checks.filter(({ state }) => state === "differs").map(({ title }) => title.split(" ")[0]);
		assert.deepEqual(differing, checks);
		assert.deepEqual([...new Set(found.differences.map(({ who }) => who))].sort(), [...named].sort());
	});

test("what is not here yet is not called equal", async () => {
	const missing = structuredClone(honest());
	missing.files.delete("/report1");
	const found = await audit(missing);
	assert.equal(found.isEqual, false);
	assert.deepEqual(found.differences, [], "nobody is accused for want of a file");
	assert.ok(found.checks.some(({ title, state }) => title.startsWith("Report") && state === "unknown"));
	const early = await audit({ ...honest(), epoch: { ...honest().epoch, posted: null, base: null, reportsOf: [] } });
	assert.deepEqual(
		early.checks.map(({ state }) => state),
		["unknown", "unknown"],
	);
});

test("commands for elsewhere carry the contract's own selectors", () => {
	const contracts = { scoreboard: account(0x5c) };
	const chain = { contracts, rpcUrl: null, isEmbedded: false } as unknown as Chain;
	const [own, postedOf, ...reportOf] = elsewhere(chain, honest().epoch);
	assert.equal(own!.command, "assay audit 7 --rpc $RPC_URL");
	assert.match(postedOf!.command, /^curl -s \$RPC_URL .*"data":"0x[0-9a-f]{8}0{63}7"/);
	assert.ok(postedOf!.about.includes(ID));
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
