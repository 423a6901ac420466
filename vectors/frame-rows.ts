// Rows of frames.json: the bytes of every kind of frame, good and bad, written by hand from engine/FRAMES.md.
import { hex, label, type Row } from "./rows.ts";

/** Bytes as hex, and how they read: nothing for those that are always the same. */
interface Part {
	readonly bytes: string;
	readonly text?: string;
}

const little = (size: number, value: number) =>
	Array.from({ length: size }, (_, i) => (Math.floor(value / 2 ** (8 * i)) % 256).toString(16).padStart(2, "0")).join(
		"",
	);
const number =
	(size: number) =>
	(name: string, value: number): Part => ({
		bytes: little(size, value),
		text: `${name}=${value}`,
	});
const [u8, u16, u32, u64] = [number(1), number(2), number(4), number(8)];
const fixed = (bytes: string): Part => ({ bytes });
const raw = (name: string, bytes: string): Part => ({ bytes, text: `${name}=${bytes}` });
const hash = (name: string): Part => raw(name, hex(label(`frames ${name}`)));
const text = (name: string, value: string): Part => raw(name, hex(Buffer.from(value)));
const places = (...list: readonly (readonly [number, number])[]): Part => ({
	bytes: little(4, list.length) + list.map(([round, index]) => little(4, round) + little(4, index)).join(""),
	text: `places=${list.map((place) => place.join(":")).join(",")}`,
});
const opening = (leaf: string, path: string): Part => ({
	bytes: little(2, leaf.length / 2) + little(2, path.length / 64) + leaf + path,
	text: `leaf=${leaf} path=${path}`,
});
const joined = (parts: readonly Part[]) => parts.map(({ bytes }) => bytes).join("");

function frame(kind: number, payload: string, id = 0x01020304): string {
	return little(4, 5 + payload.length / 2) + little(1, kind) + little(4, id) + payload;
}

const magic = fixed(hex(Buffer.from("assay-engine")));

