// Points as bytes, x ‖ y, 32 bytes a number, imaginary parts first; infinity is zeros.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, type G1, type G2 } from "../../../protocol/maths/bn254.ts";

export function g1Bytes(point: G1): Uint8Array {
	if (point.is0()) return new Uint8Array(64);
	const { x, y } = point.toAffine();
	return concatBytes(bytesOf(x), bytesOf(y));
}

export function g2Bytes(point: G2): Uint8Array {
	if (point.is0()) return new Uint8Array(128);
	const { x, y } = point.toAffine();
	return concatBytes(...[x.c1, x.c0, y.c1, y.c0].map(bytesOf));
}
