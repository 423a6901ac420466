// What a node's answers must look like before they are used, and that they are of the chain that was asked
// for. A node is somebody else's program: it may be broken, hostile, or one of several behind a
// balancer. Nonsense is asked again like an outage; another chain than before is CHAIN_OTHER.
import { codedError } from "../../protocol/coded-error.ts";
import { NodeNonsense, type Rpc, RpcRefusal } from "./rpc.ts";

type Shape = (answer: unknown) => boolean;

const isQuantity: Shape = (answer) => typeof answer === "string" && /^0x[0-9a-f]{1,64}$/i.test(answer);
const isBytes: Shape = (answer) =>
	typeof answer === "string" && answer.length % 2 === 0 && /^0x[0-9a-f]*$/i.test(answer);
const isHash: Shape = (answer) => typeof answer === "string" && /^0x[0-9a-f]{64}$/i.test(answer);
const isObject = (answer: unknown): answer is Readonly<Record<string, unknown>> =>
	typeof answer === "object" && answer !== null && !Array.isArray(answer);
const nullOr =
	(shape: Shape): Shape =>
	(answer) =>
		answer === null || shape(answer);

/** The pending block has no hash and no number. */
const isBlock: Shape = (answer) =>
	isObject(answer) &&
	nullOr(isHash)(answer.hash) &&
	nullOr(isQuantity)(answer.number) &&
	isQuantity(answer.timestamp) &&
	isHash(answer.parentHash) &&
	Array.isArray(answer.transactions);
const isLog: Shape = (answer) =>
	isObject(answer) &&
	isQuantity(answer.blockNumber) &&
	isHash(answer.blockHash) &&
	isQuantity(answer.logIndex) &&
	isBytes(answer.data) &&
	Array.isArray(answer.topics) &&
	answer.topics.every(isHash);
const isReceipt: Shape = (answer) =>
	isObject(answer) &&
	isHash(answer.transactionHash) &&
	isHash(answer.blockHash) &&
	isQuantity(answer.blockNumber) &&
	isQuantity(answer.status) &&
	Array.isArray(answer.logs);

const SHAPES: Readonly<Record<string, Shape>> = {
	eth_chainId: isQuantity,
	eth_blockNumber: isQuantity,
	eth_getBalance: isQuantity,
	eth_getTransactionCount: isQuantity,
	eth_estimateGas: isQuantity,
	eth_gasPrice: isQuantity,
	eth_maxPriorityFeePerGas: isQuantity,
	eth_call: isBytes,
	eth_getCode: isBytes,
	eth_sendRawTransaction: isHash,
	eth_getBlockByNumber: nullOr(isBlock),
	eth_getBlockByHash: nullOr(isBlock),
	eth_getTransactionReceipt: nullOr(isReceipt),
	eth_getTransactionByHash: nullOr(isObject),
	eth_getLogs: (answer) => Array.isArray(answer) && answer.every(isLog),
};

/** Answers of the expected shape. */
export function checkAnswers(rpc: Rpc): Rpc {
	return async (method, params) => {
		const answer = await rpc(method, params);
		if (SHAPES[method]?.(answer) ?? true) return answer;
		throw new NodeNonsense("not the shape of an answer");
	};
}

/** How long a chain's id is believed without asking again. */
const BELIEVED_MS = 60_000;

/** Always the chain that was there first: its id is asked again after every outage and every minute. */
export function pinChain(rpc: Rpc, nowMs: () => number = Date.now): Rpc {
	let chainId: number | null = null;
	let checkedMs = Number.NEGATIVE_INFINITY;
	const check = async () => {
		const found = Number(await rpc("eth_chainId", []));
		chainId ??= found;
		if (found !== chainId)
			throw codedError("CHAIN_OTHER", `the node is on chain ${found}, and was on ${chainId} before`);
		checkedMs = nowMs();
	};
	return async (method, params) => {
		if (nowMs() - checkedMs >= BELIEVED_MS) await check();
		try {
			return await rpc(method, params);
		} catch (error) {
			// A refusal is an answer; after anything else another node may be there.
			if (!(error instanceof RpcRefusal)) checkedMs = Number.NEGATIVE_INFINITY;
			throw error;
		}
	};
}
