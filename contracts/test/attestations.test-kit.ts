// The contract Attestations on an EVM whose clock may be set to any moment, and whole stories told to it in
// one call: each begins with a contract that knows nothing but its root, and ends with the first error.
import { decodeErrorResult, encodeFunctionData, type Hex } from "viem";
import { attestationsAbi } from "../../src/chain/abi/attestations-abi.ts";
import { attestCall, registerQuoteKeyCall } from "../../src/chain/contracts/attestations.ts";
import type { Contracts } from "../../src/chain/contracts/contracts.ts";
import { deployAttestations } from "../../src/chain/contracts/deploy.ts";
import { type ChainClient, createChainClient } from "../../src/chain/node/chain-client.ts";
import { createEdrProvider, type Genesis } from "../../src/chain/node/edr-provider.ts";
import type { Rpc } from "../../src/chain/node/rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import type { CollateralParts, CurvePoint, QuoteParts } from "../../src/protocol/chain/attested-parts.ts";

export const payer = accountOf(`0x${"11".repeat(32)}`);

/**
 * Call data: the target in a word; then, for each call, its length in a word and its bytes. Returns three
 * words a call: whether it succeeded, and the first 64 bytes of what it returned. As that of
 * disputes/judge-batch.test-kit.ts, but its calls may change state.
 */
const BATCH =
	"60006020" + // o = 0, p = 32
	"5b36811015603757" + // while p < calldatasize, else to the end
	"8035906020018181618000" + // length = word at p; p += 32
	"37" + // copy it
	"604083602001836180006000600035627a1200f1" + // call, its first 64 bytes to o + 32
	"8352" + // whether it succeeded, to o
	"0190606001906004" + // p += length, o += 96
	"56" +
	"5b506000f3"; // return o bytes
const CREATE = `0x603c80600b6000396000f3${BATCH}` as const;
const WORD = 64;
/** Under Osaka no transaction has more. */
const MOST_GAS = `0x${(2 ** 24).toString(16)}`;

export interface Told {
	readonly isDone: boolean;
	/** Of an error; empty when the call succeeded. */
	readonly error: string;
	/** First word that was returned. */
	readonly word: Hex;
}

export interface Stage {
	readonly rpc: Rpc;
	readonly client: ChainClient;
	readonly contracts: Pick<Contracts, "client" | "addresses">;
	/** The calls one after another, from what stands, at this moment. Nothing of it stays. */
	tell(atS: number, calls: readonly Hex[]): Promise<Told[]>;
	/** The next transactions are of this time. */
	setTime(atS: number): Promise<void>;
}

/** With a contract that trusts this root. */
export async function openStage(
	root: { readonly key: CurvePoint; readonly until: number },
	hardfork: NonNullable<Genesis["hardfork"]>,
	startS: number,
): Promise<Stage> {
	const evm = await createEdrProvider({
		...{ chainId: 7373, timestamp: startS, hardfork },
		treasurer: payer.address.toLowerCase(),
	});
	let nextS = startS;
	const rpc: Rpc = async (method, params) => {
		const answer = await evm(method, params);
		if (method === "eth_sendRawTransaction") await evm("evm_mine", [nextS]);
		return answer;
	};
	const client = await createChainClient(rpc, { confirmations: 1, pollMs: 1 });
	const put = async (data: Hex) => ({
		address: (await sendCall(client, payer, { to: null, data })).contractAddress! as Hex,
	});
	const attestations = await deployAttestations(put, root);
	const { address: batch } = await put(CREATE);
	return {
		rpc,
		client,
		contracts: { client, addresses: { attestations } as Contracts["addresses"] },
		async tell(atS, calls) {
			await evm("evm_setNextBlockTimestamp", [atS]);
			const wordOf = (length: number) => length.toString(16).padStart(WORD, "0");
			const parts = calls.map((call) => wordOf(call.length / 2 - 1) + call.slice(2));
			const data = `0x${attestations.slice(2).padStart(WORD, "0")}${parts.join("")}`;
			const words = ((await evm("eth_call", [{ to: batch, data, gas: MOST_GAS }, "pending"])) as string).slice(2);
			return calls.map((_, i) => toldBy(words.slice(3 * WORD * i, 3 * WORD * (i + 1))));
		},
		async setTime(atS) {
			nextS = atS;
			await evm("evm_setNextBlockTimestamp", [atS]);
		},
	};
}

function toldBy(words: string): Told {
	const word: Hex = `0x${words.slice(WORD, 2 * WORD)}`;
	if (BigInt(`0x${words.slice(0, WORD)}`) === 1n) return { isDone: true, error: "", word };
	// An error with more arguments than fit does not matter here: its name is enough.
	const data: Hex = `0x${words.slice(WORD)}${"0".repeat(4 * WORD)}`;
	return { isDone: false, error: nameOf(data), word };
}

function nameOf(data: Hex): string {
	try {
		return decodeErrorResult({ abi: attestationsAbi, data }).errorName;
	} catch {
		return "none that is known";
	}
}

/**
 * Everything from nothing to an attested quote, in the order in which a client brings it. Authority 1
 * certifies, 2 signs texts.
 */
export function storyOf(stage: Stage, quote: QuoteParts, collateral: CollateralParts, guest = quote.guest): Hex[] {
	const { contracts } = stage;
	const abi = attestationsAbi;
	return [
		encodeFunctionData({ abi, functionName: "list", args: [0, collateral.rootList] }),
		...[quote.authority!, collateral.signer].map(({ signed }) =>
			encodeFunctionData({ abi, functionName: "certify", args: [signed] }),
		),
		encodeFunctionData({ abi, functionName: "list", args: [1, collateral.pckList] }),
		encodeFunctionData({ abi, functionName: "inform", args: [2, collateral.tcbInfo] }),
		encodeFunctionData({ abi, functionName: "identify", args: [2, collateral.identity] }),
		registerQuoteKeyCall(contracts, 1, quote, collateral).data,
		attestCall(contracts, quote, quote.bind, guest).data,
	];
}
