// What `assay up` prints about its chain: when the current epoch will pay, what can be claimed, and how to
// stake where the operator must do it. Nothing here sends anything.

import type { EpochTimes } from "../../chain/contracts/scoreboard.ts";
import { withoutLogin } from "../../protocol/network/without-login.ts";
import type { RunningValidator } from "../../validator/create-validator.ts";
import type { FinalEpoch } from "../../validator/settlement/final-watch.ts";
import type { Paint } from "../print/paint.ts";
import { formatTokens } from "../print/tokens.ts";

/** On an external chain the operator stakes; until then the network runs, but its reports do not count. */
export function stakeLines(account: string, url: string, dataDir: string, rpc: string | undefined): readonly string[] {
	const where = `${rpc === undefined ? "" : `--rpc ${withoutLogin(rpc)} `}--data ${dataDir}`;
	return [
		"          this validator has no stake on that chain, so its reports do not count there. Give its account tokens and coins for gas:",
		`          ${account}; then, while the network runs:`,
		`          assay stake 10000 --endpoint ${url} ${where}`,
	];
}

const LOOK_EVERY_MS = 500;

/**
 * Asks the validator, not the events: epochs that were final before it started count too. Each is reported
 * once.
 */
export function watchRewards({ chain }: RunningValidator, onFinal: (final: FinalEpoch) => void): () => void {
	let shown = -1;
	const look = () => {
		const found = chain?.newestFinal() ?? null;
		if (found === null || found.epoch <= shown) return;
		shown = found.epoch;
		onFinal(found);
	};
	const looking = setInterval(look, LOOK_EVERY_MS);
	look();
	return () => clearInterval(looking);
}

/** The rewards of an epoch whose weights are final, with what is left of earlier ones. */
export function rewardsLine({ epoch, claimable, isAnyScored }: FinalEpoch, paint: Paint): string {
	const nobody = isAnyScored ? "" : "; nobody had a score above 0, so no provider is paid";
	if (claimable === 0n) return `rewards   epoch ${epoch}: all of it is claimed${nobody}`;
	return `${paint.strong("rewards")}   epoch ${epoch}: ${paint.strong(formatTokens(claimable))} tokens can be claimed: assay claim${nobody}`;
}

/** When the current epoch will pay, at the earliest: weights are posted as soon as they may be. */
export function epochLine(p: EpochTimes & { readonly challengeSeconds: number }, nowS: number): string {
	const epoch = Math.floor((nowS - p.genesis) / p.epochSeconds);
	const endsIn = p.genesis + (epoch + 1) * p.epochSeconds - nowS;
	const windows = p.commitSeconds + p.revealSeconds + p.challengeSeconds;
	return `epoch ${epoch} ends in ${lapse(endsIn)}; its rewards can be claimed ${lapse(windows)} later`;
}

const lapse = (seconds: number): string =>
	seconds < 180 ? `${Math.ceil(seconds)} s` : `${Math.round(seconds / 60)} min`;
