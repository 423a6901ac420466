// How a customer takes back from the escrow what nobody has of a job: which calls, in which order. The
// command line and the dashboard do the same. Pure: who sends is told by the caller.

export type TakeBackCall = { readonly kind: "cancel" } | { readonly kind: "expire"; readonly part: number };

/** A part whose time is over is opened by the first call, and given back by the second. */
const EXPIRES = 2;

/**
 * Parts that nobody ever had by one call, then each of `parts`, which somebody had once. A call that the
 * contract refuses costs nothing and changes nothing; so whoever does not know how a part stands there asks
 * for it all the same. `attempt`: false where the contract refuses. Tells whether anything was taken.
 */
export async function takeBackParts(
	parts: Iterable<number>,
	attempt: (call: TakeBackCall) => Promise<boolean>,
): Promise<boolean> {
	let isTaken = await attempt({ kind: "cancel" });
	for (const part of parts)
		for (let left = EXPIRES; left > 0 && (await attempt({ kind: "expire", part })); left--) isTaken = true;
	return isTaken;
}
