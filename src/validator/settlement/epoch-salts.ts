// Salts of commitments and announcements: they follow from the account's key, so that whoever comes after a
// crash finds them again, and nobody else does.
import { fromHex, type Hex, packed, toHex } from "../../protocol/chain/hex.ts";
import { keccak } from "../../protocol/hash/keccak-tree.ts";
import type { Game } from "./game-state.ts";

type Salted = Pick<Game, "saltSecret" | "contracts" | "account">;

const board = ({ contracts }: Salted): Uint8Array => fromHex(contracts.addresses.scoreboard.toLowerCase(), 20);

export const commitSalt = (game: Salted, epoch: number): Hex =>
	toHex(keccak(game.saltSecret, board(game), packed(epoch, 8)));

/** What is announced before these weights are challenged: keccak(abi.encode(sender, id, salt)). */
export function announcement(game: Salted, id: Hex): { readonly salt: Hex; readonly hash: Hex } {
	const salt = keccak(game.saltSecret, board(game), fromHex(id, 32));
	const sender = packed(BigInt(game.account.address), 32);
	return { salt: toHex(salt), hash: toHex(keccak(sender, fromHex(id, 32), salt)) };
}
