// Programs that a hostile customer would send, since what a price counts too little is theirs: a long init
// phase, many tiny steps and ops, expensive instructions, reads here and there, long products. And random
// ones. For tests of the model, and for bench/jobs/cost-programs.ts, which has a card run them.
import { buildProgram, type PhaseBuilder, type ProgramBuilder, type TensorHandle } from "../builder/build-program.ts";
import { at, constant, type Expression, type Index, repeat, turn, type Value, view } from "../builder/expression.ts";
import type { Program } from "../program/shapes.ts";

const MILLION = 1 << 20;
/** Four bytes are needed, and sums of 2048 products of two fit 64 bits. */
const BOUND = 2 ** 25;

function program(k: number, dims: readonly number[], build: (b: ProgramBuilder, state: TensorHandle) => void): Program {
	const b = buildProgram({ k });
	build(b, b.tensor("state", "s", "i32", dims, -BOUND, BOUND));
	return b.program();
}

const ended = (x: Expression): Expression => x.clamp(-BOUND, BOUND);

/** So many ops, one after the other; the last one writes the state. */
function chain(phase: PhaseBuilder, state: TensorHandle, ops: number, each: (x: Value, i: Index) => Expression): void {
	let x: Value = state;
	for (let n = 0; n < ops; n++) x = phase.map(state.dims, (i) => each(x, i!), n === ops - 1 ? { to: state } : {});
}

/** A chain of one kind of instruction, 24 an op, so that little else is done. */
const chainOf = (more: (x: Expression) => Expression): Program =>
	program(1, [MILLION], (b, state) =>
		chain(b.step, state, 64, (x, i) => {
			let value = at(x, i).abs();
			for (let n = 0; n < 24; n++) value = more(value);
			return ended(value);
		}),
	);

/** By name. */
export const HOSTILE: Readonly<Record<string, () => Program>> = {
	"20 maps of 4096 turns in init, one trivial step": () =>
		program(1, [MILLION], (b, state) => {
			let x: Value | null = null;
			for (let n = 0; n < 20; n++) {
				const from: Value | null = x;
				const loop = (i: Index): Expression =>
					repeat(4096, [{ from: from === null ? i.value() : at(from, i), lo: -BOUND, hi: BOUND }], (value) => [
						value!.mul(5).add(turn).shr(1),
					])[0]!;
				x = b.init.map([MILLION], (i) => loop(i!), n === 19 ? { to: state } : {});
			}
			b.step.map([MILLION], (i) => ended(at(state, i!).add(1)), { to: state });
		}),
	"65,536 steps of two ops on one element": () =>
		program(65_536, [1], (b, state) => chain(b.step, state, 2, (x) => ended(at(x, 0).add(1)))),
	"4,096 ops of 64 elements that read their neighbours": () =>
		program(1, [64], (b, state) => chain(b.step, state, 4096, (x, i) => ended(at(x, i.plus(1).wrap()).add(1)))),
	"a chain of rdiv": () => chainOf((x) => constant(BOUND).rdiv(x.clamp(1, BOUND))),
	"a chain of div": () => chainOf((x) => constant(BOUND).div(x.clamp(1, BOUND))),
	"a chain of isqrt": () => chainOf((x) => x.add(BOUND).isqrt()),
	"gathers over 256 MiB, each by the one before": () =>
		program(1, [64 * MILLION], (b, state) =>
			chain(b.step, state, 8, (x, i) => ended(at(state, at(x, i).and(64 * MILLION - 1)))),
		),
	"a product of i32 and i32": () =>
		program(1, [2048, 2048], (b, state) => {
			const sums = b.step.matmul(view(state, 1, 2048, 2048), view(state, 1, 2048, 2048));
			b.step.map([2048, 2048], (i, j) => ended(at(sums, 0, i!, j!).rsh(36)), { to: state });
		}),
};

/** Below a whole number. */
type Draw = (below: number) => number;

const STEPS: readonly ((x: Expression, y: Expression) => Expression)[] = [
	(x, y) => x.add(y),
	(x, y) => x.sub(y).abs(),
	(x, y) => x.mul(y).rsh(25),
	(x, y) => x.lt(y).select(y, x),
	(x, y) => x.xor(y),
	(x, y) => x.rdiv(y.clamp(1, BOUND)),
	(x, y) => x.mul(y).abs().isqrt(),
	(x) =>
		x
			.add(BOUND)
			.rand(7)
			.and(BOUND - 1),
];

/** Maps, sums along rows and products, of tensors from 64 thousand to 4 million elements. */
export function randomWork(draw: Draw): Program {
	const side = 256 << draw(4);
	return program(1 + draw(3), [side, side], (b, state) => {
		const made: Value[] = [state];
		const any = (): Value => made[draw(made.length)]!;
		for (let n = 2 + draw(12); n > 0; n--) {
			const [from, other, kinds] = [
				any(),
				any(),
				Array.from({ length: 1 + draw(8) }, () => draw(draw(2) === 0 ? 5 : STEPS.length)),
			];
			const shift = draw(3);
			const move = (i: Index): Index => (shift === 0 ? i : i.plus(shift).wrap());
			if (draw(4) === 0) {
				const sums = b.step.matmul(view(from, 1, side, side), view(other, 1, side, side));
				made.push(b.step.map([side, side], (i, j) => ended(at(sums, 0, i!, j!).rsh(36))));
			} else if (draw(5) === 0) {
				const sums = b.step.reduce("sum", from);
				made.push(
					b.step.map([side, side], (i, j) =>
						ended(
							at(sums, i!)
								.rsh(12)
								.sub(at(from, i!, j!)),
						),
					),
				);
			} else
				made.push(
					b.step.map([side, side], (i, j) => {
						let [x, y] = [at(from, i!, j!), at(other, move(i!), move(j!))];
						for (const kind of kinds) [x, y] = [ended(STEPS[kind]!(x, y)), x];
						return x;
					}),
				);
		}
		b.step.map([side, side], (i, j) => at(made.at(-1)!, i!, j!), { to: state });
	});
}

/** Of a program's file, and of its row in bench/results. */
export const fileNameOf = (name: string): string => name.replaceAll(/[^a-z0-9]+/gi, "-");
