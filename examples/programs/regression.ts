// A linear regression by gradient descent: y ≈ w·x + c over 256 points with three features. Weights are at
// 2^16, and the loss is a metric.
import { buildProgram } from "../../src/work/builder/build-program.ts";
import { at } from "../../src/work/builder/expression.ts";
import { writeJob } from "./write-job.ts";

const ROWS = 256;
/** Three features and a column of ones, at 2^8. */
const COLUMNS = 4;
const LIMIT = 8 * 2 ** 16;

const b = buildProgram({ k: 50 });
const x = b.tensor("input", "x", "i16", [ROWS, COLUMNS], -256, 256);
const y = b.tensor("input", "y", "i16", [ROWS], -(2 ** 12), 2 ** 12);
const w = b.tensor("state", "w", "i32", [1, COLUMNS], -LIMIT, LIMIT);
const loss = b.tensor("metric", "loss", "i64", [1], 0, 2n ** 50n);
const s = b.step;

// What the weights say, at 2^24, less y, back at 2^8.
const said = s.matmul(x, w);
const error = s.map([1, ROWS], (_, i) =>
	at(said, i!, 0)
		.rsh(16)
		.sub(at(y, i!))
		.clamp(-(2 ** 14), 2 ** 14),
);
s.reduce(
	"sum",
	s.map([ROWS], (i) => at(error, 0, i!).mul(at(error, 0, i!))),
	{ to: loss },
);
// Σ error·x is at 2^16, as the weights are: the rate is 2^-8.
const turned = s.map([COLUMNS, ROWS], (c, i) => at(x, i!, c!));
const gradient = s.matmul(error, turned);
s.map(
	[1, COLUMNS],
	(_, c) =>
		at(w, 0, c!)
			.sub(at(gradient, 0, c!).rsh(8))
			.clamp(-LIMIT, LIMIT),
	{ to: w },
);

// y = 2·x₀ − x₁ + ½·x₂ + 3, with points that a small generator scatters.
let state = 1;
const next = (): number => {
	state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
	return (state >>> 23) - 256;
};
const points = Array.from({ length: ROWS }, () => [next(), next(), next(), 256] as const);
const given = {
	x: Int16Array.from(points.flat()),
	y: Int16Array.from(points, ([a, c, d]) => 2 * a - c + d / 2 + 768),
};
writeJob({ name: "regression", program: b.program(), given, segments: 10 });
