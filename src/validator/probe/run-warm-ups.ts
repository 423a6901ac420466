// Short runs that are not recorded: they show how fast the devices are, so that the plan can size what is.
// Never evidence.
import type { Answer } from "../../engine/client/engine-answers.ts";
import { opsOfRound, type WarmUp, type WarmUpSeen } from "../../verify/hardware/plan/probe-plan.ts";
import type { ProbeEngine } from "./probe-engine.ts";

/** Sessions of recorded challenges are their number + 1; warm-ups are named from here on. */
const FIRST_WARM_UP_SESSION = 0x8000_0000;
const WARM_UP_DEADLINE_MS = 60_000;

type BytesOfPass = (over: { readonly of: number; readonly newest: number }) => number;

/** Runs on different devices at once, on one device one after the other. */
export async function runWarmUps(
	engine: ProbeEngine,
	runs: readonly WarmUp[],
	newSeed: () => Uint8Array,
	bytesOfPass: BytesOfPass,
): Promise<WarmUpSeen[]> {
	const devices = [...new Set(runs.map(({ device }) => device))];
	const seen = await Promise.all(
		devices.map(async (device) => {
			const results: WarmUpSeen[] = [];
			for (const run of runs)
				if (run.device === device) results.push(await runWarmUp(engine, run, newSeed, bytesOfPass));
			return results;
		}),
	);
	return seen.flat();
}

async function runWarmUp(
	engine: ProbeEngine,
	run: WarmUp,
	newSeed: () => Uint8Array,
	bytesOfPass: BytesOfPass,
): Promise<WarmUpSeen> {
	const session = FIRST_WARM_UP_SESSION + run.device;
	const send = (what: Parameters<ProbeEngine["send"]>[1]) =>
		engine.send(session, what, newSeed(), { deadlineMs: WARM_UP_DEADLINE_MS });
	const answer = await send(run.kind === "gemm" ? { ...run, keep: 1 } : run);
	if (run.kind === "stream") {
		const { perS, spanS } = rateOf(answer, bytesOfPass(run));
		return { run, opsPerS: 0, bytesPerS: perS, spanS };
	}
	if (run.kind === "copy") {
		const spanS = Math.max(1, (answer.roots.at(-1)?.atUs ?? answer.sentAtUs) - answer.sentAtUs) / 1e6;
		return { run, opsPerS: 0, bytesPerS: answer.end === "complete" ? bytesOfPass(run) / spanS : 0, spanS };
	}
	let bytesPerS = 0;
	if (run.kind === "gemm" && run.passes > 1 && answer.end === "complete") {
		const { device, passes, m, n } = run;
		// Over its own session: `of` counts from the challenge before.
		const stream = await send({ kind: "stream", device, of: session - 1, newest: 0, passes });
		bytesPerS = rateOf(stream, 2 * m * n).perS;
	}
	if (answer.end === "complete") await engine.release(session);
	const { perS, spanS } = rateOf(answer, opsOfRound(run));
	return { run, opsPerS: perS, bytesPerS, spanS };
}

/** Stamps closer together than this are mostly roots that were read in one chunk of a pipe. */
const LEAST_ROOTS_SPAN_US = 2000;

/**
 * From the first root to the last: the first round also pays for waking up. All of it when too short, or one.
 */
function rateOf(answer: Answer, perRound: number): { perS: number; spanS: number } {
	const [first, last] = [answer.roots[0], answer.roots.at(-1)];
	if (answer.end !== "complete" || !first || !last) return { perS: 0, spanS: 0 };
	const isShort = last.atUs - first.atUs < LEAST_ROOTS_SPAN_US;
	const spanS = Math.max(1, last.atUs - (isShort ? answer.sentAtUs : first.atUs)) / 1e6;
	return { perS: (perRound * (answer.roots.length - (isShort ? 0 : 1))) / spanS, spanS };
}
