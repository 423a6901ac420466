// The whole numbers of a path tracer, docs/render.md §3: a scene lies on a grid of 2^19 places along its
// longest side. The intervals below keep every register of a walk inside 64 bits, most of them inside 53.

/** Coordinates of all that can be hit, of the camera and of every ray's origin: ±2^18. */
export const GRID = 2 ** 18;
/** What lies on the grid keeps this far from its end, so that no box and no offset leaves it. */
export const RIM = 64;
/** One, for directions, normals, colours and shares. */
export const ONE = 2 ** 16;
export const ONE_BITS = 16;
/**
 * 1/direction is INVERSE/direction, rounded down: 32 bits, so that a slab costs one product of 32 by 32 bits.
 */
export const INVERSE = 2 ** 30;
/**
 * Boxes reach this far over what they hold. An inverse is wrong by up to 2^-14 of itself, which is 2^5 places
 * at the far end of the grid; the walk's other roundings stay below 4. So no box that holds a hit is ever
 * missed, and the walk finds what trying every triangle finds.
 */
export const BOX_RIM = 40;
/**
 * A ray starts so many places off the surface that it leaves: more than a hit can be wrong along the normal.
 */
export const OFFSET = 4;

/** Depth of a hit along the ray's longest axis: 1 … 2^19; this stands for no hit. */
export const NO_HIT = 2 ** 20 - 1;
/** A hit is depth · 2^20 + what was hit. */
export const ID_BITS = 20;
export const MOST_NODES = 2 ** 18;
export const MOST_TRIANGLES = MOST_NODES / 2;
export const MOST_SPHERES = MOST_NODES / 2;

/** Largest emission, 2^16 for 1: sums of 2^32 passes of 33 rays stay inside 62 bits. */
export const MOST_LIGHT = 512;
export const MOST_BOUNCES = 32;

/** Columns of the table of materials; what they emit has a table of its own. */
export const MATERIAL = { kind: 0, color: 1, rough: 4, index: 5, inverse: 6, schlick: 7, columns: 8 } as const;
export const KIND = { diffuse: 0, metal: 1, glass: 2, light: 3 } as const;
/** Refraction: 1 … 4. */
export const MOST_INDEX = 4;

/**
 * Columns of a node: box from, box to, where a miss goes on, three corners. Of a sphere's node: box, miss,
 * centre, radius.
 */
export const NODE = {
	from: 0,
	to: 3,
	miss: 6,
	a: 7,
	b: 10,
	c: 13,
	columns: 16,
	center: 7,
	radius: 10,
	sphereColumns: 11,
} as const;
