// What validators of simulated networks ask: tiny challenges, chosen by what a host claims, so that every
// cheat of tests/toy meets the question it cheats on. Real frames, real evidence, real verdicts; only the
// sizes are toys. And the clock of such probes.
//
// A toy in JavaScript reads 0.4 GB/s; residency is judged against real cards' links (64 GB/s). So the probes'
// clock runs slower than the wall's, and what follows keeps honest toys far from every bound, however busy
// the machine is:
// - one microsecond of the probes' clock is TICK_MS of the wall's, and an answer within one tick would be
//   TIME_ZERO: honest toys rest for PACE_MS before they begin;
// - a stream must take at most a third of fetching or computing its bytes: 96 passes of 256 KiB, some 1.3
//   ticks each for fetching, so stalls of 120 ticks (3 s) in mid-stream are forgiven, and computing takes
//   longer the busier the machine is;
// - the providers' process computes for one of its toys at a time (simulated-provider.ts).
// What is left is the market's rule that the first late stream is asked again (docs/schedule.md).

import type { ChallengeSpec, GemmSpec, StreamSpec } from "../../src/protocol/probe/evidence.ts";
import type { Plan, Step } from "../../src/verify/hardware/plan/probe-plan.ts";
import { fixedPlan } from "../toy/fixed-plan.ts";

const TICK_MS = 25;
export const PACE_MS = TICK_MS + 5;

/** Microseconds of the probes: the wall's, slowed down. */
export const toyClockUs = () => performance.now() / TICK_MS;

const ANSWER_MS = 12_000;
/** Late cheaters take their time, in every pass. */
const STREAM_MS = 120_000;

const FILL: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 256,
	rounds: 2,
	keep: 2,
	samples: 96,
};
const STREAM: StreamSpec = { kind: "stream", device: 0, of: 0, newest: 0, passes: 96, samples: 2 };
/** fp16, for those who answer with narrower entries. */
const HALF: GemmSpec = { ...FILL, precision: "fp16", k: 128, rounds: 1, keep: 1, samples: 16 };
const LANES: ChallengeSpec = {
	kind: "fma",
	device: 0,
	precision: "fp32",
	lanes: 512,
	steps: 1024,
	rounds: 1,
	samples: 2,
};

/** One product on card 0, no stream: as cheap as a probe can be, and true on the real clock. */
export const smallPlan: Plan = fixedPlan([
	{
		act: "stage",
		name: "gpu fill",
		specs: [{ ...FILL, k: 128, rounds: 1, keep: 1, samples: 4 }],
		deadlineMs: ANSWER_MS,
		hold: true,
	},
]);

type Stage = Extract<Step, { act: "stage" }>;

/** The names are those of the real plan's stages that simultaneous probes hold for each other. */
function stagesFor(gpus: number, cpu: number | null, disk: number | null): Stage[] {
	const stages: Stage[] = [];
	let asked = 0;
	const ask = (name: string, specs: readonly ChallengeSpec[], deadlineMs = ANSWER_MS) => {
		stages.push({ act: "stage", name, specs, deadlineMs, hold: true });
		asked += specs.length;
		return asked - specs.length;
	};
	const cards = Array.from({ length: gpus }, (_, device) => device);
	if (gpus > 0) {
		// Of three rounds two are kept: whoever reads the first ones instead is seen.
		const rounds = gpus > 1 ? 3 : FILL.rounds;
		const first = ask(
			"gpu fill",
			cards.map((device) => ({ ...FILL, device, rounds })),
		);
		const own = cards.map((device) => ({ ...STREAM, device, of: first + device }));
		ask("gpu stream", own, STREAM_MS);
		if (gpus > 1) {
			const peers = cards.map((device) => ({ ...STREAM, device, of: first + ((device + 1) % gpus), passes: 2 }));
			ask("gpu peers", peers, STREAM_MS);
		}
	}
	if (gpus === 1 || (gpus > 1 && disk !== null)) {
		ask("gpu half", [HALF]);
		ask("gpu lanes", [LANES]);
	}
	if (cpu !== null && disk !== null)
		// Twice: one that reads back what it was given before must have been given something before.
		for (const turn of ["first", "second"]) {
			const of = ask(`disk ${turn} fill`, [{ ...FILL, device: cpu, rounds: 3, samples: 8 }]);
			ask(`disk ${turn} copy`, [{ kind: "copy", device: disk, of, newest: 1, samples: 1 }]);
			ask(`disk ${turn} read`, [{ ...STREAM, device: disk, of, newest: 1, passes: 2 }], STREAM_MS);
		}
	return stages;
}

export const toyNetworkPlan: Plan = ({ claim, steps }) => {
	const kinds = claim.devices.map(({ kind }) => kind);
	const at = (kind: "cpu" | "disk") => (kinds.includes(kind) ? kinds.indexOf(kind) : null);
	const gpus = Math.min(2, kinds.filter((kind) => kind === "gpu").length);
	return stagesFor(gpus, at("cpu"), at("disk"))[steps.length] ?? { act: "finish" };
};