type Good = readonly [kind: number, name: string, ...parts: Part[]];
const toEngine: readonly Good[] = [
	[0x01, "hello", u16("version", 3)],
	[
		0x02,
		"gemm",
		u32("session", 7),
		u16("device", 258),
		u8("precision", 3),
		fixed("00"),
		u32("m", 128),
		u32("n", 512),
		u32("k", 65536),
		u32("rounds", 3),
		u32("keep", 2),
		hash("seed"),
	],
	[
		0x03,
		"stream",
		u32("session", 2 ** 32 - 1),
		u16("reader", 65535),
		fixed("0000"),
		u32("newest", 5),
		u32("passes", 6),
		hash("nonce"),
	],
	[
		0x04,
		"fma",
		u32("session", 8),
		u16("device", 1),
		u8("precision", 6),
		fixed("00"),
		u32("lanes", 256),
		u32("steps", 512),
		u32("rounds", 1048576),
		hash("seed"),
	],
	[0x05, "open", u32("session", 9), u8("what", 1), fixed("000000"), places([0, 5], [2, 2 ** 32 - 1])],
	[0x05, "open", u32("session", 9), u8("what", 2), fixed("000000"), places([0, 0])],
	[0x05, "open", u32("session", 9), u8("what", 3), fixed("000000"), places([0, 65535])],
	[0x05, "open", u32("session", 9), u8("what", 4), fixed("000000"), places([4095, 3])],
	[0x06, "release", u32("session", 10)],
	[0x07, "ping", raw("payload", "")],
	[0x07, "ping", raw("payload", "5a".repeat(64))],
	[0x08, "cancel", u32("target", 3)],
	[0x09, "copy", u32("session", 11), u16("device", 2), fixed("0000"), u32("newest", 9), hash("nonce")],
	[0x0a, "read", u16("device", 515)],
	[0x0b, "chase", u32("session", 12), u32("newest", 3), u32("intervals", 65536), hash("nonce")],
	[0x0c, "program", u32("session", 13), u16("device", 1), hash("seed"), raw("program", "41535341")],
	[0x0d, "tensor", u32("session", 13), u16("tensor", 4095), u64("offset", 2 ** 52 + 1), raw("bytes", "00ff")],
	[0x0e, "hash", u32("session", 13), u16("tensor", 3)],
	[0x0f, "load", u32("session", 13), u16("tensor", 3), hash("root")],
	[0x10, "run", u32("session", 13), u32("first", 2 ** 31 - 1), u32("count", 1), u32("saveEvery", 16)],
	[0x11, "save", u32("session", 13)],
	[0x12, "fetch", u32("session", 13), u16("tensor", 3), u64("offset", 1024), u64("length", 2 ** 40)],
	[0x13, "trace", u32("session", 13), u32("segment", 77)],
	[
		0x14,
		"ask",
		u32("session", 13),
		u32("segment", 77),
		u32("step", 65535),
		u32("op", 65534),
		places([0, 7], [255, 2 ** 32 - 1]),
	],
	[0x15, "seed", u32("session", 13), hash("seed")],
	[0x16, "attest", u8("what", 0), fixed("000000"), hash("nonce"), hash("set")],
	[0x16, "attest", u8("what", 1), fixed("000000"), hash("nonce"), hash("set")],
	[0x16, "attest", u8("what", 2), fixed("000000"), hash("nonce"), hash("set")],
	[0x17, "prover", u32("session", 14), u16("device", 1), raw("plan", "0100000008000000")],
	[0x18, "give", u32("session", 14), u16("number", 66), u64("offset", 2 ** 33 + 64), raw("bytes", "00ff")],
	[0x19, "commit", u32("session", 14), u32("firstStep", 2 ** 32 - 1), hash("seed")],
	[0x1a, "prove", u32("session", 14), hash("statement")],
	[0x1c, "part", u32("session", 14), hash("statement"), hash("nonce")],
	[0x1d, "fold", u32("session", 14), hash("secret")],
	[
		...([0x1e, "wrapper", u32("session", 15), u16("device", 1), u16("form", 2), u32("inputs", 3)] as const),
		...[u32("wires", 2 ** 32 - 1), u32("log2", 28), u64("circuitBytes", 2 ** 33 + 64)],
	],
	[0x1f, "wrap", u32("session", 15), hash("r"), hash("s")],
	[0x20, "key", u32("session", 15)],
	[
		0x1b,
		"evaluate",
		u32("session", 13),
		u16("tensor", 3),
		u16("reading", 1),
		u32("columns", 785),
		u32("shift", 3),
		u32("add", 256),
		u32("most", 2047),
		raw("point", `${"00".repeat(31)}07`),
	],
];
const toVerifier: readonly Good[] = [
	[0x80, "ready", magic, u16("version", 3), text("engineVersion", "0.1.0+é")],
	[0x80, "ready", magic, u16("version", 65535), text("engineVersion", "v".repeat(64))],
	[0x81, "claim", text("json", '{"devices":[]}')],
	[0x82, "root", u32("index", 9), hash("root")],
	[0x83, "progress", u32("done", 1), u32("total", 2)],
	[0x84, "done", u32("count", 10), u8("cancelled", 0)],
	[0x84, "done", u32("count", 0), u8("cancelled", 1)],
	[0x85, "opening", u32("round", 1), u32("index", 2), opening("a7".repeat(40), hex(label("a")) + hex(label("b")))],
	[0x85, "opening", u32("round", 1), u32("index", 2), opening("", "")],
	[0x86, "pong", raw("payload", "00ff")],
	[
		0x87,
		"reading",
		u32("coreMHz", 1980),
		u32("memoryMHz", 3201),
		u32("powerMw", 699000),
		u32("temperatureC", 71),
		u32("throttle", 4),
	],
	[0x88, "plan", u64("peakBytes", 2 ** 53 - 1), u64("stateBytes", 0), u32("initOps", 2), u32("stepOps", 65533)],
	[0x89, "metric", u32("segment", 77), u32("step", 3), u16("tensor", 9), raw("bytes", "0102")],
	[0x8a, "segment", u32("segment", 77), u8("saved", 1), raw("roots", hex(label("a")) + hex(label("b")))],
	[0x8a, "segment", u32("segment", 0), u8("saved", 0), raw("roots", "")],
	[0x8b, "bytes", raw("bytes", "00")],
	[0x8c, "report", u16("index", 258), u8("part", 5), fixed("00"), raw("bytes", "00ff")],
	[0xff, "error", u16("code", 4), text("message", "no room")],
	[0xff, "error", u16("code", 10), text("message", "")],
];

