// Probes a toy engine the way the product probes a host, with runProbe: inside this process (quick, for what
// a toy computes), or as a process of its own behind a local link (for what it does to the wire). For tests.
// Deterministic: the verifier's randomness comes from a counter, so a cheat meets the same draw every time;
// and inside this process its clock is the toy's own, which only the toy's work moves: a toy in JavaScript
// reads some 0.5 GB/s, slower when the machine is busy, and residency is judged against real cards' links. A
// toy as a process is asked for no stream of a GPU's own memory.

import { createHash } from "node:crypto";
import { PassThrough } from "node:stream";
import { fileURLToPath } from "node:url";
import { createLocalLink } from "../../src/engine/links/create-local-link.ts";
import type { Link, LinkEnd } from "../../src/engine/links/link.ts";
import type { ChallengeSpec } from "../../src/protocol/probe/evidence.ts";
import { createSigner } from "../../src/protocol/probe/signer.ts";
import type { ProbeEvent } from "../../src/validator/probe/probe-event.ts";
import {
	type ProbeDeadlines,
	type ProbeOptions,
	type ProbeResult,
	runProbe,
} from "../../src/validator/probe/run-probe.ts";
import { CHEATS, POSERS } from "./cheats.ts";
import { fixedPlan } from "./fixed-plan.ts";
import { toyClaim } from "./toy-claim.ts";
import { createToyTime, ToyEngine, type ToyTime } from "./toy-engine.ts";

const TOY = fileURLToPath(new URL("./toy-main.ts", import.meta.url));

export const SIGNER = createSigner(new Uint8Array(32).fill(5));
export const FOREIGN_SIGNER = createSigner(new Uint8Array(32).fill(6));

/** Bytes that look random and repeat from run to run. */
export function countedBytes(name: string): (size: number) => Uint8Array {
	let count = 0;
	return (size) => {
		const parts: Buffer[] = [];
		for (let have = 0; have < size; have += 32) {
			parts.push(createHash("sha256").update(`${name} ${count++}`).digest());
		}
		return new Uint8Array(Buffer.concat(parts).subarray(0, size));
	};
}

export interface ToyProbe {
	readonly cheat?: string;
	readonly gpus?: number;
	readonly cpus?: number;
	readonly disk?: boolean;
	/** As a process behind a local link. */
	readonly asProcess?: boolean;
	/** Of the link, when it is not a process. */
	readonly handshakeUs?: number;
	/** One list a stage; all but the last stage of a device are held. */
	readonly stages: readonly (readonly ChallengeSpec[])[];
	readonly stopAfterMs?: number;
	readonly deadlines?: Partial<ProbeDeadlines>;
	readonly more?: Partial<ProbeOptions>;
}

/** A toy on the same event loop: it stops the verifier's while it computes, which no verdict depends on. */
function createInnerLink(
	{ gpus, cpus, disk, cheat, handshakeUs = null }: Omit<ToyProbe, "handshakeUs"> & { handshakeUs?: number | null },
	time: ToyTime,
): Link {
	const input = new PassThrough();
	const output = new PassThrough();
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	const close = async () => {
		input.end();
		output.end();
		resolve({ code: 0, signal: null, stderrTail: "" });
	};
	const write = (bytes: Uint8Array) => void (output.writableEnded || output.write(bytes));
	const claim = toyClaim(gpus ?? 0, cpus, disk);
	const toy = new ToyEngine(
		claim,
		cheat === undefined ? {} : (CHEATS[cheat] ?? POSERS[cheat])!,
		{ write, hangUp: close },
		time,
	);
	void toy.serve(input);
	return { kind: "local", input, output, engineSha256: null, hostKey: null, handshakeUs, closed, close };
}

export function toyOptions(probe: ToyProbe): ProbeOptions {
	const { cheat, gpus = 0, cpus = 1, disk = false, stages } = probe;
	const time = createToyTime();
	const hasOwnTime = probe.asProcess === true || probe.more?.openLink !== undefined;
	const openLink = probe.asProcess
		? () => createLocalLink({ command: process.execPath, args, env: process.env, graceMs: 300 })
		: async () => createInnerLink(probe, time);
	const args = [
		TOY,
		`--gpus=${gpus}`,
		`--cpus=${cpus}`,
		...(disk ? ["--disk=1"] : []),
		...(cheat === undefined ? [] : [`--cheat=${cheat}`]),
	];
	return {
		openLink,
		target: "toy",
		quick: false,
		sustainMs: 0,
		signer: SIGNER,
		clockUs: hasOwnTime ? () => performance.now() * 1000 : time.nowUs,
		nowMs: () => 1_800_000_000_000,
		randomBytes: countedBytes(cheat ?? "honest"),
		// Generous where a toy merely computes; tests of silence set their own.
		deadlines: { readyMs: 600_000, helloMs: 600_000, ...probe.deadlines },
		plan: fixedPlan(
			stages.map((specs, i) => ({
				act: "stage",
				name: `stage ${i}`,
				specs,
				deadlineMs: 600_000,
				hold: true,
				...(probe.stopAfterMs !== undefined && { stopAfterMs: probe.stopAfterMs }),
			})),
		),
		...probe.more,
	};
}

export async function probeToy(probe: ToyProbe): Promise<ProbeResult & { events: ProbeEvent[] }> {
	const events: ProbeEvent[] = [];
	const result = await runProbe({ ...toyOptions(probe), onEvent: (event) => events.push(event) });
	return { ...result, events };
}

/** `valid`, or the code of what went wrong with its status: one line for tables of expectations. */
export function outcomeOf({ verdict }: Pick<ProbeResult, "verdict">): string {
	return verdict.status === "valid" ? "valid" : `${verdict.status} ${verdict.code}`;
}
