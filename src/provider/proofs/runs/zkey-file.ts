// Keys as snarkjs keeps them (`.zkey` of Groth16, version 1): where its lists lie in a file, so that they go
// to an engine as they are. Not here: whose key it is; points are checked by the engine.
import { codedError } from "../../../protocol/coded-error.ts";
import { bigOf, R } from "../../../protocol/maths/bn254.ts";

/** Part of a file. Throws where it is not there. */
export type ReadAt = (at: number, length: number) => Uint8Array;

export interface ZkeyLists {
	readonly inputs: number;
	readonly wires: number;
	readonly log2: number;
	/**
	 * Where each list lies, in the order in which engines take them: ends of three pieces, then lists of one.
	 */
	readonly lists: readonly (readonly (readonly [at: number, length: number])[])[];
}

const P = 21888242871839275222246405745257275088696311157297823662689037894645226208583n;
const [GROTH16, MOST_SECTIONS, MOST_WIRES] = [1, 64, 2 ** 26];
const HEADER_BYTES = 2 * (4 + 32) + 12 + 3 * 64 + 3 * 128;

const refused = (detail: string) => codedError("KEY_FILE", `no such key: ${detail}`);

/** Throws KEY_FILE. */
export function zkeyLists(read: ReadAt): ZkeyLists {
	const word = (at: number) => {
		const bytes = read(at, 4);
		return new DataView(bytes.buffer, bytes.byteOffset, 4).getUint32(0, true);
	};
	const long = (at: number) => word(at) + 2 ** 32 * word(at + 4);
	const number = (at: number) => bigOf(read(at, 32).toReversed());
	if (bigOf(read(0, 4)) !== 0x7a6b6579n || word(4) !== 1) throw refused("it is no .zkey of version 1");
	const count = word(8);
	if (count > MOST_SECTIONS) throw refused(`it has ${count} sections`);
	const sections = new Map<number, readonly [at: number, length: number]>();
	for (let at = 12, i = 0; i < count; i++) {
		sections.set(word(at), [at + 12, long(at + 4)]);
		at += 12 + long(at + 4);
	}
	const section = (type: number, length: number): readonly [number, number] => {
		const found = sections.get(type);
		if (found?.[1] !== length) throw refused(`section ${type} has not ${length} bytes`);
		return found;
	};
	if (word(section(1, 4)[0]) !== GROTH16) throw refused("it is of another proof system than Groth16");
	const [head] = section(2, HEADER_BYTES);
	if (word(head) !== 32 || number(head + 4) !== P || word(head + 36) !== 32 || number(head + 40) !== R)
		throw refused("it is of another curve than BN254");
	const [wires, inputs, size] = [72, 76, 80].map((more) => word(head + more)) as [number, number, number];
	const log2 = Math.log2(size);
	if (wires > MOST_WIRES || inputs >= wires || !Number.isInteger(log2) || log2 < 1) throw refused("its sizes are none");
	// alpha1, beta1, beta2, gamma2, delta1, delta2.
	const ends = head + 84;
	return {
		...{ inputs, wires, log2 },
		lists: [
			[[ends, 128], [ends + 384, 64], [ends + 128, 256], [ends + 448, 128], section(3, 64 * (inputs + 1))],
			[section(5, 64 * wires)],
			[section(6, 64 * wires)],
			[section(7, 128 * wires)],
			[section(8, 64 * (wires - inputs - 1))],
			[section(9, 64 * size)],
		],
	};
}
