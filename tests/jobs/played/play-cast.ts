// Who cheats in the networks of play-out.ts: for each method every liar of job-cheats.ts, of paper-cheats.ts
// and of coalitions.ts, with a voice: one that answers whatever it is asked, or one that says nothing from
// its claim on, neither over its link nor on the chain.
import type { Distort } from "../../../src/engine/client/toy-work-session.test-kit.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import type { JobMethod } from "../../../src/protocol/network/job.ts";
import { toyOpener } from "../../../src/provider/jobs/toy-run.test-kit.ts";
import { TOY_SEGMENTS } from "../customer.ts";
import { NETWORK_CHEATS, type NetworkCheat, onceOnly } from "../job-cheats.ts";
import * as lies from "../job-lies.ts";
import type { JobCheat } from "../job-market.ts";
import { cheatOnly } from "../simulate-jobs.ts";

export const VOICES = ["answers", "silent"] as const;
export type Voice = (typeof VOICES)[number];

export interface Player {
	readonly name: string;
	readonly party: "provider" | "auditor";
	/** What it comes to at the end of all windows. */
	readonly ends: "convicted" | "lost" | "unpaid";
	/** That it is found out, where that is left to chance: docs/jobs.md §9, §15. Else it is paid. */
	readonly chance?: number;
	/** Takes a job of more segments than the others. */
	readonly isLarge?: true;
	readonly cheat: JobCheat;
}

/** Says nothing once it has claimed, or audited: neither over the link nor on the chain. */
const quiet = (cheat: JobCheat): JobCheat => ({
	...cheat,
	handlers: (honest) => ({
		...(cheat.handlers?.(honest) ?? honest),
		ask: async () => {
			throw new AssayError("PROVIDER_BUSY", "ask later");
		},
	}),
	chain: (honest) => ({ ...(cheat.chain?.(honest) ?? honest), questions: async () => [] }),
});

const voiced = (cheat: JobCheat, voice: Voice): JobCheat => (voice === "silent" ? quiet(cheat) : cheat);

/** Takes one part, and audits nothing. */
const oneTry = (cheat: JobCheat, voice: Voice): JobCheat =>
	cheatOnly({
		...{ name: "", party: "provider", ends: "convicted" },
		...voiced(once(cheat), voice),
	} satisfies NetworkCheat);
const once = (cheat: JobCheat): JobCheat => ({
	...cheat,
	handlers: (honest) => onceOnly(cheat.handlers?.(honest) ?? honest),
});

const LAST = TOY_SEGMENTS - 1;
const MIDDLE = { segment: 3, step: 0, op: 0, element: 3 } as const;

/** Of a claim that nobody may watch, how often one false segment in the middle is run again. */
const oneInTheMiddle = ({ name, count }: JobMethod): number => (name === "sampled" ? count / (TOY_SEGMENTS - 3) : 1);

/** Every provider that cheats, each with one try. */
export function providersFor(method: JobMethod, voice: Voice): readonly Player[] {
	// Of one method, or by their silence: here they are played with every method, and with both voices.
	const known = NETWORK_CHEATS.filter(
		({ party, method: only, name }) => party === "provider" && only === undefined && name !== "lies and says nothing",
	);
	return [
		...known.map(({ name, ends, chance, mayEarn, ...cheat }): Player => {
			const found = chance === undefined ? {} : { chance: oneInTheMiddle(method) };
			return {
				...{ name, party: "provider", ends: ends === "lost" ? "lost" : "convicted" },
				...{ ...found, ...(mayEarn && { isLarge: true as const }), cheat: oneTry(cheat, voice) },
			};
		}),
		{
			...{ name: "one number of the last segment", party: "provider", ends: "convicted" },
			cheat: oneTry({ engine: lies.lying({ ...MIDDLE, segment: LAST }) }, voice),
		},
	];
}

/** Every auditor that cheats, among honest ones, of parts that were worked as they must be. */
export const auditorsFor = (voice: Voice): readonly Player[] =>
	NETWORK_CHEATS.filter(({ party }) => party === "auditor").map(({ name, ends: _, party: __, ...cheat }) => ({
		...{ name, party: "auditor", ends: "unpaid", cheat: voiced(cheat, voice) },
	}));

/** The same lie in parts and in audits. */
const together = (lie: Distort): JobCheat => ({
	engine: (honest, { storePath }) => ({ ...honest, open: toyOpener(storePath, lie) }),
});

export interface Together {
	readonly name: string;
	readonly liars: readonly Player[];
	readonly friend: Player;
	/** Honest ones that may be drawn beside the friend. */
	readonly strangers: number;
}

/** Providers that lie, each with one try, and a friend of theirs that says the same where it audits. */
export function coalitionsFor(method: JobMethod, voice: Voice, isWatched: boolean): readonly Together[] {
	const of = (name: string, lie: Distort, strangers: number, chance: number): Together => ({
		...{ name, strangers },
		liars: [1, 2, 3].map((n) => ({
			...{ name: `${name}, ${n}`, party: "provider", ends: "convicted" },
			...(chance < 1 && !isWatched && { chance }),
			cheat: oneTry(together(lie), voice),
		})),
		friend: { name: `${name}, friend`, party: "auditor", ends: "unpaid", cheat: voiced(together(lie), voice) },
	});
	const all = of("provider and an auditor, all segments", lies.spoiled, 1, method.name === "redundant" ? 0.55 : 1);
	const last = of("provider and an auditor, last segment", lies.lastOf(TOY_SEGMENTS), 1, 0.5);
	const everyone = of("all that can be drawn", lies.spoiled, 0, 0.1);
	if (isWatched) return [everyone];
	return method.name === "sampled" ? [all, last, everyone] : [all, everyone];
}
