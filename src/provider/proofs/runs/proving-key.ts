// Keys of wrapped runs as a prover has them, docs/zk.md §13: snarkjs's `.zkey`, the `.key` of
// scripts/zk-key.ts, or `dev`, a key of known secrets that the engine makes. What an engine is given of them
// comes list by list: a key of many segments has gigabytes.
import { closeSync, fstatSync, openSync, readFileSync, readSync } from "node:fs";
import { KEY_FORM, type OpenWrap } from "../../../engine/client/open-wrap-session.ts";
import { concatBytes } from "../../../protocol/bytes/bytes.ts";
import { codedError } from "../../../protocol/coded-error.ts";
import { G2_ONE } from "../../../protocol/maths/bn254.ts";
import { g1Bytes, g2Bytes } from "../../../verify/zk/key/key-bytes.ts";
import { keyChainOf } from "../../../verify/zk/key/key-file.ts";
import { type ReadAt, zkeyLists } from "./zkey-file.ts";

export interface ProvingKeyFile {
	readonly form: OpenWrap["form"];
	/** Null: any, it is made for the circuit. */
	readonly sizes: { readonly inputs: number; readonly wires: number; readonly log2: number } | null;
	/** What giveKey takes, read when it is asked for. */
	lists(): Iterable<Uint8Array>;
}

/** A key that proves nothing: everybody knows its secrets. */
export const DEV_KEY: ProvingKeyFile = { form: KEY_FORM.known, sizes: null, lists: () => [] };

const MOST_TEXT_BYTES = 2 ** 28;
const refused = (detail: string, cause?: unknown) => codedError("KEY_FILE", detail, { cause });

/** Opens it for each reading: nothing is held between. */
function readFrom<Result>(path: string, use: (read: ReadAt, size: number) => Result): Result {
	let file: number;
	try {
		file = openSync(path, "r");
	} catch (cause) {
		throw refused(`cannot read ${path}: ${(cause as Error).message}`, cause);
	}
	try {
		const { size } = fstatSync(file);
		const read: ReadAt = (at, length) => {
			if (at + length > size) throw refused(`${path} ends before its key does`);
			const bytes = new Uint8Array(length);
			for (let done = 0; done < length; ) {
				const more = readSync(file, bytes, done, Math.min(length - done, 2 ** 30), at + done);
				if (more === 0) throw refused(`${path} ends before its key does`);
				done += more;
			}
			return bytes;
		};
		return use(read, size);
	} finally {
		closeSync(file);
	}
}

function snarkjsKey(path: string): ProvingKeyFile {
	const { inputs, wires, log2, lists } = readFrom(path, zkeyLists);
	return {
		...{ form: KEY_FORM.snarkjs, sizes: { inputs, wires, log2 } },
		*lists() {
			for (const pieces of lists)
				yield readFrom(path, (read) => concatBytes(...pieces.map(([at, length]) => read(at, length))));
		},
	};
}

/** A file of our own: small circuits. */
function ownKey(path: string): ProvingKeyFile {
	const key = keyChainOf(readFileSync(path, "utf8"))?.key;
	if (key === undefined) throw refused(`${path} is no key, or a point of it is none`);
	const { alpha1, beta1, delta1, beta2, delta2, inputs, a, b1, b2, others, powers } = key;
	const ends = concatBytes(
		...[alpha1, beta1, delta1].map(g1Bytes),
		...[beta2, G2_ONE, delta2].map(g2Bytes),
		...inputs.map(g1Bytes),
	);
	const all = <Point>(list: readonly Point[], bytes: (one: Point) => Uint8Array) => concatBytes(...list.map(bytes));
	return {
		form: KEY_FORM.bigEndian,
		sizes: { inputs: inputs.length - 1, wires: a.length, log2: Math.log2(powers.length + 1) },
		lists: () => [
			ends,
			all(a, g1Bytes),
			all(b1, g1Bytes),
			all(b2, g2Bytes),
			all(others, g1Bytes),
			all(powers, g1Bytes),
		],
	};
}

/** `name`: a path, or `dev`. Throws KEY_FILE. */
export function openProvingKey(name: string): ProvingKeyFile {
	if (name === "dev") return DEV_KEY;
	const [head, size] = readFrom(name, (read, length) => [read(0, Math.min(4, length)), length] as const);
	if (head.length === 4 && String.fromCharCode(...head) === "zkey") return snarkjsKey(name);
	if (size > MOST_TEXT_BYTES) throw refused(`${name} is no .zkey, and too large for a .key`);
	return ownKey(name);
}
