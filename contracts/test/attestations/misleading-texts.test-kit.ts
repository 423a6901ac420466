// Texts that somebody wrote to mislead a reader: changes of a right one. And contracts/vectors/readers.json,
// by which IntelReader.t.sol asks for the same answers as readers.test.ts, so that a fault in the reader is
// noticed there too: what plain-reader.test-kit.ts says of such changes, and of every letter of two texts
// replaced by others, as numbers of 32 bits.
//   ATTESTATIONS=write node --test contracts/test/attestations/readers.test.ts
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { concat, type Hex, hexToNumber, keccak256, slice, toHex } from "viem";
import { bytesToUtf8, concatBytes, utf8ToBytes } from "../../../src/protocol/bytes/bytes.ts";
import { collateralPlan, mintCollateral } from "../../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import { plainRead } from "./plain-reader.test-kit.ts";

/** `put` in place of `cut` bytes. */
interface Patch {
	readonly at: number;
	readonly cut: number;
	readonly put: Uint8Array;
}

const FILE = new URL("../../vectors/readers.json", import.meta.url);
/** What ends something, what goes on, and what is nothing. */
const LETTERS = utf8ToBytes('"},0x');
/** Of a change in the vectors. */
const MOST_BYTES = 80;
const HEX_ENDS = ["/", ":", "@", "G", "`", "g", "\x10", "\xb0", "0", "9", "a", "f", "A", "F"];
export const NUMBERS = [
	"0",
	"00",
	"007",
	"-1",
	"+1",
	"1e2",
	"1.0",
	"255",
	"256",
	"65535",
	"65536",
	"99999999999999999999",
	"",
	" 1",
	"1 ",
];
const VALUES = [
	...[
		"null",
		"true",
		"tru",
		'""',
		'"\\u0054DX"',
		'"\\\\"',
		'"a\\"',
		"{}",
		"[]",
		"[[[[[[[[]]]]]]]]",
		'{"a":{"b":[1,{"c":"}]"}]}}',
	],
	...[
		"}",
		"]",
		",",
		":",
		"{",
		"[",
		"1{",
		'1"a"',
		'"a"1',
		" ",
		"\0",
		`"${"x".repeat(31)}"`,
		`"${"x".repeat(32)}"`,
		`"${"x".repeat(33)}"`,
	],
	...[`"${"x".repeat(64)}`, `"${" ".repeat(10_000)}"`, " ".repeat(10_000), "[".repeat(5_000), `"${"é€𝄞".repeat(9)}"`],
];

export const patched = (bytes: Uint8Array, { at, cut, put }: Patch): Uint8Array =>
	concatBytes(bytes.subarray(0, at), put, bytes.subarray(at + cut));

/**
 * Each value in turn replaced by each of these, each member twice, missing, renamed; and the whole with
 * something about it.
 */
export function* misleading(text: string): Generator<Patch> {
	const places = [...text.matchAll(/"[^"]*":/g)].map(({ index, 0: { length } }) => [index, index + length] as const);
	const patch = (at: number, until: number, put: string, encoding: "utf8" | "latin1" = "utf8"): Patch => ({
		...{ at, cut: until - at },
		put: Uint8Array.from(Buffer.from(put, encoding)),
	});
	// Names that occur many times are tried at their first place.
	for (const [from, to] of places.filter(([from, to]) => text.indexOf(text.slice(from, to)) === from)) {
		const end = to + /^("[^"]*"|[0-9]+|)/.exec(text.slice(to))![0].length;
		const [name, found] = [text.slice(from, to), text.slice(to, end)];
		for (const value of [...VALUES, ...NUMBERS]) yield patch(to, end, value);
		for (const letter of found.length > 2 ? HEX_ENDS : []) {
			yield patch(to + 1, to + 2, letter, "latin1");
			yield patch(end - 2, end - 1, letter, "latin1");
		}
		const twice = `${name}${found},${name}${found}`;
		// Names whose first bytes, with zeros behind them, are a word's.
		for (const length of [32, 33]) yield patch(from, to, `"${name.slice(1, -2).padEnd(length, "\0")}":`);
		for (const one of [twice, "", `"x${name.slice(1)}${found}`, `${name.slice(0, -2)}\0":${found}`, ` ${name}${found}`])
			yield patch(from, end, one);
	}
	const { length } = utf8ToBytes(text);
	for (const whole of ["", "{", "{}", "[]"]) yield patch(0, length, whole);
	for (const before of [" ", "\ufeff", "{"]) yield patch(0, 0, before);
	for (const behind of [" ", "}", "\0", text]) yield patch(length, length, behind);
	yield patch(length - 1, length, "");
}

/** Short, with everything in them that a reader looks for. */
function shortTexts(): { readonly tcbInfo: string; readonly qeIdentity: string } {
	const plan = collateralPlan();
	const level = { isvsvn: 5, status: "SWHardeningNeeded" };
	const made = mintCollateral({ ...plan, levels: [plan.levels[1]!], moduleLevels: [level], qeLevels: [level] });
	const { tcb_info, qe_identity } = JSON.parse(bytesToUtf8(made)!) as Record<string, string>;
	const component = '{"svn":17,"category":"BIOS"}';
	return { tcbInfo: tcb_info!.replace('{"svn":5}', component), qeIdentity: qe_identity! };
}

const shortOf = (hash: Hex): number => hexToNumber(slice(hash, 0, 4));

/** Whether the file is what these texts make; writes it where that is asked for. */
export function areReaderVectorsFresh(): boolean {
	const texts = Object.entries(shortTexts()) as ["tcbInfo" | "qeIdentity", string][];
	const rows = texts.flatMap(([what, text], which) =>
		[...misleading(text)]
			.filter(({ put }) => put.length <= MOST_BYTES)
			.map((patch) => {
				const due = shortOf(keccak256(plainRead(what, patched(utf8ToBytes(text), patch))));
				return { ...patch, which, due };
			}),
	);
	// Of each text and letter one number for all its places; the last of each text is of what is left when it
	// is cut there.
	const sweeps = texts.map(([what, text]) => {
		const bytes = utf8ToBytes(text);
		const over = (changed: (at: number) => Uint8Array): number =>
			shortOf(
				Array.from(bytes, (_, at) => plainRead(what, changed(at))).reduce(
					(sum, data) => keccak256(concat([sum, data])),
					`0x${"00".repeat(32)}` as Hex,
				),
			);
		const replaced = [...LETTERS].map((letter) =>
			over((at) => patched(bytes, { at, cut: 1, put: Uint8Array.of(letter) })),
		);
		return [...replaced, over((at) => bytes.subarray(0, at))];
	});
	const made = {
		texts: texts.map(([, text]) => toHex(text)),
		letters: [toHex(LETTERS)],
		sweeps: sweeps.flat(),
		...{ which: rows.map(({ which }) => which), at: rows.map(({ at }) => at), cut: rows.map(({ cut }) => cut) },
		put: rows.map(({ put }) => toHex(put)),
		due: rows.map(({ due }) => due),
	};
	// One line a list: there are many numbers.
	const text = `{\n${Object.entries(made)
		.map(([name, list]) => `\t${JSON.stringify(name)}: ${JSON.stringify(list)}`)
		.join(",\n")}\n}\n`;
	if (process.env.ATTESTATIONS === "write") writeFileSync(FILE, text);
	return existsSync(FILE) && readFileSync(FILE, "utf8") === text;
}
