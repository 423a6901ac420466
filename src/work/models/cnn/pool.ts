// Pooling, forwards and backwards, docs/training.md §4. Of equal values the first of a window is the largest,
// so a gradient has one way back on every machine.
import type { PhaseBuilder } from "../../builder/build-program.ts";
import { at, constant, type Expression, type Index, type Value } from "../../builder/expression.ts";
import type { Picture, Window } from "./layers.ts";
import { overCovering, overWindow, type Place } from "./windows.ts";

type Finish = (x: Expression, ...place: Place) => Expression;

const NUMBERS = 2n ** 31n;

/**
 * [batch, height, width, channels] of `to`. Outside lies nothing: the nearest element counts there, which the
 * window holds anyway.
 */
export function maxPool(s: PhaseBuilder, x: Value, window: Window, to: Picture): Value {
	return s.map([x.dims[0]!, to.height, to.width, to.channels], (...axes) => {
		const place = axes as unknown as Place;
		const start = { from: x.lo, lo: x.lo, hi: x.hi };
		return overWindow(x, window, place, "clamp", [start], ([best], one) => [best!.max(one)])[0]!;
	});
}

/**
 * Which element of its window was the largest, by number: the first of equal ones. For windows without pads.
 */
function largestPlace(s: PhaseBuilder, x: Value, window: Window, to: Picture): Value {
	const count = window.size[0] * window.size[1];
	return s.map([x.dims[0]!, to.height, to.width, to.channels], (...axes) => {
		const place = axes as unknown as Place;
		const carried = [
			{ from: x.lo - 1n, lo: x.lo - 1n, hi: x.hi },
			{ from: 0, lo: 0, hi: count - 1 },
		];
		const [, found] = overWindow(x, window, place, "clamp", carried, ([best, which], one, n) => [
			best!.max(one),
			best!.lt(one).select(n, which!),
		]);
		return found!;
	});
}

/** Gradient of what went in: each goes to the element that was the largest. `d`: as the output, i32. */
export function maxPoolBackward(
	s: PhaseBuilder,
	x: Value,
	d: Value,
	window: Window,
	pictures: { readonly from: Picture; readonly to: Picture },
	finish: Finish,
): Value {
	const which = largestPlace(s, x, window, pictures.to);
	const width = window.size[1];
	const most = NUMBERS * BigInt(window.size[0] * width);
	const number = (i: Index, j: Index) => asValue(i).mul(width).add(asValue(j));
	return overCovering(
		s,
		x.dims[0]!,
		pictures.from,
		window,
		{ most, isLong: true },
		(place, i, j) =>
			at(which, ...place)
				.eq(number(i, j))
				.select(at(d, ...place), 0),
		finish,
	);
}

/** A place inside a window as a value: a number or a register. */
const asValue = (place: Index): Expression => place.register ?? constant(place.constant);

/** Sum over the window divided by its size, to the nearest. */
export function averagePool(s: PhaseBuilder, x: Value, window: Window, to: Picture): Value {
	const count = window.size[0] * window.size[1];
	const [lo, hi] = [x.lo * BigInt(count), x.hi * BigInt(count)];
	return s.map([x.dims[0]!, to.height, to.width, to.channels], (...axes) => {
		const place = axes as unknown as Place;
		const start = { from: 0, lo: lo < 0n ? lo : 0n, hi: hi > 0n ? hi : 0n };
		const [sum] = overWindow(x, window, place, "zero", [start], ([soFar], one) => [soFar!.add(one)]);
		return sum!.rdiv(count);
	});
}

export function averagePoolBackward(s: PhaseBuilder, d: Value, window: Window, from: Picture, finish: Finish): Value {
	const count = window.size[0] * window.size[1];
	const most = NUMBERS * BigInt(count);
	return overCovering(
		s,
		d.dims[0]!,
		from,
		window,
		{ most, isLong: false },
		(place) => at(d, ...place),
		(sum, ...place) => finish(sum.rdiv(count), ...place),
	);
}
