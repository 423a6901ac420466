// Sessions of exact programs over an engine's frames (engine/FRAMES.md, "Programs"). What the engine says is
// taken in the one order that the page allows; anything else is a violation and ends the link. Whether roots
// and leaves are true is judged elsewhere.
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { codedError } from "../../protocol/coded-error.ts";
import { type Code, codes } from "../../protocol/codes.ts";
import type { OpPlace } from "../../protocol/network/chain-question.ts";
import { bytesOf, elementCount } from "../../work/operators/tensor-type.ts";
import { decodeProgram } from "../../work/program/decode.ts";
import { orThrow } from "../../work/program/fault.ts";
import type { Program, TensorKind } from "../../work/program/shapes.ts";
import { READINGS, type TensorQuestion } from "../../work/trace/evaluate-tensor.ts";
import { LEAF_BYTES } from "../../work/trace/tensor-tree.ts";
import { ERROR_CODE, HASH_BYTES, MAX_PLACES, REST, type Reply, type Request } from "../wire/frame-table.ts";
import { type Conversation, type ReplyHandler, violation } from "./conversation.ts";
import type { Ending } from "./engine-answers.ts";
import type { LeafPlace, OpenWork, RunSegments, ShownLeaf, WorkPlan, WorkSession } from "./work-session.ts";

/** Segments last as long as they last; an engine that is gone or stuck is found by the client's own pings. */
const NO_DEADLINE_MS = 2 ** 31 - 1;
/**
 * Of a tensor on its way: so many pieces of so many bytes are not answered yet. More than 16 waiting requests
 * an engine refuses.
 */
const PIECE_BYTES = 256 << 10;
const PIECES_AHEAD = 6;
const OUTPUT = 255;
const COMPLETE: Ending = { end: "complete", code: null, detail: "" };

const REFUSALS: Readonly<Record<number, Code>> = {
	[ERROR_CODE.no_memory]: "DEVICE_NO_ROOM",
	[ERROR_CODE.tensor_size]: "TENSOR_SIZE",
	[ERROR_CODE.tensor_range]: "TENSOR_RANGE",
	[ERROR_CODE.tensor_root]: "TENSOR_ROOT",
	[ERROR_CODE.blob_missing]: "BLOB_MISSING",
	[ERROR_CODE.blob_cut]: "BLOB_CUT",
	[ERROR_CODE.disk_full]: "BLOB_DISK_FULL",
	[ERROR_CODE.disk_failed]: "BLOB_DISK_FAILED",
};

/** Of a fault, the message begins with its code. */
export function refusalToError(ending: Ending): AssayError {
	const { code, detail, engineError } = ending;
	const wrong = (known: Code, message: string) => codedError(known, message, { cause: ending });
	if (engineError === undefined) return wrong(code !== null && code in codes ? (code as Code) : "LINK_CLOSED", detail);
	const { code: number, message } = engineError;
	const [word = "", ...rest] = message.split(" ");
	if (number === ERROR_CODE.bad_program && word.startsWith("PROGRAM_") && word in codes)
		return wrong(word as Code, rest.join(" "));
	return wrong(REFUSALS[number] ?? "ENGINE_REFUSED", message);
}

/** How a request ended that a session threw for. What it did not throw for the engine's sake is thrown on. */
export function endingOf(error: unknown): Ending {
	if (!(error instanceof AssayError)) throw error;
	const { code, message, cause } = error;
	if (typeof cause === "object" && cause !== null && "end" in cause) return cause as Ending;
	return { end: "garbage", code, detail: message };
}

type ReplyOf<K extends Reply["kind"]> = Extract<Reply, { kind: K }>;

/** So many replies of one kind, then DONE that counts them; fewer only when it was cancelled. */
function counting<K extends Reply["kind"]>(
	kind: K,
	expected: number,
	take: (reply: ReplyOf<K>, number: number) => void = () => {},
): ReplyHandler {
	let count = 0;
	return (reply) => {
		if (reply.kind === "done") {
			if (reply.count !== count) throw violation(`DONE counts ${reply.count} where ${count} came`);
			if (!reply.cancelled && count !== expected) throw violation(`${count} of ${expected} ${kind} frames came`);
			return reply.cancelled ? { end: "stopped", code: null, detail: "" } : COMPLETE;
		}
		if (reply.kind !== kind) throw violation(`${reply.kind} where ${kind} was awaited`);
		if (count === expected) throw violation(`more than ${expected} ${kind} frames`, "LINK_FLOOD");
		take(reply as ReplyOf<K>, count++);
		return null;
	};
}

const nothing = counting("root", 0);

const numbersOf = ({ tensors }: Program, kind: TensorKind): number[] =>
	tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : []));

