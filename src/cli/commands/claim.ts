// `assay claim`: claims the rewards of final epochs and collects all that an account is owed, in one
// transaction an account where possible. Anyone may do so for any provider: the contract pays the account in
// the leaf and nobody else.

import { join } from "node:path";
import { read } from "../../chain/contracts/contracts.ts";
import {
	claimAllCall,
	claimAndCollectCall,
	collectCall,
	type RewardClaim,
	readOwed,
	wordOf,
} from "../../chain/contracts/rewards.ts";
import { readEpochParams, readFinal, readProposal, readProposed } from "../../chain/contracts/scoreboard.ts";
import { refusedBecause } from "../../chain/sending/refusal.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { Call } from "../../chain/sending/sign.ts";
import { openWeights, shareOf } from "../../market/epochs/weight-proposal.ts";
import type { WeightLeaf } from "../../protocol/chain/epoch-shapes.ts";
import { type Hex, toHex } from "../../protocol/chain/hex.ts";
import { createLeafFetcher } from "../../validator/settlement/fetch-leaves.ts";
import type { ChainHome } from "../../validator/settlement/home.ts";
import { createReportArchive } from "../../validator/settlement/report-archive.ts";
import { withChain } from "../chain/chain-connection.ts";
import { chainOptions } from "../chain/chain-options.ts";
import { command } from "../command.ts";
import { flag, list, usageError, whole } from "../options.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";
import { type Column, left, right, shortId, table } from "../print/table.ts";
import { formatTokens } from "../print/tokens.ts";

interface Paid {
	readonly epoch: number;
	readonly provider: Hex;
	readonly amount: bigint;
	/**
	 * "was claimed": before, and what is owed of its 128 epochs may or may not contain it; it is paid now if it
	 * does. "lapsed": nobody claimed it in time.
	 */
	readonly state: "paid" | "was paid" | "was claimed" | "can be claimed" | "lapsed";
}

/** What went (with --dry-run: would go) to an account, for the claims above and whatever it was owed before. */
interface Collected {
	readonly provider: Hex;
	readonly amount: bigint;
}

interface Outcome {
	readonly claims: readonly Paid[];
	readonly collected: readonly Collected[];
	/**
	 * Final epochs whose weights are neither here nor to be had from the proposer: nothing of them can be
	 * claimed now.
	 */
	readonly withheld: readonly number[];
}

const options = {
	epoch: whole("N", "only this epoch (default: the last 20)", [0, 1e12]),
	provider: list("WHO", "an account (0x…) or, on the embedded chain, a provider's key (default: all)"),
	"dry-run": flag("show what would be claimed and paid, send nothing"),
	...chainOptions,
};

export const claimCommand = command({
	name: "claim",
	about: `Claims the rewards of final epochs and pays them, with anything still owed from before, to the providers' accounts. Fees
come from this data folder's account.`,
	options,
	exits: { 69: "no chain or no answer" },

	async run(values, io) {
		return withChain(values, io, async (home) => {
			const wanted =
				values.provider === undefined ? null : new Set(values.provider.map((who) => accountFor(home, who)));
			const isDry = values["dry-run"];
			const outcome = await claimAll(home, { only: values.epoch ?? null, wanted, isDry });
			return printResult(values, io, outcome, (paint) => outcomeText(outcome, isDry, paint));
		});
	},
});

function outcomeText({ claims, collected, withheld }: Outcome, isDry: boolean, paint: Paint): string {
	const lines = [
		...(claims.length === 0 ? [] : [table(claimColumns, claims, paint)]),
		...collected.map(
			({ provider, amount }) => `  ${isDry ? "would pay" : "paid"} ${formatTokens(amount)} to ${shortId(provider)}`,
		),
		...(withheld.length === 0
			? []
			: [`  the weights of epoch ${withheld.join(", ")} are not here, and their proposer does not serve them`]),
	];
	return `${lines.length === 0 ? "  nothing to claim" : lines.join("\n")}\n`;
}

const claimColumns: readonly Column<Paid>[] = [
	right("epoch", ({ epoch }) => String(epoch)),
	left("account", ({ provider }) => shortId(provider)),
	right("tokens", ({ amount }) => formatTokens(amount)),
	left("", ({ state }) => state.replace(/^was /, "already ")),
];

function accountFor({ keptAccountOf }: ChainHome, who: string): Hex {
	if (/^0x[0-9a-fA-F]{40}$/.test(who)) return who.toLowerCase() as Hex;
	if (/^[0-9a-f]{64}$/.test(who) && keptAccountOf !== null) return keptAccountOf(who).address.toLowerCase() as Hex;
	throw usageError(`--provider takes an account (0x and 40 hex digits) or, on the embedded chain, a key`);
}

interface OpenClaim extends RewardClaim {
	readonly amount: bigint;
	/** Seconds since 1970. */
	readonly finalAt: number;
}

interface Final {
	/** An account's leaves among the final weights, oldest epoch first. */
	readonly leaves: ReadonlyMap<Hex, readonly OpenClaim[]>;
	readonly withheld: readonly number[];
}

interface Asked {
	readonly only: number | null;
	readonly wanted: ReadonlySet<Hex> | null;
	readonly isDry: boolean;
}

/** A claim costs some 45,000 gas in a batch: this many stay far below any block. */
const MAX_CLAIMS = 20;
/** What a claim may cost, its share of the payment included: docs/chain.md §7. */
const MAX_CLAIM_GAS = 90_000n;
const ZERO_ADDRESS: Hex = `0x${"0".repeat(40)}`;

