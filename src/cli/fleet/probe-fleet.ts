// Many hosts at once: each is probed by itself, a few at a time, and none waits for another that is slow or
// dead. One row a host as it ends, one exit code for all. Not here: what a probe is (commands/probe.ts gives
// the function).
import { createSemaphore } from "../../platform/semaphore.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { Verdict } from "../../protocol/probe/verdict.ts";
import { errorToExitCode, exitCodes } from "../exit-codes.ts";

/** What became of one host: `code` and `why` say what is not as it should be. */
export interface FleetRow {
	readonly target: string;
	readonly status: Verdict["status"] | "not as ordered" | "unreachable" | "not probed";
	readonly cards: string;
	readonly code: string | null;
	readonly why: string;
	readonly evidence: string | null;
	readonly tookUs: number;
	readonly exit: number;
}

export type ProbeOne = (target: string) => Promise<Omit<FleetRow, "target">>;

/** Rows in the order of the targets; `onRow` as they come. Never throws for a host: an error is its row. */
export async function probeFleet(
	targets: readonly string[],
	probeOne: ProbeOne,
	{ atOnce, signal, onRow }: { atOnce: number; signal: AbortSignal; onRow: (row: FleetRow) => void },
): Promise<FleetRow[]> {
	const places = createSemaphore(atOnce);
	return Promise.all(
		targets.map(async (target) => {
			const row: FleetRow = {
				target,
				...(await rowOf(() => oneAtATime(places, signal, () => probeOne(target)), signal)),
			};
			onRow(row);
			return row;
		}),
	);
}

async function oneAtATime<T>(
	places: ReturnType<typeof createSemaphore>,
	signal: AbortSignal,
	run: () => Promise<T>,
): Promise<T> {
	const release = await places.acquire(signal);
	try {
		signal.throwIfAborted();
		return await run();
	} finally {
		release();
	}
}

async function rowOf(run: () => ReturnType<ProbeOne>, signal: AbortSignal): ReturnType<ProbeOne> {
	const none = { cards: "", evidence: null, tookUs: 0 };
	try {
		return await run();
	} catch (error) {
		if (signal.aborted)
			return { ...none, status: "not probed", code: null, why: "stopped", exit: exitCodes.interrupted.code };
		const code = error instanceof AssayError ? error.code : "INTERNAL";
		const why = error instanceof Error ? error.message : String(error);
		return { ...none, status: "unreachable", code, why, exit: errorToExitCode(error) };
	}
}

/**
 * A host that lies or is not as ordered counts most, then one that could not be asked, then one that proved
 * nothing.
 */
export function fleetExit(rows: readonly FleetRow[]): number {
	const exits = rows.map(({ exit }) => exit);
	const { interrupted, invalid, inconclusive, valid } = exitCodes;
	if (exits.includes(interrupted.code)) return interrupted.code;
	if (exits.includes(invalid.code)) return invalid.code;
	const other = exits.find((exit) => exit !== valid.code && exit !== inconclusive.code);
	return other ?? (exits.includes(inconclusive.code) ? inconclusive.code : valid.code);
}
