// An engine that cheats with a real card: it speaks the wire like any other, and passes what it is asked to
// real engines. For machines with a GPU; the same strategies with toys are in tests/red-team.test.ts.
//   node bench/cheating-engine.ts STRATEGY ENGINE        frames on stdin and stdout
//     gpu-as-cpu   a second engine on the same card answers for the CPU, at the same time
//     in-turn      the card is shown as two of half its memory; its own queue serves one after the other
//     replay       shown as two, of which the second has no room once the first has answered; asked again,
//                  the first gives its known answers
import { spawn } from "node:child_process";
import { FrameReader } from "../src/engine/wire/frame-reader.ts";
import { ERROR_CODE, MAX_LENGTH_TO_ENGINE, MAX_LENGTH_TO_VERIFIER } from "../src/engine/wire/frame-table.ts";
import { decodeReply, decodeRequest, encodeReply, encodeRequest } from "../src/engine/wire/frames.ts";
import type { DeviceClaim, HostClaim } from "../src/protocol/probe/evidence.ts";

const [strategy = "", engine = ""] = process.argv.slice(2);
if (!["gpu-as-cpu", "in-turn", "replay"].includes(strategy)) throw new Error(`no strategy is called ${strategy}`);
/** Room on the card for what the second engine holds. */
const ASIDE_BYTES = 6e9;

type Reply = ReturnType<typeof decodeReply>;
type Request = ReturnType<typeof decodeRequest>;
const write = (id: number, reply: Reply) => void process.stdout.write(encodeReply(id, reply));

function claimed(json: string): HostClaim {
	const claim = JSON.parse(json) as HostClaim;
	const gpu = claim.devices.find(({ kind }) => kind === "gpu")!;
	const cpu = claim.devices.find(({ kind }) => kind === "cpu")!;
	const half: DeviceClaim = {
		...gpu,
		freeBytes: Math.floor(gpu.freeBytes / 2 - 2e9),
		memoryBytes: gpu.memoryBytes / 2,
	};
	const devices =
		strategy === "gpu-as-cpu"
			? [
					{ ...gpu, freeBytes: gpu.freeBytes - ASIDE_BYTES },
					{ ...cpu, name: "AMD EPYC 9965 192-Core Processor" },
				]
			: [half, { ...half, uuid: `${gpu.uuid.slice(0, -4)}0000` }];
	return { ...claim, devices };
}

/** Roots of the first card's first fill, and whether the second has refused. */
const known: Reply[] = [];
let refused = false;
let firstFill: number | null = null;

function fromEngine(id: number, reply: Reply, isFirst: boolean): void {
	if (reply.kind === "ready" && !isFirst) return;
	if (reply.kind === "claim") {
		if (isFirst) write(id, { kind: "claim", json: JSON.stringify(claimed(reply.json)) });
		return;
	}
	if (id === firstFill && reply.kind === "root") known.push(reply);
	write(id, reply);
	if (id === firstFill && reply.kind === "done" && pendingRefusal !== null) refuse(pendingRefusal);
}

let pendingRefusal: number | null = null;
function refuse(id: number): void {
	refused = true;
	write(id, { kind: "error", code: ERROR_CODE.no_memory, message: "no room" });
}

function start(isFirst: boolean): (id: number, request: Request) => void {
	const child = spawn(engine, [], { stdio: ["pipe", "pipe", "inherit"] });
	const reader = new FrameReader(MAX_LENGTH_TO_VERIFIER);
	child.stdout.on("data", (chunk: Uint8Array) =>
		reader.push(chunk, (frame) => {
			fromEngine(frame.id, decodeReply(frame), isFirst);
			return true;
		}),
	);
	child.on("exit", () => process.exit(0));
	return (id, request) => void child.stdin.write(encodeRequest(id, request));
}

const first = start(true);
const second = strategy === "gpu-as-cpu" ? start(false) : null;
/** Sessions that the second engine holds. */
const aside = new Set<number>();

/** The same, of the one card that there is. */
function onCard(request: Request): Request {
	const [reader, device] = ["reader" in request ? { reader: 0 } : {}, "device" in request ? { device: 0 } : {}];
	return { ...request, ...reader, ...device } as Request;
}

function pass(id: number, request: Request): void {
	if (request.kind === "hello" && second) second(id, request);
	const device = "reader" in request ? request.reader : "device" in request ? request.device : null;
	const session = "session" in request ? request.session : null;
	if (second && session !== null && (device === 1 || aside.has(session))) {
		if (request.kind === "gemm" || request.kind === "fma") aside.add(session);
		second(id, onCard(request));
		return;
	}
	if (strategy === "replay" && request.kind === "gemm" && request.rounds > 100) {
		if (device === 1 && !refused) {
			pendingRefusal = id;
			return;
		}
		if (device === 0 && firstFill === null) firstFill = id;
		else if (device === 0 && refused) {
			for (const root of known) write(id, root);
			write(id, { kind: "done", count: known.length, cancelled: false });
			return;
		}
	}
	first(id, device === 1 ? onCard(request) : request);
}

const reader = new FrameReader(MAX_LENGTH_TO_ENGINE);
process.stdin.on("data", (chunk: Uint8Array) =>
	reader.push(chunk, (frame) => {
		pass(frame.id, decodeRequest(frame));
		return true;
	}),
);
process.stdin.on("end", () => process.exit(0));
