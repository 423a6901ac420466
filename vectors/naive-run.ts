// The prover of docs/zk.md §13, for reading: segments proven with a transcript of Poseidon, and folded into
// one opening. Poseidon is written round by round, as its paper has it. Nothing imported from src/; nobody
// should use it for more.
import { keccak_256 } from "@noble/hashes/sha3.js";
import { inverse, mod, number, type Point, pointBytes, power, R, Transcript, word } from "./naive-bn254.ts";
import {
	eqs,
	type OpeningCheat,
	type Listener as OpeningListener,
	type Poly,
	sayOpening,
	valueAt,
} from "./naive-opening.ts";
import type { Shape, Start } from "./naive-plan.ts";
import {
	type Hiding,
	type Listener,
	type SegmentCheat,
	SegmentProver,
	type Statement,
	statementHash,
	type Told,
} from "./naive-segment.ts";
import { proveSums, type Sum, words } from "./naive-sums.ts";

const LANES = 6;
const ROUNDS = { full: 8, partial: 60 };

function grain(): () => bigint {
	const bits = [1n, 0n, 254n, BigInt(LANES), BigInt(ROUNDS.full), BigInt(ROUNDS.partial), 2n ** 30n - 1n];
	const sizes = [2, 4, 12, 12, 10, 10, 30];
	let state = bits.map((one, i) => one.toString(2).padStart(sizes[i]!, "0")).join("");
	const next = () => {
		const made = [62, 51, 38, 23, 13, 0].reduce((sum, i) => sum ^ Number(state[i]), 0);
		state = state.slice(1) + made;
		return made;
	};
	for (let i = 0; i < 160; i++) next();
	return () => {
		let text = "0b";
		while (text.length < 256) {
			const counts = next();
			const bit = next();
			if (counts) text += bit;
		}
		return BigInt(text);
	};
}

const draw = grain();
const CONSTANTS = Array.from({ length: ROUNDS.full + ROUNDS.partial }, () =>
	Array.from({ length: LANES }, () => {
		for (;;) {
			const one = draw();
			if (one < R) return one;
		}
	}),
);
const [XS, YS] = [Array.from({ length: LANES }, draw), Array.from({ length: LANES }, draw)];
const MATRIX = XS.map((x) => YS.map((y) => inverse(mod(x + y))));

function fifth(one: bigint): bigint {
	const square = (one * one) % R;
	return (((square * square) % R) * one) % R;
}

function permute(lanes: readonly bigint[]): bigint[] {
	let state = [...lanes];
	for (const [round, constants] of CONSTANTS.entries()) {
		const isFull = round < 4 || round >= 4 + ROUNDS.partial;
		const powered = state
			.map((one, i) => mod(one + constants[i]!))
			.map((one, i) => (isFull || i === 0 ? fifth(one) : one));
		state = MATRIX.map((row) => mod(row.reduce((sum, one, i) => sum + one * powered[i]!, 0n)));
	}
	return state;
}

const halves = (bytes: Uint8Array): bigint[] =>
	Array.from({ length: bytes.length / 16 }, (_, i) => number(bytes.subarray(16 * i, 16 * i + 16)));

/** Points are told in halves of their coordinates. */
const POINTS = [1, 2];

class PoseidonTranscript implements Listener {
	private state = [0x6173736179n, 0n, 0n, 0n, 0n, 0n];
	private drawn = 0;

	absorb(kind: number, bytes: Uint8Array): void {
		const whole = Array.from({ length: bytes.length / 32 }, (_, i) => number(bytes.subarray(32 * i, 32 * i + 32)));
		this.hear(kind, POINTS.includes(kind) ? halves(bytes) : whole);
	}

	hear(kind: number, list: readonly bigint[]): void {
		this.state[0] = mod(this.state[0]! + BigInt(kind) * 2n ** 32n + BigInt(list.length));
		for (let at = 0; at < list.length; at += LANES - 1) {
			for (const [i, one] of list.slice(at, at + LANES - 1).entries())
				this.state[i + 1] = mod(this.state[i + 1]! + one);
			this.state = permute(this.state);
		}
		this.drawn = 0;
	}

	challenge(): bigint {
		if (this.drawn === LANES - 1) {
			this.state = permute(this.state);
			this.drawn = 0;
		}
		return this.state[++this.drawn]!;
	}

	get digest(): bigint {
		return this.state[0]!;
	}
}

export interface RunCheats {
	readonly segments?: readonly SegmentCheat[];
	/**
	 * Of f, and of the mask, at the point where all segments meet. `committed`: of what was committed, where
	 * that is not what was used.
	 */
	readonly values?: (values: readonly bigint[], committed: readonly bigint[]) => readonly bigint[];
	/** What is opened is as it was committed, not as it was used. */
	readonly isOpenedAsCommitted?: boolean;
	/** The mask is chosen at the end, so that what is opened is as it was used. */
	readonly isMaskLate?: boolean;
	/** Another mask was heard before. */
	readonly isMaskHeard?: boolean;
	/** Of the opening. */
	readonly cross?: OpeningCheat;
	/** Factors that the prover takes instead of those that were drawn. */
	readonly drawn?: (name: "lambda" | "nu", value: bigint) => bigint;
}

/** What hides a run: of each segment what naive-segment.ts has, and the mask, of 2^c + 1 coefficients. */
export interface RunHiding {
	readonly segments: readonly Hiding[];
	readonly mask: Poly;
}

