// Options priced by random paths, docs/workloads.md: lognormal prices (Black and Scholes), European or Asian
// (arithmetic mean of the dates), call or put. One step draws `paths` paths; the sums of payoffs and of their
// squares are the state, so price and standard error grow sharper with every step. Prices are kept as
// S/S₀·e^−A at 2^30, A being eight deviations: no path gets there.
import { buildProgram, type ProgramBuilder } from "../builder/build-program.ts";
import { at, type Expression, index, repeat, segment, step, turn, type Value, view } from "../builder/expression.ts";
import { expCoarse, expFine, expNegative, normalQuantiles } from "../models/tables.ts";
import type { Elements } from "../operators/tensor-type.ts";
import { tensorRoot } from "../trace/tensor-tree.ts";
import { fixed } from "./grid.ts";
import type { Pace } from "./pace.ts";
import type { Simulation } from "./simulation.ts";

export interface Option {
	readonly style: "european" | "asian";
	readonly side: "call" | "put";
	readonly spot: number;
	readonly strike: number;
	/** A year, continuous. */
	readonly rate: number;
	/** A year. */
	readonly volatility: number;
	readonly years: number;
	/**
	 * At which an Asian option looks at the price, evenly spaced, the last at the end. 1 for a European one.
	 */
	readonly dates: number;
	/** A step: rows of 1,024. */
	readonly paths: number;
}

/** Exponents are at 2^28, prices at 2^30. */
const LOG = 28;
const PRICE = 30;
const DEVIATIONS = 8;
const DOMAIN = 0x7072_6963;
/** The exp table's end: e^−15.9 is nothing. */
const FARTHEST = Math.floor(15.9 * 2 ** LOG);

interface Tables {
	readonly normal: Value;
	readonly coarse: Value;
	readonly fine: Value;
}

/**
 * The normal deviate of a word, 2^24: its top bit is the sign, U = 2·(the others) + 1 the share beyond, of
 * 2^33.
 */
export function deviate(word: Expression, { normal }: Pick<Tables, "normal">): Expression {
	const beyond = word
		.and(2 ** 31 - 1)
		.shl(1)
		.add(1);
	const octave = beyond.bitlen().sub(1).clamp(0, 31);
	const place = beyond.rshv(octave.sub(31)).clamp(2 ** 31, 2 ** 32 - 1);
	const entry = octave.shl(6).add(place.shr(25)).sub(64);
	const [here, next] = [at(normal, entry), at(normal, index(entry).plus(1))];
	const size = here.add(
		next
			.sub(here)
			.mul(place.and(2 ** 25 - 1))
			.rsh(25),
	);
	return word.shr(31).select(size.neg(), size);
}

/** e^−x at 2^30, x at 2^28: two tables, and two terms of the series for the rest. */
function decay(x: Expression, { coarse, fine }: Tables): Expression {
	const whole = at(coarse, x.shr(LOG - 4))
		.mul(at(fine, x.shr(LOG - 12).and(255)))
		.rsh(30);
	const rest = x.and(2 ** (LOG - 12) - 1);
	return whole.sub(whole.mul(rest).rsh(LOG)).add(whole.mul(rest.mul(rest)).rsh(2 * LOG + 1));
}

function tablesOf(b: ProgramBuilder, given: Record<string, Elements>): Tables {
	const table = (name: string, elements: Elements, hi: number): Value => {
		given[name] = elements;
		return b.constant(name, "i32", [elements.length], 0, hi, tensorRoot(elements));
	};
	return {
		normal: table("normal", normalQuantiles(), 7 * 2 ** 24),
		coarse: table("exp_coarse", expCoarse(), 2 ** 30),
		fine: table("exp_fine", expFine(), 2 ** 30),
	};
}

/** A at 2^28. */
function ceiling({ rate, volatility, years }: Option): number {
	const drift = (rate - (volatility * volatility) / 2) * years;
	return fixed(Math.max(0, drift) + DEVIATIONS * volatility * Math.sqrt(years), LOG);
}

