// How much memory a program takes while it runs: the plan of engine/src/work/plan.cpp, counted here without
// an engine. Tensors lie side by side; values between ops take the smallest free stretch that holds them, and
// give it back after they were read last. Devices add room for their products.
import { bytesOf, elementCount } from "../operators/tensor-type.ts";
import type { Op, Program } from "./shapes.ts";

/** Every place begins at a multiple of it. */
const PLACE = 1024;
const placeBytes = ({ type, dims }: Pick<Op["output"], "type" | "dims">): number =>
	Math.ceil((elementCount(dims) * bytesOf(type)) / PLACE) * PLACE;

interface Stretch {
	readonly at: number;
	readonly bytes: number;
}

/** Where `before` stops being true; it is true of a beginning of the list. */
function firstNot(list: readonly Stretch[], before: (one: Stretch) => boolean): number {
	let [low, high] = [0, list.length];
	while (low < high) {
		const middle = (low + high) >> 1;
		if (before(list[middle]!)) low = middle + 1;
		else high = middle;
	}
	return low;
}

/**
 * ATTACK: a program may leave thousands of free stretches, and take and give back thousands of times. So none
 * of it looks at them all.
 */
class Arena {
	/** Free, the smallest first; of the same size by place. */
	readonly #free: Stretch[] = [];
	/** Free, by their beginning and by their end. */
	readonly #from = new Map<number, Stretch>();
	readonly #until = new Map<number, Stretch>();
	#end = 0;
	peak = 0;

	take(bytes: number): Stretch {
		const best = this.#free[firstNot(this.#free, (one) => one.bytes < bytes)];
		if (best !== undefined) {
			this.#remove(best);
			if (best.bytes > bytes) this.#insert({ at: best.at + bytes, bytes: best.bytes - bytes });
			return { at: best.at, bytes };
		}
		// What is free at the end grows.
		const last = this.#until.get(this.#end);
		if (last !== undefined) this.#remove(last);
		const at = last?.at ?? this.#end;
		this.#end = at + bytes;
		this.peak = Math.max(this.peak, this.#end);
		return { at, bytes };
	}

	giveBack({ at, bytes }: Stretch): void {
		const before = this.#until.get(at);
		const next = this.#from.get(at + bytes);
		for (const one of [before, next]) if (one !== undefined) this.#remove(one);
		this.#insert({ at: before?.at ?? at, bytes: bytes + (before?.bytes ?? 0) + (next?.bytes ?? 0) });
	}

	#placeOf({ at, bytes }: Stretch): number {
		return firstNot(this.#free, (one) => one.bytes < bytes || (one.bytes === bytes && one.at < at));
	}

	#remove(stretch: Stretch): void {
		this.#free.splice(this.#placeOf(stretch), 1);
		this.#from.delete(stretch.at);
		this.#until.delete(stretch.at + stretch.bytes);
	}

	#insert(stretch: Stretch): void {
		this.#free.splice(this.#placeOf(stretch), 0, stretch);
		this.#from.set(stretch.at, stretch);
		this.#until.set(stretch.at + stretch.bytes, stretch);
	}
}

/** Every load of this operand is at the output's own place. */
function isElementwise(op: Op, operand: number): boolean {
	if (op.operator !== "map" || op.operands[operand]!.dims.join() !== op.output.dims.join()) return false;
	const { before, body, after } = op.code;
	return [...before, ...body, ...after].every(
		(one) =>
			one.op !== "load" ||
			one.operand !== operand ||
			one.place.every(
				({ register, constant, terms }, axis) =>
					register === null && constant === 0 && terms.length === 1 && terms[0]!.of === axis && terms[0]!.times === 1,
			),
	);
}

function peakOf(ops: readonly Op[]): number {
	const last = ops.map((_, n) => n);
	for (const [n, { operands }] of ops.entries())
		for (const { source, index } of operands) if (source === "op") last[index] = n;
	const dying = ops.map((): number[] => []);
	for (const [n, end] of last.entries()) dying[end]!.push(n);
	const arena = new Arena();
	const held = new Map<number, Stretch>();
	for (const [n, op] of ops.entries()) {
		const own = op.operands.flatMap(({ source, index }, i) => (source !== "op" && index === op.target ? [i] : []));
		if (op.target !== null && own.every((i) => isElementwise(op, i))) {
			// It is written where the tensor lies; one that reads it, too, has a spare place while it runs.
			if (own.length > 0) arena.giveBack(arena.take(placeBytes(op.output)));
		} else held.set(n, arena.take(placeBytes(op.output)));
		for (const dead of dying[n]!) {
			const stretch = held.get(dead);
			if (stretch !== undefined) arena.giveBack(stretch);
		}
	}
	return arena.peak;
}

/** To the byte what the engine plans, but for the room of products. */
export function peakBytes({ tensors, init, step }: Program): number {
	return tensors.reduce((sum, tensor) => sum + placeBytes(tensor), 0) + Math.max(peakOf(init), peakOf(step));
}
