// What claimants were asked through this process, for whoever looks on: kinds and places, no answers. In
// memory: of the newest claims, as many questions as a dispute has and then some. What binds anybody is
// elsewhere (store/jobs/job-answers.ts, the chain).
import { BoundedMap } from "../../../platform/bounded-map.ts";

interface AskedLine {
	readonly atMs: number;
	/** Canonical JSON. */
	readonly question: string;
	/** Of the answer; null: none came. */
	readonly bytes: number | null;
}

export interface AskedBook {
	keep(claim: string, line: AskedLine): void;
	/** Oldest first. */
	of(claim: string): readonly AskedLine[];
}

const MOST_CLAIMS = 256;
const MOST_LINES = 128;

export function createAskedBook(): AskedBook {
	const claims = new BoundedMap<string, readonly AskedLine[]>(MOST_CLAIMS);
	return {
		keep(claim, line) {
			// Who asks the same again and again pushes out nothing.
			const before = (claims.get(claim) ?? []).filter(({ question }) => question !== line.question);
			claims.set(claim, [...before, line].slice(-MOST_LINES));
		},
		of: (claim) => claims.get(claim) ?? [],
	};
}
