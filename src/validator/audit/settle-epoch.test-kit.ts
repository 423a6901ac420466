// One epoch on a real chain by hand, as one validator with all the stake would: commit, reveal, weights
// signed and posted, leaves in the archive. Tests may have it sign something else than what the report gives.
import { type Contracts, callOf, read } from "../../chain/contracts/contracts.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { createScoreReport } from "../../market/epochs/score-report.ts";
import { type Base, createWeights, type EpochFacts, type SignableWeights } from "../../market/epochs/weights.ts";
import type { ScoreLeaf } from "../../protocol/chain/epoch-shapes.ts";
import type { Hex } from "../../protocol/chain/hex.ts";
import { weightsId } from "../../protocol/chain/weights-statement.ts";
import type { ReportArchive } from "../settlement/report-archive.ts";

const SALT: Hex = `0x${"00".repeat(32)}`;

export interface Settling {
	readonly contracts: Contracts;
	/** Owner and signer at once. */
	readonly account: ChainAccount;
	readonly archive: ReportArchive;
	/** Moves the chain's clock. */
	readonly at: (second: number) => unknown;
}

export interface SettledEpoch extends SignableWeights {
	readonly id: Hex;
	/** Seconds since 1970. */
	readonly finalAt: number;
}

/** Up to the reveal: what it reported is on chain and public. */
export async function reportByHand(
	{ contracts, account, archive, at }: Settling,
	epoch: number,
	leaves: readonly ScoreLeaf[],
) {
	const { client } = contracts;
	const report = createScoreReport(leaves);
	const [number, root, signer] = [BigInt(epoch), report.reportRoot, account.address];
	const { endsAt, revealsAt, signsAt } = board.windowsOf(await board.readEpochParams(contracts), epoch);
	await at(endsAt);
	const commitment = await read(contracts, "scoreboard", "commitmentOf", number, signer, root, SALT);
	await sendCall(client, account, callOf(contracts, "scoreboard", "commit", number, commitment));
	await at(revealsAt);
	await sendCall(client, account, callOf(contracts, "scoreboard", "reveal", number, root, SALT));
	await archive.putReport(epoch, signer.toLowerCase() as Hex, report.leaves);
	await at(signsAt);
	return report;
}

/** What follows from the reveals, on whatever stands before. */
export async function factsByHand(
	{ contracts, archive }: Settling,
	epoch: number,
	report: EpochFacts["reports"][number],
) {
	const params = await board.readEpochParams(contracts);
	const { scoreboard } = contracts.addresses;
	const head = await board.readHead(contracts);
	const posted = head === null ? null : await board.readPosted(contracts, head);
	const base: Base | null =
		posted === null
			? null
			: {
					id: posted.id,
					weights: (await board.readStated(contracts, head!, posted.id))!.weights,
					leaves: (await archive.rewards(head!, posted.id))!,
				};
	const lastS = BigInt(board.windowsOf(params, epoch).endsAt - 1);
	const facts: EpochFacts = {
		epoch: BigInt(epoch),
		base,
		seats: await board.readSeats(contracts, epoch),
		reports: [report],
		pot: await read(contracts, "scoreboard", "potOf", BigInt(epoch), posted?.total ?? 0n),
		totalStake: await read(contracts, "registry", "totalVotingStakeAt", scoreboard, lastS),
		rules: { ...params, targetWeight: BigInt(params.targetWeight) },
	};
	return facts;
}

export async function postByHand(
	{ contracts, account, archive }: Settling,
	epoch: number,
	{ weights, ...tree }: SignableWeights,
): Promise<SettledEpoch> {
	const { addresses, client } = contracts;
	const id = weightsId(addresses, weights);
	await archive.putRewards(epoch, id, tree.leaves);
	const signature = await board.signWeights(account, addresses, weights);
	await archive.putStatements(epoch, [
		{ weights, signatures: [{ signer: account.address.toLowerCase() as Hex, signature }] },
	]);
	const seats = await board.readSeats(contracts, epoch);
	await sendCall(client, account, board.postCall(contracts, { weights, seats, signers: 1n, signatures: [signature] }));
	return { weights, ...tree, id, finalAt: (await board.readPosted(contracts, epoch))!.finalAt };
}

/** From the epoch's end to posted weights. `change`: what it signs instead of what the report gives. */
export async function settleByHand(
	o: Settling,
	epoch: number,
	leaves: readonly ScoreLeaf[],
	change: (right: SignableWeights, facts: EpochFacts) => SignableWeights = (right) => right,
): Promise<SettledEpoch> {
	const facts = await factsByHand(o, epoch, await reportByHand(o, epoch, leaves));
	return postByHand(o, epoch, change(createWeights(1n, facts), facts));
}