/** By a label. Weights that one segment ends and the next begins with have the same commitments. */
export function drawnHiding(label: string, { chunkBits }: Shape, segments: number): RunHiding {
	const draw = (...of: readonly (number | string)[]) => number(keccak_256(Buffer.from([label, ...of].join("/")))) % R;
	const names = ["features", "labels"];
	return {
		segments: Array.from({ length: segments }, (_, j) => ({
			nonce: draw("nonce", j),
			blinder: (group, chunk) => {
				if (group < 2) return draw(names[group]!, chunk);
				return group < 4 ? draw("weights", j + group - 2, chunk) : draw("own", j, group, chunk);
			},
		})),
		mask: Array.from({ length: 2 ** chunkBits + 1 }, (_, i) => draw("mask", i)),
	};
}

/** Messages: to the fold's transcript 38 S, 39 values; to one of keccak, 22 what is opened and W. */
function listenerOf(transcript: PoseidonTranscript): OpeningListener {
	const after = (kind: number, list: readonly bigint[] | null) => {
		if (list !== null) transcript.hear(kind, list);
		return transcript.challenge();
	};
	return {
		s: (bytes) => after(38, bytes && halves(bytes)),
		values: (list) => after(39, list),
		w({ eta, t, a, b }, bytes) {
			const last = new Transcript(keccak_256(Buffer.concat([Buffer.from("assay/zk/run/2"), word(transcript.digest)])));
			last.absorb(22, Buffer.concat([...[eta, t, a, b].map(word), bytes ?? new Uint8Array()]));
			return last.challenge();
		},
	};
}

/** Sums of one segment, by a transcript of its own, and what that comes to. */
function proveSegment(
	shape: Shape,
	start: Start,
	told: Told,
	commit: (poly: Poly) => Point,
	cheat: SegmentCheat | undefined,
	hiding: Hiding,
) {
	const prover = new SegmentProver(shape, start, commit, cheat);
	const transcript = new PoseidonTranscript();
	const heard = (statement: Statement) => {
		transcript.hear(32, [...halves(statementHash(statement)), ...prover.rowMatrix()]);
		return transcript;
	};
	return { ...prover.proveSums(told, heard, hiding), digest: transcript.digest };
}
type ProvenSegment = ReturnType<typeof proveSegment>;

/**
 * Points and scalars of each segment, the mask, scalars of the fold, S and its scalars, the opening. `known`:
 * segments that were proven before, by what their prover did; whoever gives them has the same start,
 * commitments and hiding each time.
 */
export function proveRun(
	shape: Shape,
	starts: readonly Start[],
	told: readonly Told[],
	commit: (poly: Poly) => Point,
	cheat: RunCheats = {},
	hiding: RunHiding = drawnHiding("run", shape, starts.length),
	known: readonly Map<SegmentCheat | undefined, ProvenSegment>[] = [],
): { readonly statements: readonly Statement[]; readonly proof: Uint8Array } {
	const segments = starts.map((start, i) => {
		const own = cheat.segments?.[i];
		const proven = known[i]?.get(own) ?? proveSegment(shape, start, told[i]!, commit, own, hiding.segments[i]!);
		known[i]?.set(own, proven);
		return proven;
	});
	const transcript = new PoseidonTranscript();
	const out: Uint8Array[] = segments.map(({ proof }) => proof);
	const sender = {
		send(kind: number, list: readonly bigint[]) {
			out.push(words(list));
			transcript.hear(kind, list);
		},
		transcript: transcript as unknown as Transcript,
	};
	transcript.hear(
		33,
		segments.map(({ digest }) => digest),
	);
	const mask = pointBytes(commit(hiding.mask));
	out.push(mask);
	if (cheat.isMaskHeard ?? !cheat.isMaskLate) transcript.hear(37, halves(mask));
	const drawn = (name: "lambda" | "nu") => {
		const one = transcript.challenge();
		return cheat.drawn?.(name, one) ?? one;
	};
	const lambda = drawn("lambda");
	const lambdas = segments.map((_, i) => power(lambda, BigInt(i)));
	const openings = segments.map(({ opening }) => opening);
	const sums = openings.map(
		({ poly, point }, i): Sum => ({
			...{ variables: shape.chunkBits, columns: [eqs(point), poly.slice(0, -1)], degree: 2 },
			term: ([e, f]) => mod(lambdas[i]! * mod(e! * f!)),
		}),
	);
	const { point } = proveSums(sender, { kind: 34, degree: 2, variables: shape.chunkBits, sums });
	const used = [...openings.map(({ poly }) => poly), hiding.mask];
	const committed = [...openings.map((one) => one.committed), hiding.mask];
	const valuesOf = (polys: readonly Poly[]) => polys.map((poly) => valueAt(poly, point));
	const values = cheat.values?.(valuesOf(used), valuesOf(committed)) ?? valuesOf(used);
	sender.send(35, values);
	const nu = drawn("nu");
	const nus = used.map((_, i) => power(nu, BigInt(i)));
	const summed = (polys: readonly Poly[]) =>
		hiding.mask.map((_, x) => mod(polys.reduce((sum, one, i) => sum + nus[i]! * one[x]!, 0n)));
	const poly = summed(cheat.isOpenedAsCommitted ? committed : used);
	if (cheat.isMaskLate) {
		const [theirs, share] = [summed(committed), inverse(nus.at(-1)!)];
		const fitted = hiding.mask.map((one, x) => mod(one + (poly[x]! - theirs[x]!) * share));
		out[segments.length] = pointBytes(commit(fitted));
	}
	const value = mod(values.reduce((sum, one, i) => sum + nus[i]! * one, 0n));
	const said = sayOpening(listenerOf(transcript), commit, { poly, point, value }, cheat.cross);
	out.push(said.s, words([...said.values, ...said.quotients]), said.w, said.last);
	return { statements: segments.map(({ statement }) => statement), proof: Buffer.concat(out) };
}