const cut = (bytes: Uint8Array, size: number): Uint8Array[] =>
	Array.from({ length: bytes.length / size }, (_, i) => bytes.slice(i * size, (i + 1) * size));

class EngineWorkSession implements WorkSession {
	readonly plan: WorkPlan;
	private readonly talk: Conversation;
	private readonly session: number;
	private readonly program: Program;
	/** One write after the other: their pieces share the room that an engine has for waiting requests. */
	private writing: Promise<unknown> = Promise.resolve();

	constructor(talk: Conversation, session: number, program: Program, plan: WorkPlan) {
		this.talk = talk;
		this.session = session;
		this.program = program;
		this.plan = plan;
	}

	write(tensor: number, bytes: Uint8Array, offset = 0): Promise<void> {
		const mine = this.writing.then(() => this.writePieces(tensor, bytes, offset));
		this.writing = mine.catch(() => {});
		return mine;
	}

	private async writePieces(tensor: number, bytes: Uint8Array, offset: number): Promise<void> {
		if (bytes.length === 0) throw codedError("TENSOR_SIZE", "no bytes");
		const waiting: Promise<void>[] = [];
		for (let at = 0; at < bytes.length; at += PIECE_BYTES) {
			if (waiting.length === PIECES_AHEAD) await waiting.shift();
			const piece = bytes.subarray(at, at + PIECE_BYTES);
			const sent = this.request(
				{ kind: "tensor", session: this.session, tensor, offset: offset + at, bytes: piece },
				nothing,
			);
			// Whoever waits first tells; the others must not count as unheard.
			sent.catch(() => {});
			waiting.push(sent);
		}
		await Promise.all(waiting);
	}

	seed(seed: Uint8Array): Promise<void> {
		return this.request({ kind: "seed", session: this.session, seed }, nothing);
	}

	async root(tensor: number): Promise<Uint8Array> {
		const roots: Uint8Array[] = [];
		const handler = counting("root", 1, ({ root }) => roots.push(root));
		await this.request({ kind: "hash", session: this.session, tensor }, handler);
		return roots[0]!;
	}

	load(tensor: number, root: Uint8Array): Promise<void> {
		return this.request({ kind: "load", session: this.session, tensor, root }, nothing);
	}

	async run({ first, count, saveEvery = 0, signal, onMetric, onSegment }: RunSegments): Promise<void> {
		const { k, tensors } = this.program;
		const [states, results] = [numbersOf(this.program, "state"), numbersOf(this.program, "result")];
		const metrics = numbersOf(this.program, "metric");
		// A callback that throws is our own mistake: the engine stops after the segment at hand, and then it is
		// told.
		const ours = new AbortController();
		const failures: unknown[] = [];
		const tell = (callback: () => void) => {
			try {
				if (failures.length === 0) callback();
			} catch (error) {
				failures.push(error);
				ours.abort();
			}
		};
		let segment = first;
		let said = 0;
		const takeSegment = counting("segment", count, (reply) => {
			const whole = reply.segment === segment && said === (segment === 0 ? 0 : k * metrics.length);
			if (!whole || reply.roots.length !== HASH_BYTES * (states.length + results.length))
				throw violation(`SEGMENT ${reply.segment} is not what comes next`);
			const roots = cut(reply.roots, HASH_BYTES);
			const { saved } = reply;
			const [stateRoots, resultRoots] = [roots.slice(0, states.length), roots.slice(states.length)];
			tell(() => onSegment?.({ segment: reply.segment, stateRoots, resultRoots, saved }));
			segment += 1;
			said = 0;
		});
		const takeMetric = ({ segment: of, step, tensor, bytes }: ReplyOf<"metric">) => {
			const at = metrics[said % metrics.length]!;
			const isNext = of === segment && segment > 0 && segment < first + count && said < k * metrics.length;
			if (!isNext || step !== Math.floor(said / metrics.length) || tensor !== at)
				throw violation(`METRIC of tensor ${tensor} is not what comes next`);
			const { dims, type } = tensors[at]!;
			if (bytes.length !== elementCount(dims) * bytesOf(type)) throw violation("METRIC has another size");
			said += 1;
			tell(() => onMetric?.({ segment: of, step, tensor, bytes }));
		};
		const handler: ReplyHandler = (reply, atUs) => {
			if (reply.kind !== "metric") return takeSegment(reply, atUs);
			takeMetric(reply);
			return null;
		};
		const stop = signal === undefined ? ours.signal : AbortSignal.any([signal, ours.signal]);
		await this.request({ kind: "run", session: this.session, first, count, saveEvery }, handler, stop);
		if (failures.length > 0) throw failures[0];
	}

