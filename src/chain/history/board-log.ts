// What the Scoreboard's events say of the epochs that are open: who has which seat, what was posted, proven
// wrong, dropped, who was punished. Each block is read once: what is too deep to change is kept, the rest is
// asked for again at the next look, so that a reorganisation takes back what it took back. docs/epochs.md §5.
import { type Hex, parseEventLogs } from "viem";
import type { Seat, Weights } from "../../protocol/chain/epoch-shapes.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import type { Contracts } from "../contracts/contracts.ts";
import { seatOf } from "../contracts/scoreboard.ts";
import { blockAt } from "../node/block-at.ts";

export interface BoardEpoch {
	/** In the order of the reveals. */
	readonly seats: Seat[];
	/** By id: whatever was posted, whether it still stands or not. */
	readonly posted: Map<Hex, { readonly weights: Weights; readonly signers: bigint; readonly transaction: Hex }>;
	readonly proven: Set<Hex>;
	/** Accounts. */
	readonly punished: Set<Hex>;
}

export interface BoardLog {
	/** Events of all blocks of this moment or later, up to the head of now. */
	look(sinceS: number): Promise<(epoch: number) => BoardEpoch>;
}

export function createBoardLog(contracts: Contracts): BoardLog {
	const { client, addresses } = contracts;
	let solid: BoardEvent[] = [];
	let next: number | null = null;
	return {
		async look(sinceS) {
			next ??= await blockAt(client, sinceS, addresses.deployedAtBlock);
			const head = Number(await client.viem.getBlockNumber());
			const found = head < next ? [] : await readBoard(contracts, next, head);
			const solidTo = head - client.confirmations + 1;
			const all = [...solid, ...found];
			if (solidTo >= next) {
				// Nobody looks at epochs that ended before `sinceS` any more.
				const from = await blockAt(client, sinceS, addresses.deployedAtBlock);
				solid = all.filter(({ blockNumber }) => blockNumber >= from && blockNumber <= solidTo);
				next = solidTo + 1;
			}
			const epochs = new Map<number, BoardEpoch>();
			for (const event of all) take(epochs, event);
			return (epoch) => epochs.get(epoch) ?? empty();
		},
	};
}

type BoardEvent = Awaited<ReturnType<typeof readBoard>>[number];

async function readBoard({ client, addresses }: Contracts, from: number, to: number) {
	const logs = await client.viem.getLogs({
		address: addresses.scoreboard,
		fromBlock: BigInt(from),
		toBlock: BigInt(to),
	});
	const events = parseEventLogs({ abi: scoreboardAbi, logs, strict: true });
	return events.map((event) => ({ ...event, blockNumber: Number(event.blockNumber) }));
}

const empty = (): BoardEpoch => ({ seats: [], posted: new Map(), proven: new Set(), punished: new Set() });

function take(epochs: Map<number, BoardEpoch>, event: BoardEvent): void {
	if (event.eventName === "Announced" || event.eventName === "Committed") return;
	if (!("epoch" in event.args)) return;
	const number = Number(event.args.epoch);
	const epoch = epochs.get(number) ?? empty();
	epochs.set(number, epoch);
	if (event.eventName === "Revealed") epoch.seats.push(seatOf(event.args));
	if (event.eventName === "Posted") {
		const { id, weights, signers } = event.args;
		epoch.posted.set(id, { weights, signers, transaction: event.transactionHash });
	}
	if (event.eventName === "ProvenWrong") epoch.proven.add(event.args.id);
	if (event.eventName === "Punished") epoch.punished.add(event.args.account.toLowerCase() as Hex);
}
