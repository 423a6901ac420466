// The contracts of an embedded chain: put there at the first start, with a first epoch that ends a minute
// later, so that a new network has rewards to claim within minutes; and put there anew when that first epoch
// went by while nobody ran the network and nothing has come of the chain yet. Page: docs/epochs.md §4.
import { type Contracts, readEvents } from "../../chain/contracts/contracts.ts";
import { deployContracts, fundRewards, type Schedule } from "../../chain/contracts/deploy.ts";
import { TRIAL_POWERS } from "../../chain/contracts/deploy-zk.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import type { ChainClient } from "../../chain/node/chain-client.ts";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import type { Hex } from "../../protocol/chain/hex.ts";

const UNIT = 10n ** 18n;
/** Of the whole supply, what pays the first hundred thousand epochs. */
const FUNDED = 100_000_000n * UNIT;

/**
 * When epoch 0 began, so that the first one ends soon. `firstEpoch`: above 0 when contracts take the place of
 * others that were given up. Epochs have one length on chain: the first one, and those before it, began
 * before there was a chain. Never before 1970.
 */
export function firstGenesis(
	firstEpoch: number,
	epochSeconds: number,
	firstEpochSeconds: number,
	nowS: number,
): number {
	const endsAt = nowS + Math.min(firstEpochSeconds, epochSeconds);
	return endsAt - Math.min(firstEpoch + 1, Math.floor(endsAt / epochSeconds)) * epochSeconds;
}

export async function deployEmbedded(
	client: ChainClient,
	treasurer: ChainAccount,
	schedule: Schedule,
): Promise<Contracts> {
	const contracts = await deployContracts(client, treasurer, schedule, TRIAL_POWERS);
	await fundRewards(contracts, treasurer, FUNDED);
	return contracts;
}

export interface Stranded {
	/** The epoch that runs on the contracts as they are. */
	readonly epoch: number;
}

/**
 * Whether an embedded chain waits for most of an epoch although nothing ever came of it: its owner stopped
 * before weights of the first epoch were posted and came back when they no longer could be. Null when anybody
 * but its owner registered, when a job or a rental was paid for, whose money would be lost with the escrow,
 * when weights were posted, or while they still can be. `owned`: this validator's account, then its own
 * provider's.
 */
export async function findStranded(
	contracts: Contracts,
	owned: readonly Hex[],
	firstEpochSeconds: number,
	nowS: number,
): Promise<Stranded | null> {
	if ((await board.readHead(contracts)) !== null) return null;
	const params = await board.readEpochParams(contracts);
	const current = Math.floor((nowS - params.genesis) / params.epochSeconds);
	const { endsAt } = board.windowsOf(params, current);
	// It comes about as soon by itself.
	if (endsAt - nowS <= firstEpochSeconds) return null;
	if (current > 0) {
		const { revealsAt, signsAt, signsUntil } = board.windowsOf(params, current - 1);
		if (nowS < revealsAt) return null;
		const { digest, revealed } = await board.readReport(contracts, current - 1, owned[0]!);
		if (BigInt(digest) !== 0n && nowS < (revealed ? signsUntil : signsAt)) return null;
	}
	const known = new Set(owned.map((account) => account.toLowerCase()));
	const registered = await readEvents(contracts, "registry", "Registered");
	if (!registered.every(({ args }) => known.has(args.account.toLowerCase()))) return null;
	const jobs = await readEvents(contracts, "jobEscrow", "Funded");
	const rentals = await readEvents(contracts, "rentalEscrow", "Opened");
	return jobs.length + rentals.length === 0 ? { epoch: current } : null;
}
