// What a watcher saw: of each request how long it took, and what came where it was not 200; and the figures
// of it.
import { quantile } from "../network-result.ts";

export interface Log {
	readonly ms: number[];
	readonly failed: Record<string, number>;
}

export interface Watched {
	readonly health: Log;
	readonly reads: Log;
}

export interface Seen {
	readonly count: number;
	readonly p50Ms: number | null;
	readonly p99Ms: number | null;
	readonly mostMs: number | null;
	/** Not answered with 200, by what came instead. */
	readonly failed: Readonly<Record<string, number>>;
}

export const seen = ({ ms, failed }: Log): Seen => ({
	count: ms.length,
	p50Ms: quantile(ms, 0.5),
	p99Ms: quantile(ms, 0.99),
	mostMs: quantile(ms, 1),
	failed,
});

export function together(logs: readonly Log[]): Log {
	const all: Log = { ms: logs.flatMap(({ ms }) => ms), failed: {} };
	for (const { failed } of logs)
		for (const [what, count] of Object.entries(failed)) all.failed[what] = (all.failed[what] ?? 0) + count;
	return all;
}
