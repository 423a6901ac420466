// An accuser announces what it will prove, in a block before the proof
// (contracts/src/slashing/Announcements.sol): whoever copies the proof from the pool gains nothing. Announced
// once, found again after a crash: the salt follows from a secret.
import { encodeFunctionData, type Hex } from "viem";
import { utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { fromHex, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import type { Contracts } from "../contracts/contracts.ts";
import { announcementOf } from "../contracts/slashing.ts";
import { type IntentJournal, publish } from "./publish.ts";
import type { ChainAccount } from "./sign.ts";

/** Both take announcements, by the same functions. */
type Judge = "slashing" | "scoreboard";

/** Nobody can tell from it which deed is meant. */
export const announcementSalt = (secret: Uint8Array, deed: Hex): Hex =>
	toHex(keccak(utf8ToBytes("assay/announcement/1"), secret, fromHex(deed, 32)));

export function announceCall({ addresses }: Pick<Contracts, "addresses">, judge: Judge, hash: Hex) {
	return {
		to: addresses[judge],
		data: encodeFunctionData({ abi: slashingAbi, functionName: "announce", args: [hash] }),
	};
}

/** Done once it is in a block: what is sent next is in a later one. */
export async function announce(
	contracts: Contracts,
	account: ChainAccount,
	journal: IntentJournal,
	{ judge, deed, secret }: { readonly judge: Judge; readonly deed: Hex; readonly secret: Uint8Array },
): Promise<void> {
	const { client, addresses } = contracts;
	const hash = announcementOf(account.address, deed, announcementSalt(secret, deed));
	const view = { address: addresses[judge], abi: slashingAbi, functionName: "announcedAt", args: [hash] } as const;
	await publish(client, account, journal, {
		id: `announce/${hash}`,
		isDone: async () => (await client.viem.readContract(view)) !== 0n,
		call: announceCall(contracts, judge, hash),
	});
}
