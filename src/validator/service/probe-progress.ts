// A probe's own events as events of the network: started, stage, roots now and then, opened, checking. The verdict is told when it is counted
// (count-probe.ts), not here. Rates are bounded twice: per probe, and for all probes of this process together.
import type { ProbeEvent } from "../probe-event.ts";
import type { EventHub } from "./event-hub.ts";

/** Roots of one probe are told this often at most: a screen needs no more. */
const ROOTS_EVERY_MS = 500;

/** All probes of a process share one: what is above its rate is not told. */
export function createProgressBudget(perS: number, nowMs: () => number): () => boolean {
	let tokens = perS;
	let lastMs = nowMs();
	return () => {
		const atMs = nowMs();
		tokens = Math.min(perS, tokens + ((atMs - lastMs) * perS) / 1000);
		lastMs = atMs;
		if (tokens < 1) return false;
		tokens -= 1;
		return true;
	};
}

/** Integers only: events are canonical JSON. A speed beyond 2⁵³ is no speed. */
const whole = (value: number) => Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, Math.floor(value) || 0));

export function createProbeProgress(o: {
	readonly hub: Pick<EventHub, "tell">;
	readonly probeId: string;
	readonly providerId: string;
	readonly nowMs: () => number;
	readonly mayTell: () => boolean;
}): (event: ProbeEvent) => void {
	let rootsToldAtMs = 0;
	const tell = (detail: { readonly [key: string]: string | number }) => {
		if (o.mayTell()) o.hub.tell({ kind: "probe.progress", subject: o.probeId, providerId: o.providerId, detail });
	};
	return (event) => {
		switch (event.kind) {
			case "claim":
				return tell({ step: "claim", devices: event.claim.devices.length, rttUs: whole(event.rttUs) });
			case "warm-up":
			case "too-big":
				return tell({ step: event.kind, name: event.name });
			case "stage":
				return tell({ step: "stage", stage: event.stage, name: event.name, challenges: event.challenges.length });
			case "root": {
				const atMs = o.nowMs();
				// The last root is always worth a word, the ones between only now and then.
				if (event.done !== event.of && atMs - rootsToldAtMs < ROOTS_EVERY_MS) return;
				rootsToldAtMs = atMs;
				const { challenge, spec, done, of } = event;
				return tell({
					step: "root",
					challenge,
					device: spec.device,
					what: spec.kind,
					done,
					of,
					perS: whole(event.perS),
				});
			}
			case "opened":
				return tell({ step: "opened", challenge: event.challenge, openings: event.openings, end: event.end });
			case "checking":
				return tell({ step: "checking", bytes: event.bytes });
		}
	};
}
