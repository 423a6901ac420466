// Points as bytes, x ‖ y, 32 bytes a number, imaginary parts first; infinity is zeros.
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { bytesOf, type G2 } from "../../../protocol/maths/bn254.ts";

export { pointBytes as g1Bytes } from "../twin-tree.ts";

export function g2Bytes(point: G2): Uint8Array {
	if (point.is0()) return new Uint8Array(128);
	const { x, y } = point.toAffine();
	return concatBytes(...[x.c1, x.c0, y.c1, y.c0].map(bytesOf));
}
