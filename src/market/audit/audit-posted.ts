// The weights that were posted for an epoch, computed again: id and base, set, signatures and the stake
// behind them, leaves against root, sums, medians, what was earned, totals, payments.
import { NO_BASE, type RewardLeaf, type Weights } from "../../protocol/chain/epoch-shapes.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { isWeightsSigned, weightsId } from "../../protocol/chain/weights-statement.ts";
import { malformedAt } from "../epochs/score-report.ts";
import { isInSet, isQuorum, seatsOf, stakeOfSet } from "../epochs/seat-set.ts";
import { createWeights, type EpochFacts, openRewards } from "../epochs/weights.ts";
import { type AuditLog, NOT_HAD, PPM, percent, short } from "./audit-log.ts";
import { type AuditDifference, difference } from "./audit-scores.ts";
import type { AuditView, EpochFiles, PostedWeights } from "./audit-view.ts";
import { auditEarned, auditMedians, auditSums, auditTotals } from "./audit-weights.ts";

const wrongOf = (found: readonly unknown[], all: number): string => `${found.length} of ${all} are wrong`;
const isHeld = (set: bigint, { reports }: EpochFacts): boolean =>
	seatsOf(set).every((seat) => (reports[seat] ?? null) !== null);

/** Leaves of the weights that are continued: none for the first ones; null when they cannot be had. */
export async function auditBase(
	{ base, domain, posted }: AuditView,
	files: EpochFiles,
	log: AuditLog,
): Promise<readonly RewardLeaf[] | null> {
	if (posted !== null) {
		const { id, weights } = posted;
		const isRight =
			base === null
				? weights.base === NO_BASE
				: weights.base === base.id && weightsId(domain, base.weights) === base.id && base.weights.epoch < weights.epoch;
		const wrong = isRight ? [] : [difference("BASE_WRONG", id, weights.base, base?.id ?? "none stand before it")];
		const found = base === null ? "the first weights" : `weights of epoch ${base.weights.epoch}: ${short(base.id)}`;
		log.compare("Base", wrong, found);
	}
	if (base === null) return [];
	const leaves = await files.rewards(Number(base.weights.epoch), base.id);
	if (leaves !== null && leaves !== "unreadable" && isUnder(base.weights, leaves)) return leaves;
	log.missing.push(difference("WEIGHTS_MISSING", base.id, base.weights.root, NOT_HAD));
	return null;
}

/**
 * Its leaves, when some here give the root on chain. `base` null: leaves of the weights before are not here.
 */
export async function auditPosted(
	view: AuditView,
	posted: PostedWeights,
	{
		facts,
		base,
		files,
		log,
	}: {
		readonly facts: EpochFacts;
		readonly base: readonly RewardLeaf[] | null;
		readonly files: EpochFiles;
		readonly log: AuditLog;
	},
): Promise<readonly RewardLeaf[] | null> {
	const { id, weights } = posted;
	const right = weightsId(view.domain, weights);
	log.compare("Id", right === id ? [] : [difference("ID_WRONG", id, id, right)], `of the statement: ${short(right)}`);
	auditSet(posted, facts, log);
	auditSigners(view, posted, log);
	const leaves = await postedLeaves(posted, facts, base !== null, files, log);
	if (leaves === null) for (const title of ["Sums", "Medians", "Earned", "Totals"]) log.check(title, null, NOT_HAD);
	else auditLeaves(posted, leaves, facts, base, log);
	comparePayments(view, leaves, log);
	compareShown(view, leaves, log);
	return leaves;
}

function auditSet({ id, weights: { set } }: PostedWeights, facts: EpochFacts, log: AuditLog): void {
	const { seats, reports, totalStake, rules } = facts;
	const stake = stakeOfSet(set, seats);
	const named = seatsOf(set);
	const strangers = named.filter((seat) => seat >= seats.length);
	const malformed = named.filter((seat) => reports[seat] != null && malformedAt(reports[seat]) !== null);
	const [said, needed] = [percent(stake, totalStake), percent(BigInt(rules.quorumPpm), PPM)];
	const wrong = [
		...strangers.map((seat) => difference("SET_WRONG", id, `seat ${seat}`, "nobody has it")),
		...malformed.map((seat) =>
			difference("SET_WRONG", seats[seat]!.validator, `seat ${seat}`, "its report is malformed"),
		),
		...(isQuorum(stake, totalStake, rules.quorumPpm) ? [] : [difference("SET_WRONG", id, said, `at least ${needed}`)]),
	];
	log.compare("Set", wrong, `${named.length} of ${seats.length} reports count, with ${said} of all stake`);
}

/** Each signature of the posted statement, and the stake behind it. */
function auditSigners(
	{ seats, totalStake, rules }: AuditView,
	{ id, signers, signatures }: PostedWeights,
	log: AuditLog,
): void {
	const signed = seatsOf(signers);
	const given = new Map(signatures?.map((one) => [one.signer, one]));
	const wrong = signed.filter((seat) => {
		const one = given.get(seats[seat]?.signer ?? "0x");
		return signatures !== null && (one === undefined || !isWeightsSigned(id, one));
	});
	const named = wrong.map((seat) =>
		difference("SIGNATURE_WRONG", seats[seat]?.validator ?? id, `seat ${seat}`, "it did not sign these weights"),
	);
	if (signatures === null) log.check("Signatures", null, "the transaction that posted them cannot be had");
	else log.compare("Signatures", named, `${signed.length - wrong.length} of ${signed.length} are right`);
	const isBehind = (seat: number) => isInSet(signers, seat) && !wrong.includes(seat);
	const behind = seats.reduce((sum, { stake }, seat) => (isBehind(seat) ? sum + stake : sum), 0n);
	const [said, needed] = [percent(behind, totalStake), percent(BigInt(rules.quorumPpm), PPM)];
	const isEnough = isQuorum(behind, totalStake, rules.quorumPpm);
	log.compare(
		"Stake behind them",
		isEnough ? [] : [difference("STAKE_WRONG", id, said, `at least ${needed}`)],
		`signed by ${said} of all stake; ${needed} are needed`,
	);
}

