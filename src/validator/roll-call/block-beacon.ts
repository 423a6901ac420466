// Where roll calls come from: blocks of the chain, looked at one after the other as they come. A block calls
// by its own hash, and the places to open are drawn from the first block that is late enough
// (docs/roll-call.md). Nothing is decided here but which block it is. The same from drand: drand-beacon.ts.
import type { ChainClient } from "../../chain/node/chain-client.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import { isRollCall } from "../../protocol/roll-call/roll-call.ts";
import type { RollBeacon, StatedBlock } from "../../protocol/roll-call/roll-file.ts";

/** A block or round that calls. */
export interface Called {
	readonly call: number;
	readonly beta0: Uint8Array;
	readonly atS: number;
	/** When it was seen here, on the monotonic clock. */
	readonly seenAtUs: number;
	/** Of a round of drand: its number, its random value, its time. */
	readonly block: StatedBlock;
}

/** What the places are drawn from. */
export interface Drawn {
	/** As in Called. */
	readonly block: StatedBlock;
	/** Blocks of the chain that a stranger asks a node about, beside that of the commitment. */
	readonly blocks: readonly StatedBlock[];
	/** As the public file states it. */
	readonly stated: RollBeacon;
}

export interface Beacon {
	/** The newest of what has come since the last look, if it calls and was seen as it came. */
	look(): Promise<Called | null>;
	/** Null: it has not come yet. */
	drawn(called: Called): Promise<Drawn | null>;
	/** Whether it still stands: blocks may be dropped. */
	stands(called: Called): Promise<boolean>;
	isLate(committed: StatedBlock, drawn: Drawn): boolean;
}

export async function readBlock(client: ChainClient, number: number | "latest"): Promise<StatedBlock> {
	const block = await client.viem.getBlock(number === "latest" ? {} : { blockNumber: BigInt(number) });
	return { number: Number(block.number), hash: block.hash!.slice(2), atS: Number(block.timestamp) };
}

/**
 * Who looked longer ago than this has not seen a block as it came: a call that was missed counts for nobody.
 */
const FRESH_US = 5_000_000;

export function createBlockBeacon(
	client: ChainClient,
	{ every, windowSeconds }: { readonly every: number; readonly windowSeconds: number },
	clockUs: () => number,
): Beacon {
	let seen = -1;
	let lookedAtUs = Number.NEGATIVE_INFINITY;

	const blockAt = (number: number | "latest") => readBlock(client, number);

	return {
		async look() {
			const head = await blockAt("latest");
			const nowUs = clockUs();
			const isFresh = nowUs - lookedAtUs <= FRESH_US;
			lookedAtUs = nowUs;
			const first = seen < 0 || head.number - seen > 8 ? head.number : seen + 1;
			seen = Math.max(seen, head.number);
			// The newest first: of two calls in one look the later one is the fresher.
			for (let number = head.number; number >= first && isFresh; number--) {
				const block = number === head.number ? head : await blockAt(number);
				const beta0 = hexToBytes(block.hash, 32)!;
				if (isRollCall(beta0, every)) return { call: number, beta0, atS: block.atS, seenAtUs: nowUs, block };
			}
			return null;
		},

		async drawn({ block: called }) {
			const at = called.atS + windowSeconds;
			let block = await blockAt("latest");
			if (block.atS < at) return null;
			for (;;) {
				const before = await blockAt(block.number - 1);
				if (before.atS < at)
					return { block, blocks: [called, before, block], stated: { kind: "block", called, drawn: block } };
				block = before;
			}
		},

		stands: async ({ block }) => (await blockAt(block.number)).hash === block.hash,
		isLate: (committed, { block }) => committed.number >= block.number,
	};
}
