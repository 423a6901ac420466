// A tree of boxes over triangles or spheres, threaded: nodes in the order of a walk, each with the place
// where a walk goes on that misses its box. Made by the customer, in whole numbers: the same scene gives the
// same tree everywhere. Not here: the walk (walk.ts).

/** A box on the grid: from x, y, z, to x, y, z. */
export type Box = readonly [number, number, number, number, number, number];

/** A node: its box, where a miss goes on, and what it holds; −1: nothing, it is an inner one. */
export interface TreeNode {
	readonly box: Box;
	readonly miss: number;
	readonly holds: number;
}

const BINS = 16;
/** Below this depth boxes are halved by count, so that no scene makes a tree of endless depth. */
const MOST_DEPTH = 48;

type Bounds = [number, number, number, number, number, number];
const empty = (): Bounds => [Infinity, Infinity, Infinity, -Infinity, -Infinity, -Infinity];

function grow(bounds: Bounds, box: Box): void {
	for (let axis = 0; axis < 3; axis++) {
		if (box[axis]! < bounds[axis]!) bounds[axis] = box[axis]!;
		if (box[axis + 3]! > bounds[axis + 3]!) bounds[axis + 3] = box[axis + 3]!;
	}
}

function halfArea([x0, y0, z0, x1, y1, z1]: Box): number {
	if (x1 < x0) return 0;
	const [x, y, z] = [x1 - x0, y1 - y0, z1 - z0];
	return x * y + y * z + z * x;
}

/** Twice the middle of a box along an axis. */
const middle = (box: Box, axis: number): number => box[axis]! + box[axis + 3]!;

/**
 * Bins along the longest side of the middles; the cheapest border by area and count. Null where no border
 * helps.
 */
function cheapest(
	boxes: readonly Box[],
	items: readonly number[],
): { axis: number; isLeft: (item: number) => boolean } | null {
	const middles = empty();
	for (const item of items)
		for (let axis = 0; axis < 3; axis++) {
			const at = middle(boxes[item]!, axis);
			if (at < middles[axis]!) middles[axis] = at;
			if (at > middles[axis + 3]!) middles[axis + 3] = at;
		}
	const sides = [0, 1, 2].map((axis) => middles[axis + 3]! - middles[axis]!);
	const axis = sides.indexOf(Math.max(...sides));
	const [from, side] = [middles[axis]!, sides[axis]!];
	if (side === 0) return null;
	const binOf = (item: number) => Math.min(BINS - 1, Math.floor(((middle(boxes[item]!, axis) - from) * BINS) / side));
	const bins = Array.from({ length: BINS }, () => ({ bounds: empty(), count: 0 }));
	for (const item of items) {
		const bin = bins[binOf(item)]!;
		grow(bin.bounds, boxes[item]!);
		bin.count += 1;
	}
	const costsTo = (order: readonly (typeof bins)[number][]) => {
		const bounds = empty();
		let count = 0;
		return order.map((bin) => {
			grow(bounds, bin.bounds);
			count += bin.count;
			return halfArea(bounds) * count;
		});
	};
	const left = costsTo(bins);
	const right = costsTo([...bins].reverse()).reverse();
	let [best, border] = [Infinity, 0];
	for (let i = 1; i < BINS; i++) {
		const cost = left[i - 1]! + right[i]!;
		if (cost < best) [best, border] = [cost, i];
	}
	return { axis, isLeft: (item) => binOf(item) < border };
}

function split(boxes: readonly Box[], items: readonly number[], depth: number): readonly [number[], number[]] {
	const found = depth < MOST_DEPTH ? cheapest(boxes, items) : null;
	if (found !== null) {
		const left = items.filter(found.isLeft);
		if (left.length > 0 && left.length < items.length) return [left, items.filter((item) => !found.isLeft(item))];
	}
	return [items.slice(0, items.length >> 1), items.slice(items.length >> 1)];
}

/** Two nodes for each box, less one; at least one box. */
export function buildTree(boxes: readonly Box[]): TreeNode[] {
	const nodes: { box: Bounds; miss: number; holds: number }[] = [];
	const open: { items: readonly number[]; depth: number; parents: readonly number[] }[] = [
		{ items: boxes.map((_, i) => i), depth: 0, parents: [] },
	];
	// Left children come first: a stack gives the order of the walk. `parents`: nodes that end where this one
	// does.
	while (open.length > 0) {
		const { items, depth, parents } = open.pop()!;
		const box = empty();
		for (const item of items) grow(box, boxes[item]!);
		const own = nodes.push({ box, miss: 0, holds: items.length === 1 ? items[0]! : -1 }) - 1;
		if (items.length === 1) {
			nodes[own]!.miss = own + 1;
			for (const parent of parents) nodes[parent]!.miss = own + 1;
			continue;
		}
		const [left, right] = split(boxes, items, depth);
		open.push({ items: right, depth: depth + 1, parents: [...parents, own] });
		open.push({ items: left, depth: depth + 1, parents: [] });
	}
	return nodes;
}
