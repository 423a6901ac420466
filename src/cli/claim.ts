// `assay claim`: pays out rewards of final epochs: claims them and collects all that the account is owed, one transaction an account. Anyone may do so for
// any provider: the contract pays the account of the leaf and nobody else.
import { join } from "node:path";
import type { Claim } from "../chain/rewards.ts";
import type { Hex } from "../market/sorted-openings.ts";
import type { ChainHome } from "../validator/service/chain-home.ts";
import { chainOptions, formatTokens, toJson, withChain } from "./chain-connection.ts";
import type { Command } from "./command.ts";
import { numberOption, parseOptions, usageError } from "./parse-options.ts";
import { type Column, shortId, table } from "./table.ts";
import { paintFor } from "./verdict-table.ts";

interface Paid {
	readonly epoch: number;
	readonly provider: Hex;
	readonly amount: bigint;
	/** "was claimed": before, and what is owed of its 128 epochs may or may not contain it; it is paid now if it does. "lapsed": nobody claimed it in time. */
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
}

const options = {
	...chainOptions.options,
	epoch: { type: "string" },
	provider: { type: "string", multiple: true },
	"dry-run": { type: "boolean", default: false },
} as const;

export const claimCommand: Command = {
	name: "claim",
	summary: "claims rewards of final epochs",
	help: `usage: assay claim [OPTIONS]

Claims the rewards of final epochs and pays them, with whatever is owed from before, to the providers' accounts; fees come from this data folder's
account. Without options: all of the last 20 epochs.

  --epoch N          of that epoch only
  --provider WHO     an account (0x…), or on the embedded chain a provider's key; may be given several times (default: all)
  --dry-run          show, claim and pay nothing
${chainOptions.help}

exit codes: done 0, usage 64, no chain or no answer 69`,

	async run(args, here) {
		const { values } = parseOptions("claim", args, options, { min: 0, max: 0 });
		const only = values.epoch === undefined ? null : Math.floor(numberOption("claim", "epoch", values.epoch, 0, 1e12));
		return withChain("claim", values, here, async (home) => {
			const wanted =
				values.provider === undefined ? null : new Set(values.provider.map((who) => accountFor(home, who)));
			const { claims, collected } = await claimAll(home, { only, wanted, isDry: values["dry-run"] });
			if (values.json) here.out.write(toJson({ claims, collected }));
			else if (claims.length === 0 && collected.length === 0) here.out.write("  nothing to claim\n");
			else {
				const paint = paintFor(here.out, here.env);
				if (claims.length > 0) here.out.write(`${table(claimColumns, claims, paint)}\n`);
				for (const { provider, amount } of collected)
					here.out.write(
						`  ${values["dry-run"] ? "would pay" : "paid"} ${formatTokens(amount)} to ${shortId(provider)}\n`,
					);
			}
			return 0;
		});
	},
};

const claimColumns: readonly Column<Paid>[] = [
	{ title: "epoch", right: true, cell: ({ epoch }) => String(epoch) },
	{ title: "account", cell: ({ provider }) => shortId(provider) },
	{ title: "tokens", right: true, cell: ({ amount }) => formatTokens(amount) },
	{ title: "", cell: ({ state }) => state },
];

function accountFor({ keptAccountOf }: ChainHome, who: string): Hex {
	if (/^0x[0-9a-fA-F]{40}$/.test(who)) return who.toLowerCase() as Hex;
	if (/^[0-9a-f]{64}$/.test(who) && keptAccountOf !== null) return keptAccountOf(who).address.toLowerCase() as Hex;
	throw usageError(`--provider takes an account (0x and 40 hex digits) or, on the embedded chain, a key`, "claim");
}

/** An account's leaves among the final weights, oldest epoch first. */
type Leaves = ReadonlyMap<Hex, readonly OpenClaim[]>;

interface OpenClaim extends Claim {
	readonly amount: bigint;
	/** Seconds since 1970. */
	readonly finalAt: number;
}

