// An engine that lies in one number, so that it can be seen to be convicted: `assay up --liar`, tests of
// disputes, bench/disputes.ts. It passes everything on to a real engine, on whatever device, but one segment:
// that one it runs by src/work, changes one element of what one op gives, goes on from there, and stands by
// it in roots, metrics, saved states, traces and leaves.
//   node src/engine/lying-engine.ts ENGINE SEGMENT[,STEP[,OP[,ELEMENT[,far]]]] [ARGUMENT OF THE ENGINE …]
//     frames on stdin and stdout
import { spawn } from "node:child_process";
import { concatBytes } from "../protocol/bytes/bytes.ts";
import {
	bytesOf,
	bytesToElements,
	type Elements,
	elementCount,
	elementsToBytes,
} from "../work/operators/tensor-type.ts";
import type { CheckedProgram } from "../work/program/check-program.ts";
import { orThrow } from "../work/program/fault.ts";
import { openProgram } from "../work/program/open-program.ts";
import { createMachine, type Machine } from "../work/program/run-program.ts";
import type { Program, TensorKind } from "../work/program/shapes.ts";
import { tensorRoot, tensorTree } from "../work/trace/tensor-tree.ts";
import { FrameReader } from "./wire/frame-reader.ts";
import {
	KIND,
	MAX_LENGTH_TO_ENGINE,
	MAX_LENGTH_TO_VERIFIER,
	REST,
	type Reply,
	type Request,
} from "./wire/frame-table.ts";
import { decodeReply, decodeRequest, encodeFrame, encodeReply, encodeRequest } from "./wire/frames.ts";

/** What is left out: step 0, the last op that writes a state, element 0. */
export interface LiePlace {
	readonly segment: number;
	readonly step?: number | undefined;
	readonly op?: number | undefined;
	readonly element?: number | undefined;
	/** By the most that its interval allows, not by one: for what is rounded away afterwards. */
	readonly isFar?: boolean | undefined;
}

/** How it is started. */
export const lyingEngine = (engine: string, { segment, step, op, element, isFar }: LiePlace) => ({
	command: process.execPath,
	args: [
		...[import.meta.filename, engine],
		[segment, step, op, element, isFar ? "far" : ""].map((one) => one ?? "").join(","),
	],
});

type Run = Parameters<NonNullable<Parameters<Machine["runSegment"]>[0]>>[0];
type RequestOf<K extends Request["kind"]> = Extract<Request, { kind: K }>;
type End = Extract<Reply, { kind: "done" | "error" }>;

const OUTPUT = 255;
/** Clients count their requests from 1. */
const FIRST_OWN_ID = 0x8000_0000;

const numbersOf = ({ tensors }: Program, ...kinds: readonly TensorKind[]): number[] =>
	kinds.flatMap((kind) => tensors.flatMap((tensor, i) => (tensor.kind === kind ? [i] : [])));

/** Another number of the op's interval. */
function changeElement({ op, output }: Run, { element = 0, isFar }: LiePlace): void {
	const { lo, hi } = op.output;
	const now = BigInt(output[element]!);
	const near = now < hi ? now + 1n : now - 1n;
	const told = isFar ? (hi - now > now - lo ? hi : lo) : near;
	if (output instanceof BigInt64Array) output[element] = told;
	else output[element] = Number(told);
}

/** One program's session. */
class Session {
	readonly checked: CheckedProgram;
	seed: Uint8Array;
	/** Every op of the segment that is a lie, once it was run. */
	ran: readonly Run[] | null = null;

	constructor(program: Uint8Array, seed: Uint8Array) {
		this.checked = orThrow(openProgram(program));
		this.seed = seed;
	}

	get program(): Program {
		return this.checked.program;
	}

	/** By number, as bytes; what is missing is zero. */
	run(segment: number, tensors: ReadonlyMap<number, Uint8Array>, lie: LiePlace): Machine {
		const { program } = this;
		const elementsOf = (i: number): Elements => {
			const { type, dims } = program.tensors[i]!;
			const bytes = tensors.get(i) ?? new Uint8Array(elementCount(dims) * bytesOf(type));
			return bytesToElements(bytes, type, elementCount(dims))!;
		};
		const given = numbersOf(program, "constant", "input").map((i) => [program.tensors[i]!.name, elementsOf(i)]);
		const machine = createMachine(this.checked, this.seed, Object.fromEntries(given));
		machine.restore(segment, new Map(numbersOf(program, "state", "result").map((i) => [i, elementsOf(i)])));
		const ops = program[segment === 0 ? "init" : "step"];
		const op =
			lie.op ?? ops.findLastIndex(({ target }) => target !== null && program.tensors[target]!.kind === "state");
		const ran: Run[] = [];
		machine.runSegment((run) => {
			// The output is the op's own array: what is changed here, later ops read.
			if (run.step === (lie.step ?? 0) && run.number === op) changeElement(run, lie);
			ran.push(run);
		});
		this.ran = ran;
		return machine;
	}
}

