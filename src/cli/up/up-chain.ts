// What `assay up` has to say of its chain: when the epoch that runs will pay, what can be claimed, and how to stake where nobody does it for the operator.
// Words and one look at the validator; nothing here sends anything.

import type { EpochTimes } from "../../chain/contracts/scoreboard.ts";
import type { RunningValidator } from "../../validator/create-validator.ts";
import type { FinalEpoch } from "../../validator/settlement/final-watch.ts";
import type { Paint } from "../print/paint.ts";
import { formatTokens } from "../print/tokens.ts";

/** A node's address may hold a name and a password: not for the screen. */
export function withoutLogin(url: string): string {
	const plain = new URL(url);
	if (plain.username === "" && plain.password === "") return url;
	plain.username = "";
	plain.password = "";
	return plain.href;
}

/** On somebody else's chain the operator stakes; until then the network runs and nothing that it says counts there. */
export function stakeLines(account: string, url: string, dataDir: string, rpc: string | undefined): readonly string[] {
	const where = `${rpc === undefined ? "" : `--rpc ${withoutLogin(rpc)} `}--data ${dataDir}`;
	return [
		"          this validator has no stake on that chain, so its reports do not count there. Give its account tokens and coins for gas:",
		`          ${account}; then, while the network runs:`,
		`          assay stake 10000 --endpoint ${url} ${where}`,
	];
}

const LOOK_EVERY_MS = 500;

/** Asked of the validator itself, not of events: what was final before anybody listened counts as well. Each epoch is told once. */
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

/** What can be had for an epoch whose weights are final. */
export function rewardsLine({ epoch, claimable, providers }: FinalEpoch, paint: Paint): string {
	if (claimable > 0n)
		return `${paint.strong("rewards")}   epoch ${epoch}: ${paint.strong(formatTokens(claimable))} tokens can be claimed: assay claim`;
	return `rewards   epoch ${epoch}: ${providers === 0 ? "nobody had a score above 0, so nobody is paid" : "all of it is claimed"}`;
}

/** When the epoch that runs will pay, at the soonest. */
export function epochLine(p: EpochTimes & { readonly challengeSeconds: number }, nowS: number): string {
	const epoch = Math.floor((nowS - p.genesis) / p.epochSeconds);
	const endsIn = p.genesis + (epoch + 1) * p.epochSeconds - nowS;
	const windows = p.commitSeconds + p.revealSeconds + p.voidSeconds + p.challengeSeconds;
	return `epoch ${epoch} ends in ${lapse(endsIn)}; its rewards can be claimed ${lapse(windows)} later`;
}

const lapse = (seconds: number): string =>
	seconds < 180 ? `${Math.ceil(seconds)} s` : `${Math.round(seconds / 60)} min`;
