// Journalled blocks made again on a fresh EVM, and compared by their hashes: one per run of empty blocks
// suffices, as a hash covers all before it. That is one question an empty block (0.1 ms, 8,640 a day at
// most).
import type { JournalBlock, JournalFault } from "./block-journal.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

const COMPARE_EVERY = 1000;

/** Null: every block came out as it was. */
export async function replayJournal(evm: Rpc, blocks: readonly JournalBlock[]): Promise<JournalFault | null> {
	const isSame = async (index: number) => {
		const made = (await evm("eth_getBlockByNumber", [`0x${(index + 1).toString(16)}`, false])) as { hash: string };
		return made.hash === blocks[index]?.h;
	};
	let compared = 0;
	for (const [index, { t, x = [] }] of blocks.entries()) {
		try {
			for (const raw of x) await evm("eth_sendRawTransaction", [raw]);
			await evm("evm_mine", [t]);
		} catch (error) {
			if (!(error instanceof RpcRefusal)) throw error;
			return { kept: index, why: `the EVM does not take block ${index + 1}: ${error.message}` };
		}
		if (index + 1 < blocks.length && x.length === 0 && index + 1 - compared < COMPARE_EVERY) continue;
		if (!(await isSame(index))) {
			while (await isSame(compared)) compared++;
			return { kept: compared, why: `block ${compared + 1} does not come out as it was` };
		}
		compared = index + 1;
	}
	return null;
}
