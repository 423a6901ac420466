// Tables of a path tracer, made by whole numbers and plain products only, so that every machine makes the
// same ones.
import { ONE } from "./numbers.ts";

const PI = Math.PI;

/** sin and cos by their series; |x| up to π/4. Only + − × ÷, which are the same everywhere. */
function series(x: number): readonly [sin: number, cos: number] {
	let [sin, cos, term] = [0, 0, 1];
	for (let i = 0; i < 24; i++) {
		const sign = i % 4 < 2 ? 1 : -1;
		if (i % 2 === 0) cos += sign * term;
		else sin += sign * term;
		term = (term * x) / (i + 1);
	}
	return [sin, cos];
}

/** Of an angle in degrees. */
export function sinCos(degrees: number): readonly [sin: number, cos: number] {
	const quarter = Math.round(degrees / 90);
	const [sin, cos] = series(((degrees - quarter * 90) * PI) / 180);
	const turned = [
		[sin, cos],
		[cos, -sin],
		[-sin, -cos],
		[-cos, sin],
	] as const;
	return turned[((quarter % 4) + 4) % 4]!;
}

/** cos(2π·i/1024), 2^16. */
export const circleTable = (): Int32Array =>
	Int32Array.from({ length: 1024 }, (_, i) => Math.round(sinCos((i * 360) / 1024)[1] * ONE));

const LEVELS = 4096;

/**
 * sRGB's curve: the byte for light (i + ½)/4096. y = 1.055·x^(1/2.4) − 0.055 is turned round, x^5 = ((y +
 * 0.055)/1.055)^12, and compared in whole numbers.
 */
export function screenTable(): Int16Array {
	const table = new Int16Array(LEVELS);
	let byte = 0;
	for (let i = 0; i < LEVELS; i++) {
		const twice = BigInt(2 * i + 1);
		// Is the light at least that of byte + ½? Over 0.0031308 by the curve, below by a straight line of slope
		// 12.92.
		const reaches = (level: number): boolean => {
			if (2 * i + 1 < 2 * LEVELS * 0.0031308) return (12.92 * (2 * i + 1)) / (2 * LEVELS) >= (level + 0.5) / 255;
			// ((level + ½)/255 + 0.055)/1.055, both ends times 510,000.
			const over = BigInt(2000 * level + 1000 + 28_050);
			return twice ** 5n * 538_050n ** 12n >= over ** 12n * BigInt(2 * LEVELS) ** 5n;
		};
		while (byte < 255 && reaches(byte)) byte += 1;
		table[i] = byte;
	}
	return table;
}