	save(): Promise<void> {
		const kept = numbersOf(this.program, "state").length + numbersOf(this.program, "result").length;
		return this.request({ kind: "save", session: this.session }, counting("root", kept));
	}

	async fetch(tensor: number, offset: number, length: number): Promise<Uint8Array> {
		const bytes = new Uint8Array(length);
		const most = REST.pieceBytes.max;
		const take = ({ bytes: piece }: ReplyOf<"bytes">, number: number) => {
			if (piece.length !== Math.min(most, length - number * most)) throw violation("BYTES of another length");
			bytes.set(piece, number * most);
		};
		const handler = counting("bytes", Math.ceil(length / most), take);
		await this.request({ kind: "fetch", session: this.session, tensor, offset, length }, handler);
		return bytes;
	}

	async evaluate(tensor: number, { reading, point, ...rule }: TensorQuestion): Promise<bigint> {
		const values: bigint[] = [];
		const handler = counting("bytes", 1, ({ bytes }) => {
			if (bytes.length !== 32) throw violation("a scalar of another length");
			values.push(BigInt(`0x${bytesToHex(bytes)}`));
		});
		const asked = {
			reading: READINGS.indexOf(reading),
			columns: rule.columns,
			shift: rule.shift,
			add: rule.add,
			most: rule.most,
			point: hexToBytes(point.map((one) => one.toString(16).padStart(64, "0")).join(""))!,
		};
		await this.request({ kind: "evaluate", session: this.session, tensor, ...asked }, handler);
		return values[0]!;
	}

	async trace(segment: number, onOp: (step: number, op: number, root: Uint8Array) => void): Promise<void> {
		const ops = segment === 0 ? this.program.init.length : this.program.step.length;
		const all = segment === 0 ? ops : this.program.k * ops;
		const failures: unknown[] = [];
		const take = ({ index, root }: ReplyOf<"root">, number: number) => {
			if (index !== number) throw violation(`ROOT ${index} where ${number} comes next`);
			try {
				if (failures.length === 0) onOp(Math.floor(index / ops), index % ops, root);
			} catch (error) {
				failures.push(error);
			}
		};
		await this.request({ kind: "trace", session: this.session, segment }, counting("root", all, take));
		if (failures.length > 0) throw failures[0];
	}

	async ask(at: OpPlace, places: readonly LeafPlace[]): Promise<readonly ShownLeaf[]> {
		const shown: ShownLeaf[] = [];
		for (let from = 0; from < places.length; from += MAX_PLACES)
			shown.push(...(await this.askSome(at, places.slice(from, from + MAX_PLACES))));
		return shown;
	}

	private async askSome(at: OpPlace, places: readonly LeafPlace[]): Promise<readonly ShownLeaf[]> {
		const asked = places.map(({ of, leaf }) => ({ round: of === "output" ? OUTPUT : of, index: leaf }));
		const shown: ShownLeaf[] = [];
		const take = ({ round, index, leaf, path }: ReplyOf<"opening">, number: number) => {
			const place = asked[number]!;
			if (round !== place.round || index !== place.index || leaf.length !== LEAF_BYTES)
				throw violation("OPENING of another leaf");
			shown.push({ bytes: leaf, path: cut(path, HASH_BYTES) });
		};
		const { segment, step, op } = at;
		const request: Request = { kind: "ask", session: this.session, segment, step, op, places: asked };
		await this.request(request, counting("opening", asked.length, take));
		return shown;
	}

	private async request(request: Request, handler: ReplyHandler, stop?: AbortSignal): Promise<void> {
		const { ending } = await this.talk.ask(request, handler, {
			deadlineMs: NO_DEADLINE_MS,
			stop,
			graceMs: NO_DEADLINE_MS,
		});
		if (ending.end !== "complete" && ending.end !== "stopped") throw refusalToError(ending);
	}

	release(): Promise<void> {
		return this.request({ kind: "release", session: this.session }, nothing);
	}
}

/** `session` is a name that this link does not use yet. */
export async function openWorkSession(
	talk: Conversation,
	session: number,
	{ device, program: bytes, seed }: OpenWork,
): Promise<WorkSession> {
	const program = orThrow(decodeProgram(bytes));
	let plan: WorkPlan | null = null;
	const handler: ReplyHandler = (reply) => {
		if (reply.kind !== "plan") throw violation(`${reply.kind} in answer to PROGRAM`);
		const { kind: _, ...numbers } = reply;
		plan = numbers;
		return COMPLETE;
	};
	const request: Request = { kind: "program", session, device, seed, program: bytes };
	const { ending } = await talk.ask(request, handler, { deadlineMs: NO_DEADLINE_MS });
	if (plan === null) throw refusalToError(ending);
	return new EngineWorkSession(talk, session, program, plan);
}
