// A token bucket: `perS` takes a second on average, `burst` at once. The clock is an argument.

export interface TokenBucket {
	/**
	 * Takes `cost` tokens (one, unless told) if there is one beyond `reserve`; false when there is not. What
	 * costs more than is there is lent: whoever comes next waits for it.
	 */
	take(nowMs: number, reserve?: number, cost?: number): boolean;
	/** Whole milliseconds from the last call of `take` until there is a token again; 0 when there is one. */
	waitMs(): number;
}

/** Full at first. */
export function createTokenBucket({ perS, burst }: { readonly perS: number; readonly burst: number }): TokenBucket {
	let tokens = burst;
	let lastMs = Number.POSITIVE_INFINITY;
	return {
		take(nowMs, reserve = 0, cost = 1) {
			// A clock that was set back neither refills nor drains.
			tokens = Math.min(burst, tokens + (Math.max(0, nowMs - lastMs) * perS) / 1000);
			lastMs = nowMs;
			if (tokens < 1 + reserve) return false;
			tokens -= cost;
			return true;
		},
		waitMs: () => Math.ceil((Math.max(0, 1 - tokens) * 1000) / perS),
	};
}
