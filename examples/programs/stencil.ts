// A stencil: every cell becomes the mean of itself and its four neighbours, 16 times a segment. The state is
// blurred, its total is a metric.
import { buildProgram } from "../../src/work/builder/build-program.ts";
import { at } from "../../src/work/builder/expression.ts";
import { writeJob } from "./write-job.ts";

const SIZE = [64, 64] as const;
const b = buildProgram({ k: 16 });
const field = b.tensor("state", "field", "i32", SIZE, 0, 2 ** 20);
const total = b.tensor("metric", "total", "i64", [1], 0, 2 ** 32);

// At first: random numbers from the job's seed, below 2^20.
b.init.map(SIZE, (y, x) => y!.value().shl(6).add(x!.value()).rand(1).shr(12), { to: field });

const blurred = b.step.map(
	SIZE,
	(y, x) => {
		const sum = at(field, y!, x!)
			.add(at(field, y!.plus(-1).wrap(), x!))
			.add(at(field, y!.plus(1).wrap(), x!))
			.add(at(field, y!, x!.plus(-1).wrap()))
			.add(at(field, y!, x!.plus(1).wrap()));
		return sum.rdiv(5);
	},
	{ to: field },
);
b.step.reduce("sum", b.step.reduce("sum", blurred), { to: total });

writeJob({ name: "stencil", program: b.program(), segments: 4 });
