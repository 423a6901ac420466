// Validators that cheat afterwards: each changes one thing that it published of a job's draws. Whoever draws
// again from public data and the chain names what. docs/jobs.md §10.
import { type Contracts, readEvents } from "../../src/chain/contracts/contracts.ts";
import { auditDraws, type DrawBounds, type PublicDraws } from "../../src/market/jobs/audit-draws.ts";
import type { Customer } from "./customer.ts";

const other = (hash: string): string => `${hash[0] === "0" ? "1" : "0"}${hash.slice(1)}`;

/** What it changes, by what it is named for. */
const CHANGES: Readonly<Record<string, (draws: PublicDraws) => PublicDraws>> = {
	secret: (draws) => ({ ...draws, secret: other(draws.secret!) }),
	list: (draws) => withFirst(draws, ({ list, ...more }) => ({ ...more, list: list.map(heavier) })),
	block: (draws) => withFirst(draws, (draw) => ({ ...draw, block: other(draw.block!) })),
	drawn: (draws) => withFirst(draws, ({ drawn, ...more }) => ({ ...more, drawn: drawn.map(other) })),
	missing: (draws) => ({ ...draws, draws: draws.draws.filter(({ role }) => role !== 0) }),
};
type Draw = PublicDraws["draws"][number];
const heavier = (one: Draw["list"][number]) => ({ ...one, weightPpm: one.weightPpm + 1 });

function withFirst(draws: PublicDraws, change: (draw: Draw) => Draw): PublicDraws {
	const at = draws.draws.findIndex(({ role }) => role === 0);
	return { ...draws, draws: draws.draws.with(at, change(draws.draws[at]!)) };
}

/** By what it does: what it is named for. The job is over. */
export async function tryValidators({ client }: Customer, contracts: Contracts, id: string) {
	const draws = await client.getJobDraws({ params: { id } });
	const { segments, parts, method } = draws.offer.terms;
	const blocks = new Map<number, string>();
	for (const { afterBlock } of draws.draws) {
		const { hash } = await contracts.client.viem.getBlock({ blockNumber: BigInt(afterBlock! + 1) });
		blocks.set(afterBlock! + 1, hash.slice(2));
	}
	const assigned = new Map<number, string[]>();
	for (const { args } of await readEvents(contracts, "jobEscrow", "Assigned", { job: BigInt(`0x${id}`) }))
		assigned.set(args.part, [...(assigned.get(args.part) ?? []), args.draw.slice(2)]);
	const { secretCommitment } = draws.offer;
	const bounds: DrawBounds = { ...{ secretCommitment, segments, parts, method, isOnChain: true, blocks, assigned } };
	const named = (of: PublicDraws): string[] => auditDraws(of, bounds).changed.map(({ what }) => what);
	const honest = named(draws).join(", ") || "nothing";
	const changed = Object.entries(CHANGES).map(([what, change]) => ({
		...{ name: `changes its draw afterwards: ${what}`, ends: what },
		ended: named(change(draws)).includes(what) ? what : "not named",
	}));
	return [{ name: "changes nothing of its draws", ends: "nothing", ended: honest }, ...changed];
}
