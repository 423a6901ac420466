// One chain by several nodes. What money depends on is asked of all, at one block, and taken only when all
// that answer say the same: a contradiction is waited out, and told when it stays. One that does not answer
// is left out for a while. A transaction is handed to all of them; what gas costs the first of them says.
//
// The block is one that two nodes have (or the only one that answers), never lower than before. ATTACK: of
// two nodes one that names blocks far ahead makes the other seem behind; so it is the lower one's block that
// is read, and nothing at all when they are too far apart.
import { AssayError } from "../../protocol/assay-error.ts";
import { STATE_AT } from "./never-behind.ts";
import { type Rpc, RpcRefusal } from "./rpc.ts";

/** The nodes contradict each other. Another try may find them agreed. */
export class NodesDisagree extends Error {}

/** A node that gave no answer is asked again after so long. */
const REST_MS = 15_000;
/** Once one has answered, the others have so long. */
const SLOWER_MS = 5000;
/** Blocks between two nodes of one chain: 30 s of a quick one are 14. */
const MAX_APART = 64;

const BY_HASH = new Set(["eth_getTransactionReceipt", "eth_getTransactionByHash", "eth_getBlockByHash"]);

type Answer = { readonly result: unknown } | { readonly refused: RpcRefusal };
interface Node {
	readonly rpc: Rpc;
	restsUntilMs: number;
}

export function severalNodes(rpcs: readonly Rpc[], nowMs: () => number = Date.now): Rpc {
	const nodes: readonly Node[] = rpcs.map((rpc) => ({ rpc, restsUntilMs: 0 }));
	let seen = 0;

	/** Of all that answer. Throws what the first of them failed with when none does. */
	async function askAll(asked: readonly Node[], method: string, params: readonly unknown[]) {
		const awake = asked.filter(({ restsUntilMs }) => restsUntilMs <= nowMs());
		const found = new Map<Node, Answer>();
		const failures: unknown[] = [];
		const asking = (awake.length > 0 ? awake : asked).map((node) =>
			node.rpc(method, params).then(
				(result) => void found.set(node, { result }),
				(error: unknown) => {
					if (error instanceof RpcRefusal) return void found.set(node, { refused: error });
					failures.push(error);
				},
			),
		);
		await inTime(asking, () => found.size > 0);
		for (const node of asked)
			if (!found.has(node) && node.restsUntilMs <= nowMs()) node.restsUntilMs = nowMs() + REST_MS;
		const fatal = failures.find((error) => error instanceof AssayError);
		if (fatal !== undefined || found.size === 0) throw fatal ?? failures[0] ?? new Error("no node answers");
		return found;
	}

	/** The block to read, and who has it. */
	async function agreedHead() {
		const before = seen;
		const found = await askAll(nodes, "eth_blockNumber", []);
		const heads = [...found].map(([node, answer]) => ({ node, head: Number("result" in answer ? answer.result : 0) }));
		heads.sort((a, b) => b.head - a.head);
		const { head } = heads[1] ?? heads[0]!;
		if (heads[0]!.head - head > MAX_APART)
			throw new NodesDisagree(`one is at block ${heads[0]!.head} and the others at ${head} or below`);
		if (head < before) throw new NodesDisagree(`block ${before} was seen before, and they are at ${head}`);
		seen = Math.max(seen, head);
		return { head, at: heads.flatMap((one) => (one.head >= head ? [one.node] : [])) };
	}

	async function read(method: string, params: readonly unknown[]): Promise<unknown> {
		const { head, at } = await agreedHead();
		// What only one node has is not there yet.
		const named = params[STATE_AT[method] ?? params.length];
		if (typeof named === "string" && Number(named) > head) {
			if (method === "eth_getBlockByNumber") return null;
			throw new RpcRefusal({ code: -32000, message: "header not found: not all nodes have this block yet" });
		}
		return agreed(method, [...(await askAll(at, method, pinned(method, params, head))).values()]);
	}

	/** By its hash; a receipt in a block that only one of them has is none yet. */
	async function shown(method: string, params: readonly unknown[]): Promise<unknown> {
		const found = agreed(method, known(await askAll(nodes, method, params)));
		const { blockNumber } = (found ?? {}) as { readonly blockNumber?: unknown };
		if (method !== "eth_getTransactionReceipt" || typeof blockNumber !== "string") return found;
		return Number(blockNumber) > (await agreedHead()).head ? null : found;
	}

	return async (method, params) => {
		if (method === "eth_blockNumber") return `0x${(await agreedHead()).head.toString(16)}`;
		// The nonce of what is signed next: a node that is behind names one that is used.
		if (method === "eth_getTransactionCount" && params[1] === "pending")
			return highest(await askAll(nodes, method, params));
		if (method === "eth_getLogs" || STATE_AT[method] !== undefined) return read(method, params);
		if (BY_HASH.has(method)) return shown(method, params);
		if (method === "eth_chainId") return agreed(method, [...(await askAll(nodes, method, params)).values()]);
		if (method === "eth_sendRawTransaction") return anyOf(await askAll(nodes, method, params));
		if (method === "eth_estimateGas") return highest(await askAll(nodes, method, params));
		return firstOf(nodes, askAll, method, params);
	};
}

