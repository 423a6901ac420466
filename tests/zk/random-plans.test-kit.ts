// Random segments that have a proof: depth, widths, what rounding loses, batch, steps, padding, tables and
// chunks are drawn from a label.
import { drawnStart, shapeOf } from "../../src/verify/zk/segment.test-kit.ts";
import { leftRange, lowBits, runSegment, type Shape, type Start } from "../../vectors/naive-plan.ts";
import { label, numbers } from "../../vectors/rows.ts";

function drawnShape(name: string): Shape {
	const draw = numbers(`${name} shape`);
	const from = (least: number, most: number) => least + draw(most - least + 1);
	const [stepBits, batchBits] = [draw(3), draw(3)];
	const h = from(4, 7);
	const activation = from(0, 2);
	const scale = from(2, 7);
	return shapeOf({
		...{ sizes: Array.from({ length: from(2, 5) }, () => from(1, 6)), batch: 2 ** batchBits, steps: 2 ** stepBits },
		...{ rows: 2 ** (stepBits + batchBits + draw(3)), epochs: 2, scale, h, d: h + from(1, 3), activation },
		gradient: activation + draw(3),
		limbs: [from(2, 5), from(2, 5), from(2, 5)],
		// Few enough chunks for a reader's prover.
		chunkBits: 2 * from(2, 5),
		root: label(`${name} root`),
	});
}

/** The first draw whose run stays in its ranges. */
export function drawnSegment(name: string): { readonly shape: Shape; readonly start: Start } {
	for (let i = 0; ; i++) {
		const shape = drawnShape(`${name} ${i}`);
		const segments = (shape.epochs * shape.rows) / (shape.batch * shape.steps);
		const draw = numbers(`${name} ${i} start`);
		const largest =
			2 **
			Math.min(
				4,
				shape.limbs.reduce((sum, one) => sum + one, -3),
				lowBits(shape) + 1,
			);
		for (let j = 0; j < 20; j++) {
			const start = {
				...drawnStart(shape, `${name} ${i} ${j}`, largest),
				...{ seed: label(`${name} ${i} ${j} seed`), firstStep: shape.steps * draw(segments) },
			};
			if (leftRange(shape, runSegment(shape, start)) === null) return { shape, start };
		}
	}
}