interface Asked {
	readonly only: number | null;
	readonly wanted: ReadonlySet<Hex> | null;
	readonly isDry: boolean;
}

/** A claim costs some 45,000 gas in a batch: this many stay far below any block. */
const MOST_CLAIMS = 20;

async function claimAll(home: ChainHome, o: Asked): Promise<Outcome> {
	const [chain, rewards, { readEpochParams }] = await Promise.all([
		import("../chain/chain-client.ts"),
		import("../chain/rewards.ts"),
		import("../chain/scoreboard.ts"),
	]);
	const { client, at, account } = home;
	const params = await readEpochParams(client, at);
	const nowS = Date.now() / 1000;
	const closedS = nowS - (await rewards.readClaimSeconds(client, at));
	const current = Math.floor((nowS - params.genesis) / params.epochSeconds);
	const leaves = await finalLeaves(home, o, current);
	const claims: Paid[] = [];
	const collected: Collected[] = [];
	for (const provider of new Set([...leaves.keys(), ...(o.wanted ?? [])])) {
		const owed = await rewards.readOwed(client, at, provider, Math.max(current, o.only ?? 0));
		const open: OpenClaim[] = [];
		const stateOf = async (leaf: OpenClaim): Promise<Paid["state"]> => {
			if (await rewards.readIsClaimed(client, at, leaf.epoch, provider))
				return owed.some(({ word }) => word === rewards.wordOf(leaf.epoch)) ? "was claimed" : "was paid";
			if (leaf.finalAt <= closedS) return "lapsed";
			open.push(leaf);
			return o.isDry ? "can be claimed" : "paid";
		};
		for (const leaf of leaves.get(provider) ?? [])
			claims.push({ epoch: leaf.epoch, provider, amount: leaf.amount, state: await stateOf(leaf) });
		const amount = [...owed, ...open].reduce((sum, one) => sum + one.amount, 0n);
		if (amount === 0n) continue;
		const words = owed.map(({ word }) => word);
		for (let from = 0; !o.isDry && (from === 0 || from < open.length); from += MOST_CLAIMS)
			await chain.sendCall(
				client,
				account,
				rewards.claimAndCollectCall(at, provider, open.slice(from, from + MOST_CLAIMS), from === 0 ? words : []),
			);
		collected.push({ provider, amount });
	}
	return { claims: claims.sort((a, b) => a.epoch - b.epoch), collected };
}

async function finalLeaves(home: ChainHome, o: Asked, current: number): Promise<Leaves> {
	const [board, market, { createReportArchive }, { createLeafFetcher }] = await Promise.all([
		import("../chain/scoreboard.ts"),
		import("../market/weight-proposal.ts"),
		import("../validator/service/report-archive.ts"),
		import("../validator/service/fetch-leaves.ts"),
	]);
	const { client, at } = home;
	const archive = createReportArchive(join(home.folder, "epochs"));
	const fetched = createLeafFetcher(client, at, () => {});
	const epochs = o.only !== null ? [o.only] : Array.from({ length: 20 }, (_, i) => current - 20 + i);
	const found = new Map<Hex, OpenClaim[]>();
	for (const epoch of epochs.filter((one) => one >= 0)) {
		const digest = await board.readFinal(client, at, epoch);
		if (digest === null) continue;
		const { finalAt, ...standing } = await board.readProposal(client, at, epoch);
		const proposer = standing.proposer.toLowerCase() as Hex;
		const proposal = await board.readProposed(client, at, epoch, digest);
		const leaves = (await archive.weights(epoch, proposer)) ?? (await fetched.weights(epoch, proposer));
		if (proposal === null || leaves === null) continue;
		const tree = market.openWeights(leaves);
		for (const [index, leaf] of leaves.entries()) {
			if (o.wanted !== null && !o.wanted.has(leaf.provider)) continue;
			const list = found.get(leaf.provider) ?? [];
			list.push({ epoch, proposal, opening: tree.open(index), amount: market.shareOf(proposal, leaf), finalAt });
			found.set(leaf.provider, list);
		}
	}
	return found;
}
