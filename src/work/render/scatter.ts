// Where a path goes on after a hit and what it brings home, docs/render.md §5. Every material bends a ray by
// one formula,
//     new direction = α·direction + β·normal + γ·(random unit vector),
// so a map a pixel chooses α, β, γ and the side on which the ray leaves, and maps a component do the rest.
import type { PhaseBuilder } from "../builder/build-program.ts";
import { at, constant, type Expression, type Index, index, type Value } from "../builder/expression.ts";
import { GRID, ID_BITS, KIND, MATERIAL, MOST_LIGHT, NO_HIT, NODE, OFFSET, ONE, ONE_BITS } from "./numbers.ts";
import { longestOf, type Ray } from "./walk.ts";

/** What all rays share: tables of the scene. */
export interface SceneTensors {
	/** [ids]: number of the material of each node. */
	readonly materialOf: Value;
	/** [materials, columns]. */
	readonly materials: Value;
	/** [materials, 3]: what each emits. */
	readonly lights: Value;
	/** [triangle nodes, 3]: normals; null without triangles. */
	readonly normals: Value | null;
	/** Nodes of spheres; null without. */
	readonly spheres: Value | null;
	/** [2, 3]: light from below and from above. */
	readonly sky: Value;
	/** cos(2π·i/1024)·2^16. */
	readonly circle: Value;
}

const CIRCLE = 1024;
/** A random vector is this much shorter than a normal, so that their sum is never nothing. */
const SHORTER = 64;
/** β is shifted by this to be packed. */
const BETA = 2 ** 19;
/** Bits of α, β, γ and the side, from the top: 19, 20, 17, 1. */
const PACK = { alpha: 38, beta: 18, gamma: 1 } as const;

const idOf = (hit: Value, pixel: Index): Expression => at(hit, pixel).and(2 ** ID_BITS - 1);
const isMiss = (hit: Value, pixel: Index): Expression => at(hit, pixel).shr(ID_BITS).eq(NO_HIT);
const component = (axis: Index, x: Expression, y: Expression, z: Expression): Expression => {
	const n = axis.value();
	return n.eq(0).select(x, n.eq(1).select(y, z));
};
const dot = (a: Value, b: Value, pixel: Index): Expression =>
	[0, 1, 2].map((axis) => at(a, axis, pixel).mul(at(b, axis, pixel))).reduce((sum, one) => sum.add(one));

/** Number of the material that was hit. */
const rowOf = (materialOf: Value, hit: Value, pixel: Index): Expression =>
	at(materialOf, index(idOf(hit, pixel)).clamp());

function material({ materialOf, materials }: SceneTensors, hit: Value, pixel: Index, column: number, axis?: Index) {
	return at(materials, rowOf(materialOf, hit, pixel), axis === undefined ? column : axis.plus(column));
}

export function pointOf(s: PhaseBuilder, { origin, direction }: Ray, hit: Value): Value {
	return s.map(
		origin.dims,
		(axis, pixel) =>
			at(origin, axis, pixel)
				.add(
					at(hit, pixel)
						.shr(ID_BITS)
						.mul(at(direction, axis, pixel))
						.rdiv(longestOf(direction, pixel)),
				)
				.clamp(-GRID, GRID),
		{ type: "i32" },
	);
}

/** Of length 2^16, outwards. */
export function normalOf(s: PhaseBuilder, scene: SceneTensors, point: Value, hit: Value): Value {
	const { normals, spheres } = scene;
	const first = normals === null ? 0 : normals.dims[0]!;
	return s.map(
		point.dims,
		(axis, pixel) => {
			const id = idOf(hit, pixel);
			const flat = normals === null ? null : at(normals, index(id).clamp(), axis);
			if (spheres === null) return flat!;
			const node = index(id).plus(-first).clamp();
			const radius = at(spheres, node, NODE.radius).max(1);
			const round = at(point, axis, pixel)
				.sub(at(spheres, node, axis.plus(NODE.center)))
				.shl(ONE_BITS)
				.rdiv(radius)
				.clamp(-ONE, ONE);
			return flat === null ? round : id.lt(first).select(flat, round);
		},
		{ type: "i32" },
	);
}

