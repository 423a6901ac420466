// The contracts of an embedded chain: put there at the first start, with a first epoch that ends a minute later, so that a new network has rewards to claim within
// minutes; and put there anew when that first epoch went by while nobody ran the network and nothing has come of the chain yet. Page: docs/chain.md §10.
import type { ChainAccount, ChainClient } from "../../chain/chain-client.ts";
import { type ContractAddresses, deployContracts, deployDefaults, fundRewards } from "../../chain/deploy.ts";
import { readRegistered } from "../../chain/registry.ts";
import { readLastFixed } from "../../chain/rewards.ts";
import * as board from "../../chain/scoreboard.ts";
import type { Hex } from "../../market/sorted-openings.ts";

export interface EmbeddedSchedule {
	readonly epochSeconds: number;
	readonly windowSeconds: number;
	readonly firstEpochSeconds: number;
	readonly nowS: number;
}

const UNIT = 10n ** 18n;
/** Of the whole supply, what pays the first hundred thousand epochs. */
const FUNDED = 100_000_000n * UNIT;

export async function deployEmbedded(
	client: ChainClient,
	treasurer: ChainAccount,
	{ epochSeconds, windowSeconds, firstEpochSeconds, nowS }: EmbeddedSchedule,
): Promise<ContractAddresses> {
	const window = Math.max(1, Math.min(windowSeconds, Math.floor(epochSeconds / 10)));
	// Epochs have one length on chain: the first one began before there was a chain.
	const genesis = nowS - epochSeconds + Math.min(firstEpochSeconds, epochSeconds);
	const at = await deployContracts(client, treasurer, {
		...deployDefaults({ genesis, epochSeconds }),
		commitSeconds: window,
		revealSeconds: window,
		voidSeconds: window,
		challengeSeconds: window,
	});
	await fundRewards(client, treasurer, at, FUNDED);
	return at;
}

/**
 * Whether an embedded chain waits for most of an epoch although it never had a report: its owner stopped before the first epoch's windows and came back after them.
 * Never when anybody but its owner registered, when a report was revealed, or while one still can be.
 */
export async function isStranded(
	client: ChainClient,
	at: ContractAddresses,
	own: Hex,
	{ firstEpochSeconds, nowS }: EmbeddedSchedule,
): Promise<boolean> {
	if ((await readLastFixed(client, at)) !== null) return false;
	const params = await board.readEpochParams(client, at);
	const current = Math.floor((nowS - params.genesis) / params.epochSeconds);
	const { endsAt } = board.windowsOf(params, current);
	// It comes about as soon by itself.
	if (endsAt - nowS <= firstEpochSeconds) return false;
	if (current > 0) {
		const { revealsAt, voidsAt } = board.windowsOf(params, current - 1);
		if (nowS < revealsAt) return false;
		const { digest } = await board.readReport(client, at, current - 1, own);
		if (nowS < voidsAt && BigInt(digest) !== 0n) return false;
	}
	if (await board.readAnyRevealed(client, at)) return false;
	return (await readRegistered(client, at)).every((account) => account === own.toLowerCase());
}
