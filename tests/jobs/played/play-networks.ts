// The networks of the campaign in which everybody who cheats is played to its end (play-out.ts), by name:
// each method, each voice, and each kind of those that cheat.
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import { methodOf, methodText } from "../../../src/verify/methods/methods.ts";
import { auditorsFor, coalitionsFor, type Player, providersFor, VOICES, type Voice } from "./play-cast.ts";
import type { Play } from "./play-out.ts";

/** Those that are paid by audits and windows. What is paid by proof: zk-jobs.test.ts. */
const METHODS: readonly JobMethod[] = [
	{ name: "redundant", count: 2 },
	{ name: "sampled", count: 1 },
	{ name: "optimistic", count: 0 },
	{ name: "attested", count: 0 },
];
const STRANGERS = 4;
/** What a validator signs for with its eyes shut. */
const BLESSED = ["forges the last segment", "claims without running", "skips steps"];

/** Where the method itself draws nobody, or only by chance, the customer watches its jobs. */
const needsWatcher = (method: JobMethod): boolean =>
	!methodOf(method).isFoundBySize && methodOf(method).runners(method.count) === 1;

function networksOf(method: JobMethod, voice: Voice): Play[] {
	const isWatched = needsWatcher(method);
	const name = (what: string) => `${methodText(method)}, ${voice}: ${what}`;
	const common = { method, voice };
	const providers = providersFor(method, voice);
	const blessed: readonly Player[] = providers.filter((one) => BLESSED.includes(one.name));
	return [
		{ ...common, name: name("providers"), liars: providers, strangers: STRANGERS, isWatched },
		{ ...common, name: name("auditors"), liars: auditorsFor(voice), strangers: STRANGERS, isAlwaysAudited: true },
		...coalitionsFor(method, voice, isWatched).map(({ name: who, liars, friend, strangers }) => ({
			...{ ...common, name: name(who), liars: [friend, ...liars], strangers, isWatched, isTogether: true },
		})),
		{
			...{ ...common, name: name("blessed by the validator"), liars: blessed, strangers: 2 },
			...{ isWatched: true, isBlessed: true },
		},
	];
}

/** They have no voice: whatever they do is answered at once. */
const strangersOf = (method: JobMethod): Play => ({
	...{ method, voice: "answers", name: `${methodText(method)}: customers, and draws that are changed` },
	...{ liars: [], strangers: STRANGERS, hasStrangers: true },
});

export const NETWORKS: readonly Play[] = METHODS.flatMap((method) => [
	...VOICES.flatMap((voice) => networksOf(method, voice)),
	strangersOf(method),
]);
