// A wall clock that does not jump. Somebody sets the machine's clock, by a day or by years, and everything
// that is due, kept or proven by time would happen at once or never. This one keeps its pace, and goes after
// the new time half as fast again (or half as slow): a mistake that is soon put right does no harm, and a
// right time is reached in the end. It never goes back. A jump is what the wall clock does and the time since
// boot, which counts sleep too, does not. A program that is started believes the clock as it is.

/** Between two looks; the time since boot is in whole seconds. Smaller steps are followed at once. */
const JUMP_MS = 5000;
/** The time since boot is a file that is read: not again for what the wall clock says happens at once. */
const NEAR_MS = 50;
/** Of each second that passes. */
const CATCH_UP = 0.5;

export function createSteadyClock(o: { readonly wallMs: () => number; readonly bootMs: () => number }): () => number {
	let seen = { wallMs: o.wallMs(), bootMs: o.bootMs() };
	/** What the machine's clock is off by, as far as we go along with it. */
	let offMs = 0;
	let newestMs = seen.wallMs;
	return () => {
		const wallMs = o.wallMs();
		// What a clock jumps by less than that is followed at once anyhow.
		if (wallMs >= seen.wallMs && wallMs - seen.wallMs < NEAR_MS) {
			newestMs = Math.max(newestMs, Math.round(wallMs + offMs));
			return newestMs;
		}
		const now = { wallMs, bootMs: o.bootMs() };
		const passedMs = now.bootMs - seen.bootMs;
		const jumpMs = now.wallMs - seen.wallMs - passedMs;
		seen = now;
		if (Math.abs(jumpMs) > JUMP_MS) offMs -= jumpMs;
		offMs -= Math.sign(offMs) * Math.min(Math.abs(offMs), passedMs * CATCH_UP);
		newestMs = Math.max(newestMs, Math.round(now.wallMs + offMs));
		return newestMs;
	};
}
