// What a node says, read as what it is: right answers become facts, and no answer that cannot be one does.
import assert from "node:assert/strict";
import { test } from "node:test";
import { decodeRollCallFile } from "../../protocol/roll-call/roll-file.ts";
import { type AskNode, readChainFacts } from "./read-chain-facts.ts";
import {
	block,
	COMMITTED,
	DRAND_BEACON,
	DRAND_COMMITTED,
	EVERY,
	toyCall,
	toyFacts,
	WINDOW_S,
} from "./toy-roll-call.test-kit.ts";

const CALL = toyCall();
const bodyOf = ({ file }: { file: Uint8Array }) => {
	const decoded = decodeRollCallFile(file);
	assert.ok(decoded.ok);
	return decoded.evidence.envelope.body;
};
const word = (value: number | string) => (typeof value === "number" ? value.toString(16) : value).padStart(64, "0");
const TOPIC = "0x";

/** The made-up chain as a node tells it, in the spelling of some nodes. */
function node(changes: Partial<Record<string, unknown>> = {}, isDrand = 0): AskNode {
	return async (method, [first, second]) => {
		if (method in changes) return changes[method];
		if (method === "eth_chainId") return `0x${CALL.stated.chain.id.toString(16)}`;
		if (method === "eth_call") {
			assert.equal(second, "latest");
			return `0x${[EVERY, WINDOW_S, isDrand, 1, 2, 3, 4].map(word).join("")}`;
		}
		if (method === "eth_getBlockByNumber") {
			const { number, hash, atS } = block(Number(first));
			return {
				number: `0x${number.toString(16)}`,
				hash: `0x${hash.toUpperCase()}`,
				timestamp: `0x${atS.toString(16)}`,
			};
		}
		assert.equal(method, "eth_getLogs");
		const { address, blockHash, topics } = first as { address: string; blockHash: string; topics: string[] };
		assert.match(blockHash, /^0x[0-9a-f]{64}$/);
		return toyFacts(CALL).commitments.map(({ validator, call, root, count }) => ({
			address: address.toUpperCase().replace("0X", "0x"),
			topics: [topics[0], `0x${word(validator.slice(2))}`, `0x${word(call)}`],
			data: `0x${root}${word(count)}`,
		}));
	};
}

test("facts are what the node says of the blocks that the file names", async () => {
	const facts = await readChainFacts(node(), bodyOf(CALL));
	const expected = toyFacts(CALL);
	assert.deepEqual({ ...facts, blocks: null }, { ...expected, blocks: null });
	for (const [number, said] of facts.blocks) assert.deepEqual(said, block(number));
	assert.equal(facts.blocks.size, 4, "called, committed, drawn and the one before");
	const drand = toyCall({ beacon: DRAND_BEACON, committed: DRAND_COMMITTED });
	const asked = await readChainFacts(node({}, 1), bodyOf(drand));
	assert.deepEqual([asked.beacon, [...asked.blocks.keys()]], ["drand", [DRAND_COMMITTED.number]]);
});

test("another chain, no contract, no such block: said as facts, not as errors", async () => {
	assert.equal((await readChainFacts(node({ eth_chainId: "0x1" }), bodyOf(CALL))).chainId, 1);
	assert.equal((await readChainFacts(node({ eth_call: "0x" }), bodyOf(CALL))).every, 0);
	const empty = await readChainFacts(node({ eth_getBlockByNumber: null }), bodyOf(CALL));
	assert.deepEqual([empty.blocks.get(COMMITTED.number), empty.commitments], [null, []]);
});

test("what cannot be an answer is thrown, never believed", async () => {
	const log = { address: CALL.stated.chain.contract, topics: [TOPIC], data: "0x" };
	for (const [method, answers] of Object.entries({
		eth_chainId: [null, 1, "1", "0x", `0x${"f".repeat(60)}`, {}],
		eth_call: [null, 7, "yes", `0x${"f".repeat(7 * 64)}`],
		eth_getBlockByNumber: [{}, 5, { number: "0x1", hash: "0x12", timestamp: "0x1" }, { hash: `0x${"0".repeat(64)}` }],
		eth_getLogs: [null, {}, [null], [{}], [log], [{ ...log, topics: null }]],
	}))
		for (const answer of answers)
			await assert.rejects(readChainFacts(node({ [method]: answer }), bodyOf(CALL)), TypeError, `${method} ${answer}`);
});
