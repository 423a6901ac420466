// What a host is paid above its own cost for a part of a job, however it was proven and however it works:
// from the quote, the list of who may be drawn, and the rules of a part. docs/jobs.md §9. Beside
// strategies.test-kit.ts, which is about lies. All hosts ask for an hour what it costs them.
import { PROVEN_H200, type WorkTime } from "../../work/cost/work-time.ts";
import { DEFAULT_PARAMS } from "../params.ts";
import { costMicros, fittingHosts, type JobHost, modelledMs, partWork } from "./fitting-hosts.ts";
import * as rules from "./job-rules.ts";
import { type JobQuote, type QuoteInput, quoteJob } from "./quote.ts";
import type { Play, Row } from "./strategies.test-kit.ts";
import * as transitions from "./transitions.ts";

const P = DEFAULT_PARAMS;
const HOUR_MICROS = 3_600_000;

const host = (n: number, more: Partial<JobHost> = {}): JobHost => ({
	...{ provider: n.toString(16).padStart(64, "0"), owner: `owner ${n}`, network: `10.0.${n}.0/24`, isFree: true },
	...{ pricePerHourMicros: HOUR_MICROS, reliabilityPpm: 900_000, freeBondMicros: 1e12, device: 0 },
	...{ memoryBytes: 80e9, ...PROVEN_H200 },
	...more,
});

/** `times` as fast, in all that is proven of it. */
const speed = (times: number): Partial<JobHost> => ({
	int8OpsPerS: Math.round(PROVEN_H200.int8OpsPerS * times),
	bytesPerS: Math.round(PROVEN_H200.bytesPerS * times),
	int32OpsPerS: Math.round(PROVEN_H200.int32OpsPerS * times),
});

const NONE: WorkTime = { productsNs: 0, memoryNs: 0, instructionsNs: 0, startsNs: 0 };
/** Twelve parts of 5 minutes on the reference. */
const INPUT: QuoteInput = {
	...{ segments: 400, time: { init: NONE, segment: { ...NONE, productsNs: 9e9 } }, peakBytes: 10e9 },
	...{ stateBytes: 1e6, givenBytes: 1e6 },
	...{ method: { name: "sampled", count: 16 }, mostMicros: null, gasMicros: 83_334, nowMs: 0 },
};

/** Seven alike, and this one. */
const market = (own: JobHost): readonly JobHost[] => [own, ...Array.from({ length: 7 }, (_, i) => host(i + 2))];

const workOf = ({ segments, parts }: JobQuote) => partWork({ ...INPUT, peakBytes: 10e9 }, Math.ceil(segments / parts));

/** What a part brings above what it costs it in truth; 0: it is not drawn. */
function gainOf(shown: JobHost, truth: JobHost, hosts: readonly JobHost[]): number {
	const quote = quoteJob(INPUT, hosts, P);
	const work = workOf(quote);
	const { workMs, priceMicros, bondMicros, method } = quote;
	const limits = { workMs, priceMicros, bondMicros, method: method.name, excluded: new Set<string>() };
	const isDrawn = fittingHosts(hosts, work, limits, P).some(({ provider }) => provider === shown.provider);
	const isInTime = modelledMs(work, truth) <= workMs;
	return isDrawn && isInTime ? priceMicros - costMicros(work, truth, P) : 0;
}

/** Whoever shows nothing, or no progress, until its time is over: by the rules of a part. */
function dribble(shows: (done: number) => number): { readonly paid: number; readonly outcome: string } {
	const quote = quoteJob(INPUT, market(host(1)), P);
	const terms = { ...quote, customer: "c", program: "p", inputs: "i" };
	const { provider } = host(1);
	const { count } = rules.partRange(terms, 0);
	let job = rules.offer(rules.newJob("j", terms), 0, provider, 0, P);
	job = rules.accept(job, 0, 0);
	for (let nowMs = P.jobBeatMs; ; nowMs += P.jobBeatMs) {
		if (rules.lapse(job, 0, nowMs, P) !== null) {
			const { record, outcomes = [] } = transitions.reopened(job, 0, nowMs, P);
			const { state, excluded } = record.parts[0]!;
			if (state !== "open" || !excluded.includes(provider)) throw new Error("it still has the part");
			return { paid: 0, outcome: outcomes[0]!.outcome };
		}
		const { done } = job.parts[0]!;
		job = rules.beat(job, 0, Math.min(count, Math.max(done, shows(done))), nowMs);
	}
}

const row = (situation: string, honest: number, dishonest: readonly Play[] = []): Row => ({
	...{ who: "worker", situation, honest: { name: "works", gain: honest }, dishonest },
});

/** One that shows a slower speed than it has: at its price an hour, and at one at which it is drawn still. */
const slower = [0.99, 0.95, 0.9, 0.7, 0.5, 0.1];

export function hostRows(): Row[] {
	const truth = host(1);
	const played = slower.flatMap((times): Play[] => {
		const [same, cheaper] = [{}, { pricePerHourMicros: Math.floor(HOUR_MICROS * times) }].map((more) =>
			host(1, { ...speed(times), ...more }),
		);
		return [
			{ name: `shows ${times} of its speed`, gain: gainOf(same!, truth, market(same!)) },
			{ name: `shows ${times} of its speed, asks as much less`, gain: gainOf(cheaper!, truth, market(cheaper!)) },
		];
	});
	const held = [
		{ name: "beats, and shows no progress", ...dribble(() => 0) },
		{ name: "shows one segment, then none", ...dribble(() => 1) },
		{ name: "makes up all progress, and holds the part to its limit", ...dribble((done) => done + 1) },
	];
	const half = host(1, { ...speed(0.5), pricePerHourMicros: HOUR_MICROS / 2 });
	const dear = host(1, speed(0.5));
	const small = host(1, { memoryBytes: 1e9 });
	const fast = host(1, speed(2));
	const cards = [host(1), host(8, { owner: "owner 1", network: "10.0.1.0/24" })];
	return [
		row("a host like all others", gainOf(truth, truth, market(truth)), [
			...played,
			...held.map(({ name, paid }) => ({ name, gain: paid })),
			{ name: "declines, or lets the offer lapse", gain: 0 },
		]),
		row("half as fast, at half the price an hour", gainOf(half, half, market(half))),
		row("half as fast, at the price of the others: it takes part in nothing", gainOf(dear, dear, market(dear))),
		row("too small for the program", gainOf(small, small, market(small))),
		row("twice as fast, at the price of the others", gainOf(fast, fast, market(fast))),
		...cards.map((card, i) => row(`card ${i + 1} of two of one owner`, gainOf(card, card, [card, ...market(host(9))]))),
	];
}
