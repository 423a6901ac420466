// A probe's own events as events of the network: started, stage with its challenges, roots now and then,
// opened, checking, openings as they are checked. The verdict is told when it is counted (count-probe.ts),
// not here. Rates are bounded twice: per probe, and for all probes of this process together.

import { TokenBucket } from "../../platform/token-bucket.ts";
import type { Json } from "../../protocol/bytes/canonical-json.ts";
import { rootsAsked } from "../../protocol/probe/challenge-shape.ts";
import type { ChallengeSpec } from "../../protocol/probe/evidence.ts";
import type { EventHub } from "../event-hub.ts";
import type { ProbeEvent } from "../probe/probe-event.ts";
import type { OnChecked } from "./verifier-pool.ts";

/** Roots of one challenge are told this often at most: a screen needs no more. */
const ROOTS_EVERY_MS = 500;

/** Shared by all probes of a process: nothing is told above its rate, nothing minor above half of it. */
export type MayTell = (isMinor: boolean) => boolean;

export function createProgressBudget(perS: number, nowMs: () => number): MayTell {
	const bucket = new TokenBucket({ perS, burst: perS });
	return (isMinor) => bucket.take(nowMs(), isMinor ? perS / 2 : 0);
}

/** What fits into one event of 3 KiB: challenges of a stage, counts of checked openings. */
const [MAX_ASKED, MAX_CHECKED] = [24, 64];

/** Integers only: events are canonical JSON. A speed beyond 2⁵³ is no speed. */
const whole = (value: number) => Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value) || 0));

export function createProbeProgress(options: {
	readonly hub: Pick<EventHub, "tell">;
	readonly probeId: string;
	readonly providerId: string;
	readonly nowMs: () => number;
	readonly mayTell: MayTell;
}) {
	const rootToldAtMs = new Map<number, number>();
	const tell = (detail: { readonly [key: string]: Json }, isMinor = false) => {
		if (options.mayTell(isMinor))
			options.hub.tell({ kind: "probe.progress", subject: options.probeId, providerId: options.providerId, detail });
	};
	const see: (event: ProbeEvent) => void = (event) => {
		switch (event.kind) {
			case "claim":
				return tell({ step: "claim", devices: event.claim.devices.length, rttUs: whole(event.rttUs) });
			case "warm-up":
			case "too-big":
				return tell({ step: event.kind, name: event.name });
			case "stage":
				return tell({
					step: "stage",
					stage: event.stage,
					name: event.name,
					challenges: event.challenges.length,
					asked: event.challenges
						.slice(0, MAX_ASKED)
						.map(({ challenge, spec }) => ({ challenge, ...shortSpec(spec), of: roundsOf(spec) })),
				});
			case "root": {
				const { challenge, spec, done, of } = event;
				const atMs = options.nowMs();
				// The last root is always worth a word, the ones between only now and then.
				const isLast = done === of;
				if (!isLast && atMs - (rootToldAtMs.get(challenge) ?? 0) < ROOTS_EVERY_MS) return;
				rootToldAtMs.set(challenge, atMs);
				return tell(
					{
						step: "root",
						challenge,
						...shortSpec(spec),
						done,
						of,
						perS: whole(event.perS),
					},
					!isLast,
				);
			}
			case "opened":
				return tell({ step: "opened", challenge: event.challenge, openings: event.openings, end: event.end });
			case "checking":
				return tell({ step: "checking", bytes: event.bytes });
		}
	};
	/** Openings found right by the verifier, as far as it has come. */
	const checked: OnChecked = (all) => {
		for (let at = 0; at < all.length; at += MAX_CHECKED)
			tell({
				step: "checked",
				checked: all.slice(at, at + MAX_CHECKED).map(({ challenge, done, of }) => [challenge, done, of]),
			});
	};
	return { see, checked };
}

const shortSpec = (spec: ChallengeSpec) => ({
	device: spec.device,
	what: spec.kind,
	...("precision" in spec ? { precision: spec.precision } : {}),
});

/** 0: no fixed end. */
const roundsOf = (spec: ChallengeSpec) => rootsAsked(spec);