/**
 * What glass does: by Schlick's share a mirror, else α and β of Snell's law. `cosine` is that of the incoming
 * ray, from 0 up.
 */
function glass(cosine: Expression, isBack: Expression, column: (n: number) => Expression, chance: Expression) {
	const ratio = isBack.select(column(MATERIAL.index), column(MATERIAL.inverse));
	const across = constant(ONE).sub(cosine.mul(cosine).shr(ONE_BITS));
	const left = constant(ONE).sub(ratio.mul(ratio).rsh(ONE_BITS).mul(across).rsh(ONE_BITS));
	const bent = left.max(0).shl(ONE_BITS).isqrt();
	// Schlick's angle is the one in the thinner medium.
	const miss = constant(ONE).sub(isBack.select(bent, cosine).min(ONE));
	const square = miss.mul(miss).rsh(ONE_BITS);
	const fifth = square.mul(square).rsh(ONE_BITS).mul(miss).rsh(ONE_BITS);
	const least = column(MATERIAL.schlick);
	const share = least.add(constant(ONE).sub(least).mul(fifth).rsh(ONE_BITS));
	return {
		isMirror: left.lt(0).or(chance.lt(share)),
		alpha: ratio,
		beta: ratio.mul(cosine).rsh(ONE_BITS).sub(bent),
	};
}

/** α, β, γ and the side, packed, for each pixel. A ray that ended gets some as well; nobody follows it. */
export function bendOf(
	s: PhaseBuilder,
	scene: SceneTensors,
	{ direction }: Ray,
	normal: Value,
	hit: Value,
	domain: number,
) {
	return s.map([hit.dims[0]!], (pixel) => {
		const along = dot(direction, normal, pixel).rsh(ONE_BITS).clamp(-ONE, ONE);
		const isBack = constant(0).lt(along);
		const column = (n: number) => material(scene, hit, pixel, n);
		const chance = pixel.value().rand(domain).shr(16);
		const through = glass(along.abs(), isBack, column, chance);
		const kind = column(MATERIAL.kind);
		const isDiffuse = kind.eq(KIND.diffuse);
		const passes = kind.eq(KIND.glass).and(through.isMirror.xor(1));
		const facing = (value: Expression) => isBack.select(value.neg(), value);
		const alpha = passes.select(through.alpha, isDiffuse.select(0, ONE));
		const beta = passes.select(facing(through.beta), isDiffuse.select(facing(constant(ONE)), along.mul(-2)));
		const gamma = isDiffuse.select(ONE - SHORTER, kind.eq(KIND.metal).select(column(MATERIAL.rough), 0));
		return alpha.shl(PACK.alpha).add(beta.add(BETA).shl(PACK.beta)).add(gamma.shl(PACK.gamma)).add(isBack.xor(passes));
	});
}

const unpacked = (bend: Value, pixel: Index, from: number, bits: number): Expression =>
	(from === 0 ? at(bend, pixel) : at(bend, pixel).shr(from)).and(2 ** bits - 1);
/** 1: the ray leaves on the side that the normal does not show to. */
const sideOf = (bend: Value, pixel: Index): Expression => unpacked(bend, pixel, 0, 1);

/** A random unit vector's component, 2^16: a height from 16 bits of a word, an angle from 10. */
function randomComponent(circle: Value, axis: Index, pixel: Index, domain: number): Expression {
	const word = pixel.value().rand(domain);
	const height = word.and(0xffff).mul(2).sub(0xffff);
	const ring = constant(2 ** 32)
		.sub(height.mul(height))
		.max(0)
		.isqrt();
	const angle = word.shr(22);
	const turned = (by: number) => at(circle, index(angle).plus(by).wrap()).mul(ring).rsh(ONE_BITS);
	return component(axis, turned(0), turned(-CIRCLE / 4), height);
}

/**
 * The direction after the hit, of length 2^16. What would go into the wrong side of the surface is mirrored
 * back.
 */
