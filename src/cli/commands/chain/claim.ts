// `assay claim`: pays accounts all that they have earned by the newest final weights and were not paid yet,
// one transaction an account, however many epochs it is. Anyone may do so for anyone: the contract pays the
// account in the leaf, to its payout address, and nobody else. Nothing lapses.
import { join } from "node:path";
import { read } from "../../../chain/contracts/contracts.ts";
import { readAccountFor } from "../../../chain/contracts/registry.ts";
import { claimCall, readClaimed } from "../../../chain/contracts/rewards.ts";
import { readFinal, readHead, readPosted, readSeats } from "../../../chain/contracts/scoreboard.ts";
import { refusedBecause } from "../../../chain/sending/refusal.ts";
import { sendCall } from "../../../chain/sending/send-call.ts";
import type { SortedTree } from "../../../market/epochs/sorted-openings.ts";
import { openRewards } from "../../../market/epochs/weights.ts";
import type { RewardLeaf, Weights } from "../../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../../protocol/chain/hex.ts";
import { type AuditSource, archiveSource, peerSource } from "../../../validator/audit/audit-source.ts";
import { createLeafFetcher } from "../../../validator/settlement/fetch-leaves.ts";
import type { ChainHome } from "../../../validator/settlement/home.ts";
import { createReportArchive } from "../../../validator/settlement/report-archive.ts";
import { withChain } from "../../chain/chain-connection.ts";
import { chainOptions, providerOptions } from "../../chain/chain-options.ts";
import { type ChainActor, withProviderChain } from "../../chain/provider-chain.ts";
import { GAS, requireGas } from "../../chain/require-funds.ts";
import { command } from "../../command.ts";
import { flag, list, usageError } from "../../options.ts";
import type { Paint } from "../../print/paint.ts";
import { printResult } from "../../print/print-result.ts";
import { type Column, left, right, shortId, table } from "../../print/table.ts";
import { formatTokens } from "../../print/tokens.ts";

interface Earned {
	readonly account: Hex;
	/** Where it is paid. */
	readonly to: Hex;
	/** In all epochs up to the final weights. */
	readonly total: bigint;
	/** What it was paid of that before. */
	readonly claimed: bigint;
	/** What it is paid now; with --dry-run, what it would be. */
	readonly claimable: bigint;
	readonly state: "paid" | "was paid" | "can be claimed";
}

interface Outcome {
	/** Whose weights count: the newest that are final. Null: none are. */
	readonly epoch: number | null;
	readonly claims: readonly Earned[];
	/**
	 * The leaves of these weights are neither here nor to be had from the validators: nothing can be claimed
	 * now.
	 */
	readonly isWithheld: boolean;
}

const options = {
	account: list("WHO", "an account (0x…) or, on the embedded chain, a provider's key (default: all)"),
	"dry-run": flag("show what would be paid, send nothing"),
	...providerOptions,
	...chainOptions,
};

/** Who pays the fees, and where the leaves of weights may lie already. */
type Payer = ChainActor & { readonly folder: string | null };

export const claimCommand = command({
	name: "claim",
	about: `Pays providers and validators all that they have earned up to the newest final epoch and were not paid yet: one transaction
an account, to its payout address. Fees come from this data folder's account. With --provider only what this machine's provider has earned.`,
	options,
	exits: { 69: "no chain or no answer" },

	async run(values, io) {
		const isDry = values["dry-run"];
		const tell = (outcome: Outcome) => printResult(values, io, outcome, (paint) => outcomeText(outcome, isDry, paint));
		if (values.provider) {
			if (values.account !== undefined) throw usageError("--provider or --account, not both");
			return withProviderChain(values, io, async (actor) => {
				const owner = await readAccountFor(actor.contracts, actor.account.address);
				if (!isDry) await requireGas(actor.contracts.client, actor.account, GAS.small);
				return tell(await claimAll({ ...actor, folder: null }, new Set([owner]), isDry));
			});
		}
		return withChain(values, io, async (home) => {
			const wanted = values.account === undefined ? null : new Set(values.account.map((who) => accountFor(home, who)));
			return tell(await claimAll(home, wanted, isDry));
		});
	},
});

