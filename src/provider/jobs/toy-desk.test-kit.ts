// A validator's desk for jobs in memory, honest or hostile: offers parts of a toy workload, takes what is
// handed in and remembers all of it. For tests of the provider alone; the real desk is a validator's API.
import { writeFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { foldPieces, PIECE_BYTES, pieceRoot } from "../../platform/blob-tree.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { BlobName } from "../../protocol/network/job-spec.ts";
import { programRoot } from "../../work/program/open-program.ts";
import { rootBytes } from "../../work/runs/journal.ts";
import { claimHash, firstState, inputsHashOf, stateHashOf } from "../../work/trace/commitments.ts";
import { specOfWorkload } from "../../work/workloads/spec-of-workload.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import type { AskedPart, Beat, ClaimedPart, JobDesk, PartOffer, ProvenSpeed } from "./job-desk.ts";

export async function blobRoot(bytes: Uint8Array): Promise<Uint8Array> {
	const roots: Uint8Array[] = [];
	for (let at = 0; at < Math.max(1, bytes.length); at += PIECE_BYTES)
		roots.push(await pieceRoot(bytes.subarray(at, at + PIECE_BYTES)));
	return foldPieces(roots);
}

export const JOB = "5a".repeat(32);

export class ToyDesk implements JobDesk {
	readonly workload: Workload;
	readonly spec: PartOffer["spec"];
	readonly terms: PartOffer["terms"];
	readonly blobs = new Map<string, Uint8Array>();
	/** What was said to it, in order. */
	readonly heard: { readonly what: string; readonly asked: AskedPart; readonly body?: unknown }[] = [];
	readonly beats: Beat[] = [];
	claims: ClaimedPart[] = [];
	/** The end of the part before, by part. */
	readonly ends = new Map<number, NonNullable<PartOffer["begin"]>>();
	/** To be changed by hostile ones. */
	change: (offer: PartOffer) => PartOffer = (offer) => offer;
	go = true;
	/** Throws instead of an answer, by the name of the question. */
	readonly failing = new Map<string, () => AssayError | null>();
	nowMs = () => Date.now();
	/** Which device of its host a part, or an audit, is given to. */
	deviceOf: (asked: AskedPart) => number = () => 0;
	speed: ProvenSpeed | null = { int8OpsPerS: 1e6, bytesPerS: 1e9, int32OpsPerS: 0 };

	private constructor(workload: Workload, spec: PartOffer["spec"], parts: number) {
		this.workload = workload;
		this.spec = spec;
		const { program, seed } = workload;
		const inputs = spec.given.filter(({ tensor }) => program.tensors[tensor]!.kind === "input");
		this.terms = {
			...{ customer: "toy", program: bytesToHex(programRoot(program)), method: spec.method, segments: spec.segments },
			inputs: bytesToHex(inputsHashOf(program, seed, rootBytes(inputs.map(({ root }) => root)))),
			...{ parts, priceMicros: 1000, feeMicros: 20, auditMicros: 100, bondMicros: 500, startByMs: 0 },
			...{ workMs: 600_000, windowMs: 60_000, checkedMs: 1000 },
		};
	}

	static async open(workload: Workload, parts = 1): Promise<ToyDesk> {
		const order = { title: "toy", kind: "toy", method: { name: "sampled", count: 3 } as const, rootOf: blobRoot };
		const { spec, blobs } = await specOfWorkload(workload, order);
		const desk = new ToyDesk(workload, spec as PartOffer["spec"], parts);
		for (const { root, bytes } of blobs) desk.blobs.set(root, bytes());
		return desk;
	}

	private hear(what: string, asked: AskedPart, body?: unknown): void {
		this.heard.push({ what, asked, body });
		const error = this.failing.get(what)?.() ?? null;
		if (error !== null) throw error;
	}

	/** Names of what it was asked, without beats. */
	get said(): string[] {
		return this.heard.map(({ what }) => what).filter((what) => what !== "beat");
	}

	async offer(asked: AskedPart): Promise<PartOffer> {
		this.hear("offer", asked);
		const { spec, terms, workload } = this;
		const each = Math.ceil(terms.segments / terms.parts);
		const first = each * asked.part;
		const begin = this.ends.get(asked.part - 1) ?? null;
		const roots = (all: readonly BlobName[]) => rootBytes(all.map(({ root }) => root));
		const start =
			begin === null
				? firstState(workload.program)
				: stateHashOf(workload.program, first, roots(begin.state), roots(begin.results));
		return this.change({
			...{ id: asked.job, part: asked.part, attempt: asked.attempt, audit: asked.audit, spec, terms, escrow: null },
			...{
				device: this.deviceOf(asked),
				assignment: null,
				first,
				count: Math.min(each, terms.segments - first),
				start: bytesToHex(start),
				begin,
			},
			...{ previous: null, perWindow: 2, beatMs: 40, untilMs: this.nowMs() + 60_000, nowMs: this.nowMs() },
		});
	}

	async accept(asked: AskedPart) {
		this.hear("accept", asked);
		return { state: "running" as const, untilMs: this.nowMs() + this.terms.workMs, nowMs: this.nowMs() };
	}

	async decline(asked: AskedPart, why: string): Promise<void> {
		this.hear("decline", asked, why);
	}

	async beat(asked: AskedPart, beat: Beat) {
		this.beats.push(beat);
		this.hear("beat", asked, beat);
		return { go: this.go };
	}

	async claim(asked: AskedPart, claim: ClaimedPart) {
		this.hear("claim", asked, claim);
		this.claims.push(claim);
		const { terms } = this;
		for (const { root, size } of [claim.states, ...claim.state, ...claim.results])
			if (this.blobs.get(root)?.length !== size) throw new AssayError("JOB_CLAIM", `${root} was not uploaded`);
		const each = Math.ceil(terms.segments / terms.parts);
		const hash = claimHash({
			...{ chainId: 0n, escrow: new Uint8Array(20), job: BigInt(`0x${asked.job}`), part: asked.part },
			...{ program: hexToBytes(terms.program, 32)!, inputs: hexToBytes(terms.inputs, 32)!, first: each * asked.part },
			segments: Math.min(each, terms.segments - each * asked.part),
			...{ segmentRoot: hexToBytes(claim.segmentRoot, 32)!, resultRoot: hexToBytes(claim.resultRoot, 32)! },
		});
		this.ends.set(asked.part, { state: claim.state, results: claim.results });
		return { claim: bytesToHex(hash), stored: null, state: "claimed" as const, untilMs: this.nowMs() + terms.windowMs };
	}

	async answerAudit(asked: AskedPart, states: BlobName): Promise<void> {
		this.hear("audit", asked, states);
	}

	async proven(_device?: number): Promise<ProvenSpeed | null> {
		return this.speed;
	}

	async download(job: string, { root, size }: BlobName, path: string, signal: AbortSignal): Promise<void> {
		this.hear("download", { job, part: 0, attempt: 0, audit: null }, root);
		signal.throwIfAborted();
		const bytes = this.blobs.get(root);
		if (bytes?.length !== size) throw new AssayError("BLOB_UNKNOWN", "there is no such blob");
		writeFileSync(path, bytes);
	}

	async upload(from: { readonly path: string } | { readonly bytes: Uint8Array }): Promise<BlobName> {
		const bytes = "path" in from ? await readFile(from.path) : from.bytes;
		const root = bytesToHex(await blobRoot(bytes));
		this.blobs.set(root, bytes);
		return { root, size: bytes.length };
	}
}
