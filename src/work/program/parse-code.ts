// Reads the lines of a `map` in the text form, docs/work.md §8. Registers may have any names; numbers follow
// from their order.
import { CODE_OF, EDGES, type Edge, INSTRUCTIONS, type Instruction, type Place } from "../operators/instruction.ts";
import { VARIABLE_NAMES } from "./print-text.ts";
import type { Carried, Code } from "./shapes.ts";

type Section = "before" | "body" | "after";

const LINE = /^([A-Za-z_]\w*) = (\w+)((?: \S+)*)$/;
const CARRY = /^carry ([A-Za-z_]\w*) = ([A-Za-z_]\w*) ([A-Za-z_]\w*) (-?\d{1,20})\.\.(-?\d{1,20})$/;
const PART = /^([+-])(?:(\d{1,10})\*)?(\w+)$/;

export class CodeParser {
	readonly fail: (message: string) => never;
	readonly sections: Record<Section, Instruction[]> = { before: [], body: [], after: [] };
	readonly carried: (Omit<Carried, "next"> & { readonly next: string })[] = [];
	readonly registers = new Map<string, number>();
	/** Names of the body's instructions: whoever comes after it sees what was carried, not these. */
	readonly hidden = new Set<string>();
	section: Section = "before";
	turns = 0;

	constructor(fail: (message: string) => never) {
		this.fail = fail;
	}

	register(name: string): number {
		if (this.section === "after" && this.hidden.has(name))
			this.fail(`${name} is the body's; what comes after it sees carried registers and those before the body`);
		return this.known(name);
	}

	known(name: string): number {
		return this.registers.get(name) ?? this.fail(`no register above is ${name}`);
	}

	define(name: string): void {
		if (this.registers.has(name)) this.fail(`${name} stands twice`);
		if (VARIABLE_NAMES.includes(name)) this.fail(`${name} is the name of a coordinate or counter`);
		this.registers.set(name, this.registers.size);
	}

	whole(text: string): number {
		return /^-?\d{1,10}$/.test(text) ? Number(text) : this.fail(`not a whole number: ${text}`);
	}

	/** Parts are signed terms without spaces: "+i0", "-3*segment", "+r4", "-16". */
	place(text: string): Place {
		const words = text.trim().split(" ");
		const last = words.at(-1)!;
		const edge = EDGES.includes(last as Edge) ? (words.pop() as Edge) : "inside";
		const joined = words.join("");
		const signed = /^[+-]/.test(joined) ? joined : `+${joined}`;
		let constant = 0;
		let register: number | null = null;
		const terms = new Map<number, number>();
		for (const part of signed.match(/[+-][^+-]*/g) ?? []) {
			const [, sign, times, name] = PART.exec(part) ?? this.fail(`not a place: ${text}`);
			const factor = (sign === "-" ? -1 : 1) * Number(times ?? 1);
			const of = VARIABLE_NAMES.indexOf(name!);
			if (/^\d/.test(name!)) constant += factor * this.whole(name!);
			else if (of >= 0) terms.set(of, (terms.get(of) ?? 0) + factor);
			else if (register === null && sign === "+" && times === undefined) register = this.register(name!);
			else this.fail("a place adds one register at most, once");
		}
		const kept = [...terms].filter(([, times]) => times !== 0).sort(([a], [b]) => a - b);
		return { edge, register, constant, terms: kept.map(([of, times]) => ({ of, times })) };
	}

	instruction(name: string, rest: string): Instruction {
		const code = CODE_OF.get(name);
		if (code === undefined) return this.fail(`${name} is no instruction`);
		const fields = INSTRUCTIONS[code]!.slice(1);
		const [words, places] = this.words(rest, fields.at(-1) === "place");
		if (words.length + (places === null ? 0 : 1) !== fields.length) this.fail(`${name} takes ${fields.length} things`);
		const read: Record<string, unknown> = { op: name };
		for (const [i, field] of fields.entries()) {
			const word = words[i]!;
			if (field === "place") read.place = places!.map((one) => this.place(one));
			else if (field === "a" || field === "b" || field === "c") read[field] = this.register(word);
			else if (field === "value")
				read.value = /^-?\d{1,20}$/.test(word) ? BigInt(word) : this.fail(`not a number: ${word}`);
			else read[field] = this.whole(word);
		}
		return read as unknown as Instruction;
	}

	/** The words of a line; those in brackets apart. */
	words(rest: string, hasPlaces: boolean): [string[], string[] | null] {
		const split = (text: string) => text.split(" ").filter((word) => word !== "");
		if (!hasPlaces) return [split(rest), null];
		const [, head, places] = /^(.*)\[(.*)\]$/.exec(rest) ?? this.fail("a load has places in brackets");
		return [split(head!), places!.split(",")];
	}

	read(line: string): void {
		const turns = /^repeat (\d{1,5})$/.exec(line);
		if (turns) {
			if (this.section !== "before" || Number(turns[1]) === 0) this.fail("a map repeats once, one turn or more");
			this.turns = Number(turns[1]);
			this.section = "body";
		} else if (line === "after") {
			if (this.section !== "body") this.fail("after follows a body");
			this.section = "after";
		} else if (line.startsWith("carry ")) {
			const [, name, from, next, lo, hi] = CARRY.exec(line) ?? this.fail(`not understood: ${line}`);
			if (this.section !== "body" || this.sections.body.length > 0) this.fail("carried values follow repeat");
			this.carried.push({ from: this.register(from!), next: next!, lo: BigInt(lo!), hi: BigInt(hi!) });
			this.define(name!);
		} else {
			const [, name, op, rest] = LINE.exec(line) ?? this.fail(`not understood: ${line}`);
			this.sections[this.section].push(this.instruction(op!, rest!.trim()));
			this.define(name!);
			if (this.section === "body") this.hidden.add(name!);
		}
	}

	code(): Code {
		const carried = this.carried.map(({ next, ...rest }) => ({ ...rest, next: this.known(next) }));
		return { ...this.sections, turns: this.turns, carried };
	}
}
