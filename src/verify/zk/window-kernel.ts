// How often each number of a picture, or each place of its window, counts in a claim about patches,
// docs/zk.md §14. Patches are committed nowhere: a patch is a picture seen by an index map, which the
// verifier evaluates by itself.
import { type PlanWindow, patchColumns, pixelOf, windowPlaces } from "../../work/plan/window.ts";
import type { Field } from "./field.ts";
import { cornerOf, eqAt, eqsAt } from "./scalars.ts";

const bitsFor = (n: number): number => Math.ceil(Math.log2(n));
const sumOf = <F>(field: Field<F>, lists: readonly (readonly F[])[]): F[] => lists.map((one) => field.sum(one));

/**
 * Σ eq(spot, place)·eq(column, k) over all (place, k) at which the patch has this number of the picture, for
 * each number.
 */
export function pixelWeights<F>(
	field: Field<F>,
	window: PlanWindow,
	spot: readonly F[],
	column: readonly F[],
): readonly F[] {
	const [places, columns] = [eqsAt(field, spot), eqsAt(field, column)];
	const { channels, height, width } = window;
	const lists = Array.from({ length: 2 ** bitsFor(channels * height * width) }, (): F[] => []);
	for (let place = 0; place < windowPlaces(window).places; place++)
		for (let k = 0; k < patchColumns(window); k++) {
			const pixel = pixelOf(window, place, k);
			if (pixel !== null) lists[pixel]!.push(field.times(places[place]!, columns[k]!));
		}
	return sumOf(field, lists);
}

/**
 * Σ eq(column, k)·eq(picture, the number that stands there) over the columns of a place's patch, for each
 * place.
 */
export function placeWeights<F>(
	field: Field<F>,
	window: PlanWindow,
	picture: readonly F[],
	column: readonly F[],
): readonly F[] {
	const [pixels, columns] = [eqsAt(field, picture), eqsAt(field, column)];
	const { places } = windowPlaces(window);
	const lists = Array.from({ length: 2 ** bitsFor(places) }, (): F[] => []);
	for (let place = 0; place < places; place++)
		for (let k = 0; k < patchColumns(window); k++) {
			const pixel = pixelOf(window, place, k);
			if (pixel !== null) lists[place]!.push(field.times(pixels[pixel]!, columns[k]!));
		}
	return sumOf(field, lists);
}

/**
 * How much of the bias is at this point of (place, column): it stands in the last column of each place that
 * there is.
 */
export function biasWeight<F>(field: Field<F>, window: PlanWindow, spot: readonly F[], column: readonly F[]): F {
	const places = field.sum(eqsAt(field, spot).slice(0, windowPlaces(window).places));
	const last = cornerOf(field, patchColumns(window) - 1, column.length);
	return field.times(places, eqAt(field, column, last));
}
