/** A count that takes long, kept for so long for all who ask: the newest, and when it was begun. */
export function createGlance<Counted>(keptMs: number, count: (nowMs: number) => Promise<Counted>) {
	let glance: { readonly atMs: number; readonly counted: Promise<Counted> } | null = null;
	return (nowMs: number) => {
		if (glance === null || Math.abs(nowMs - glance.atMs) >= keptMs) {
			const mine = { atMs: nowMs, counted: count(nowMs) };
			glance = mine;
			// A count that failed is not handed out again.
			mine.counted.catch(() => {
				if (glance === mine) glance = null;
			});
		}
		return glance;
	};
}
