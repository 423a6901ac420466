// Who signed weights that an audit found wrong loses stake: announced first, so that nobody copies the proof
// from the pool, then shown to the chain, then its signers punished, one account once an epoch.
// docs/epochs.md §6.
import { type Contracts, read } from "../../chain/contracts/contracts.ts";
import { challengeCall, punishCall } from "../../chain/contracts/scoreboard.ts";
import { announce, announcementSalt } from "../../chain/sending/announce.ts";
import { memoryIntents } from "../../chain/sending/publish.ts";
import { sendGuarded } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { WrongWeights } from "../../market/audit/audit-epoch.ts";
import type { AuditView } from "../../market/audit/audit-view.ts";
import type { Hex } from "../../protocol/chain/hex.ts";

/** Accounts whose stake was taken by this. */
export async function accuseSigners(
	contracts: Contracts,
	sender: ChainAccount,
	{
		view,
		wrong,
		secret,
	}: {
		readonly view: AuditView;
		readonly wrong: readonly WrongWeights[];
		/** Nobody else knows it: the announcement's salt follows from it. */
		readonly secret: Uint8Array;
	},
): Promise<readonly Hex[]> {
	const { client } = contracts;
	const epoch = BigInt(view.epoch);
	const accused: Hex[] = [];
	for (const { id, weights, signatures, fault } of wrong) {
		const left: { readonly account: Hex; readonly signature: Hex }[] = [];
		for (const { signer, signature } of signatures) {
			const account = view.seats.find((seat) => seat.signer === signer)?.validator;
			if (account === undefined || (await read(contracts, "scoreboard", "isPunished", epoch, account))) continue;
			left.push({ account, signature });
		}
		const isPosted = view.posted?.id === id;
		if (left.length === 0 && !isPosted) continue;
		if (!(await read(contracts, "scoreboard", "isProvenWrong", id))) {
			await announce(contracts, sender, memoryIntents(), { judge: "scoreboard", deed: id, secret });
			const base = view.base?.weights ?? weights;
			const about = { weights, base, seats: view.seats, salt: announcementSalt(secret, id) };
			await sendGuarded(client, sender, challengeCall(contracts, fault, about));
		}
		if (left.length === 0) continue;
		await sendGuarded(
			client,
			sender,
			punishCall(
				contracts,
				weights,
				left.map(({ signature }) => signature),
			),
		);
		accused.push(...left.map(({ account }) => account));
	}
	return accused;
}
