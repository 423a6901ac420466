// A job on paper, for the Monte-Carlo of cheaters: a state is one number that follows from the one before,
// the segment, and what the job was given. So a thousand jobs of hundreds of segments take a second, and what
// is claimed, run again and refereed is still computed, not assumed.

/** What a provider or an auditor is asked to run. */
export interface PaperTask {
	/** Program, seed and inputs. */
	readonly given: number;
	readonly start: number;
	readonly first: number;
	readonly count: number;
}

/** One segment. */
export function advance(given: number, before: number, segment: number): number {
	let x = (before ^ given ^ Math.imul(segment + 1, 0x9e3779b1)) >>> 0;
	x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
	x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
	return (x ^ (x >>> 16)) >>> 0;
}

/** What a segment's state becomes, from all states so far. */
type Advance = (states: readonly number[], segment: number) => number;

/** S of the start and after each segment. */
export function statesOf({ start, first, count }: PaperTask, next: Advance): number[] {
	const states = [start];
	for (let segment = first; segment < first + count; segment++) states.push(next(states, segment));
	return states;
}

/** As the program says. */
export const honestly =
	({ given }: PaperTask): Advance =>
	(states, segment) =>
		advance(given, states.at(-1)!, segment);

/** Two lists that begin alike and differ: who lied at the first difference. */
export function refereeOnPaper(task: PaperTask, claimed: readonly number[], audited: readonly number[]) {
	const at = claimed.findIndex((state, i) => state !== audited[i]);
	if (at < 1) throw new RangeError("the lists do not differ, or from their start on");
	const right = advance(task.given, claimed[at - 1]!, task.first + at - 1);
	if (claimed[at] !== right) return audited[at] === right ? "provider" : "both";
	return "auditor";
}

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
export function chanceFrom(seed: number): () => number {
	let at = seed >>> 0;
	return () => {
		at = (at + 0x6d2b79f5) >>> 0;
		let x = Math.imul(at ^ (at >>> 15), at | 1);
		x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
		return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
	};
}
