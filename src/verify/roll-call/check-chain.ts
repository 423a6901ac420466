// Do the blocks of a roll call stand on the chain as the file says, and in the order that makes its work a
// proof: called < committed < drawn? What the file states is compared with what a node said; without a node
// only its order is looked at. docs/roll-call.md.
import { isRollCall } from "../../protocol/roll-call/roll-call.ts";
import {
	type RollBeacon,
	type RollCallBody,
	rollRandomness,
	roundAt,
	roundAtS,
	type StatedBlock,
} from "../../protocol/roll-call/roll-file.ts";
import { type Fault, fault, firstFault } from "../hardware/fault.ts";
import type { ChainFacts } from "./chain-facts.ts";

/** When it was called, by the blocks or by drand's timetable. */
export const calledAtS = (beacon: RollBeacon): number =>
	beacon.kind === "block" ? beacon.called.atS : roundAtS(beacon, beacon.called.round);

/** Needs no node. */
export function checkOrder({ beacon, call, committed }: RollCallBody): Fault | null {
	const called = beacon.kind === "block" ? beacon.called.number : beacon.called.round;
	if (call !== called) return fault("CALL_BLOCK_OTHER", "call", `not the number of what called, ${called}`);
	// Seconds of blocks are whole: a work of no time at all has no speed.
	if (committed.atS <= calledAtS(beacon) || (beacon.kind === "block" && committed.number <= beacon.called.number))
		return fault("CALL_TIMES", "committed", "not after the call");
	const isLate =
		beacon.kind === "block"
			? committed.number >= beacon.drawn.number
			: committed.atS >= roundAtS(beacon, beacon.drawn.round);
	return isLate ? fault("CALL_COMMITTED_LATE", "committed", "not before the draw of the places") : null;
}

export function checkChain(body: RollCallBody, facts: ChainFacts): Fault | null {
	const { beacon, chain, committed } = body;
	return firstFault(
		() => (chain.id === facts.chainId ? null : fault("CALL_CHAIN_OTHER", "chain.id", `the node's is ${facts.chainId}`)),
		() =>
			chain.contract === facts.contract ? null : fault("CALL_CHAIN_OTHER", "chain.contract", "another one was asked"),
		() => (facts.every > 0 ? null : fault("CALL_UNCOMMITTED", "chain.contract", "the chain has no such contract")),
		() =>
			beacon.kind === facts.beacon
				? null
				: fault("CALL_BEACON_UNKNOWN", "beacon.kind", `the contract draws from ${facts.beacon}`),
		() => (beacon.kind === "block" ? checkBlock("beacon.called", beacon.called, facts) : null),
		() => checkBlock("committed", committed, facts),
		() => (beacon.kind === "block" ? checkBlock("beacon.drawn", beacon.drawn, facts) : null),
		() =>
			isRollCall(rollRandomness(beacon).beta0, facts.every)
				? null
				: fault("CALL_NONE", "beacon.called", `one of ${facts.every} is, by its hash; this one is not`),
		() => checkDraw(beacon, facts),
		() => checkCommitted(body, facts),
	);
}

function checkBlock(where: string, stated: StatedBlock, { blocks }: ChainFacts): Fault | null {
	const known = blocks.get(stated.number) ?? null;
	if (known === null) return fault("CALL_BLOCK_OTHER", `${where}.number`, `the chain has no block ${stated.number}`);
	for (const field of ["number", "hash", "atS"] as const)
		if (stated[field] !== known[field])
			return fault("CALL_BLOCK_OTHER", `${where}.${field}`, `the chain says ${known[field]}`);
	return null;
}

/** The first block, or round, whose time is past the window: nobody chooses it. */
function checkDraw(beacon: RollBeacon, { windowS, blocks }: ChainFacts): Fault | null {
	const dueS = calledAtS(beacon) + windowS;
	if (beacon.kind === "drand")
		return beacon.drawn.round === roundAt(beacon, dueS)
			? null
			: fault("CALL_DRAW_OTHER", "beacon.drawn.round", `the first past the window is ${roundAt(beacon, dueS)}`);
	const { number, atS } = beacon.drawn;
	if (atS < dueS) return fault("CALL_DRAW_OTHER", "beacon.drawn", `still within ${windowS} s of the call`);
	const before = blocks.get(number - 1) ?? null;
	if (before === null) return fault("CALL_BLOCK_OTHER", "beacon.drawn.number", `the chain has no block ${number - 1}`);
	return before.atS < dueS ? null : fault("CALL_DRAW_OTHER", "beacon.drawn", "a block before it was past the window");
}

function checkCommitted({ validator, call, tree }: RollCallBody, { commitments }: ChainFacts): Fault | null {
	const wanted = { validator, call, root: tree.root, count: tree.count };
	const own = commitments.filter((one) => one.validator === validator && one.call === call);
	if (own.length === 0)
		return fault("CALL_UNCOMMITTED", "validator", `${validator} committed to nothing of call ${call} there`);
	const fields = ["root", "count"] as const;
	const differing = own.map((one) => fields.find((field) => one[field] !== wanted[field]));
	return differing.includes(undefined)
		? null
		: fault("CALL_UNCOMMITTED", `tree.${differing[0]}`, `the chain says ${own[0]![differing[0]!]}`);
}
