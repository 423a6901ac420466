// The diagonal shortcut against structured matrices: when the entries of A and B depend on i + j alone
// (Hankel), each element of C = A·Bᵀ follows from its upper-left neighbour by one subtraction and one
// addition, so a CPU forges a GPU's answer. Kept here to show that it works where others used it, and fails
// on Philox entries. Counts its multiplications.
import { writeU16 } from "../../src/protocol/bytes/bytes.ts";

export interface DiagonalProduct {
	/** C modulo 2¹⁶, row-major, little-endian. */
	readonly bytes: Uint8Array;
	readonly multiplications: number;
}

export function diagonalProduct(
	{ m, n, k }: { readonly m: number; readonly n: number; readonly k: number },
	a: readonly Int16Array[],
	b: readonly Int16Array[],
): DiagonalProduct {
	const c = new Int32Array(m * n);
	let multiplications = 0;
	for (let i = 0; i < m; i++) {
		for (let j = 0; j < n; j++) {
			let sum = 0;
			if (i === 0 || j === 0) {
				for (let x = 0; x < k; x++) sum = (sum + a[i]![x]! * b[j]![x]!) | 0;
				multiplications += k;
			} else {
				// C[i][j] = Σ a(i+x)·b(j+x): the window moves by one, so one product leaves and one enters.
				const leaves = a[i - 1]![0]! * b[j - 1]![0]!;
				const enters = a[i]![k - 1]! * b[j]![k - 1]!;
				sum = (c[(i - 1) * n + j - 1]! - leaves + enters) | 0;
				multiplications += 2;
			}
			c[i * n + j] = sum;
		}
	}
	const bytes = new Uint8Array(2 * m * n);
	c.forEach((sum, at) => {
		writeU16(bytes, 2 * at, sum & 0xffff);
	});
	return { bytes, multiplications };
}