type Bad = readonly [name: string, kind: number, payload: string];
const payloadOf = (list: readonly Good[], name: string) => {
	const [, , ...parts] = list.find(([, other]) => other === name)!;
	return joined(parts);
};
/** The payload with the byte at `at` replaced. */
function withByte(list: readonly Good[], name: string, at: number, byte: string): string {
	const payload = payloadOf(list, name);
	return payload.slice(0, 2 * at) + byte + payload.slice(2 * at + 2);
}

/** One byte less and one more, for frames whose size is fixed by what they say. */
function sizes(list: readonly Good[], names: readonly string[]): Bad[] {
	return names.flatMap((name): Bad[] => {
		const [kind] = list.find(([, other]) => other === name)!;
		const payload = payloadOf(list, name);
		return [
			[`${name}, a byte is missing`, kind, payload.slice(0, -2)],
			[`${name}, a byte too many`, kind, `${payload}00`],
			[`${name}, nothing in it`, kind, ""],
		];
	});
}

const badToEngine: readonly Bad[] = [
	...sizes(toEngine, ["hello", "gemm", "stream", "fma", "open", "release", "cancel", "copy", "read", "chase"]),
	...sizes(toEngine, [
		"hash",
		"load",
		"run",
		"save",
		"fetch",
		"trace",
		"ask",
		"seed",
		"attest",
		"commit",
		"prove",
		"part",
		"fold",
		"wrapper",
		"wrap",
		"key",
	]),
	["program, nothing after the seed", 0x0c, payloadOf(toEngine, "program").slice(0, -8)],
	["tensor, no bytes", 0x0d, payloadOf(toEngine, "tensor").slice(0, -4)],
	["tensor, an offset of seven bytes", 0x0d, payloadOf(toEngine, "tensor").slice(0, -6)],
	["ask, fewer places than said", 0x14, withByte(toEngine, "ask", 16, "03")],
	["ping of 65 bytes", 0x07, "00".repeat(65)],
	["gemm, reserved byte", 0x02, withByte(toEngine, "gemm", 7, "01")],
	["fma, reserved byte", 0x04, withByte(toEngine, "fma", 7, "80")],
	["stream, first reserved byte", 0x03, withByte(toEngine, "stream", 6, "01")],
	["stream, second reserved byte", 0x03, withByte(toEngine, "stream", 7, "01")],
	["copy, reserved byte", 0x09, withByte(toEngine, "copy", 7, "01")],
	["open, reserved byte", 0x05, withByte(toEngine, "open", 5, "01")],
	["open, last reserved byte", 0x05, withByte(toEngine, "open", 7, "01")],
	["open, more places than said", 0x05, withByte(toEngine, "open", 8, "01")],
	["open, fewer places than said", 0x05, withByte(toEngine, "open", 8, "03")],
	["unknown kind 0", 0x00, ""],
	["attest, last reserved byte", 0x16, withByte(toEngine, "attest", 3, "01")],
	["prover without a plan", 0x17, payloadOf(toEngine, "prover").slice(0, -16)],
	["prover, a plan of 4,097 bytes", 0x17, payloadOf(toEngine, "prover").slice(0, -16) + "00".repeat(4097)],
	["give, no bytes", 0x18, payloadOf(toEngine, "give").slice(0, -4)],
	["unknown kind 27", 0x1b, ""],
	["unknown kind 119", 0x77, "00"],
	["a reply as a request", 0x82, payloadOf(toVerifier, "root")],
];
const valuesToEngine: readonly Bad[] = [
	["gemm, a precision of fma", 0x02, withByte(toEngine, "gemm", 6, "05")],
	["gemm, precision 255", 0x02, withByte(toEngine, "gemm", 6, "ff")],
	["fma, a precision of gemm", 0x04, withByte(toEngine, "fma", 6, "04")],
	["fma, precision 8", 0x04, withByte(toEngine, "fma", 6, "08")],
	["open of another thing", 0x05, withByte(toEngine, "open", 4, "05")],
	["attest of another thing", 0x16, withByte(toEngine, "attest", 0, "03")],
	["open of nothing", 0x05, "09000000" + "00000000" + "00000000"],
];
const badToVerifier: readonly Bad[] = [
	...sizes(toVerifier, ["root", "progress", "done", "opening", "reading", "plan"]),
	["metric without elements", 0x89, payloadOf(toVerifier, "metric").slice(0, -4)],
	["metric of more than 8 KiB", 0x89, `${payloadOf(toVerifier, "metric")}${"00".repeat(8192)}`],
	["segment, neither saved nor not", 0x8a, withByte(toVerifier, "segment", 4, "02")],
	["bytes without any", 0x8b, ""],
	["done, neither complete nor cancelled", 0x84, "0000000002"],
	["opening, a longer leaf than said", 0x85, withByte(toVerifier, "opening", 8, "29")],
	["opening, a shorter path than said", 0x85, withByte(toVerifier, "opening", 10, "01")],
	["ready, another magic", 0x80, withByte(toVerifier, "ready", 11, "45")],
	["ready without an engine version", 0x80, `${magic.bytes}0300`],
	["ready, a version of 65 bytes", 0x80, `${magic.bytes}0300${"76".repeat(65)}`],
	["claim that is not UTF-8", 0x81, "ff"],
	["pong of 65 bytes", 0x86, "00".repeat(65)],
	["error without a code", 0xff, "04"],
	["error, a message of 1025 bytes", 0xff, `0400${"20".repeat(1025)}`],
	["error, a message that is not UTF-8", 0xff, "0400c3"],
	["report without bytes", 0x8c, payloadOf(toVerifier, "report").slice(0, -4)],
	["report of more than 64 KiB", 0x8c, `${payloadOf(toVerifier, "report")}${"00".repeat(65536)}`],
	["report, a part that is not known", 0x8c, withByte(toVerifier, "report", 2, "06")],
	["report, reserved byte", 0x8c, withByte(toVerifier, "report", 3, "01")],
	["unknown kind 141", 0x8d, ""],
	["a request as a reply", 0x01, "0300"],
];

