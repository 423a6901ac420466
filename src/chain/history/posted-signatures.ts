// The signatures under posted weights, from the transaction that posted them: the chain checked them and
// keeps only who signed. Null where the node no longer has the transaction, or another contract sent it: then
// the validators' files have them.
import { decodeFunctionData, type Hex } from "viem";
import type { Seat, WeightsSignature } from "../../protocol/chain/epoch-shapes.ts";
import { expandSignature } from "../../protocol/chain/typed-data.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import type { Contracts } from "../contracts/contracts.ts";

export async function readPostedSignatures(
	{ client, addresses }: Contracts,
	post: {
		/** Of the transaction. */
		readonly hash: Hex;
		/** Bit i: seat i has signed. */
		readonly signers: bigint;
		readonly seats: readonly Pick<Seat, "signer">[];
	},
): Promise<readonly WeightsSignature[] | null> {
	const sent = (await client.rpc("eth_getTransactionByHash", [post.hash])) as { to?: string; input?: string } | null;
	const { to, input = "" } = sent ?? {};
	if (to?.toLowerCase() !== addresses.scoreboard.toLowerCase() || !/^0x[0-9a-f]*$/i.test(input)) return null;
	const signatures = postedSignatures(input as Hex);
	const signers = post.seats.filter((_, seat) => (post.signers >> BigInt(seat)) & 1n).map(({ signer }) => signer);
	if (signatures?.length !== signers.length) return null;
	return signers.map((signer, i) => ({ signer, signature: expandSignature(signatures[i]!) }));
}

function postedSignatures(input: Hex): readonly (readonly [Hex, Hex])[] | null {
	try {
		const called = decodeFunctionData({ abi: scoreboardAbi, data: input });
		return called.functionName === "post" ? called.args[3] : null;
	} catch {
		return null;
	}
}