export function directionAfter(
	s: PhaseBuilder,
	scene: SceneTensors,
	ray: Ray,
	normal: Value,
	bend: Value,
	domain: number,
): Value {
	const { direction } = ray;
	const mixed = s.map(
		direction.dims,
		(axis, pixel) =>
			at(direction, axis, pixel)
				.mul(unpacked(bend, pixel, PACK.alpha, 19))
				.add(at(normal, axis, pixel).mul(unpacked(bend, pixel, PACK.beta, 20).sub(BETA)))
				.add(randomComponent(scene.circle, axis, pixel, domain).mul(unpacked(bend, pixel, PACK.gamma, 17)))
				.rsh(8)
				.clamp(-(2 ** 28), 2 ** 28),
		{ type: "i32" },
	);
	return s.map(
		direction.dims,
		(axis, pixel) => {
			const up = dot(mixed, normal, pixel).rsh(ONE_BITS);
			const isWrong = up.lt(0).xor(sideOf(bend, pixel)).and(up.eq(0).xor(1));
			const own = at(mixed, axis, pixel);
			const turned = own.sub(up.mul(at(normal, axis, pixel)).rsh(ONE_BITS - 1));
			return unit(isWrong.select(turned, own), mixed, pixel);
		},
		{ type: "i32", lo: -ONE, hi: ONE },
	);
}

/** A component of length 2^16, of a vector whose components stay below 2^30; never 0. */
function unit(own: Expression, vector: Value, pixel: Index): Expression {
	const length = dot(vector, vector, pixel).isqrt().max(1);
	const whole = own.shl(ONE_BITS).rdiv(length).clamp(-ONE, ONE);
	return whole.eq(0).select(1, whole);
}

export function normalised(s: PhaseBuilder, vector: Value): Value {
	return s.map(vector.dims, (axis, pixel) => unit(at(vector, axis, pixel), vector, pixel), {
		type: "i32",
		lo: -ONE,
		hi: ONE,
	});
}

/** The next ray begins a little off the surface, on the side where it goes on. */
export function originAfter(s: PhaseBuilder, point: Value, normal: Value, bend: Value): Value {
	return s.map(
		point.dims,
		(axis, pixel) => {
			const off = at(normal, axis, pixel).mul(OFFSET).rsh(ONE_BITS);
			return at(point, axis, pixel).add(sideOf(bend, pixel).select(off.neg(), off)).clamp(-GRID, GRID);
		},
		{ type: "i32" },
	);
}

/**
 * Share of light that still comes through, by colour; 0 once the path ended at a light or left the scene.
 * Null: all of it.
 */
export function throughputAfter(s: PhaseBuilder, scene: SceneTensors, hit: Value, before: Value | null): Value {
	return s.map(
		[3, hit.dims[0]!],
		(axis, pixel) => {
			const color = material(scene, hit, pixel, MATERIAL.color, axis);
			const isEnd = isMiss(hit, pixel).or(material(scene, hit, pixel, MATERIAL.kind).eq(KIND.light));
			const left = before === null ? color : at(before, axis, pixel).mul(color).rsh(ONE_BITS);
			return isEnd.select(0, left).clamp(0, ONE);
		},
		{ type: "i32" },
	);
}

/** Light that the path has brought home after this hit: the hit's own, or the sky's. */
export function lightAfter(
	s: PhaseBuilder,
	scene: SceneTensors,
	ray: Ray,
	hit: Value,
	throughput: Value | null,
	before: Value | null,
): Value {
	const { sky } = scene;
	return s.map(
		[3, hit.dims[0]!],
		(axis, pixel) => {
			const low = at(sky, 0, axis);
			const height = at(ray.direction, 1, pixel).add(ONE);
			const above = low.add(
				at(sky, 1, axis)
					.sub(low)
					.mul(height)
					.rsh(ONE_BITS + 1),
			);
			const own = at(scene.lights, rowOf(scene.materialOf, hit, pixel), axis);
			const light = isMiss(hit, pixel)
				.select(above, own)
				.clamp(0, MOST_LIGHT * ONE);
			const seen = throughput === null ? light : light.mul(at(throughput, axis, pixel)).rsh(ONE_BITS);
			return before === null ? seen : seen.add(at(before, axis, pixel));
		},
		{ type: "i32" },
	);
}

export const isAlive = (throughput: Value) => (pixel: Index) =>
	at(throughput, 0, pixel)
		.or(at(throughput, 1, pixel))
		.or(at(throughput, 2, pixel));
