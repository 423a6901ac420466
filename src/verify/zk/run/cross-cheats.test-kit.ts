// Provers that lie about what a run's commitments open to, each in one place of the opening (docs/zk.md §13),
// and honest in all else: what passes where a verifier forgets that place.
import { inverse, mod } from "../../../../vectors/naive-bn254.ts";
import { at, byQuadratic, type OpeningCheat, type OpeningKnown, plus } from "../../../../vectors/naive-opening.ts";
import type { RunCheats } from "../../../../vectors/naive-run.ts";

/**
 * In the second segment a column is used as it must be, and zeros are committed; its own sums do not show
 * that.
 */
export const UNCOMMITTED: NonNullable<RunCheats["segments"]> = [
	{},
	{
		isOpenedAsUsed: true,
		committed: (all) =>
			all.set(
				"h 0",
				all.get("h 0")!.map(() => 0n),
			),
	},
];

/** The value is what was used; what is opened is what was committed. */
export const lying = (cross: OpeningCheat): RunCheats => ({ segments: UNCOMMITTED, isOpenedAsCommitted: true, cross });

const over = (a: bigint, b: bigint): bigint => mod(a * inverse(mod(b)));
const shares = ({ r }: OpeningKnown) => ({ back: inverse(r), square: mod(r * r), squareBack: mod(inverse(r) ** 2n) });

/** S knows r, and makes up for what is missing there. */
const late: OpeningCheat = {
	late: (known) => plus(known.s, [over(-2n * known.lie, known.r + shares(known).back)]),
};

export const CROSS_CHEATS = {
	late,
	/** Another S was heard. */
	replaced: { ...late, isOtherHeard: true },
	/** f(1/r) and S(1/r) are wrong, and η is known in time: f(1/r) + η·S(1/r) is right. */
	unheard: {
		areValuesUnheard: true,
		values: ([there, back, sBack], known, eta) => {
			const more = over(-2n * known.lie, eta * known.e(known.r) + shares(known).back);
			return [there!, mod(back! - eta * more), mod(sBack! + more)];
		},
	},
	/** 0 for 1/r: S(r) is multiplied by it, so that any value will do; f is opened where X² - r·X + 1 is 0. */
	inverse: {
		back: 0n,
		s: () => [],
		values: (_, { f, r }) => {
			const { a, b } = byQuadratic(f, r);
			return [mod(a + b * r), a, 0n];
		},
	},
	/** f(1/r) is wrong, and b is that of the right one. */
	slope: {
		values: ([there, back, sBack], { r, e, lie }) => [there!, mod(back! + over(2n * lie, e(r))), sBack!],
		b: ({ f, s, r }, eta) => {
			const sum = plus(
				f,
				s.map((one) => mod(one * eta)),
			);
			return byQuadratic(sum, mod(r + inverse(r))).b;
		},
	},
	/** W fits any line where z is known before it. */
	lateW: { isWLate: true },
	/** S(r) and S(1/r) are wrong by a factor: S counts as often more. */
	eta: {
		values: ([there, back, sBack], known) => [there!, back!, mod(sBack! * factorOf(known))],
		shown: (own, known) => ({ ...own, eta: mod(own.eta * factorOf(known)) }),
	},
	/** S(r) and S(1/r) are wrong by as much: only a is. */
	a: {
		values: ([there, back, sBack], known) => [there!, back!, mod(sBack! + evenly(known))],
		shown: (own, known) => ({ ...own, a: mod(own.a - own.eta * evenly(known)) }),
	},
	/** And so that only b is. */
	b: {
		values: ([there, back, sBack], known) => [there!, back!, mod(sBack! + steeply(known) * shares(known).back)],
		shown: (own, known) => ({ ...own, b: mod(own.b - own.eta * steeply(known)) }),
	},
} as const satisfies Readonly<Record<string, OpeningCheat>>;

/** How often X·S(X) + S(1/X)/X must be there at r. */
function factorOf(known: OpeningKnown): bigint {
	const { s, r, lie } = known;
	const { back } = shares(known);
	const sum = mod(r * at(s, r) + back * at(s, back));
	return over(sum - 2n * lie, sum);
}

const evenly = (known: OpeningKnown): bigint => over(-2n * known.lie, known.r + shares(known).back);

function steeply(known: OpeningKnown): bigint {
	const { square, squareBack } = shares(known);
	return over(-2n * known.lie, square + squareBack);
}

/**
 * Nothing is committed but S, 1 + X², whose rest by X² - t·X + 1 is t·X: there is a t for which it is what it
 * must be.
 */
export const ELSEWHERE: OpeningCheat = {
	s: () => [1n, 0n, 1n],
	values: (_, known) => [0n, 0n, mod(elsewhere(known) * shares(known).back)],
	shown: (own, known) => ({ ...own, t: elsewhere(known) }),
};

/** -2·value = r·t·r + t/r/r. */
const elsewhere = (known: OpeningKnown): bigint => steeply(known);
