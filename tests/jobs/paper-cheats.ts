// Cheaters on paper, one function each, with the chance that docs/jobs.md §9 gives to find them. A cheater
// comes with a new name for every job: what it loses is its bond and its reward, never a reputation that it
// would have to care for.
import { chanceOfOne, chanceOfSkip } from "../../src/market/jobs/economics.ts";
import * as rules from "../../src/market/jobs/job-rules.ts";
import type { JobMethod } from "../../src/protocol/network/job.ts";
import { advance, honestly, type PaperTask, statesOf } from "./paper-machine.ts";
import { type Circumstances, HOSTS, PARAMS, type PaperCheat, PER_WINDOW, type Ran, SEGMENTS } from "./paper-market.ts";

export interface NamedCheat extends PaperCheat {
	readonly name: string;
	readonly party: "provider" | "auditor" | "customer" | "validator";
	/** That one try is found out. */
	readonly chance: number;
	/** Where a try that is found costs nothing beside the reward: nobody is convicted for it. */
	readonly isFree?: true;
}

const SAMPLED = { name: "sampled", count: 16 } as const;
const TWICE = { name: "redundant", count: 2 } as const;
const OPTIMISTIC = { name: "optimistic", count: 0 } as const;
const skip = (method: JobMethod, share: number): number => chanceOfSkip(method, share, PARAMS.jobAuditPpm);
const one = (method: JobMethod): number => chanceOfOne(method, PER_WINDOW, SEGMENTS, PARAMS.jobAuditPpm);

type Lie = (states: readonly number[], segment: number, task: PaperTask) => number;

/**
 * Lies in each window with this chance; the first and the last one are run as they must be, since those are
 * always run again.
 */
function inWindows(share: number, lie: Lie) {
	return (task: PaperTask, { chance }: Circumstances): Ran => {
		const last = task.first + task.count - PER_WINDOW;
		let isLying = false;
		let lied = 0;
		const states = statesOf(task, (before, segment) => {
			const at = segment - task.first;
			if (at % PER_WINDOW === 0) isLying = at > 0 && segment < last && chance() < share;
			if (isLying) lied += 1;
			return isLying ? lie(before, segment, task) : honestly(task)(before, segment);
		});
		return { states, saved: lied / task.count, isTry: true };
	};
}

/** Lies in every segment, and so saves a part of each. */
const always =
	(saved: number, lie: Lie) =>
	(task: PaperTask): Ran => {
		const states = statesOf(task, (before, segment) => lie(before, segment, task));
		return { states, saved, isTry: true };
	};

/** One false segment, everything else run as it must be. */
const forge =
	(place: (task: PaperTask, of: Circumstances) => number) =>
	(task: PaperTask, of: Circumstances): Ran => {
		const at = task.first + place(task, of);
		const states = statesOf(task, (before, segment) =>
			segment === at ? before.at(-1)! ^ 1 : honestly(task)(before, segment),
		);
		return { states, saved: 1 / task.count, isTry: true };
	};

const skipSteps: Lie = (states) => states.at(-1)! ^ 0x5a5a;
const smallerBatch: Lie = (states, segment, { given }) => advance(given ^ 0xba7c, states.at(-1)!, segment);
const cheaperModel: Lie = (states, segment, { given }) => advance(given ^ 0xc4ea9, states.at(-1)!, segment);
const staleWeights: Lie = (states, segment, { given }) => advance(given, states.at(-2)!, segment);
const otherData: Lie = (states, segment, { given }) => advance(given ^ 0xda7a, states.at(-1)!, segment);
const otherSeed: Lie = (states, segment, { given }) => advance(given ^ 0x5eed, states.at(-1)!, segment);
const madeUp: Lie = (_, segment) => Math.imul(segment + 1, 0x2545f491) >>> 0;
const middle = ({ count }: PaperTask, { chance }: Circumstances): number =>
	PER_WINDOW + Math.floor(chance() * (count - 2 * PER_WINDOW));
const honest = (task: PaperTask, isTry = false): Ran => ({
	...{ states: statesOf(task, honestly(task)), saved: 0, isTry },
});
/** Those whose friends are fewer after a conviction try it once. */
const once =
	(run: NonNullable<PaperCheat["run"]>) =>
	(task: PaperTask, of: Circumstances): Ran | null =>
		of.attempt === 1 ? run(task, of) : honest(task);
const echo = (right: readonly number[], claimed: readonly number[] | null): readonly number[] => claimed ?? right;
const cancel: PaperCheat["customer"] = (job, nowMs) => {
	const part = job.parts.find(({ state }) => state !== "paid")!;
	return rules.refund(job, part.part, nowMs, "customer");
};

const provider = { party: "provider", hosts: 3, method: SAMPLED } as const;
const auditor = { party: "auditor", hosts: 3, method: SAMPLED } as const;
/** Of the others on the list, how many are the cheater's. */
const FRIENDS = (hosts: number): number => (hosts - 1) / (HOSTS.length - 1);

