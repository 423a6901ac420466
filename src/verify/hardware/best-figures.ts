// Of proven figures the best of each name, for whoever shows them. Pure.

/**
 * Of figures of one device with one name (a probe may ask for one precision twice, in two shapes) the best: a
 * device is at least that fast.
 */
export function bestFigures<F extends { readonly name: string; readonly value: number }>(figures: readonly F[]): F[] {
	const best = new Map<string, F>();
	for (const figure of figures) if (figure.value > (best.get(figure.name)?.value ?? -1)) best.set(figure.name, figure);
	return [...best.values()];
}