/**
 * `refused`: nothing; `frame` for bytes that are no such frame, `value` for a word that is not known,
 * `length` for the length itself.
 */
export function frameRows(): Row[] {
	const good = (to: string, list: readonly Good[]): Row[] =>
		list.map(([kind, name, ...parts]) => ({
			to,
			name,
			refused: "",
			fields: parts.flatMap((part) => part.text ?? []).join(" "),
			frame: frame(kind, joined(parts)),
		}));
	const bad = (to: string, refused: string, list: readonly Bad[]): Row[] =>
		list.map(([name, kind, payload]) => ({ to, name, refused, fields: "", frame: frame(kind, payload) }));
	const lengths = (to: string, most: number): Row[] =>
		[0, 4, most + 1, 2 ** 32 - 1].map((length) => ({
			to,
			name: `length ${length}`,
			refused: "length",
			fields: "",
			frame: `${little(4, length)}0701000000`,
		}));
	return [
		...good("engine", toEngine),
		...bad("engine", "frame", badToEngine),
		...bad("engine", "value", valuesToEngine),
		...lengths("engine", 2 ** 20 + 64),
		...good("verifier", toVerifier),
		...bad("verifier", "frame", badToVerifier),
		...lengths("verifier", 4 * 2 ** 20),
	];
}
