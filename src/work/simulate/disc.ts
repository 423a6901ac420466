// Bodies of a turning disc, from the seed: even in a circle of radius 1, each on a circular path for the mass
// inside. Only sums, products and roots of doubles, which every machine rounds alike.
import { philoxBlock, philoxKey } from "../../protocol/hash/philox.ts";
import { type Bodies, PLACE_SCALE } from "./nbody.ts";

const DOMAIN = 0x6469_7363;
/** Half of the disc's height. */
const THIN = 0.05;

/** `total`: G times the mass of all. Word triples that fall outside the circle are passed over. */
export function discOf(seed: Uint8Array, count: number, total: number, step: number): Bodies {
	const key = philoxKey(seed);
	const words = new Uint32Array(4);
	const [places, halves] = [new BigInt64Array(3 * count), new BigInt64Array(3 * count)];
	const fixed = (value: number): bigint => BigInt(Math.round(value * 2 ** PLACE_SCALE));
	for (let i = 0, drawn = 0; i < count; drawn++) {
		philoxBlock(key, drawn, 0, 0, DOMAIN, words, 0);
		const [x, y, z] = [...words].map((word) => word / 2 ** 31 - 1) as [number, number, number];
		const radius = Math.sqrt(x * x + y * y);
		if (radius > 1 || radius < 0.05) continue;
		// The mass inside grows with the square of the radius: v² = total·radius.
		const speed = Math.sqrt(total * radius);
		for (const [axis, place, velocity] of [
			[0, x, (-y / radius) * speed],
			[1, y, (x / radius) * speed],
			[2, z * THIN, 0],
		] as const) {
			places[axis * count + i] = fixed(place);
			halves[axis * count + i] = fixed((velocity * step) / 2);
		}
		i++;
	}
	return { places, halves, masses: new Int16Array(count).fill(1) };
}
