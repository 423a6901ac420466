// Finds what a ray hits first: a walk over a threaded tree of boxes (bvh.ts), one node a turn, docs/render.md
// §4. A node is tested twice in its turn: its box says where to go on, its triangle or sphere whether there
// is a nearer hit. Inner nodes hold a triangle without area, a sphere without size, which nothing hits: so
// all nodes are alike and the code has no branches.
import {
	at,
	constant,
	type Expression,
	type Index,
	index,
	type Operandish,
	repeat,
	type Value,
} from "../builder/expression.ts";
import { LIMITS } from "../program/shapes.ts";
import { GRID, ID_BITS, INVERSE, NO_HIT, NODE } from "./numbers.ts";

export interface Ray {
	/** [3, pixels], inside the grid. */
	readonly origin: Value;
	/** [3, pixels], of length 2^16, no component 0. */
	readonly direction: Value;
}

const SLOPE_BITS = 30;
const SLOPE = 2 ** SLOPE_BITS;

type Three<T> = readonly [T, T, T];
const AXES: Three<number> = [0, 1, 2];
const three = <T>(of: (axis: number) => T): Three<T> => AXES.map(of) as unknown as Three<T>;

/** What a walk knows of its ray before the first turn. */
interface RayRegisters {
	readonly origin: Three<Expression>;
	readonly direction: Three<Expression>;
	readonly inverse: Three<Expression>;
	/** Column of a box's nearer and farther side, less the axis: 0 or 3. */
	readonly near: Three<Expression>;
	readonly far: Three<Expression>;
	/** |direction| along the longest axis, and its inverse. */
	readonly longest: Expression;
	readonly depthInverse: Expression;
	/** 0, 1, 2: the longest axis; the two others follow it in order. */
	readonly axes: Three<Expression>;
}

const pick = (axis: Expression, of: Three<Expression>): Expression =>
	axis.eq(0).select(of[0], axis.eq(1).select(of[1], of[2]));

function rayRegisters({ origin, direction }: Ray, pixel: Index): RayRegisters {
	const d = three((axis) => at(direction, axis, pixel));
	const size = three((axis) => d[axis]!.abs().max(1));
	const inverse = three((axis) => {
		const whole = constant(INVERSE).div(size[axis]!);
		return d[axis]!.lt(0).select(whole.neg(), whole);
	});
	const near = three((axis) => d[axis]!.lt(0).select(NODE.to, NODE.from));
	const longest = size[0].max(size[1]).max(size[2]);
	// The first axis that is longest.
	const first = size[0].eq(longest).select(0, size[1].eq(longest).select(1, 2));
	const after = (n: Expression) => n.eq(2).select(0, n.add(1)).min(2);
	const second = after(first);
	return {
		origin: three((axis) => at(origin, axis, pixel)),
		direction: d,
		inverse,
		near,
		far: three((axis) => constant(NODE.to).sub(near[axis]!)),
		longest,
		depthInverse: constant(INVERSE).div(longest),
		axes: [first, second, after(second)],
	};
}

/** 1 when the ray passes the box before `limit`, which is a depth times `depthInverse`. */
function passes(nodes: Value, node: Expression, ray: RayRegisters, limit: Expression): Expression {
	const side = (columns: Three<Expression>) =>
		three((axis) => at(nodes, node, index(columns[axis]!).plus(axis)).sub(ray.origin[axis]!).mul(ray.inverse[axis]!));
	const [nx, ny, nz] = side(ray.near);
	const [fx, fy, fz] = side(ray.far);
	const enter = nx.max(ny).max(nz).max(0);
	const leave = fx.min(fy).min(fz).min(limit);
	return leave.lt(enter).xor(1);
}

/** Depth of the hit at this node; 0: none. */
type Leaf = (nodes: Value, node: Expression, ray: RayRegisters) => Expression;

/**
 * Woop's test, docs/render.md §4: corners are sheared so that the ray lies along its longest axis. A corner
 * is sheared alike in every triangle that has it, so triangles that share an edge leave no gap.
 */
function triangle(ray: RayRegisters): Leaf {
	const { axes, direction, longest } = ray;
	const isBack = pick(axes[0], direction).lt(0);
	const slope = (axis: Expression) => {
		const whole = pick(axis, direction).shl(SLOPE_BITS).rdiv(longest).clamp(-SLOPE, SLOPE);
		return isBack.select(whole.neg(), whole);
	};
	const [alongX, alongY] = [slope(axes[1]), slope(axes[2])];
	const from = three((i) => pick(axes[i]!, ray.origin));
	return (nodes, node) => {
		const corner = (first: number) => {
			const [depth, x, y] = three((i) => at(nodes, node, index(axes[i]!).plus(first)).sub(from[i]!));
			const shear = (along: Expression) => depth.mul(along).rsh(SLOPE_BITS);
			return { depth, x: x.sub(shear(alongX)), y: y.sub(shear(alongY)) };
		};
		const [a, b, c] = [corner(NODE.a), corner(NODE.b), corner(NODE.c)];
		const u = c.x.mul(b.y).sub(c.y.mul(b.x));
		const v = a.x.mul(c.y).sub(a.y.mul(c.x));
		const w = b.x.mul(a.y).sub(b.y.mul(a.x));
		const isMixed = u
			.min(v)
			.min(w)
			.lt(0)
			.and(constant(0).lt(u.max(v).max(w)));
		const area = u.add(v).add(w);
		const sum = u.mul(a.depth).add(v.mul(b.depth)).add(w.mul(c.depth));
		// Depth counts along the ray, whichever way the triangle turns.
		const depth = area.lt(0).xor(isBack).select(sum.neg(), sum).div(area.abs().max(1));
		return isMixed.select(0, depth.clamp(0, 2 * GRID));
	};
}

