// `assay claim`: pays out rewards of final epochs. Anyone may claim for any provider: the contract pays the account of the leaf and nobody else.
import { join } from "node:path";
import type { Hex } from "../market/sorted-openings.ts";
import type { ChainHome } from "../validator/service/chain-home.ts";
import { chainOptions, formatTokens, toJson, withChain } from "./chain-connection.ts";
import type { Command } from "./command.ts";
import { numberOption, parseOptions, usageError } from "./parse-options.ts";
import { shortId, table } from "./table.ts";
import { paintFor } from "./verdict-table.ts";

interface Paid {
	readonly epoch: number;
	readonly provider: Hex;
	readonly amount: bigint;
	readonly state: "paid" | "was paid" | "can be claimed";
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

Pays the rewards of final epochs to the providers' accounts; fees come from this data folder's account. Without options: all of the last 20 epochs.

  --epoch N          of that epoch only
  --provider WHO     an account (0x…), or on the embedded chain a provider's key; may be given several times (default: all)
  --dry-run          show, claim nothing
${chainOptions.help}

exit codes: done 0, usage 64, no chain or no answer 69`,

	async run(args, here) {
		const { values } = parseOptions("claim", args, options, { min: 0, max: 0 });
		const only = values.epoch === undefined ? null : Math.floor(numberOption("claim", "epoch", values.epoch, 0, 1e12));
		return withChain("claim", values, here, async (home) => {
			const wanted =
				values.provider === undefined ? null : new Set(values.provider.map((who) => accountFor(home, who)));
			const paid = await claimAll(home, { only, wanted, isDry: values["dry-run"] });
			if (values.json) here.out.write(toJson({ claims: paid }));
			else if (paid.length === 0) here.out.write("  nothing to claim\n");
			else {
				const columns = [
					{ title: "epoch", right: true, cell: ({ epoch }: Paid) => String(epoch) },
					{ title: "account", cell: ({ provider }: Paid) => shortId(provider) },
					{ title: "tokens", right: true, cell: ({ amount }: Paid) => formatTokens(amount) },
					{ title: "", cell: ({ state }: Paid) => state },
				];
				here.out.write(`${table(columns, paid, paintFor(here.out, here.env))}\n`);
			}
			return 0;
		});
	},
};

function accountFor({ keptAccountOf }: ChainHome, who: string): Hex {
	if (/^0x[0-9a-fA-F]{40}$/.test(who)) return who.toLowerCase() as Hex;
	if (/^[0-9a-f]{64}$/.test(who) && keptAccountOf !== null) return keptAccountOf(who).address.toLowerCase() as Hex;
	throw usageError(`--provider takes an account (0x and 40 hex digits) or, on the embedded chain, a key`, "claim");
}

async function claimAll(
	home: ChainHome,
	o: { readonly only: number | null; readonly wanted: ReadonlySet<Hex> | null; readonly isDry: boolean },
): Promise<readonly Paid[]> {
	const [chain, rewards, board, market, { createReportArchive }, { createLeafFetcher }] = await Promise.all([
		import("../chain/chain-client.ts"),
		import("../chain/rewards.ts"),
		import("../chain/scoreboard.ts"),
		import("../market/weight-proposal.ts"),
		import("../validator/service/report-archive.ts"),
		import("../validator/service/fetch-leaves.ts"),
	]);
	const { client, at, account } = home;
	const archive = createReportArchive(join(home.folder, "epochs"));
	const fetched = createLeafFetcher(client, at, () => {});
	const params = await board.readEpochParams(client, at);
	const current = Math.floor((Date.now() / 1000 - params.genesis) / params.epochSeconds);
	const epochs = o.only !== null ? [o.only] : Array.from({ length: 20 }, (_, i) => current - 20 + i);
	const paid: Paid[] = [];
	for (const epoch of epochs.filter((one) => one >= 0)) {
		const digest = await board.readFinal(client, at, epoch);
		if (digest === null) continue;
		const proposer = (await board.readProposal(client, at, epoch)).proposer.toLowerCase() as Hex;
		const proposal = await board.readProposed(client, at, epoch, digest);
		const leaves = (await archive.weights(epoch, proposer)) ?? (await fetched.weights(epoch, proposer));
		if (proposal === null || leaves === null) continue;
		const tree = market.openWeights(leaves);
		for (const [index, leaf] of leaves.entries()) {
			if (o.wanted !== null && !o.wanted.has(leaf.provider)) continue;
			const amount = market.shareOf(proposal, leaf);
			const wasPaid = await rewards.readIsClaimed(client, at, epoch, leaf.provider);
			if (!wasPaid && !o.isDry)
				await chain.sendCall(client, account, rewards.claimCall(at, epoch, proposal, tree.open(index)));
			const state = wasPaid ? "was paid" : o.isDry ? "can be claimed" : "paid";
			paid.push({ epoch, provider: leaf.provider, amount, state });
		}
	}
	return paid;
}
