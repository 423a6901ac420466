// Why a validator's scores are what they are, as one compressed file: JSON whose every provider is a line of
// its own, so that it is written and read line by line. All at once it would be 180 MB for 10,000 hosts with
// a card each, and more than a string can hold for hosts with eight. Whoever has a small one may parse it
// whole. Page: docs/epochs.md §4.
import type { Hex } from "../../protocol/chain/hex.ts";
import type { Explanation } from "../scores/explanation.ts";

export type ReasonEntry = readonly [account: Hex, reason: Explanation];
export type ReasonEntries = Iterable<ReasonEntry> | AsyncIterable<ReasonEntry>;

export interface ReportReasons {
	/** The parameters that were scored with; null: not said. */
	readonly params: Readonly<Record<string, unknown>> | null;
	/** By provider's account. Throws RangeError where the file is none, or grows beyond all bounds. */
	entries(): AsyncIterable<ReasonEntry>;
}

/** Ten times what 10,000 hosts with eight cards each have. */
const MAX_BYTES = 10 * 2 ** 30;
/** A host with eight cards has 95 kB, parameters 5. */
const MAX_LINE_BYTES = 8 << 20;
const HEAD = /^(\{"version":1,"params":.*),"reasons":\{$/;

/** Piece by piece, to be compressed. */
export async function* encodeReasons(entries: ReasonEntries, params: ReportReasons["params"]): AsyncGenerator<string> {
	yield `${JSON.stringify({ version: 1, params }).slice(0, -1)},"reasons":{\n`;
	let comma = "";
	for await (const [account, reason] of entries) {
		yield `${comma}${JSON.stringify(account)}:${JSON.stringify(reason)}`;
		comma = ",\n";
	}
	yield "\n}}\n";
}

/** Hostile bytes, compressed: null for whatever does not begin as such a file. */
export async function parseReasons(bytes: Uint8Array, mostBytes = MAX_BYTES): Promise<ReportReasons | null> {
	try {
		for await (const line of linesOf(bytes, mostBytes)) {
			const [, head] = HEAD.exec(line) ?? [];
			if (head === undefined) return null;
			const { params } = JSON.parse(`${head}}`) as { params: unknown };
			if (params !== null && !isRecord(params)) return null;
			return { params, entries: () => entriesOf(bytes, mostBytes) };
		}
	} catch {
		// Not compressed, not JSON.
	}
	return null;
}

async function* entriesOf(bytes: Uint8Array, mostBytes: number): AsyncGenerator<ReasonEntry> {
	let number = 0;
	for await (const line of linesOf(bytes, mostBytes)) {
		if (number++ === 0 || line === "}}" || line === "") continue;
		let found: unknown;
		try {
			found = JSON.parse(`{${line.endsWith(",") ? line.slice(0, -1) : line}}`);
		} catch {
			throw new RangeError(`line ${number} is no reason`);
		}
		const [[account, reason] = ["", null], ...more] = Object.entries(isRecord(found) ? found : {});
		if (more.length > 0 || !/^0x[0-9a-f]{40}$/.test(account) || !isRecord(reason) || !isRecord(reason.root))
			throw new RangeError(`line ${number} is no reason`);
		yield [account as Hex, reason as unknown as Explanation];
	}
}

/** A small file may grow to a huge one: what is held is one line. */
async function* linesOf(bytes: Uint8Array, mostBytes: number): AsyncGenerator<string> {
	const packed = new Blob([bytes as Uint8Array<ArrayBuffer>]);
	// Not `for await`: Safari's streams cannot be iterated.
	const unpacked = packed.stream().pipeThrough(new DecompressionStream("gzip")).getReader();
	const decoder = new TextDecoder("utf-8", { fatal: true });
	let [held, heldSize, size]: [string[], number, number] = [[], 0, 0];
	try {
		for (;;) {
			const { value: chunk, done } = await unpacked.read();
			if (done) break;
			size += chunk.length;
			if (size > mostBytes) throw new RangeError("the reasons grow beyond all bounds");
			const [first, ...more] = decoder.decode(chunk, { stream: true }).split("\n") as [string, ...string[]];
			held.push(first);
			heldSize += first.length;
			if (heldSize > MAX_LINE_BYTES) throw new RangeError("a line of the reasons has no end");
			if (more.length === 0) continue;
			yield held.join("");
			const last = more.pop()!;
			[held, heldSize] = [[last], last.length];
			yield* more;
		}
	} catch (cause) {
		if (cause instanceof RangeError) throw cause;
		throw new RangeError("the reasons cannot be unpacked", { cause });
	} finally {
		// Also when whoever reads has enough of it.
		unpacked.cancel().catch(() => {});
	}
	if (heldSize > 0) yield held.join("");
}

const isRecord = (value: unknown): value is Record<string, unknown> =>
	typeof value === "object" && value !== null && !Array.isArray(value);