async function claimAll(home: ChainHome, asked: Asked): Promise<Outcome> {
	const params = await readEpochParams(home.contracts);
	const nowS = Date.now() / 1000;
	const closedS = nowS - Number((await read(home.contracts, "rewards", "params")).claimSeconds);
	const current = Math.floor((nowS - params.genesis) / params.epochSeconds);
	const { leaves, withheld } = await finalLeaves(home, asked, current);
	const claims: Paid[] = [];
	const collected: Collected[] = [];
	for (const provider of new Set([...leaves.keys(), ...(asked.wanted ?? [])])) {
		const of = { provider, leaves: leaves.get(provider) ?? [], current, closedS, isDry: asked.isDry };
		const paid = await payOne(home, of).catch((error) => {
			// Anyone may claim for anyone, and somebody did meanwhile: look again, what is left is less.
			if (!["AlreadyClaimed", "NothingOwed"].includes(refusedBecause(error) ?? "")) throw error;
			return payOne(home, of);
		});
		claims.push(...paid.claims);
		if (paid.amount > 0n) collected.push({ provider, amount: paid.amount });
	}
	return { claims: claims.sort((a, b) => a.epoch - b.epoch), collected, withheld };
}

interface Owed {
	readonly provider: Hex;
	readonly leaves: readonly OpenClaim[];
	readonly current: number;
	/** What was final by then can no longer be claimed. */
	readonly closedS: number;
	readonly isDry: boolean;
}

/** Claims what can be and pays all that is owed. */
async function payOne(
	home: ChainHome,
	{ provider, leaves, current, closedS, isDry }: Owed,
): Promise<{ readonly claims: readonly Paid[]; readonly amount: bigint }> {
	const { contracts, account } = home;
	const owed = await readOwed(contracts, provider, current);
	const stateOf = async (leaf: OpenClaim): Promise<Paid["state"]> => {
		if (await read(contracts, "rewards", "isClaimed", BigInt(leaf.epoch), provider))
			return owed.some(({ word }) => word === wordOf(leaf.epoch)) ? "was claimed" : "was paid";
		return leaf.finalAt <= closedS ? "lapsed" : "can be claimed";
	};
	const states = await Promise.all(leaves.map(stateOf));
	const open = leaves.filter((_, i) => states[i] === "can be claimed");
	const amount = [...owed, ...open].reduce((sum, one) => sum + one.amount, 0n);
	const words = owed.map(({ word }) => word);
	for (let from = 0; !isDry && amount > 0n && (from === 0 || from < open.length); from += MAX_CLAIMS) {
		const batch = open.slice(from, from + MAX_CLAIMS);
		const calls = await callsFor(home, provider, batch, from === 0 ? words : []);
		for (const call of calls) await sendCall(contracts.client, account, call);
	}
	const claims = leaves.map(({ epoch, amount }, i): Paid => {
		const state = states[i]!;
		return { epoch, provider, amount, state: state === "can be claimed" && !isDry ? "paid" : state };
	});
	return { claims, amount };
}

/**
 * One transaction where that stays within MAX_CLAIM_GAS a claim; where claim and payment each make a slot new
 * they are two.
 */
async function callsFor(
	{ contracts, account }: ChainHome,
	provider: Hex,
	batch: readonly RewardClaim[],
	words: readonly number[],
): Promise<readonly Call[]> {
	const together = claimAndCollectCall(contracts, provider, batch, words);
	const request = {
		account: account.address,
		to: contracts.addresses.rewards,
		data: together.data,
		blockTag: "pending",
	} as const;
	// Why it is refused is told where it is sent.
	const gas = batch.length === 0 ? 0n : await contracts.client.viem.estimateGas(request).catch(() => 0n);
	if (gas <= MAX_CLAIM_GAS * BigInt(batch.length)) return [together];
	const paid = new Set([...words, ...batch.map(({ epoch }) => wordOf(epoch))]);
	return [claimAllCall(contracts, batch), collectCall(contracts, provider, [...paid])];
}

async function finalLeaves(home: ChainHome, { only, wanted }: Asked, current: number): Promise<Final> {
	const { contracts } = home;
	const archive = createReportArchive(join(home.folder, "epochs"));
	const fetched = createLeafFetcher(contracts, () => {});
	/** Files and servers are believed only as far as the root on chain agrees. */
	const treeOf = (leaves: readonly WeightLeaf[] | null, root: Hex) => {
		try {
			const tree = leaves === null ? null : openWeights(leaves);
			return tree !== null && toHex(tree.root) === root ? tree : null;
		} catch {
			return null;
		}
	};
	const epochs = only !== null ? [only] : Array.from({ length: 20 }, (_, i) => current - 20 + i);
	const found = new Map<Hex, OpenClaim[]>();
	const withheld: number[] = [];
	for (const epoch of epochs.filter((one) => one >= 0)) {
		const digest = await readFinal(contracts, epoch);
		if (digest === null) continue;
		const { finalAt, ...standing } = await readProposal(contracts, epoch);
		const proposer = standing.proposer.toLowerCase() as Hex;
		const proposal = await readProposed(contracts, epoch, digest);
		if (proposal === null || proposal.count === 0) continue;
		const tree =
			treeOf(await archive.weights(epoch, proposer), proposal.root) ??
			treeOf(await fetched.weights(epoch, proposer), proposal.root);
		if (tree === null) withheld.push(epoch);
		for (const [index, leaf] of (tree?.leaves ?? []).entries()) {
			// The contract credits nothing to the zero address.
			if (leaf.provider === ZERO_ADDRESS || (wanted !== null && !wanted.has(leaf.provider))) continue;
			const list = found.get(leaf.provider) ?? [];
			list.push({ epoch, proposal, opening: tree!.open(index), amount: shareOf(proposal, leaf), finalAt });
			found.set(leaf.provider, list);
		}
	}
	return { leaves: found, withheld };
}