/**
 * The nearer end of the chord, or the farther one from inside; by the foot of the centre on the ray, which
 * loses nothing far away.
 */
function sphere(ray: RayRegisters): Leaf {
	const [dx, dy, dz] = ray.direction;
	const square = dx
		.mul(dx)
		.add(dy.mul(dy))
		.add(dz.mul(dz))
		.clamp(2 ** 32 - 2 ** 20, 2 ** 33);
	// 2^56/|d|², and 2^40/|d|: 2^24 for a direction of length 2^16.
	const perSquare = constant(2n ** 56n).rdiv(square);
	const perLength = constant(2n ** 48n).rdiv(square.shl(16).isqrt().max(1));
	return (nodes, node) => {
		const to = three((axis) => at(nodes, node, NODE.center + axis).sub(ray.origin[axis]!));
		const along = to[0].mul(dx).add(to[1].mul(dy)).add(to[2].mul(dz));
		// Where the centre's foot is, in 2^-20 of the direction, which is 1/16 of a place.
		const foot = along.rsh(8).mul(perSquare).rsh(28);
		const off = three((axis) => to[axis]!.shl(4).sub(foot.mul(ray.direction[axis]!).rsh(16)));
		const radius = at(nodes, node, NODE.radius).shl(4);
		const rest = radius.mul(radius).sub(off[0].mul(off[0]).add(off[1].mul(off[1])).add(off[2].mul(off[2])));
		const half = rest.max(0).isqrt().mul(perLength).rsh(24);
		const near = foot.sub(half);
		const hit = constant(16).lt(near).select(near, foot.add(half));
		const depth = hit
			.mul(ray.longest)
			.shr(20)
			.clamp(0, 2 * GRID);
		return rest.lt(1).select(0, depth);
	};
}

/** What a walk begins with, for one pixel: the nearest hit so far; and whether there is a ray at all. */
export interface Start {
	readonly hit: (pixel: Index) => Operandish;
	readonly isAlive: (pixel: Index) => Operandish;
}

export const noHit: Operandish = NO_HIT * 2 ** ID_BITS;

/** Turns that a walk may take: all nodes, if they are few enough. */
const turnsOf = (nodes: Value): number => Math.min(nodes.dims[0]! - 1, LIMITS.turns);

/** A walk that did not come to its end. Its path is black from there on, and is counted. */
export const isCut = (nodes: Value): boolean => nodes.dims[0]! - 1 > LIMITS.turns;

/**
 * The element of a map over pixels: depth · 2^20 + id of the nearest hit; a node's id is `firstId` and its
 * number. Of a walk that did not come to its end it is `lostId`, with depth 0, so that nothing is nearer.
 */
export function walk(
	kind: "triangles" | "spheres",
	nodes: Value,
	{ firstId, lostId }: { readonly firstId: number; readonly lostId: number },
	ray: Ray,
	start: Start,
) {
	return (pixel: Index): Expression => {
		const registers = rayRegisters(ray, pixel);
		const leaf = (kind === "triangles" ? triangle : sphere)(registers);
		const end = nodes.dims[0]! - 1;
		const [last, depth, id] = repeat(
			turnsOf(nodes),
			[
				{ from: constant(start.isAlive(pixel)).select(0, end), lo: 0, hi: end },
				{ from: constant(start.hit(pixel)).shr(ID_BITS), lo: 0, hi: NO_HIT },
				{ from: constant(start.hit(pixel)).and(2 ** ID_BITS - 1), lo: 0, hi: 2 ** ID_BITS - 1 },
			],
			(node, best, found) => {
				const isIn = passes(nodes, node!, registers, best!.mul(registers.depthInverse));
				const depth = leaf(nodes, node!, registers);
				const isNearer = constant(0).lt(depth).and(depth.lt(best!));
				return [
					isIn.select(node!.add(1), at(nodes, node!, NODE.miss)),
					isNearer.select(depth, best!),
					isNearer.select(node!.add(firstId), found!),
				];
			},
		);
		const hit = depth!.shl(ID_BITS).add(id!);
		return isCut(nodes) ? last!.eq(end).select(hit, lostId) : hit;
	};
}

/** Longest component of a direction; a depth goes this far along it. */
export const longestOf = (direction: Value, pixel: Index): Expression =>
	at(direction, 0, pixel)
		.abs()
		.max(at(direction, 1, pixel).abs())
		.max(at(direction, 2, pixel).abs())
		.max(1);
