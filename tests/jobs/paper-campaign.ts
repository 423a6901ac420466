// Many jobs of one cheater on paper, one after the other: how often it was found out, what it had of it, and
// whether anybody who did all as he must lost money. The same seed gives the same campaign.
import type { NamedCheat } from "./paper-cheats.ts";
import { PaperJob, type Played } from "./paper-market.ts";

export interface Campaign {
	readonly name: string;
	readonly party: NamedCheat["party"];
	readonly tries: number;
	readonly caught: number;
	/** By docs/jobs.md §9. */
	readonly chance: number;
	/**
	 * How many standard deviations the count is off; 0 where the formula leaves nothing to chance and is met.
	 */
	readonly sigmas: number;
	readonly falsePaid: number;
	/**
	 * Micro-units a try: what the cheater has of it beyond its costs, and what honest work would have brought
	 * it.
	 */
	readonly gainMicros: number;
	readonly honestMicros: number;
	/** Micro-units a job: what strangers paid and got because of it. */
	readonly customerMicros: number;
	readonly validatorMicros: number;
	readonly burnedMicros: number;
	/** Honest parties that lost money, were convicted or not paid, with the job's number. */
	readonly wronged: readonly string[];
}

/**
 * Who did all as he must, and has less than before; the customer: less than its quote and the gas of funding
 * it.
 */
function losers(cheat: NamedCheat, job: PaperJob, { ledger, wronged, quotedMicros, falsePaid }: Played): string[] {
	const found = [...wronged];
	for (const [name, micros] of ledger.money) {
		if (["gas", "power", "escrow", "bonds", "burned"].includes(name) || job.isCheating(name)) continue;
		if (name === "validator" && cheat.party === "validator") continue;
		const least = name === "customer" ? -quotedMicros - job.fundingGas : 0;
		if (micros < least) found.push(`${name} has ${micros}`);
	}
	if (ledger.of("escrow") !== 0 || ledger.of("bonds") !== 0) found.push("money is left in the escrow");
	if ([...ledger.money.values()].reduce((sum, micros) => sum + micros, 0) !== 0) found.push("money was made or lost");
	if (falsePaid === 0 && !isRight(job)) found.push("the customer paid for less than the job");
	return found;
}

const isRight = (job: PaperJob): boolean => job.isPaidOrRefunded();

export function campaignOf(
	cheat: NamedCheat,
	{ tries, seed }: { readonly tries: number; readonly seed: number },
): Campaign {
	const sums = { tries: 0, caught: 0, falsePaid: 0, gain: 0, customer: 0, validator: 0, burned: 0, jobs: 0 };
	const wronged: string[] = [];
	let honestMicros = 0;
	for (let number = 0; sums.tries < tries; number++) {
		const job = new PaperJob(cheat, seed, number);
		// A stranger's job tells nothing of a provider that cheats.
		if (cheat.run !== undefined && !job.isCheating(job.first())) continue;
		const played = job.play();
		sums.jobs += 1;
		sums.tries += played.tried;
		sums.caught += played.caught;
		sums.falsePaid += played.falsePaid;
		for (const [name, micros] of played.ledger.money) if (job.isCheating(name)) sums.gain += micros;
		sums.customer += played.ledger.of("customer");
		sums.validator += played.ledger.of("validator");
		sums.burned += played.ledger.of("burned");
		honestMicros = job.honestMicros;
		for (const why of losers(cheat, job, played)) wronged.push(`job ${number}: ${why}`);
	}
	const { chance } = cheat;
	const off = sums.caught - chance * sums.tries;
	const sigma = Math.sqrt(sums.tries * chance * (1 - chance));
	const each = (micros: number, of: number) => Math.round(micros / Math.max(1, of));
	return {
		...{ name: cheat.name, party: cheat.party, tries: sums.tries, caught: sums.caught, chance, wronged },
		sigmas: off === 0 ? 0 : sigma === 0 ? Number.POSITIVE_INFINITY : off / sigma,
		...{ falsePaid: sums.falsePaid, gainMicros: each(sums.gain, sums.jobs), honestMicros },
		customerMicros: each(sums.customer, sums.jobs),
		...{ validatorMicros: each(sums.validator, sums.jobs), burnedMicros: each(sums.burned, sums.jobs) },
	};
}
