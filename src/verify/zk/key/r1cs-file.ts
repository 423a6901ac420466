// Circuits and wires as iden3's tools read them (`.r1cs` version 1, `.wtns` version 2): so keys of our circuits can be made, contributed to and used by others' programs. docs/zk.md §13.
import { concatBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { R } from "../../../protocol/maths/bn254.ts";
import type { Circuit, Wires } from "../run/circuit.ts";

const littleEndian = (value: bigint, size: number): Uint8Array =>
	Uint8Array.from({ length: size }, (_, i) => Number((value >> BigInt(8 * i)) & 0xffn));
const u32 = (value: number): Uint8Array => littleEndian(BigInt(value), 4);
const u64 = (value: number): Uint8Array => littleEndian(BigInt(value), 8);
const scalar = (value: bigint): Uint8Array => littleEndian(value, 32);

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
		[2, concatBytes(...constraints.flatMap(({ a, b, c }) => [a, b, c].flatMap(sumOf)))],
		[3, concatBytes(...Array.from({ length: wires }, (_, i) => u64(i)))],
	]);
}

/** Numbers of all wires. */
export const wtnsFile = (values: readonly bigint[]): Uint8Array =>
	file("wtns", 2, [
		[1, concatBytes(u32(32), scalar(R), u32(values.length))],
		[2, concatBytes(...values.map(scalar))],
	]);
