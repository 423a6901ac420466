// Event logs of a guest: what was extended into its registers, one by one. Two forms: the binary log of TCG
// (CCEL), and dstack's JSON.
import { sha384 } from "@noble/hashes/sha2.js";
import {
	bytesToUtf8,
	concatBytes,
	equalBytes,
	hexToBytes,
	readU16,
	readU32,
	u32,
	utf8ToBytes,
} from "../../../protocol/bytes/bytes.ts";
import { JsonFields, parseJsonText } from "../json.ts";
import { cannotTell, refuse } from "../verdict.ts";

export interface LoggedEvent {
	/** 0 to 3. */
	readonly register: number;
	readonly digest: Uint8Array;
}

const MOST_EVENTS = 10_000;
const MOST_BYTES = 4 * 1024 * 1024;
const SHA384 = 0x000c;
const NO_ACTION = 3;
const wrong = (detail: string): never => refuse("ATTEST_FORM", "log", detail);

/** The registers that the events give, from zeros. */
export function replay(events: readonly LoggedEvent[]): Uint8Array[] {
	const registers = Array.from({ length: 4 }, () => new Uint8Array(48));
	for (const { register, digest } of events) registers[register] = sha384(concatBytes(registers[register]!, digest));
	return registers;
}

/** TCG's log with SHA-384 digests alone, as TDX firmware writes it. All ones or zeros may follow. */
export function readCcel(log: Uint8Array): LoggedEvent[] {
	if (log.length > MOST_BYTES || log.length < 32) return wrong("not as long as a log");
	const headSize = readU32(log, 28);
	if (readU32(log, 4) !== NO_ACTION || headSize > 256 || 32 + headSize > log.length)
		return wrong("no head of a TCG log");
	checkHead(log.subarray(32, 32 + headSize));
	const events: LoggedEvent[] = [];
	let at = 32 + headSize;
	const need = (length: number): number => {
		if (at + length > log.length) wrong("an event is cut");
		at += length;
		return at - length;
	};
	while (at + 12 <= log.length && !isFiller(log, at)) {
		const [index, type, count] = [readU32(log, need(4)), readU32(log, need(4)), readU32(log, need(4))];
		if (count !== 1 || readU16(log, need(2)) !== SHA384) return wrong("an event without exactly one SHA-384");
		const from = need(48);
		const digest = log.subarray(from, from + 48);
		need(readU32(log, need(4)));
		if (index < 1 || index > 4) return wrong(`an event of register ${index}`);
		if (type !== NO_ACTION) events.push({ register: index - 1, digest });
		if (events.length > MOST_EVENTS) return wrong("more events than any boot has");
	}
	const filler = log[at];
	if (filler !== undefined && (!(filler === 0 || filler === 0xff) || log.subarray(at).some((byte) => byte !== filler)))
		return wrong("something follows the last event");
	return events;
}

const isFiller = (log: Uint8Array, at: number): boolean => {
	const first = readU32(log, at);
	return first === 0xffffffff || (first === 0 && readU32(log, at + 4) === 0);
};

/** "Spec ID Event03" with one algorithm, SHA-384. */
function checkHead(head: Uint8Array): void {
	if (bytesToUtf8(head.subarray(0, 16)) !== "Spec ID Event03\0" || head.length < 33) wrong("no head of a TCG log");
	if (readU32(head, 24) !== 1 || readU16(head, 28) !== SHA384 || readU16(head, 30) !== 48)
		cannotTell("log", "a log with other digests than SHA-384");
}

/** Events of the application, whose digest covers name and payload. dstack leaves it out from 0.6 on. */
const DSTACK_EVENT = 0x08000001;

export function readDstackLog(text: string): LoggedEvent[] {
	const rows = parseJsonText(text, "ATTEST_FORM", "log");
	if (!Array.isArray(rows) || rows.length > MOST_EVENTS) return wrong("no list of events");
	return rows.map((row, i) => {
		const fields = new JsonFields(row, "ATTEST_FORM", `log[${i}]`);
		const [register, type] = [fields.small("imr"), fields.count("event_type")];
		if (register > 3) return wrong(`an event of register ${register}`);
		const due = type === DSTACK_EVENT ? dstackDigest(fields) : null;
		if (due !== null && fields.text("digest") === "") return { register, digest: due };
		const digest = hexToBytes(fields.hex("digest", 48))!;
		if (due !== null && !equalBytes(due, digest))
			refuse("EVENTS_WRONG", "log", "an event's digest is not that of its name and payload");
		return { register, digest };
	});
}

/** SHA-384 of type (little-endian), name and payload, with colons between them. */
function dstackDigest(fields: JsonFields): Uint8Array {
	const payload = hexToBytes(fields.text("event_payload")) ?? wrong("a payload that is not hex");
	const colon = utf8ToBytes(":");
	return sha384(concatBytes(u32(DSTACK_EVENT), colon, utf8ToBytes(fields.text("event")), colon, payload));
}
