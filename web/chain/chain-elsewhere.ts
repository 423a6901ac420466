// How to ask somebody else: the same audit on one's own machine, and the contract's own answers from any node
// of the chain, as commands to copy.
import type { Chain, ChainEpoch } from "../../src/api/types.ts";
import { utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";
import { packed, toHex } from "../../src/protocol/chain/hex.ts";
import { keccak } from "../../src/protocol/hash/keccak-tree.ts";
import { shortAccount } from "./chain-format.ts";

export interface Elsewhere {
	readonly about: string;
	readonly command: string;
}

/** The first four bytes of a function's hash, then its arguments as words. */
const callData = (signature: string, ...args: readonly (bigint | number | string)[]): string =>
	toHex(keccak(utf8ToBytes(signature))).slice(0, 10) +
	args.map((arg) => toHex(packed(BigInt(arg), 32)).slice(2)).join("");

/** How to ask any node of the chain for the same roots, without this validator. */
export function elsewhere(chain: Chain, epoch: ChainEpoch): readonly Elsewhere[] {
	const url = chain.rpcUrl ?? "$RPC_URL";
	const call = (data: string) =>
		`curl -s ${url} -H 'content-type: application/json' -d '{"jsonrpc":"2.0","id":1,"method":"eth_call","params":[{"to":"${chain.contracts.scoreboard}","data":"${data}"},"latest"]}'`;
	return [
		{
			about: "Everything again on your own machine, evidence files and payments included",
			command: chain.isEmbedded ? `assay audit ${epoch.number}` : `assay audit ${epoch.number} --rpc $RPC_URL`,
		},
		...(epoch.posted === null
			? []
			: [
					{
						about: `The weights that stand, as the chain has them: the first word of the answer must be ${epoch.posted.id}`,
						command: call(callData("postedOf(uint64)", epoch.number)),
					},
				]),
		...epoch.reportsOf
			.filter(({ root }) => root !== null)
			.slice(0, 8)
			.map(({ account, signer, root }) => ({
				about: `The root of ${shortAccount(account)}: but for its last bit the first word must be ${root}`,
				command: call(callData("reportOf(uint64,address)", epoch.number, signer)),
			})),
	];
}
