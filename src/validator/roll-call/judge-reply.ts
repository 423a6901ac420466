// Whether a host's reply to a roll call is one at all: every device that must answer, with enough work,
// signed by the host's key. Pure, and the first judgement only: whether the work was done is seen when it is
// opened (open-host.ts).
import type { RollCallReply } from "../../engine/agent/agent-calls.ts";
import { isEnough } from "../../market/roll-call/roll-call-rules.ts";
import { isNodeSignature } from "../../platform/node-ed25519.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { answerSigner } from "../../protocol/chain/roll-answer.ts";
import {
	NO_ACCOUNT,
	type RollCallId,
	type RollHost,
	type RollRequired,
	rollAnswerHash,
	rollLeaf,
} from "../../protocol/roll-call/roll-call.ts";
import type { KeptReply } from "../../store/roll-calls.ts";

export interface JudgedReply {
	readonly host: RollHost;
	readonly reply: KeptReply;
	/** In the order of the answers. */
	readonly leaves: readonly Uint8Array[];
}

export type ReplyJudgement =
	| { readonly ok: true; readonly judged: JudgedReply }
	| { readonly ok: false; readonly code: string };

export function judgeReply(
	providerKey: string,
	call: RollCallId & { readonly beta0: Uint8Array },
	required: readonly RollRequired[],
	said: RollCallReply,
): ReplyJudgement {
	const { answers, signature, accountSignatures } = said;
	const no = (code: string) => ({ ok: false, code }) as const;
	const areThere = answers.length === required.length && answers.every((one, i) => one.device === required[i]!.device);
	if (!areThere) return no("CALL_DEVICE_OTHER");
	if (!answers.every((one, i) => isEnough(one, required[i]!))) return no("CALL_TOO_LITTLE");
	const host: RollHost = { key: providerKey, account: said.account === null ? NO_ACCOUNT : `0x${said.account}` };
	const leaves = answers.map((one) => rollLeaf(host, one));
	if (!isNodeSignature(providerKey, signature, rollAnswerHash(call, call.beta0, leaves)))
		return no("CALL_HOST_SIGNATURE");
	const reply: KeptReply = {
		account: host.account,
		answers,
		signature,
		accountSignatures: accountSignatures?.map((one) => `0x${one}`) ?? null,
	};
	return { ok: true, judged: { host, reply, leaves } };
}

/**
 * Whether a signer of the account that a reply names has signed every leaf, so that openings can be demanded
 * of it. ATTACK: with the account of somebody else, or with a signature that the contract would not take, an
 * answer would look as if a stake stood for it. A millisecond a leaf.
 */
export async function isAccountBound(
	call: RollCallId & { readonly beta0: Uint8Array },
	{ host, reply, leaves }: JudgedReply,
	/** In lower case, as the Registry has it. */
	accountFor: (signer: Hex) => Promise<Hex>,
): Promise<boolean> {
	if (host.account === NO_ACCOUNT) return reply.accountSignatures === null;
	const signatures = reply.accountSignatures ?? [];
	if (signatures.length !== leaves.length) return false;
	const signers = new Set(leaves.map((leaf, i) => answerSigner({ ...call, leaf }, signatures[i] as Hex)));
	for (const signer of signers) if (signer === null || (await accountFor(signer)) !== host.account) return false;
	return true;
}
