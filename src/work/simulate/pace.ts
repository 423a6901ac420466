// How the time of a simulation is cut, docs/workloads.md: time steps into steps of the program, those into
// segments, and when a frame is due. Several time steps are one step of the program, written out one after
// the other: what is done once a step (frames, metrics) then costs little.

/** Time steps a step of the program, at most: 128 steps of two fields are some 100 KiB of program. */
const MOST_TOGETHER = 128;
/** Time steps a segment, at most, unless the job says: how much work a stop may cost, and a check repeats. */
const MOST_A_SEGMENT = 1024;

export interface Length {
	/** Time steps in all. */
	readonly steps: number;
	/** Divides `steps`; 0: none is kept. */
	readonly frames: number;
	/** Divides `steps`. Null: as many as divide the time between two frames, up to 1,024. */
	readonly stepsPerSegment: number | null;
}

export interface Pace {
	/** Time steps a step of the program. */
	readonly together: number;
	/** Steps of the program a segment. */
	readonly k: number;
	readonly segments: number;
	readonly frames: number;
	/** Steps of the program a frame. */
	readonly every: number;
}

const gcd = (a: number, b: number): number => (b === 0 ? a : gcd(b, a % b));

function largestDivisor(n: number, most: number): number {
	let found = Math.min(n, Math.floor(most));
	while (n % found !== 0) found--;
	return found;
}

export function paceOf({ steps, frames, stepsPerSegment }: Length, mostTogether = MOST_TOGETHER): Pace {
	const between = steps / Math.max(1, frames);
	const together = largestDivisor(gcd(between, stepsPerSegment ?? between), mostTogether);
	const length = stepsPerSegment ?? together * largestDivisor(between / together, MOST_A_SEGMENT / together);
	return { together, k: length / together, segments: steps / length, frames, every: between / together };
}
