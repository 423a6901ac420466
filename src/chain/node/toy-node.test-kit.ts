// A node that tests can take down and make reorganise: a real EVM whose newest blocks can be replaced by
// others. A transaction is mined at once; what a fork drops is forgotten by the node as well, as by one that
// was restarted.
import { keccak256 } from "viem";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { accountOf } from "../sending/sign.ts";
import { createEdrProvider } from "./edr-provider.ts";
import type { Rpc } from "./rpc.ts";

export interface ToyNode {
	readonly rpc: Rpc;
	/** Empty blocks, `seconds` apart. */
	mine(blocks: number, seconds?: number): Promise<void>;
	/** Takes back so many blocks and puts one more of others in their place. */
	fork(depth: number): Promise<void>;
	/** Moves the clock to this second, with a block. */
	at(second: number): Promise<void>;
	/** The base fee of the next block, in wei. */
	price(wei: bigint): Promise<void>;
	/**
	 * What stands now can be gone back to, again and again: the node is then as it was, and whatever came after
	 * is forgotten.
	 */
	keep(): Promise<() => Promise<void>>;
	/** Runs once, when the next raw transaction was taken and before its block is made. */
	hold: (() => Promise<void>) | null;
	/** Transactions wait for the next block that is mined, as elsewhere. */
	isPooling: boolean;
	/** So many raw transactions are taken and forgotten. */
	lose: number;
	/** True: every request fails as over a dead line. "after": it is carried out and its answer lost. */
	down: boolean | "after";
	/** Times that a raw transaction was handed in. */
	sent: number;
	nowS: number;
}

export const TREASURER = accountOf(`0x${"11".repeat(32)}`);
export const TOY_GENESIS_S = 1_800_000_000;

/** A node that does what it is asked. */
const AT_EASE = { down: false, hold: null, isPooling: false, lose: 0 } as const;

export async function createToyNode(genesisS = TOY_GENESIS_S): Promise<ToyNode> {
	const evm = await createEdrProvider({
		chainId: 7373,
		timestamp: genesisS,
		treasurer: TREASURER.address.toLowerCase(),
	});
	// Several ask at once: between the clock and what is to happen at it nobody else comes.
	const mutex = createMutex();
	/** The second that calls are told, until the next block; null: they are told none. */
	let toldS: number | null = null;
	/** A block of the node's time, never of this machine's. */
	const mine = () =>
		mutex.run(() => {
			toldS = null;
			return evm("evm_mine", [node.nowS]);
		});
	const goBack = (id: unknown) =>
		mutex.run(() => {
			toldS = null;
			return evm("evm_revert", [id]);
		});
	/** State before block i + 1 was made. */
	const snapshots: { readonly id: unknown; readonly nowS: number }[] = [];
	const block = async () => {
		snapshots.push({ id: await evm("evm_snapshot", []), nowS: node.nowS });
		await mine();
	};
	const node: ToyNode = {
		...AT_EASE,
		sent: 0,
		nowS: genesisS,
		async rpc(method, params) {
			if (node.down === true) throw new Error("the line is dead");
			let answer: unknown;
			if (method === "eth_sendRawTransaction") {
				node.sent++;
				if (node.lose > 0) {
					node.lose--;
					return keccak256(params[0] as `0x${string}`);
				}
				if (node.isPooling) return evm(method, params);
				const at = { id: await evm("evm_snapshot", []), nowS: node.nowS };
				answer = await evm(method, params);
				const held = node.hold;
				node.hold = null;
				await held?.();
				await mine();
				snapshots.push(at);
			} else
				answer = await mutex.run(async () => {
					const { nowS } = node;
					if ((method === "eth_call" || method === "eth_estimateGas") && toldS !== nowS) {
						toldS = null;
						await evm("evm_setNextBlockTimestamp", [nowS]);
						toldS = nowS;
					}
					return evm(method, params);
				});
			if (node.down === "after") throw new Error("the line died before the answer");
			return answer;
		},
		async price(wei) {
			await evm("hardhat_setNextBlockBaseFeePerGas", [`0x${wei.toString(16)}`]);
		},
		async keep() {
			const { nowS, sent } = node;
			const { length } = snapshots;
			let id = await evm("evm_snapshot", []);
			return async () => {
				await goBack(id);
				id = await evm("evm_snapshot", []);
				snapshots.length = length;
				Object.assign(node, { ...AT_EASE, nowS, sent });
			};
		},
		async mine(blocks, seconds = 1) {
			for (let i = 0; i < blocks; i++) {
				node.nowS += seconds;
				await block();
			}
		},
		async fork(depth) {
			const to = snapshots.length - depth;
			await goBack(snapshots[to]!.id);
			snapshots.length = to;
			for (let i = 0; i <= depth; i++) await block();
		},
		async at(second) {
			node.nowS = Math.max(node.nowS, second);
			await block();
		},
	};
	return node;
}