class LyingEngine {
	private readonly lie: LiePlace;
	private readonly toEngine: (bytes: Uint8Array) => void;
	private readonly toClient: (bytes: Uint8Array) => void;
	private readonly sessions = new Map<number, Session>();
	/** Requests of its own, by id. */
	private readonly asked = new Map<number, { take(reply: Reply): void; end(end: End): void }>();
	private nextId = FIRST_OWN_ID;
	/** Runs of the client that are made of several, by id. */
	private readonly running = new Map<number, { part: number | null; isCancelled: boolean }>();

	constructor(lie: LiePlace, toEngine: (bytes: Uint8Array) => void, toClient: (bytes: Uint8Array) => void) {
		this.lie = lie;
		this.toEngine = toEngine;
		this.toClient = toClient;
	}

	fromEngine({ kind, id, payload }: { kind: number; id: number; payload: Uint8Array }): void {
		const own = this.asked.get(id);
		if (own === undefined) {
			this.toClient(encodeFrame(kind, id, payload));
			return;
		}
		const reply = decodeReply({ kind, id, payload: payload.slice() });
		if (reply.kind === "done" || reply.kind === "error") {
			this.asked.delete(id);
			own.end(reply);
		} else own.take(reply);
	}

	fromClient({ kind, id, payload }: { kind: number; id: number; payload: Uint8Array }): void {
		const isSeen = SEEN.has(kind) && this.isOwn(id, decodeRequest({ kind, id, payload: payload.slice() }));
		if (!isSeen) this.toEngine(encodeFrame(kind, id, payload));
	}

	/** Whether it answers this itself. */
	private isOwn(id: number, request: Request): boolean {
		const { segment } = this.lie;
		if (request.kind === "program") this.sessions.set(request.session, new Session(request.program, request.seed));
		if (request.kind === "release") this.sessions.delete(request.session);
		if (request.kind === "cancel") return this.cancel(id, request.target);
		if (!("session" in request)) return false;
		const session = this.sessions.get(request.session);
		if (session === undefined) return false;
		if (request.kind === "seed") [session.seed, session.ran] = [request.seed, null];
		if (request.kind === "run" && request.first <= segment && segment < request.first + request.count)
			void this.run(id, session, request);
		else if (request.kind === "trace" && request.segment === segment) void this.trace(id, session, request);
		else if (request.kind === "ask" && request.segment === segment) void this.show(id, session, request);
		else return false;
		return true;
	}

	private say(id: number, reply: Reply): void {
		this.toClient(encodeReply(id, reply));
	}

	private cancel(id: number, target: number): boolean {
		const running = this.running.get(target);
		if (running === undefined) return false;
		running.isCancelled = true;
		if (running.part === null) this.say(id, { kind: "done", count: 0, cancelled: false });
		else this.toEngine(encodeRequest(id, { kind: "cancel", target: running.part }));
		return true;
	}

	private request(request: Request, take: (reply: Reply) => void = () => {}, id = this.nextId++): Promise<End> {
		return new Promise((end) => {
			this.asked.set(id, { take, end });
			this.toEngine(encodeRequest(id, request));
		});
	}

	private async run(id: number, session: Session, request: RequestOf<"run">): Promise<void> {
		const { first, count, saveEvery } = request;
		const { segment: lied } = this.lie;
		const running = { part: null as number | null, isCancelled: false };
		this.running.set(id, running);
		const isSaved = (end: number) => saveEvery > 0 && (end - first) % saveEvery === 0;
		let at = first;
		while (at < first + count && !running.isCancelled) {
			if (at === lied) {
				await this.runLie(id, session, request.session, isSaved(at + 1));
				at += 1;
				continue;
			}
			const nextSave = saveEvery > 0 ? at + saveEvery - ((at - first) % saveEvery) : first + count;
			const end = Math.min(nextSave, at < lied ? lied : first + count, first + count);
			const part = { ...request, first: at, count: end - at, saveEvery: isSaved(end) ? end - at : 0 };
			running.part = this.nextId++;
			const ended = await this.request(part, (reply) => this.say(id, reply), running.part);
			running.part = null;
			if (ended.kind === "error") return this.say(id, ended);
			at += ended.count;
		}
		this.running.delete(id);
		this.say(id, { kind: "done", count: at - first, cancelled: at < first + count });
	}

	private async runLie(id: number, session: Session, name: number, isSaved: boolean): Promise<void> {
		const { segment } = this.lie;
		const { program } = session;
		const machine = await this.runLied(session, name);
		const metrics = numbersOf(program, "metric");
		const now = new Map<number, Uint8Array>();
		for (const { phase, step, number, op, output } of session.ran!) {
			if (op.target !== null) now.set(op.target, elementsToBytes(output));
			if (phase === "init" || number !== program.step.length - 1) continue;
			for (const tensor of metrics)
				this.say(id, { kind: "metric", segment, step, tensor, bytes: now.get(tensor) ?? this.zeros(program, tensor) });
		}
		if (isSaved) await this.request({ kind: "save", session: name });
		const roots = concatBytes(
			...numbersOf(program, "state", "result").map((tensor) => tensorRoot(machine.tensors[tensor]!)),
		);
		this.say(id, { kind: "segment", segment, saved: isSaved, roots });
	}

