// Whoever holds the bytes of a claimed state brings down false trees of it, docs/zk.md §12: asks for what
// lies below a commitment that is not its own, follows the node that differs down to a leaf, and shows that
// leaf; or that nobody answered. Half of the bond is the accuser's. What is next follows from the chain and
// the bytes, so that a restart changes nothing.
import { type Contracts, callOf, read, readEvents } from "../../chain/contracts/contracts.ts";
import { announcementOf } from "../../chain/contracts/disputes.ts";
import {
	type ContractLeaf,
	demandCall,
	isTreeStanding,
	type PostedNode,
	type PostedTree,
	readTwinParams,
} from "../../chain/contracts/zk-jobs.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import type { Call, ChainAccount } from "../../chain/sending/sign.ts";
import { fromHex, type Hex, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { knownG1 } from "../../protocol/maths/bn254.ts";
import { type ProverPowers, powerOf } from "../../verify/zk/srs.ts";
import { leafBits, type TwinNode, twinParents, twinTop } from "../../verify/zk/twin-tree.ts";
import { numbered, rootsTree } from "../../work/trace/commitments.ts";
import { tensorRoot } from "../../work/trace/tensor-tree.ts";
import { nodeOf } from "./chain-forms.ts";
import { makeTrees, type Trees } from "./make-trees.ts";
import { type StateWeights, shownLeaf } from "./shown-leaf.ts";

/** The end of a claimed part, with the bytes that were claimed. */
export interface WatchedEnd extends StateWeights {
	readonly job: bigint;
	readonly segment: number;
	readonly planHash: Hex;
}

/** Levels that one answer goes down. */
const FAN_BITS = 4;

const isSamePoint = (a: PostedNode, b: PostedNode): boolean => a.x === b.x && a.y === b.y;
const twinOf = ({ hash, x, y }: PostedNode): TwinNode => ({ hash: fromHex(hash, 32), point: knownG1(x, y) });

/** One answered demand: the nodes that lie below, from the first of them on. */
interface Round {
	/** Of the nodes; 0 are the leaves. */
	readonly level: number;
	readonly first: number;
	readonly nodes: readonly PostedNode[];
}

interface LogPlace {
	readonly blockNumber: bigint;
	readonly logIndex: number;
}
const placeOf = ({ blockNumber, logIndex }: LogPlace): bigint => (blockNumber << 32n) + BigInt(logIndex);

/** Both nodes on each level from the top down to a leaf, as their owner showed them. */
export function wayDown(rounds: readonly Round[], leaf: number): [PostedNode, PostedNode][] {
	return rounds.flatMap(({ level, first, nodes }) => {
		const way: [PostedNode, PostedNode][] = [];
		let [twins, at] = [nodes.map(twinOf), first];
		for (let k = level; twins.length > 1; k++) {
			const place = 2 * Math.floor(Math.floor(leaf / 2 ** k) / 2) - at;
			way.unshift([nodeOf(twins[place]!), nodeOf(twins[place + 1]!)]);
			[twins, at] = [twinParents(twins), at / 2];
		}
		return way;
	});
}

/** What was answered to a challenger so far in the game that is open, from the top down. */
async function roundsOf(contracts: Contracts, challenger: Hex, post: Hex, depth: number): Promise<Round[]> {
	const ours = { post, challenger };
	// ATTACK: a poster closes the game of a watcher that was away for a while. The next one begins at the top
	// again, and what was answered before is none of it.
	const closed = (await readEvents(contracts, "twinPosts", "Closed", ours)).at(-1);
	const isNow = (one: LogPlace) => closed === undefined || placeOf(one) > placeOf(closed);
	const demanded = (await readEvents(contracts, "twinPosts", "Demanded", ours)).filter(isNow);
	const answered = (await readEvents(contracts, "twinPosts", "Answered", ours)).filter(isNow);
	const rounds: Round[] = [];
	let [level, index] = [depth, 0];
	for (const [i, { args }] of answered.entries()) {
		const down = Math.min(FAN_BITS, level);
		// The first demand names the commitment; later ones a node of the answer before.
		if (i > 0) index = rounds.at(-1)!.first + Number(demanded[i]!.args.chunk);
		level -= down;
		rounds.push({ level, first: index * 2 ** down, nodes: args.nodes });
	}
	return rounds;
}

export function watchTrees(
	contracts: Contracts,
	account: ChainAccount,
	powersFor: (chunkBits: number) => ProverPowers,
) {
	const me = account.address;
	const send = (call: Call) => sendGuarded(contracts.client, account, call);
	/** Own trees of ends, by job and segment. */
	const own = new Map<string, Trees>();

	async function accuse(poster: Hex, tree: PostedTree, chunk: number, leaf: ContractLeaf): Promise<void> {
		const salt = toHex(keccak(fromHex(me.toLowerCase() as Hex, 20), fromHex(tree.states, 32)));
		const call = callOf(contracts, "twinPosts", "proveLeaf", salt, poster, tree, BigInt(chunk), leaf);
		await send(callOf(contracts, "twinPosts", "announce", announcementOf(me, call, salt)));
		await send(call);
	}

	/** One move against a false tree; null: wait. */
	async function move(of: WatchedEnd, post: Hex, poster: Hex, tree: PostedTree, levels: Trees) {
		const chunk = levels.findIndex((one, i) => !isSamePoint(nodeOf(twinTop(one)), tree.tops[i]!));
		const depth = of.plan.chunkBits - leafBits(of.plan.chunkBits);
		const power = powerOf(powersFor(of.plan.chunkBits));
		const game = await read(contracts, "twinPosts", "gameOf", post, me);
		const nowS = Number((await contracts.client.viem.getBlock({ blockTag: "pending" })).timestamp);
		if (!game.isOpen && depth > 0) {
			await send(demandCall(contracts, { poster, tree }, chunk, (await readTwinParams(contracts)).deposit));
			return "what lies below a false commitment is demanded";
		}
		if (game.isAsked) {
			if (nowS <= game.deadline) return null;
			await send(callOf(contracts, "twinPosts", "proveSilent", post, me));
			return "its owner was silent: it has fallen";
		}
		const rounds = await roundsOf(contracts, me, post, depth);
		const last = rounds.at(-1);
		const wrong = last?.nodes.findIndex(
			(node, i) => !isSamePoint(node, nodeOf(levels[chunk]![last.level]![last.first + i]!)),
		);
		if (last !== undefined && last.level > 0) {
			const { deposit } = await readTwinParams(contracts);
			const call = callOf(contracts, "twinPosts", "demandBelow", post, last.nodes, BigInt(wrong!));
			await send({ ...call, value: deposit });
			return "what lies below a false node is demanded";
		}
		const index = last === undefined ? 0 : last.first + wrong!;
		await accuse(poster, tree, chunk, await shownLeaf(of, { chunk, index, levels: wayDown(rounds, index) }, power));
		return "a leaf of it is false: it has fallen";
	}

	async function takeBack(post: Hex): Promise<void> {
		const { deposits } = await read(contracts, "twinPosts", "gameOf", post, me);
		if (deposits > 0) await send(callOf(contracts, "twinPosts", "settleDeposits", post, me));
		if ((await read(contracts, "twinPosts", "owedTo", me)) > 0n)
			await send(callOf(contracts, "twinPosts", "collect", me));
	}

	return {
		/** One move against each false tree of this end; what was done, in words. */
		async look(of: WatchedEnd): Promise<readonly string[]> {
			const states = toHex(rootsTree(numbered(of.program, "state", of.weights.map(tensorRoot))).root);
			const done: string[] = [];
			for (const { args } of await readEvents(contracts, "twinPosts", "Posted", { scope: of.job })) {
				const { post, poster, tree } = args;
				if (Number(tree.segment) !== of.segment || tree.plan !== of.planHash || tree.states !== states) continue;
				const { isFallen } = await read(contracts, "twinPosts", "postOf", post);
				if (isFallen) {
					await takeBack(post);
					continue;
				}
				if (await isTreeStanding(contracts, post)) continue;
				const name = `${of.job} ${of.segment} ${states}`;
				const powers = powersFor(of.plan.chunkBits);
				const levels = own.get(name) ?? (await makeTrees({ plan: of.plan, weights: of.weights, powers }));
				own.set(name, levels);
				if (levels.every((one, i) => isSamePoint(nodeOf(twinTop(one)), tree.tops[i]!))) continue;
				const moved = await move(of, post, poster, tree, levels);
				if (moved !== null) done.push(moved);
			}
			return done;
		},
	};
}
