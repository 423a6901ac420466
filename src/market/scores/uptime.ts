// Uptime: the part of the time since a provider was registered in which its agent was connected, in ppm. A
// fact about the link, as this validator saw it; it is no part of any score, and says nothing of what was
// proven (reliability.ts). Pure. The same in SQL: store/reachable-time.ts.

export interface ReachableTime {
	readonly registeredAtMs: number;
	/** Since when it is counted, where that was later. */
	readonly reachableFromMs: number | null;
	/** Of connections that have ended. */
	readonly reachableMs: number;
	/** Of the one that lasts; null: none does. */
	readonly connectedAtMs: number | null;
}

function connectedPpm(time: ReachableTime, nowMs: number): number {
	const fromMs = time.reachableFromMs ?? time.registeredAtMs;
	if (nowMs <= fromMs) return 1_000_000;
	const lasts = time.connectedAtMs === null ? 0 : Math.max(0, nowMs - Math.max(time.connectedAtMs, fromMs));
	return Math.min(1_000_000, Math.floor(((time.reachableMs + lasts) * 1_000_000) / (nowMs - fromMs)));
}

/**
 * Hosts that are dialled for each probe have no link that lasts: of them what was stored, which is how many
 * probes they answered.
 */
export function uptimeOf(
	row: ReachableTime & { readonly link: string; readonly uptimePpm: number },
	nowMs: number,
): number {
	return row.link === "agent" ? connectedPpm(row, nowMs) : row.uptimePpm;
}
