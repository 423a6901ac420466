// The embedded chain's journal, blocks.jsonl: one line a block, its JSON and a checksum. Knows bytes, not the
// EVM: whether the lines still make their blocks is for replay-journal.ts to say.
//
// A block's place is written before the EVM makes the block: a full disk is found while nothing has happened
// yet, and the chain goes on once there is room.
import { constants, type FileHandle, open } from "node:fs/promises";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { createDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";

export interface JournalBlock {
	/** Timestamp in seconds. */
	readonly t: number;
	/** Raw transactions that came before this block. */
	readonly x?: readonly string[];
	readonly h: string;
}

export interface JournalFault {
	/** Blocks before it that are whole. */
	readonly kept: number;
	readonly why: string;
}

export type BlockJournal = Awaited<ReturnType<typeof openJournal>>;

const encode = (block: JournalBlock): Buffer => {
	const text = JSON.stringify(block);
	return Buffer.from(`${text} ${crc32(text).toString(16).padStart(8, "0")}\n`);
};

/** Null: damaged. */
function decode(line: string): JournalBlock | null {
	const [, text, sum] = /^(\{.*\}) ([0-9a-f]{8})$/s.exec(line) ?? [];
	if (text === undefined || crc32(text) !== Number.parseInt(sum!, 16)) return null;
	try {
		const { t, x = [], h } = JSON.parse(text) as Partial<JournalBlock>;
		const isBlock = Number.isSafeInteger(t) && typeof h === "string" && Array.isArray(x);
		return isBlock && x.every((raw) => typeof raw === "string") ? { t: t!, x, h: h! } : null;
	} catch {
		return null;
	}
}

/** What a write that was cut short leaves behind: part of a line, or a place without its block. */
const isTorn = (tail: string) => /^[ -~]*$/.test(tail);

export async function openJournal(folder: string) {
	const path = join(folder, "blocks.jsonl");
	const file = await open(path, constants.O_RDWR | constants.O_CREAT, 0o600);
	try {
		return await readJournal(file, path);
	} catch (error) {
		await file.close();
		throw error;
	}
}

async function readJournal(file: FileHandle, path: string) {
	const bytes = await file.readFile();
	const lines = bytes.toString("latin1").split("\n");
	const tail = lines.pop() ?? "";
	const found = lines.map(decode);
	const whole = found.includes(null) ? found.indexOf(null) : found.length;
	const blocks = found.slice(0, whole) as readonly JournalBlock[];
	const fault: JournalFault | null =
		whole < found.length
			? { kept: whole, why: `the journal's line ${whole + 1} is damaged` }
			: isTorn(tail)
				? null
				: { kept: whole, why: `the journal's end, after line ${whole}, is damaged` };
	// A line without its end was being written when the process died: nobody heard of that block.
	let size = bytes.length - tail.length;
	if (fault === null && tail.length > 0) await file.truncate(size);

	return {
		blocks,
		fault,
		/** Makes room for a block. Throws CHAIN_JOURNAL, and nothing has happened. */
		async reserve(t: number, x: readonly string[]): Promise<(h: string) => Promise<void>> {
			const lineOf = (h: string) => encode({ t, ...(x.length > 0 ? { x } : {}), h });
			await writeAt(file, Buffer.alloc(lineOf(`0x${"0".repeat(64)}`).length, " "), size).catch((cause) => {
				throw new AssayError("CHAIN_JOURNAL", "there is no room for another block of the embedded chain", {
					hint: "Make room on the disk of the data folder; the chain goes on by itself.",
					cause,
				});
			});
			return async (h) => {
				const line = lineOf(h);
				await writeAt(file, line, size);
				await file.datasync();
				size += line.length;
			};
		},
		/** Keeps the first blocks only; the rest goes to a file beside the journal. */
		async cut(kept: number) {
			const at = lines.slice(0, kept).reduce((sum, line) => sum + line.length + 1, 0);
			const rest = bytes.subarray(at);
			let aside = `${path}.after-${kept}`;
			for (let n = 2; !(await createDurably(aside, rest)); n++) aside = `${path}.after-${kept}-${n}`;
			await file.truncate(at);
			await file.sync();
			const lost = lines.slice(kept).map(decode);
			return {
				blocks: lost.length + (tail.length > 0 ? 1 : 0),
				transactions: lost.reduce((sum, block) => sum + (block?.x?.length ?? 0), 0),
				unreadable: lost.filter((block) => block === null).length,
				since: lost.find((block) => block !== null)?.t ?? null,
				aside,
			};
		},
		close: () => file.close(),
	};
}

/** All of it, however little each write takes. */
async function writeAt(file: FileHandle, bytes: Buffer, at: number): Promise<void> {
	for (let done = 0; done < bytes.length; ) {
		const { bytesWritten } = await file.write(bytes, done, bytes.length - done, at + done);
		if (bytesWritten === 0) throw new Error("nothing more can be written");
		done += bytesWritten;
	}
}
