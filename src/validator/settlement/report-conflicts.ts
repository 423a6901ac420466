// A validator that signed another report than it revealed, or two of one epoch, pays for it: whoever is given
// both proves it on chain, once. Only what carries the accused's own signature counts, and only when the
// contract will say the same. docs/slashing.md.
import { type Contracts, callOf, read } from "../../chain/contracts/contracts.ts";
import { readAccount } from "../../chain/contracts/registry.ts";
import { conflictDeed } from "../../chain/contracts/slashing.ts";
import { type IntentJournal, publish } from "../../chain/sending/publish.ts";
import type { Call, ChainAccount } from "../../chain/sending/sign.ts";
import { keptRoot } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";

/** A signed root of one validator's epoch. */
interface SignedRoot {
	readonly root: Hex;
	readonly signature: Hex;
}

export type ReportConflicts = ReturnType<typeof createReportConflicts>;

export function createReportConflicts(options: {
	readonly contracts: Contracts;
	readonly account: ChainAccount;
	readonly journal: IntentJournal;
}) {
	const { contracts, account, journal } = options;
	async function prove(epoch: number, validator: Hex, call: Call): Promise<boolean> {
		const isDone = async () => {
			if (await read(contracts, "slashing", "isPunished", conflictDeed(validator, epoch))) return true;
			const { stake, unbonding } = await readAccount(contracts, validator);
			// It left before anybody saw it: there is nothing to take.
			return stake + unbonding === 0n;
		};
		const id = `conflict/${epoch}/${validator}`;
		return (await publish(contracts.client, account, journal, { id, isDone, call })) !== null;
	}
	const reportOf = (epoch: number, validator: Hex, root: Hex) => ({ validator, epoch: BigInt(epoch), root });
	return {
		/** `revealed` is the root on chain. True when a transaction of ours was what slashed it. */
		async againstReveal(
			epoch: number,
			validator: Hex,
			revealed: Hex,
			{ root, signature }: SignedRoot,
		): Promise<boolean> {
			// The chain keeps a root with its last bit set: two that differ in it alone are one to the contract.
			if (keptRoot(revealed) === keptRoot(root)) return false;
			const report = reportOf(epoch, validator, root);
			return prove(epoch, validator, callOf(contracts, "slashing", "proveRevealConflict", report, signature));
		},
		async againstSigned(epoch: number, validator: Hex, first: SignedRoot, second: SignedRoot): Promise<boolean> {
			if (first.root === second.root) return false;
			const of = ({ root, signature }: SignedRoot) => [reportOf(epoch, validator, root), signature] as const;
			return prove(epoch, validator, callOf(contracts, "slashing", "proveConflict", ...of(first), ...of(second)));
		},
	};
}