/** The random audit of a part that two of three friends hold, by somebody who is not the third. */
const AFTERWARDS = (PARAMS.jobAuditPpm / 1e6) * (1 - 1 / (HOSTS.length - 2));

/**
 * Auditors take the windows in turns; friends of the provider say what it claimed. Over all places that two
 * friends may have in the draw's order, what the windows of the others find. The first window and the last
 * are true.
 */
function foundByStrangers(share: number, hosts: number): number {
	const others = HOSTS.length - 1;
	const places = Array.from({ length: others }, (_, i) => i);
	const sets = places.flatMap((a) => places.slice(a + 1).map((b) => [a, b]));
	if (hosts !== 3) throw new RangeError("two friends are reckoned with");
	const missed = sets.map((friends) => {
		const windows = Array.from({ length: SAMPLED.count }, (_, i) => (i + 1) % others);
		return (1 - share) ** windows.filter((at) => !friends.includes(at)).length;
	});
	return 1 - missed.reduce((sum, one) => sum + one, 0) / sets.length;
}

export const PAPER_CHEATS: readonly NamedCheat[] = [
	{ ...provider, name: "skips a tenth", run: inWindows(0.1, skipSteps), chance: skip(SAMPLED, 0.1) },
	{ ...provider, name: "skips a hundredth", run: inWindows(0.01, skipSteps), chance: skip(SAMPLED, 0.01) },
	{ ...provider, name: "smaller batch", run: always(0.5, smallerBatch), chance: 1 },
	{ ...provider, name: "cheaper model", run: always(0.9, cheaperModel), chance: 1 },
	{ ...provider, name: "stale weights", run: inWindows(0.2, staleWeights), chance: skip(SAMPLED, 0.2) },
	{ ...provider, name: "other data", run: inWindows(0.05, otherData), chance: skip(SAMPLED, 0.05) },
	{ ...provider, name: "other seed", run: always(0, otherSeed), chance: 1 },
	{ ...provider, name: "forges the last segment", run: forge(({ count }) => count - 1), chance: 1 },
	{ ...provider, name: "forges one segment", run: forge(middle), chance: one(SAMPLED) },
	{ ...provider, name: "forges one segment, redundant", method: TWICE, run: forge(middle), chance: one(TWICE) },
	{
		...provider,
		name: "forges one segment, optimistic",
		method: OPTIMISTIC,
		run: forge(middle),
		chance: one(OPTIMISTIC),
	},
	{
		...provider,
		name: "runs nothing, optimistic",
		method: OPTIMISTIC,
		run: always(1, madeUp),
		chance: skip(OPTIMISTIC, 1),
	},
	{ ...provider, name: "claims without running", run: always(1, madeUp), chance: 1 },
	{ ...provider, name: "claims too soon", run: forge(middle), pace: 0.5, chance: 1 },
	{
		...provider,
		name: "claims too soon, optimistic",
		method: OPTIMISTIC,
		run: always(1, madeUp),
		pace: 0.5,
		chance: 1,
	},
	{ ...provider, name: "claims after its deadline", run: (task) => honest(task, true), pace: 45, chance: 1 },
	{ ...provider, name: "beats without work", run: () => null, chance: 1 },
	{
		...{ ...provider, name: "drops expensive jobs", larger: 1.1, chance: 1 },
		run: (task, { priceMicros }) => (priceMicros > 1_050_000 ? null : honest(task)),
	},
	{
		...{ ...provider, name: "begins at another state", parts: 2, chance: 1 },
		run: (task) => (task.first === 0 ? honest(task) : honest({ ...task, start: task.start ^ 1 }, true)),
	},
	{
		...{
			...provider,
			name: "coalition, redundant",
			method: TWICE,
			hosts: 3,
			audit: echo,
			chance: 1 - FRIENDS(3) * (1 - AFTERWARDS),
		},
		run: once(always(1, madeUp)),
	},
	{
		...{ ...provider, name: "coalition that holds all draws", method: TWICE, hosts: 3, audit: echo },
		run: once((task, of) => (of.others.every(of.isFriend) ? always(1, madeUp)(task) : honest(task))),
		chance: AFTERWARDS,
	},
	{
		...{ ...provider, name: "provider and auditors together", hosts: 3, audit: echo },
		run: once(inWindows(0.1, skipSteps)),
		chance: foundByStrangers(0.1, 3),
	},
	{
		...auditor,
		name: "auditor accuses the honest",
		audit: (right) => right.map((s, i) => (i === 0 ? s : s ^ 1)),
		chance: 1,
	},
	{ ...auditor, name: "auditor echoes what it was given", audit: (right) => right.map(() => right[0]!), chance: 1 },
	{ ...auditor, name: "auditor says nothing", audit: () => null, chance: 1 },
	{ name: "customer takes it back", party: "customer", method: SAMPLED, hosts: 0, customer: cancel, chance: 1 },
	{
		...{ name: "validator blesses a false claim", party: "validator", method: SAMPLED, hosts: 1, isBlessed: true },
		run: inWindows(0.1, skipSteps),
		chance: 1,
	},
];
