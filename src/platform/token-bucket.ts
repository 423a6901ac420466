// A token bucket: `perS` takes a second on average, `burst` at once. The clock is an argument. A class, since
// there is one for each connection and each address, and closures take three times the memory.

export class TokenBucket {
	private readonly perS: number;
	private readonly burst: number;
	private tokens: number;
	private lastMs = Number.POSITIVE_INFINITY;

	/** Full at first. */
	constructor({ perS, burst }: { readonly perS: number; readonly burst: number }) {
		this.perS = perS;
		this.burst = burst;
		this.tokens = burst;
	}

	/**
	 * Takes `cost` tokens (one, unless told) if there is one beyond `reserve`; false when there is not. What
	 * costs more than is there is lent: whoever comes next waits for it.
	 */
	take(nowMs: number, reserve = 0, cost = 1): boolean {
		// A clock that was set back neither refills nor drains.
		this.tokens = Math.min(this.burst, this.tokens + (Math.max(0, nowMs - this.lastMs) * this.perS) / 1000);
		this.lastMs = nowMs;
		if (this.tokens < 1 + reserve) return false;
		this.tokens -= cost;
		return true;
	}

	/** One that was taken and was not used. */
	giveBack(): void {
		this.tokens = Math.min(this.burst, this.tokens + 1);
	}

	/** Whole milliseconds from the last call of `take` until there is a token again; 0 when there is one. */
	waitMs(): number {
		return Math.ceil((Math.max(0, 1 - this.tokens) * 1000) / this.perS);
	}
}