	private zeros({ tensors }: Program, tensor: number): Uint8Array {
		const { type, dims } = tensors[tensor]!;
		return new Uint8Array(elementCount(dims) * bytesOf(type));
	}

	/** From what the engine holds; afterwards it holds what came out. */
	private async runLied(session: Session, name: number): Promise<Machine> {
		const { program } = session;
		const machine = session.run(this.lie.segment, await this.fetchAll(program, name), this.lie);
		for (const tensor of numbersOf(program, "state", "result")) {
			const bytes = elementsToBytes(machine.tensors[tensor]!);
			const most = REST.pieceBytes.max;
			for (let offset = 0; offset < bytes.length; offset += most)
				await this.request({
					...{ kind: "tensor", session: name, tensor, offset },
					bytes: bytes.subarray(offset, offset + most),
				});
		}
		return machine;
	}

	private async fetchAll(program: Program, name: number): Promise<ReadonlyMap<number, Uint8Array>> {
		const found = new Map<number, Uint8Array>();
		const given = numbersOf(program, "constant", "input");
		// Segment 0 begins with zeros.
		for (const tensor of this.lie.segment === 0 ? given : [...given, ...numbersOf(program, "state", "result")]) {
			const pieces: Uint8Array[] = [];
			const length = this.zeros(program, tensor).length;
			const end = await this.request({ kind: "fetch", session: name, tensor, offset: 0, length }, (reply) => {
				if (reply.kind === "bytes") pieces.push(reply.bytes);
			});
			if (end.kind === "done") found.set(tensor, concatBytes(...pieces));
		}
		return found;
	}

	private async trace(id: number, session: Session, { session: name }: RequestOf<"trace">): Promise<void> {
		await this.runLied(session, name);
		for (const [index, { output }] of session.ran!.entries())
			this.say(id, { kind: "root", index, root: tensorRoot(output) });
		this.say(id, { kind: "done", count: session.ran!.length, cancelled: false });
	}

	private async show(
		id: number,
		session: Session,
		{ session: name, step, op, places }: RequestOf<"ask">,
	): Promise<void> {
		const { program } = session;
		const { segment } = this.lie;
		if (session.ran === null) session.run(segment, await this.fetchAll(program, name), this.lie);
		const { inputs, output } = session.ran!.find((run) => run.step === step && run.number === op)!;
		for (const { round, index } of places) {
			const tree = tensorTree(round === OUTPUT ? output : inputs[round]!);
			this.say(id, { kind: "opening", round, index, leaf: tree.leaf(index), path: concatBytes(...tree.path(index)) });
		}
		this.say(id, { kind: "done", count: places.length, cancelled: false });
	}
}

/** Everything else is passed on as it is. */
const SEEN = new Set<number>([KIND.program, KIND.seed, KIND.run, KIND.trace, KIND.ask, KIND.cancel, KIND.release]);

function main([engine = "", place = "", ...args]: readonly string[]): void {
	const [segment = 1, step, op, element] = place.split(",", 4).map((one) => (one === "" ? undefined : Number(one)));
	// Without a program there is nothing to lie in, and a probe measures time: the engine has the pipes for
	// itself.
	if (!args.includes("--store") && !args.includes("--work")) {
		spawn(engine, args, { stdio: "inherit" }).on("exit", (code) => {
			process.exitCode = code ?? 1;
		});
		return;
	}
	const child = spawn(engine, args, { stdio: ["pipe", "pipe", "inherit"] });
	const liar = new LyingEngine(
		{ segment, step, op, element, isFar: place.endsWith(",far") },
		(bytes) => void child.stdin.write(bytes),
		(bytes) => void process.stdout.write(bytes),
	);
	const [replies, requests] = [new FrameReader(MAX_LENGTH_TO_VERIFIER), new FrameReader(MAX_LENGTH_TO_ENGINE)];
	child.stdout.on("data", (chunk: Uint8Array) =>
		replies.push(chunk, (frame) => {
			liar.fromEngine(frame);
			return true;
		}),
	);
	child.stdin.on("error", () => {});
	child.on("exit", (code) => {
		process.exitCode = code ?? 1;
		process.stdin.destroy();
	});
	process.stdin.on("data", (chunk: Uint8Array) =>
		requests.push(chunk, (frame) => {
			liar.fromClient(frame);
			return true;
		}),
	);
	process.stdin.on("end", () => child.stdin.end());
}

if (process.argv[1] === import.meta.filename) main(process.argv.slice(2));
