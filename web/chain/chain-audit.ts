// An epoch of the chain worked out again in this browser: roots from leaves, medians from reports, weights, shares and payments from those; each compared with what the
// chain has. Leaves, reasons and the chain's own words all come over the validator's API and are hostile: chain-elsewhere.ts says how to ask any node for the same roots.
// Loaded when somebody audits: hashing stays out of the first view.
import type { ChainEpoch, ChainWeight } from "../../src/api/types.ts";
import type { AuditDifference } from "../../src/market/epochs/audit-scores.ts";
import { auditScores } from "../../src/market/epochs/audit-scores.ts";
import { malformedAt, type ScoreReport } from "../../src/market/epochs/score-report.ts";
import {
	type CountedReport,
	createWeightProposal,
	openWeights,
	shareOf,
	type WeightProposal,
} from "../../src/market/epochs/weight-proposal.ts";
import type { WeightLeaf } from "../../src/protocol/chain/epoch-shapes.ts";
import { type Hex, packed, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { some } from "./chain-format.ts";
import { reasonsOf, reportOf, weightsOf } from "./chain-leaf-files.ts";

interface AuditCheck {
	readonly title: string;
	readonly state: "equal" | "differs" | "unknown";
	readonly found: string;
}

export interface ChainAudit {
	readonly checks: readonly AuditCheck[];
	readonly differences: readonly AuditDifference[];
	readonly isEqual: boolean;
}

export interface AuditSource {
	readonly epoch: ChainEpoch;
	readonly quorumPpm: number;
	/** Every row of the epoch's table. */
	readonly rows: readonly ChainWeight[];
	/** Bytes of a public file of the validator; null when it is not there. */
	readonly file: (path: string) => Promise<Uint8Array | null>;
	readonly onStep: (title: string) => void | Promise<void>;
}

const PPM = 1_000_000n;
/** Reasons of thousands of providers are a matter for the command line. */
const MAX_REASONS_BYTES = 4_000_000;

/** The chain marks a root by its last bit: it tells nothing about it. */
export const kept = (root: string): string => (BigInt(root) | 1n).toString(16);
const short = (value: string): string => `${value.slice(0, 10)}…${value.slice(-4)}`;

export async function auditChainEpoch(o: AuditSource): Promise<ChainAudit> {
	const { epoch, rows } = o;
	const checks: AuditCheck[] = [];
	const differences: AuditDifference[] = [];
	const check: Check = (title, state, found) => void checks.push({ title, state, found });
	const counted: CountedReport[] = [];
	let isComplete = true;
	for (const one of epoch.reportsOf) {
		if (one.root === null || one.state === "voided") continue;
		const title = `Report of ${short(one.account)}`;
		await o.onStep(title);
		const bytes = one.leavesPath === null || one.leaves === "none" ? null : await o.file(one.leavesPath);
		const report = bytes === null ? null : reportOf(bytes);
		if (report === null) {
			isComplete = false;
			check(
				title,
				bytes === null ? "unknown" : "differs",
				bytes === null ? "its leaves are not here" : "no list of leaves",
			);
			continue;
		}
		counted.push({ validator: one.account as Hex, stake: BigInt(one.stake), report });
		const isRoot = kept(report.reportRoot) === kept(one.root);
		check(
			title,
			isRoot ? "equal" : "differs",
			`${some(report.leaves.length, "leaf gives", "leaves give")} ${short(report.reportRoot)}, the chain has ${short(one.root)}`,
		);
		if (!isRoot)
			differences.push({ what: "report root", who: one.account, stated: one.root, right: report.reportRoot });
		const places = malformedAt(report);
		if (places !== null) {
			const { provider } = report.leaves[places.at(-1)!]!;
			differences.push({
				what: "order of report",
				who: provider,
				stated: String(places.at(-1)),
				right: "ascending, at most 1",
			});
			check(`${title}: order`, "differs", "leaves out of order, or a score above 1");
		}
		await auditReasons(o, one, report, checks, differences);
	}
	if (counted.length === 0) check("Reports", "unknown", "nobody has revealed a report yet");
	const stake = counted.reduce((sum, { stake }) => sum + stake, 0n);
	if (counted.length > 0)
		check(
			"Quorum",
			stake * PPM >= BigInt(epoch.totalStake) * BigInt(o.quorumPpm) ? "equal" : "unknown",
			`reports with ${percent(stake, BigInt(epoch.totalStake))} of all stake; ${percent(BigInt(o.quorumPpm), PPM)} are needed`,
		);
	const { proposal } = epoch;
	if (proposal === null) check("Weights", "unknown", "nothing is proposed yet");
	else {
		await o.onStep("Medians and shares");
		const right = createWeightProposal(counted, BigInt(epoch.pot ?? proposal.emission));
		const leaves = await auditProposal(o, right, isComplete, check, differences);
		auditPayments(rows, proposal, leaves, check, differences);
	}
	const isEqual = checks.every(({ state }) => state === "equal") && differences.length === 0;
	return { checks, differences, isEqual };
}

type Check = (title: string, state: AuditCheck["state"], found: string) => void;

async function auditReasons(
	o: AuditSource,
	one: ChainEpoch["reportsOf"][number],
	report: ScoreReport,
	checks: AuditCheck[],
	differences: AuditDifference[],
): Promise<void> {
	if (one.reasonsPath === null || one.reasonsBytes === null || one.reasonsBytes > MAX_REASONS_BYTES) return;
	const title = `Scores of ${short(one.account)}`;
	await o.onStep(title);
	const reasons = await reasonsOf((await o.file(one.reasonsPath)) ?? new Uint8Array());
	if (reasons === null) return void checks.push({ title, state: "unknown", found: "its reasons cannot be read" });
	const found = auditScores(report.leaves, reasons);
	differences.push(...found);
	checks.push({
		title,
		state: found.length === 0 ? "equal" : "differs",
		found:
			found.length === 0
				? `${some(report.leaves.length, "score multiplies", "scores multiply")} out from the terms`
				: `${found.length} of ${report.leaves.length} do not follow from their terms`,
	});
}

async function auditProposal(
	o: AuditSource,
	right: WeightProposal,
	isComplete: boolean,
	check: Check,
	differences: AuditDifference[],
): Promise<readonly WeightLeaf[] | null> {
	const { rows, epoch } = o;
	const proposal = epoch.proposal!;
	const bytes = proposal.leaves === "none" ? null : await o.file(proposal.leavesPath);
	const leaves = bytes === null ? null : weightsOf(bytes);
	// What was proposed: the proposer's own file, or what the validator shows.
	const stated = new Map<string, number>(
		leaves === null
			? rows.flatMap(({ account, weightPpm }) => (weightPpm === null ? [] : [[account, weightPpm] as const]))
			: leaves.map(({ provider, weightPpm }) => [provider, weightPpm]),
	);
	if (leaves !== null) {
		const root = safeRoot(leaves);
		const isRoot = root === proposal.root && leaves.length === proposal.count;
		check(
			"Published weights",
			isRoot ? "equal" : "differs",
			`${some(leaves.length, "leaf gives", "leaves give")} ${root === null ? "no root" : short(root)}, the chain has ${short(proposal.root)}`,
		);
		if (!isRoot)
			differences.push({ what: "weights root", who: proposal.proposer, stated: proposal.root, right: root ?? "–" });
	}
	const medians = new Map<string, number>(right.leaves.map(({ provider, weightPpm }) => [provider, weightPpm]));
	const wrong = [...new Set([...medians.keys(), ...stated.keys()])]
		.sort()
		.filter((who) => (medians.get(who) ?? 0) !== (stated.get(who) ?? 0));
	// With a report missing the median may be another: then nobody is accused.
	for (const who of isComplete ? wrong : [])
		differences.push({ what: "weight", who, stated: ppm(stated.get(who) ?? 0), right: ppm(medians.get(who) ?? 0) });
	const state = isComplete ? (wrong.length === 0 ? "equal" : "differs") : "unknown";
	check(
		"Medians",
		state,
		wrong.length === 0
			? medians.size === 1
				? "1 weight is the stake-weighted median"
				: `${medians.size} weights are the stake-weighted medians`
			: `${wrong.length} of ${medians.size} weights are not the median of these reports`,
	);
	const isWhole = right.proposal.root === proposal.root && String(right.proposal.totalWeight) === proposal.totalWeight;
	check(
		"Proposal",
		isComplete ? (isWhole ? "equal" : "differs") : "unknown",
		`these reports give ${short(right.proposal.root)}, the chain has ${short(proposal.root)}`,
	);
	const digest = digestOf(epoch.number, proposal);
	check("Digest", digest === proposal.digest ? "equal" : "differs", `of root, sums and pot: ${short(digest)}`);
	// Shares follow from whichever leaves give the root on chain: one wrong report does not make everybody's share look wrong.
	if (leaves !== null && safeRoot(leaves) === proposal.root) return leaves;
	return right.proposal.root === proposal.root ? right.leaves : null;
}

function auditPayments(
	rows: readonly ChainWeight[],
	proposal: NonNullable<ChainEpoch["proposal"]>,
	leaves: readonly WeightLeaf[] | null,
	check: Check,
	differences: AuditDifference[],
): void {
	if (leaves === null) {
		check("Shares and claims", "unknown", "no leaves here give the root on chain");
		return;
	}
	const stated = {
		count: proposal.count,
		totalWeight: BigInt(proposal.totalWeight),
		emission: BigInt(proposal.emission),
		thresholdRemainder: BigInt(proposal.thresholdRemainder),
		thresholdProvider: proposal.thresholdProvider as Hex,
		root: proposal.root as Hex,
	};
	const shares = new Map<string, bigint>(leaves.map((leaf) => [leaf.provider, shareOf(stated, leaf)]));
	const sum = [...shares.values()].reduce((all, share) => all + share, 0n);
	const isWhole = shares.size === 0 || sum === stated.emission;
	const wrong = rows.filter(({ account, share }) => share !== null && BigInt(share) !== (shares.get(account) ?? 0n));
	for (const { account, share } of wrong)
		differences.push({ what: "share", who: account, stated: share ?? "–", right: String(shares.get(account) ?? 0n) });
	check(
		"Shares",
		wrong.length === 0 && isWhole ? "equal" : "differs",
		wrong.length > 0
			? `${wrong.length} shares differ`
			: isWhole
				? `${some(shares.size, "share sums", "shares sum")} to the pot, to the unit`
				: `shares sum to ${sum}, the pot is ${stated.emission}`,
	);
	const claims = rows.filter(({ claimed }) => claimed !== null);
	const strange = claims.filter(({ account, claimed }) => BigInt(claimed!.amount) !== (shares.get(account) ?? 0n));
	for (const { account, claimed } of strange)
		differences.push({
			what: "claim",
			who: account,
			stated: claimed!.amount,
			right: String(shares.get(account) ?? 0n),
		});
	check(
		"Claims",
		strange.length === 0 ? "equal" : "differs",
		strange.length === 0
			? `${some(claims.length, "claim is", "claims are")} of the right amount`
			: `${strange.length} of ${claims.length} claims are other amounts`,
	);
}

const ppm = (value: number): string => (value / 1e6).toFixed(6);
const percent = (part: bigint, whole: bigint): string =>
	whole === 0n ? "none" : `${(Number((part * 10_000n) / whole) / 100).toFixed(2)} %`;

/** keccak(abi.encode(epoch, proposal)): seven words. */
export function digestOf(epoch: number, p: NonNullable<ChainEpoch["proposal"]>): Hex {
	const words = [epoch, p.count, p.totalWeight, p.emission, p.thresholdRemainder, p.thresholdProvider, p.root];
	return toHex(keccak(...words.map((word) => packed(BigInt(word), 32))));
}

const safeRoot = (leaves: readonly WeightLeaf[]): Hex | null => {
	try {
		return toHex(openWeights(leaves).root);
	} catch {
		return null;
	}
};
