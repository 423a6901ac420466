// Circuits, keys of known secrets and proofs of Groth16 by bigints, and how circuits and keys are written as
// bytes: what engine/src/zk/groth16 reads, and must prove too.
import { mod, R, word } from "./naive-bn254.ts";
import { keyBytes, keyOf, proveGroth16, type Sum, type System } from "./naive-groth16.ts";
import { hex, label, numbers, type Row } from "./rows.ts";

/** a·b = c; with `product`, the wire that it makes, c is that wire. */
interface Flat {
	readonly a: Sum;
	readonly b: Sum;
	readonly c: Sum;
	readonly product: number;
}

/** Wires from `first` on, up to the next step's, are `more` further in each further copy. */
interface Section {
	readonly copies: number;
	readonly steps: readonly { readonly first: number; readonly more: number }[];
	readonly constraints: readonly Flat[];
}

interface FlatCircuit {
	readonly inputs: number;
	readonly wires: number;
	/** First wire and how many. */
	readonly secrets: readonly (readonly [number, number])[];
	readonly sections: readonly Section[];
}

const MAGIC = 0x31637261;

const wireIn = ({ steps }: Section, wire: number, copy: number): number =>
	wire + copy * (steps.filter(({ first }) => first <= wire).at(-1)?.more ?? 0);

/** All copies of all sections. */
function expanded({ sections }: FlatCircuit): Flat[] {
	return sections.flatMap((section) =>
		Array.from({ length: section.copies }, (_, copy) => {
			const moved = (sum: Sum) => new Map([...sum].map(([wire, by]) => [wireIn(section, wire, copy), by]));
			return section.constraints.map(({ a, b, c, product }) => ({
				...{ a: moved(a), b: moved(b), c: moved(c) },
				product: product === 0 ? 0 : wireIn(section, product, copy),
			}));
		}).flat(),
	);
}

/** Little-endian words; coefficients, each once, as scalars. */
function circuitBytes({ inputs, wires, secrets, sections }: FlatCircuit): Buffer {
	const coefficients = new Map<bigint, number>();
	const numberOf = (by: bigint) => coefficients.get(by) ?? coefficients.set(by, coefficients.size).size - 1;
	const body = sections.flatMap(({ copies, steps, constraints }) => [
		...[copies, constraints.length, steps.length, ...steps.flatMap(({ first, more }) => [first, more])],
		...constraints.flatMap(({ a, b, c, product }) => [a.size, b.size, c.size, product]),
		...constraints.flatMap(({ a, b, c }) =>
			[a, b, c].flatMap((sum) => [...sum].flatMap(([wire, by]) => [wire, numberOf(by)])),
		),
	]);
	const words = (list: readonly number[]) => Buffer.from(Uint32Array.from(list).buffer);
	return Buffer.concat([
		words([MAGIC, inputs, wires, coefficients.size, secrets.length, sections.length]),
		...[...coefficients.keys()].map(word),
		words([...secrets.flat(), ...body]),
	]);
}

/** Copies with wires of their own in two places, and a last section over all of them. */
function drawnCircuit(name: string, inputs: number, copies: number, made: number): FlatCircuit {
	const draw = numbers(name);
	const large = BigInt(`0x${hex(label(name))}`) % R;
	const factors = [1n, 1n, 1n, 2n, R - 1n, large];
	const [told, own] = [2, 1 + made];
	const firstTold = inputs + 1;
	const firstOwn = firstTold + copies * told;
	const end = firstOwn + copies * own;
	const sum = (wires: readonly number[]): Sum =>
		new Map(Array.from({ length: 1 + draw(4) }, () => [wires[draw(wires.length)]!, factors[draw(factors.length)]!]));
	const known = Array.from({ length: firstTold + told }, (_, i) => i).concat(firstOwn);
	const constraints: Flat[] = [];
	for (let i = 0; i < made; i++) {
		const product = firstOwn + 1 + i;
		constraints.push({ a: sum(known), b: sum(known), c: new Map(), product });
		known.push(product);
	}
	const same = sum(known);
	constraints.push({ a: same, b: new Map([[0, 1n]]), c: same, product: 0 });
	const steps = [
		{ first: firstTold, more: told },
		{ first: firstOwn, more: own },
	];
	const all = Array.from({ length: end }, (_, i) => i);
	return {
		...{ inputs, wires: end + 2 },
		secrets: [
			[firstTold, copies * told],
			...Array.from({ length: copies }, (_, i) => [firstOwn + i * own, 1] as const),
		],
		sections: [
			{ copies, steps, constraints },
			{
				...{ copies: 1, steps: [] },
				constraints: [end, end + 1].map((product) => ({ a: sum(all), b: sum(all), c: new Map(), product })),
			},
		],
	};
}

function groth16Row(name: string, flat: FlatCircuit): Row {
	const scalar = (what: string) => BigInt(`0x${hex(label(`${name} ${what}`))}`) % R;
	const constraints = expanded(flat).map(({ a, b, c, product }) => ({
		...{ a, b, product },
		c: product === 0 ? c : new Map([[product, 1n]]),
	}));
	const system: System = { inputs: flat.inputs, wires: flat.wires, constraints };
	const values = new Array<bigint>(flat.wires).fill(0n);
	const inputs = Array.from({ length: flat.inputs }, (_, i) => scalar(`input ${i}`));
	const secretWires = flat.secrets.flatMap(([first, count]) => Array.from({ length: count }, (_, i) => first + i));
	const secrets = secretWires.map((_, i) => scalar(`secret ${i}`));
	values[0] = 1n;
	for (const [i, one] of inputs.entries()) values[1 + i] = one;
	for (const [i, one] of secrets.entries()) values[secretWires[i]!] = one;
	const at = (sum: Sum) => mod([...sum].reduce((total, [wire, by]) => total + by * values[wire]!, 0n));
	for (const { a, b, product } of constraints) if (product !== 0) values[product] = mod(at(a) * at(b));
	const known = ["tau", "alpha", "beta", "gamma", "delta"].map(scalar);
	const [tau, alpha, beta, gamma, delta] = known as [bigint, bigint, bigint, bigint, bigint];
	const key = keyOf(system, { tau, alpha, beta, gamma, delta });
	const blinders = [scalar("r"), scalar("s")] as const;
	const text = (list: readonly bigint[]) => list.map((one) => hex(word(one))).join("");
	return {
		...{ name, circuit: hex(circuitBytes(flat)), key: hex(keyBytes(system, key)), known: text(known) },
		...{ inputs: text(inputs), secrets: text(secrets), blinders: text(blinders) },
		proof: hex(proveGroth16(system, key, values, blinders)),
	};
}

export const groth16Rows = (): Row[] => [
	groth16Row("one product", {
		...{ inputs: 1, wires: 4, secrets: [[2, 1]] },
		sections: [
			{
				copies: 1,
				steps: [],
				constraints: [{ a: new Map([[1, 1n]]), b: new Map([[2, 3n]]), c: new Map(), product: 3 }],
			},
		],
	}),
	groth16Row("three copies", drawnCircuit("groth16 small", 2, 3, 4)),
	groth16Row("five copies", drawnCircuit("groth16 larger", 3, 5, 9)),
];
