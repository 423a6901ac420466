// Circuits and wires as iden3's tools read them (`.r1cs` version 1, `.wtns` version 2): so keys of our
// circuits can be made, contributed to and used by others' programs. docs/zk.md §13.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { bigOf, R } from "../../../protocol/maths/bn254.ts";
import type { Circuit, Wires } from "../run/circuit.ts";

const littleEndian = (value: bigint, size: number): Uint8Array =>
	Uint8Array.from({ length: size }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
const u32 = (value: number): Uint8Array => littleEndian(BigInt(value), 4);
const u64 = (value: number): Uint8Array => littleEndian(BigInt(value), 8);
const scalar = (value: bigint): Uint8Array => littleEndian(value, 32);

/** As concatBytes, of any number of parts. */
function joined(parts: readonly Uint8Array[]): Uint8Array {
	const whole = new Uint8Array(parts.reduce((sum, one) => sum + one.length, 0));
	let at = 0;
	for (const one of parts) {
		whole.set(one, at);
		at += one.length;
	}
	return whole;
}

const file = (name: string, version: number, sections: readonly (readonly [type: number, bytes: Uint8Array])[]) =>
	concatBytes(
		...[utf8ToBytes(name), u32(version), u32(sections.length)],
		...sections.flatMap(([type, bytes]) => [u32(type), u64(bytes.length), bytes]),
	);

const sumOf = (wires: Wires): Uint8Array[] => [
	u32(wires.size),
	...[...wires].sort(([a], [b]) => a - b).flatMap(([wire, factor]) => [u32(wire), scalar(factor)]),
];

/** Inputs stand as public ones, all other wires as private. */
export function r1csFile({
	constraints,
	inputs,
	wires,
}: Pick<Circuit, "constraints" | "inputs" | "wires">): Uint8Array {
	const counts = [wires, 0, inputs, wires - 1 - inputs].map(u32);
	const head = concatBytes(u32(32), scalar(R), ...counts, u64(wires), u32(constraints.length));
	return file("r1cs", 1, [
		[1, head],
		[2, joined(constraints.flatMap(({ a, b, c }) => [a, b, c].flatMap(sumOf)))],
		[3, joined(Array.from({ length: wires }, (_, i) => u64(i)))],
	]);
}

/** Numbers of all wires. */
export const wtnsFile = (values: readonly bigint[]): Uint8Array =>
	file("wtns", 2, [
		[1, concatBytes(u32(32), scalar(R), u32(values.length))],
		[2, joined(values.map(scalar))],
	]);

/** A circuit as firstKey needs it; null: no such file, or of another field. */
export function readR1cs(bytes: Uint8Array): Pick<Circuit, "constraints" | "inputs" | "wires"> | null {
	const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
	const big = (at: number) => bigOf(bytes.subarray(at, at + 32).toReversed());
	try {
		if (view.getUint32(0) !== 0x72316373 || view.getUint32(4, true) !== 1) return null;
		const starts = new Map<number, number>();
		for (let at = 12, i = 0; i < view.getUint32(8, true); i++) {
			starts.set(view.getUint32(at, true), at + 12);
			at += 12 + Number(view.getBigUint64(at + 4, true));
		}
		const head = starts.get(1)!;
		if (view.getUint32(head, true) !== 32 || big(head + 4) !== R) return null;
		const [wires, outputs, inputs] = [0, 4, 8].map((more) => view.getUint32(head + 36 + more, true)) as [
			number,
			number,
			number,
		];
		const count = view.getUint32(head + 60, true);
		let at = starts.get(2)!;
		const sum = (): Wires => {
			const size = view.getUint32(at, true);
			at += 4;
			const found = new Map<number, bigint>();
			for (let i = 0; i < size; i++, at += 36) found.set(view.getUint32(at, true), big(at + 4));
			if ([...found].some(([wire, factor]) => wire >= wires || factor >= R)) throw new RangeError("no wire");
			return found;
		};
		const constraints = Array.from({ length: count }, () => ({ a: sum(), b: sum(), c: sum(), product: null }));
		return { constraints, inputs: outputs + inputs, wires };
	} catch (error) {
		if (error instanceof RangeError) return null;
		throw error;
	}
}