function outcomeText({ epoch, claims, isWithheld }: Outcome, isDry: boolean, paint: Paint): string {
	if (isWithheld) return `  the weights of epoch ${epoch} are not here, and no validator serves them\n`;
	if (claims.length === 0) return "  nothing to claim\n";
	const sum = claims.reduce((all, { state, claimable }) => (state === "was paid" ? all : all + claimable), 0n);
	const said = sum === 0n ? "nothing to pay" : `${isDry ? "would pay" : "paid"} ${formatTokens(sum)}`;
	return `${table(claimColumns, claims, paint)}\n  ${said}, by the weights of epoch ${epoch}\n`;
}

const claimColumns: readonly Column<Earned>[] = [
	left("account", ({ account }) => shortId(account)),
	right("earned", ({ total }) => formatTokens(total)),
	right("paid before", ({ claimed }) => formatTokens(claimed)),
	right("to claim", ({ claimable }) => formatTokens(claimable)),
	left(
		"",
		({ state, to, account }) => `${state.replace(/^was /, "already ")}${to === account ? "" : ` to ${shortId(to)}`}`,
	),
];

function accountFor({ keptAccountOf }: ChainHome, who: string): Hex {
	if (/^0x[0-9a-fA-F]{40}$/.test(who)) return who.toLowerCase() as Hex;
	if (/^[0-9a-f]{64}$/.test(who) && keptAccountOf !== null) return keptAccountOf(who).address.toLowerCase() as Hex;
	throw usageError(`--account takes an account (0x and 40 hex digits) or, on the embedded chain, a provider's key`);
}

const ZERO_ADDRESS: Hex = `0x${"0".repeat(40)}`;

async function claimAll(home: Payer, wanted: ReadonlySet<Hex> | null, isDry: boolean): Promise<Outcome> {
	const final = await newestFinal(home);
	if (final === null) return { epoch: null, claims: [], isWithheld: false };
	const { epoch, weights, id } = final;
	const tree = await leavesOf(home, epoch, id, weights);
	if (tree === null) return { epoch, claims: [], isWithheld: true };
	const claims: Earned[] = [];
	for (const [index, leaf] of tree.leaves.entries()) {
		// The token pays nothing to the zero address.
		if (leaf.account === ZERO_ADDRESS || leaf.total === 0n || wanted?.has(leaf.account) === false) continue;
		claims.push(await payOne(home, { weights, opening: tree.open(index) }, isDry));
	}
	return { epoch, claims, isWithheld: false };
}

async function payOne(
	{ contracts, account: sender }: Payer,
	claim: Parameters<typeof claimCall>[1],
	isDry: boolean,
): Promise<Earned> {
	const { account, total } = claim.opening.leaf;
	const claimed = await readClaimed(contracts, account);
	const to = (await read(contracts, "registry", "payoutOf", account)).toLowerCase() as Hex;
	const earned = { account, to, total, claimed, claimable: total > claimed ? total - claimed : 0n };
	if (earned.claimable === 0n) return { ...earned, state: "was paid" };
	if (isDry) return { ...earned, state: "can be claimed" };
	try {
		await sendCall(contracts.client, sender, claimCall(contracts, claim));
	} catch (error) {
		// Anyone may claim for anyone, and somebody did meanwhile.
		if (refusedBecause(error) !== "NothingToClaim") throw error;
		return { ...earned, claimed: total, claimable: 0n, state: "was paid" };
	}
	return { ...earned, state: "paid" };
}

/** The newest weights may still be open to challenge: then those that they continue. */
async function newestFinal({ contracts }: Payer) {
	for (let epoch = await readHead(contracts); epoch !== null; ) {
		const final = await readFinal(contracts, epoch);
		if (final !== null) return { ...final, epoch };
		epoch = (await readPosted(contracts, epoch))?.previous ?? null;
	}
	return null;
}

/** Files and servers are believed only as far as the root on chain agrees. */
async function leavesOf(
	{ contracts, folder }: Payer,
	epoch: number,
	id: Hex,
	{ root, count }: Weights,
): Promise<SortedTree<RewardLeaf> | null> {
	const peers = (await readSeats(contracts, epoch)).map(({ validator }) => validator);
	const treeFrom = async (source: AuditSource) => {
		try {
			const leaves = await source.rewards(epoch, id, peers);
			const tree = leaves === null ? null : openRewards(leaves);
			return tree !== null && tree.leaves.length === count && toHex(tree.root) === root ? tree : null;
		} catch {
			return null; // a field that cannot be a leaf's
		}
	};
	const kept = folder === null ? null : archiveSource(createReportArchive(join(folder, "epochs")));
	return (kept && (await treeFrom(kept))) ?? treeFrom(peerSource(createLeafFetcher(contracts), () => {}));
}
