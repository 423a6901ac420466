// Programs that cost a validator the most to open, check and count, or its hosts to run: each may be made
// with another name for a tensor, so that none is known from before. Not here: what they are priced at
// (src/work/cost/).
import { buildProgram, type TensorHandle } from "../../src/work/builder/build-program.ts";
import { at, type Value } from "../../src/work/builder/expression.ts";
import { HOSTILE } from "../../src/work/cost/priced-programs.test-kit.ts";
import type { Program } from "../../src/work/program/shapes.ts";

const BOUND = 2 ** 25;

function maps(count: number, instructions: number): Program {
	const b = buildProgram();
	const x = b.tensor("state", "x", "i64", [1], 0, 2n ** 40n);
	for (let n = 0; n < count; n++)
		b.step.map(
			[1],
			() => {
				let value = at(x, 0);
				for (let i = 0; i < instructions; i++) value = value.isqrt();
				return value;
			},
			n === count - 1 ? { to: x } : { type: "i64" },
		);
	return b.program();
}

/** Half of the values go one by one from between those that stay: what is free lies in many pieces. */
function stretches(ops: number): Program {
	const b = buildProgram();
	const x = b.tensor("state", "x", "i32", [1], 0, BOUND);
	const kept: Value[] = [];
	for (let n = 0; n < ops / 2; n++) kept.push(b.step.map([1 + n], () => at(x, 0)));
	const order = [...kept.filter((_, n) => n % 2 === 1), ...kept.filter((_, n) => n % 2 === 0)];
	for (const [n, value] of order.entries())
		b.step.map([1], () => at(value, 0), n === order.length - 1 ? { to: x } : {});
	return b.program();
}

function tensors(count: number): Program {
	const b = buildProgram();
	const all: TensorHandle[] = Array.from({ length: count }, (_, n) => b.tensor("state", `t${n}`, "i32", [1], 0, BOUND));
	for (const [n, tensor] of all.entries())
		b.step.map([1], () => at(all[Math.min(n + 1, count - 1)]!, 0), { to: tensor });
	return b.program();
}

export const TO_QUOTE: Readonly<Record<string, () => Program>> = {
	"1,925 maps of 200 isqrt": () => maps(1925, 200),
	"18,000 ops, what is free in many stretches": () => stretches(18_000),
	"4,096 tensors": () => tensors(4096),
	"65,536 tiny steps": HOSTILE["65,536 steps of two ops on one element"]!,
	"init only": HOSTILE["20 maps of 4096 turns in init, one trivial step"]!,
	"a chain of div": HOSTILE["a chain of div"]!,
	"a chain of isqrt": HOSTILE["a chain of isqrt"]!,
	"gathers, each by the one before": HOSTILE["gathers over 256 MiB, each by the one before"]!,
};

/** The same under another name. */
export function variant(program: Program, number: number): Program {
	const [first, ...rest] = program.tensors;
	return { ...program, tensors: [{ ...first!, name: `v${number}` }, ...rest] };
}