/** What one path pays at its end, S₀·e^A·2^−30 each. */
function payoff(option: Option, tables: Tables, path: Expression): Expression {
	const { rate, volatility, years, dates, spot, strike, side, style } = option;
	const between = years / dates;
	const drift = fixed((rate - (volatility * volatility) / 2) * between, LOG);
	const swing = fixed(volatility * Math.sqrt(between), LOG);
	const [, sum] = repeat(
		dates,
		[
			{ from: ceiling(option), lo: 0, hi: FARTHEST },
			{ from: 0, lo: 0, hi: BigInt(dates) << BigInt(PRICE) },
		],
		(x, total) => {
			const z = deviate(path.mul(dates).add(turn).rand(DOMAIN), tables);
			const now = x!.sub(drift).sub(z.mul(swing).rsh(24)).clamp(0, FARTHEST);
			const price = decay(now, tables).clamp(0, 2 ** PRICE);
			return [now, style === "asian" ? total!.add(price) : price];
		},
	);
	const price = style === "asian" ? sum!.rdiv(dates) : sum!;
	const limit = Math.round((Number(expNegative(ceiling(option))) * strike) / spot / 2 ** (60 - PRICE));
	return (side === "call" ? price.sub(limit) : price.neg().add(limit)).max(0);
}

/** Of a price in doubles. */
interface Estimate {
	readonly price: number;
	readonly standardError: number;
}

function estimate(option: Option, sum: number, squares: number, paths: number): Estimate {
	const unit = (option.spot * Math.exp(ceiling(option) / 2 ** LOG - option.rate * option.years)) / 2 ** PRICE;
	const mean = sum / paths;
	const variance = Math.max(0, (squares / paths) * 2 ** PRICE - mean * mean);
	return { price: mean * unit, standardError: Math.sqrt(variance / paths) * unit };
}

export function pricingSimulation(option: Option, { k, segments }: Pace): Simulation {
	const b = buildProgram({ k });
	const given: Record<string, Elements> = {};
	const tables = tablesOf(b, given);
	const dims = [option.paths / 1024, 1024] as const;
	const paid = b.step.map(dims, (row, i) => payoff(option, tables, row!.value().shl(10).add(i!.value())));
	const squares = b.step.map(dims, (row, i) =>
		at(paid, row!, i!)
			.rsh(4)
			.mul(at(paid, row!, i!).rsh(4))
			.rsh(22),
	);
	const total = (x: Value): Value => b.step.reduce("sum", b.step.reduce("sum", view(x, ...dims)));
	const both = [total(paid), total(squares)] as const;
	const sums = b.tensor("state", "sums", "i64", [2], 0, 2n ** 62n);
	const now = b.step.map(
		[2],
		(i) =>
			at(sums, i!)
				.add(i!.value().eq(0).select(at(both[0], 0), at(both[1], 0)))
				.clamp(0, 2n ** 62n),
		{ to: sums },
	);
	for (const name of ["price", "error"]) {
		const metric = b.tensor("metric", name, "i64", [3], 0, 2n ** 62n);
		const steps = segment.sub(1).mul(k).add(step).add(1).max(0);
		b.step.map(
			[3],
			(i) =>
				i!
					.value()
					.eq(2)
					.select(steps, at(now, index(i!).clamp())),
			{ to: metric },
		);
	}
	const read = ([sum, square, steps]: Elements): Estimate =>
		estimate(option, Number(sum), Number(square), Number(steps) * option.paths);
	const paths = segments * k * option.paths;
	return {
		program: b.program(),
		given,
		metrics: [
			{ name: "price", label: "price", unit: "", read: (elements) => read(elements).price },
			{ name: "error", label: "standard error", unit: "", read: (elements) => read(elements).standardError },
		],
		fields: [],
		summary: {
			tensor: "sums",
			read: ([sum, square]) => ({
				...estimate(option, Number(sum), Number(square), paths),
				paths,
				...(option.style === "european" && { blackScholes: blackScholes(option) }),
			}),
		},
		picture: null,
	};
}

/** Φ, by its series; for eyes, in doubles. */
function below(x: number): number {
	let [sum, term] = [x, x];
	for (let i = 3; Math.abs(term) > 1e-17 * Math.abs(sum); i += 2) {
		term *= (x * x) / i;
		sum += term;
	}
	return 0.5 + (sum * Math.exp((-x * x) / 2)) / Math.sqrt(2 * Math.PI);
}

/** What a European option is worth by the formula. */
export function blackScholes({ side, spot, strike, rate, volatility, years }: Omit<Option, "style">): number {
	const deviation = volatility * Math.sqrt(years);
	const d1 = (Math.log(spot / strike) + rate * years) / deviation + deviation / 2;
	const sign = side === "call" ? 1 : -1;
	const later = strike * Math.exp(-rate * years);
	return sign * (spot * below(sign * d1) - later * below(sign * (d1 - deviation)));
}
