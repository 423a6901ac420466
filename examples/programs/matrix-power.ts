// A matrix to a power, modulo a prime: after n steps the state is M^n. Segment by segment it counts walks of
// length n in a graph of 32 nodes.
import { buildProgram } from "../../src/work/builder/build-program.ts";
import { at } from "../../src/work/builder/expression.ts";
import { writeJob } from "./write-job.ts";

const N = 32;
const PRIME = 65_521;

const b = buildProgram({ k: 8 });
const m = b.tensor("input", "m", "i8", [N, N], 0, 1);
const power = b.tensor("state", "power", "i32", [N, N], 0, PRIME - 1);

// M⁰: the identity.
b.init.map([N, N], (i, j) => i!.value().eq(j!.value()), { to: power });

// matmul multiplies rows with rows, so the second operand is turned first. Sums stay below 32·65,520; the
// rest of a division follows from `div`.
const turned = b.step.map([N, N], (i, j) => at(m, j!, i!));
const product = b.step.matmul(power, turned);
b.step.map(
	[N, N],
	(i, j) => {
		const x = at(product, i!, j!);
		return x.sub(x.div(PRIME).mul(PRIME)).clamp(0, PRIME - 1);
	},
	{ to: power },
);

// A ring in which every node also knows the one three places on.
const edges = Int8Array.from({ length: N * N }, (_, i) => {
	const step = ((i % N) - Math.floor(i / N) + N) % N;
	return Number(step === 1 || step === 3);
});
writeJob({ name: "matrix-power", program: b.program(), given: { m: edges }, segments: 4 });