/** The newest by its number; what is asked by number stays. */
function pinned(method: string, params: readonly unknown[], head: number): unknown[] {
	const isNewest = (tag: unknown) => tag === undefined || tag === "latest" || tag === "pending";
	const number = `0x${head.toString(16)}`;
	const all = [...params];
	if (method === "eth_getLogs") {
		const filter = params[0] as Readonly<Record<string, unknown>>;
		if (filter.blockHash === undefined && isNewest(filter.toBlock)) all[0] = { ...filter, toBlock: number };
		return all;
	}
	const at = STATE_AT[method]!;
	if (isNewest(all[at])) all[at] = number;
	return all;
}

/**
 * A node that does not know a hash may be behind: what others show is compared; null when all say so.
 */
function known(found: ReadonlyMap<Node, Answer>): readonly Answer[] {
	const answers = [...found.values()];
	const shown = answers.filter((one) => "result" in one && one.result !== null);
	return shown.length > 0 ? shown : answers;
}

function agreed(method: string, answers: readonly Answer[]): unknown {
	const texts = new Set(answers.map((one) => ("result" in one ? essence(method, one.result) : "refused")));
	if (texts.size > 1) throw new NodesDisagree(`they contradict each other about ${method}`);
	const [first] = answers;
	if ("refused" in first!) throw first.refused;
	return first!.result;
}

/** What nodes of different makers have in common of an answer. */
function essence(method: string, answer: unknown): string {
	const only = (from: unknown, names: readonly string[]): readonly unknown[] =>
		from === null ? [] : names.map((name) => (from as Readonly<Record<string, unknown>>)[name] ?? null);
	const log = (one: unknown) => only(one, ["address", "topics", "data", "blockHash", "transactionHash", "logIndex"]);
	const said = (): unknown => {
		if (method === "eth_getLogs") return (answer as readonly unknown[]).map(log);
		if (method === "eth_getTransactionReceipt")
			return [
				only(answer, ["transactionHash", "blockHash", "status", "gasUsed"]),
				((answer as { logs?: readonly unknown[] } | null)?.logs ?? []).map(log),
			];
		if (method === "eth_getTransactionByHash") return only(answer, ["hash", "blockHash", "input"]);
		if (!method.startsWith("eth_getBlock")) return answer;
		const { transactions = [] } = (answer ?? {}) as { readonly transactions?: readonly (string | { hash: string })[] };
		const hashes = transactions.map((one) => (typeof one === "string" ? one : one.hash));
		return [...only(answer, ["hash", "number", "timestamp", "parentHash"]), hashes];
	};
	return JSON.stringify(said()).toLowerCase();
}

const resultsOf = (found: ReadonlyMap<Node, Answer>) =>
	[...found.values()].flatMap((one) => ("result" in one ? [one.result] : []));
const refusalOf = (found: ReadonlyMap<Node, Answer>): unknown =>
	[...found.values()].flatMap((one) => ("refused" in one ? [one.refused] : []))[0];

/** What one of them took is on its way; refused only when nobody did. */
function anyOf(found: ReadonlyMap<Node, Answer>): unknown {
	const [first] = resultsOf(found);
	if (first === undefined) throw refusalOf(found);
	return first;
}

/** One that is behind refuses what another one does not. */
function highest(found: ReadonlyMap<Node, Answer>): unknown {
	const numbers = resultsOf(found).map((one) => BigInt(one as string));
	if (numbers.length === 0) throw refusalOf(found);
	return `0x${numbers.reduce((most, one) => (one > most ? one : most)).toString(16)}`;
}

type AskAll = (asked: readonly Node[], method: string, params: readonly unknown[]) => Promise<Map<Node, Answer>>;

async function firstOf(nodes: readonly Node[], askAll: AskAll, method: string, params: readonly unknown[]) {
	for (const [i, node] of nodes.entries())
		try {
			return anyOf(await askAll([node], method, params));
		} catch (error) {
			if (i === nodes.length - 1 || error instanceof RpcRefusal) throw error;
		}
	return null;
}

/** All of them, or a while after the first that is good enough. */
async function inTime(asking: readonly Promise<void>[], isEnough: () => boolean): Promise<void> {
	const { promise: late, resolve: giveUp } = Promise.withResolvers<void>();
	let timer: NodeJS.Timeout | undefined;
	for (const one of asking)
		void one.then(() => {
			if (isEnough()) timer ??= setTimeout(giveUp, SLOWER_MS);
		});
	await Promise.race([Promise.all(asking), late]);
	clearTimeout(timer);
}