/** Leaves that give the root on chain: published ones, or those that the reports give. Null: neither. */
async function postedLeaves(
	{ id, weights }: PostedWeights,
	facts: EpochFacts,
	hasBase: boolean,
	files: EpochFiles,
	log: AuditLog,
): Promise<readonly RewardLeaf[] | null> {
	const given = await files.rewards(Number(weights.epoch), id);
	const published = given !== null && given !== "unreadable" && isUnder(weights, given) ? given : null;
	const right = hasBase && isHeld(weights.set, facts) ? createWeights(weights.set, facts) : null;
	// Right weights' leaves can be computed by anyone; a file that says otherwise is wrong all the same.
	const leaves = published ?? (right?.weights.root === weights.root ? right.leaves : null);
	if (given !== null)
		log.check("Published weights", published !== null, `${weights.count} accounts: ${short(weights.root)}`);
	if (given !== null && published === null) {
		log.differences.push(difference("ROOT_WRONG", id, weights.root, "the leaves here give another root"));
		// Whose leaf was changed, where the right ones are known.
		if (leaves !== null && given !== "unreadable") log.differences.push(...changedLeaves(given, leaves));
	} else if (leaves === null) log.missing.push(difference("WEIGHTS_MISSING", id, weights.root, NOT_HAD));
	if (right !== null) {
		const roots = `these reports give ${short(right.weights.root)}, the chain has ${short(weights.root)}`;
		log.check("Root", right.weights.root === weights.root, roots);
	}
	return leaves;
}

function auditLeaves(
	{ id, weights, total }: PostedWeights,
	leaves: readonly RewardLeaf[],
	facts: EpochFacts,
	base: readonly RewardLeaf[] | null,
	log: AuditLog,
): void {
	const all = leaves.length;
	const sums = auditSums(id, weights, leaves);
	log.compare("Sums", sums, wrongOf(sums, all));
	const medians = auditMedians(weights, leaves, facts);
	const isWhole = isHeld(weights.set, facts);
	log.differences.push(...medians);
	log.check("Medians", medians.length > 0 ? false : isWhole || null, wrongOf(medians, all));
	if (!isWhole) log.notes.push("reports are missing: weights were held to what the others leave possible");
	const earned = auditEarned(weights, leaves, facts);
	if (weights.paid > facts.pot) earned.push(difference("POT_WRONG", id, weights.paid, `at most ${facts.pot}`));
	log.compare("Earned", earned, wrongOf(earned, all));
	if (base === null) {
		log.check("Totals", null, "leaves of the weights before these cannot be had");
		return;
	}
	const totals = auditTotals(leaves, base);
	const sum = leaves.reduce((before, leaf) => before + leaf.total, 0n);
	if (totals.length === 0 && sum !== total) totals.push(difference("TOTAL_WRONG", id, total, sum));
	log.compare("Totals", totals, wrongOf(totals, all));
}

/** Nobody is paid more than it has earned. `leaves` null: none here give the root on chain. */
function comparePayments({ payments }: AuditView, leaves: readonly RewardLeaf[] | null, log: AuditLog): void {
	if (leaves === null) {
		log.check("Payments", null, "no leaves here give the root on chain");
		return;
	}
	const totals = new Map(leaves.map(({ account, total }) => [account, total]));
	const wrong = payments.flatMap(({ account, amount }) => {
		const most = totals.get(account) ?? 0n;
		return amount > most ? [difference("PAYMENT_WRONG", account, amount, `at most ${most}`)] : [];
	});
	log.compare("Payments", wrong, `${wrong.length} of ${payments.length} are more than was earned`);
}

function compareShown({ shown }: AuditView, leaves: readonly RewardLeaf[] | null, log: AuditLog): void {
	if (shown.length === 0 || leaves === null) return;
	const right = new Map(leaves.map((leaf) => [leaf.account, leaf]));
	const text = (one: Pick<RewardLeaf, "weightPpm" | "earned" | "total"> | undefined) =>
		`${one?.weightPpm ?? 0}, ${one?.earned ?? 0n}, ${one?.total ?? 0n}`;
	const wrong = shown.flatMap((row) => {
		const is = text(right.get(row.account));
		return text(row) === is ? [] : [difference("SHOWN_WRONG", row.account, text(row), is)];
	});
	log.compare("Table", wrong, wrongOf(wrong, shown.length));
}

function isUnder({ count, root }: Weights, leaves: readonly RewardLeaf[]): boolean {
	try {
		return leaves.length === count && toHex(openRewards(leaves).root) === root;
	} catch {
		return false; // a field that cannot be a leaf's
	}
}

/** Where a file departs from the leaves that the root on chain has. */
function changedLeaves(given: readonly RewardLeaf[], right: readonly RewardLeaf[]): AuditDifference[] {
	const found = new Map(given.map((leaf) => [leaf.account, leaf]));
	return right.flatMap(({ account, weightPpm, earned, total }) => {
		const said = found.get(account) ?? { weightPpm: 0, earned: 0n, total: 0n };
		return [
			...(said.weightPpm === weightPpm ? [] : [difference("WEIGHT_WRONG", account, said.weightPpm, weightPpm)]),
			...(said.earned === earned ? [] : [difference("EARNED_WRONG", account, said.earned, earned)]),
			...(said.total === total ? [] : [difference("TOTAL_WRONG", account, said.total, total)]),
		];
	});
}
