// A histogram by scatter_add: 10,000 numbers are counted into 16 bins.
import { buildProgram } from "../../src/work/builder/build-program.ts";
import { at, constant } from "../../src/work/builder/expression.ts";
import { writeJob } from "./write-job.ts";

const COUNT = 10_000;
const BINS = 16;
const b = buildProgram();
const values = b.tensor("input", "values", "i16", [COUNT], 0, 1023);
const bins = b.tensor("result", "bins", "i32", [BINS, 1], 0, COUNT);

// Which bin: the upper four of ten bits. What is added there: one.
const bin = b.step.map([COUNT], (i) => at(values, i!).shr(6));
const one = b.step.map([1, COUNT], () => constant(1));
b.step.scatterAdd(one, bin, BINS, { to: bins });

// A parabola of numbers, so that the first bins are the fullest.
const given = { values: Int16Array.from({ length: COUNT }, (_, i) => Math.floor((1023 * i * i) / COUNT ** 2)) };
writeJob({ name: "histogram", program: b.program(), given, segments: 1 });
