// Asks a node what a roll call's file must be compared with. The node is an argument: how it is reached is
// the caller's affair, the CLI's or the browser's. An answer that cannot be one throws TypeError: nothing of
// it may be taken for a fact.
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { RollCallBody, StatedBlock } from "../../protocol/roll-call/roll-file.ts";
import type { ChainFacts, CommittedFact } from "./chain-facts.ts";

export type AskNode = (method: string, params: readonly unknown[]) => Promise<unknown>;

const COMMITTED = `0x${bytesToHex(keccak(utf8ToBytes("Committed(address,uint64,bytes32,uint32)")))}`;
const PARAMS = `0x${bytesToHex(keccak(utf8ToBytes("params()"))).slice(0, 8)}`;
const WORD = 64;

type Held = Readonly<Record<string, unknown>>;

export async function readChainFacts(ask: AskNode, body: RollCallBody): Promise<ChainFacts> {
	const { chain, beacon, committed } = body;
	const facts: ChainFacts = {
		chainId: quantity(await ask("eth_chainId", [])),
		contract: chain.contract,
		beacon: "block",
		...{ every: 0, windowS: 0, blocks: new Map(), commitments: [] },
	};
	if (facts.chainId !== chain.id) return facts;
	const params = hexText(await ask("eth_call", [{ to: chain.contract, data: PARAMS }, "latest"]));
	// No contract there: nothing of it is known.
	if (params.length < 2 + 3 * WORD) return facts;
	const numbers =
		beacon.kind === "block"
			? [beacon.called.number, committed.number, beacon.drawn.number - 1, beacon.drawn.number]
			: [committed.number];
	const blocks = new Map<number, StatedBlock | null>();
	for (const number of numbers) if (number >= 0) blocks.set(number, await readBlock(ask, number));
	const [every, windowS, isDrand] = [0, 1, 2].map((at) => quantity(`0x${word(params, at)}`)) as [
		number,
		number,
		number,
	];
	const hash = blocks.get(committed.number)?.hash;
	const commitments = hash === undefined ? [] : await readCommitments(ask, chain.contract, hash);
	return { ...facts, beacon: isDrand === 0 ? "block" : "drand", every, windowS, blocks, commitments };
}

async function readBlock(ask: AskNode, number: number): Promise<StatedBlock | null> {
	const found = await ask("eth_getBlockByNumber", [`0x${number.toString(16)}`, false]);
	if (found === null) return null;
	const { number: of, hash, timestamp } = held(found);
	return { number: quantity(of), hash: hash32(hash), atS: quantity(timestamp) };
}

/** By the block's hash, so that they are those of the very block whose time counts. */
async function readCommitments(ask: AskNode, contract: string, blockHash: string): Promise<CommittedFact[]> {
	const found = await ask("eth_getLogs", [{ address: contract, blockHash: `0x${blockHash}`, topics: [COMMITTED] }]);
	if (!Array.isArray(found)) throw new TypeError("no list of events");
	return found.map((log) => {
		const { address, topics, data } = held(log);
		const [topic, validator, call] = Array.isArray(topics) ? topics.map(hexText) : [];
		const isOurs = hexText(address) === contract && topic === COMMITTED;
		if (!isOurs || validator?.length !== 2 + WORD || call === undefined) throw new TypeError("not the event asked for");
		const bytes = hexText(data);
		return {
			validator: `0x${validator.slice(-40)}`,
			call: quantity(call),
			root: word(bytes, 0),
			count: quantity(`0x${word(bytes, 1)}`),
		};
	});
}

function held(value: unknown): Held {
	if (typeof value !== "object" || value === null) throw new TypeError("not an object");
	return value as Held;
}

/** In lower case: nodes write addresses as they like. */
function hexText(value: unknown): string {
	if (typeof value !== "string" || !/^0x[0-9a-fA-F]*$/.test(value)) throw new TypeError("not hex");
	return value.toLowerCase();
}

function hash32(value: unknown): string {
	const text = hexText(value);
	if (text.length !== 2 + WORD) throw new TypeError("not a hash");
	return text.slice(2);
}

function word(hex: string, at: number): string {
	const found = hex.slice(2 + WORD * at, 2 + WORD * (at + 1));
	if (found.length !== WORD) throw new TypeError("an answer is cut short");
	return found;
}

function quantity(value: unknown): number {
	const text = hexText(value);
	const number = text.length > 2 && text.length <= 2 + WORD ? Number(BigInt(text)) : Number.NaN;
	if (!Number.isSafeInteger(number)) throw new TypeError("not a number");
	return number;
}
