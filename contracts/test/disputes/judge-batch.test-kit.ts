// Many questions to the chain's judge in one call: a helper contract takes them one after another and says of
// each what came of it. Asked one by one, a hundred thousand take an hour.
import { encodeFunctionData, type Hex, prepareEncodeFunctionData, toFunctionSelector } from "viem";
import { judgeAbi } from "../../../src/chain/abi/judge-abi.ts";
import type { AccusedCase, ElementFault } from "../../../src/chain/contracts/disputes.ts";
import { sendCall } from "../../../src/chain/sending/send-call.ts";
import type { TestNetwork } from "../network.test-kit.ts";

export interface JudgeCall {
	readonly accused: AccusedCase;
	readonly fault: ElementFault;
}

export type JudgeFound = { readonly said: bigint; readonly right: bigint } | { readonly refused: string };

/**
 * Call data: the target's address in a word; then, for each call, its length in a word and its bytes. Returns
 * three words a call: whether it succeeded, and the first 64 bytes of what it returned. p runs over the call
 * data, o over the output; call data are copied to 0x8000. Each call gets 8 M gas at most.
 */
const BATCH =
	"60006020" + // o = 0, p = 32
	"5b36811015603557" + // while p < calldatasize, else to the end
	"8035906020018181618000" + // length = word at p; p += 32
	"37" + // copy it
	"60408360200183618000600035627a1200fa" + // staticcall, its first 64 bytes to o + 32
	"8352" + // whether it succeeded, to o
	"0190606001906004" + // p += length, o += 96
	"56" +
	"5b506000f3"; // return o bytes
const CREATE = `0x603a80600b6000396000f3${BATCH}` as const;

const WORD = 64;
const CALLS = 40;
/** The helper's output must end before the place where it copies call data to. */
const MOST_CALLS = 0x8000 / 96;
if (CALLS > MOST_CALLS || BATCH.length !== 2 * 0x3a) throw new RangeError("the batch contract does not fit");

const NAMES = new Map<Hex, string>(
	judgeAbi.flatMap((item) =>
		item.type === "error" ? [[toFunctionSelector(`${item.name}()`), item.name] as const] : [],
	),
);
NAMES.set("0x4e487b71", "Panic");

/** Its selector is worked out once. */
const JUDGE = prepareEncodeFunctionData({ abi: judgeAbi, functionName: "judgeElement" });

const wordOf = (length: number): string => length.toString(16).padStart(WORD, "0");

function foundIn(words: string): JudgeFound {
	const [success, first, second] = [0, 1, 2].map((i) => words.slice(i * WORD, (i + 1) * WORD));
	if (BigInt(`0x${success}`) === 1n) {
		const [said, right] = [first, second].map((word) => BigInt.asIntN(256, BigInt(`0x${word}`)));
		return { said: said!, right: right! };
	}
	const selector = `0x${first!.slice(0, 8)}`;
	return { refused: NAMES.get(selector as Hex) ?? `nothing known: ${selector}` };
}

/** What the judge of the network's chain finds in each. */
export async function openBatchJudge({ contracts, treasurer }: TestNetwork) {
	const { client, addresses } = contracts;
	const { contractAddress: to } = await sendCall(client, treasurer, { to: null, data: CREATE });
	return async (calls: readonly JudgeCall[]): Promise<JudgeFound[]> => {
		const found: JudgeFound[] = [];
		for (let from = 0; from < calls.length; from += CALLS) {
			let data = `0x${addresses.judge.slice(2).padStart(WORD, "0")}`;
			for (const { accused, fault } of calls.slice(from, from + CALLS)) {
				const args = [`0x${"0".repeat(64)}`, accused, fault] as const;
				const call = encodeFunctionData({ ...JUDGE, args }).slice(2);
				data += wordOf(call.length / 2) + call;
			}
			const gas = `0x${(60_000_000).toString(16)}`;
			const words = ((await client.rpc("eth_call", [{ to, data, gas }, "latest"])) as string).slice(2);
			for (let at = 0; at < words.length; at += 3 * WORD) found.push(foundIn(words.slice(at, at + 3 * WORD)));
		}
		if (found.length !== calls.length) throw new RangeError(`${found.length} answers to ${calls.length} calls`);
		return found;
	};
}
