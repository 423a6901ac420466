// Games about claims of this host that are ended by proofs, docs/zk.md §15: program, inputs and states come
// from the part's folder, the proofs from an engine of their own. Not here: the proofs
// (src/provider/proofs/hybrid/).
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { ChainQuestion } from "../../protocol/network/chain-question.ts";
import { readRunFolder } from "../../store/runs/run-folder.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram } from "../../work/program/open-program.ts";
import { readClaim } from "../../work/runs/claim-file.ts";
import { createClearer, type DisputedClaim } from "../proofs/hybrid/clear-segments.ts";
import type { DisputeChain } from "../proofs/hybrid/dispute-chain.ts";
import type { ProofEngine } from "../proofs/order.ts";
import type { PowersFor } from "../proofs/powers.ts";
import type { StartJobEngine } from "./job-engine.ts";
import type { PartEntry } from "./part-book.ts";
import { tensorBytes } from "./zk-part.ts";

/** Null: it is no such claim. */
async function disputedClaimOf({ page, path }: PartEntry): Promise<DisputedClaim | null> {
	const { offer, claim } = page;
	const { escrow, assignment, spec } = offer;
	if (!methodOf(offer.terms.method).isProvable || claim === null || escrow === null || assignment === null) return null;
	if (escrow.terms.parts !== 1) return null;
	const { program } = orThrow(openProgram(new Uint8Array(await readFile(join(path, "program.bin")))));
	const run = readClaim(await readFile(join(path, "claim.json")), await readFile(join(path, "states.bin")));
	const { blob } = readRunFolder(path);
	return {
		...{ job: BigInt(`0x${offer.id}`), attempt: assignment.attempt, terms: escrow.terms, program, folder: path },
		...{ seed: hexToBytes(spec.seed, 32)!, states: run.states, resultRoot: run.claim.resultRoot },
		given: (tensor) =>
			tensorBytes(blob, program.tensors[tensor]!, spec.given.find((one) => one.tensor === tensor)!.root),
	};
}

interface ClearerMeans {
	readonly chain: DisputeChain;
	readonly powersFor: PowersFor;
	readonly startEngine: StartJobEngine;
	/** The device that proves. */
	readonly device: number;
	/** Throws PROVIDER_BUSY. */
	readonly hold: () => Promise<() => void>;
}

const MINUTES = 60;

/** Which segment a question is about; null: about none, or one of those that any segment's answer needs. */
function segmentOf(question: ChainQuestion): number | null {
	if (question.kind === "writer" || question.kind === "roots") return null;
	return question.kind === "nodes" && question.tree === "segments" ? null : question.segment;
}

export class PartClearer {
	private readonly means: ClearerMeans;
	private readonly clearer: ReturnType<typeof createClearer>;
	private tell: (detail: string) => void = () => {};

	constructor(means: ClearerMeans) {
		this.means = means;
		const { chain, powersFor } = means;
		const tell = (detail: string) => this.tell(detail);
		this.clearer = createClearer({ chain, powersFor, tell, withEngine: (claim, act) => this.withEngine(claim, act) });
	}

	private async withEngine<T>({ folder }: DisputedClaim, act: (engine: ProofEngine) => Promise<T>): Promise<T> {
		const { device, startEngine, hold } = this.means;
		const letGo = await hold();
		try {
			const onKilled = (why: string) => this.tell(`an engine that proved was killed: ${why}`);
			const { storePath } = readRunFolder(folder);
			const engine = await startEngine({ device, storePath, minutes: MINUTES, onKilled });
			const { openProof } = engine;
			try {
				if (openProof === undefined) throw new AssayError("JOB_METHOD", "this host's engine makes no proofs");
				return await act({ ...engine, openProof });
			} finally {
				await engine.close().catch(() => {});
			}
		} finally {
			letGo();
		}
	}

	/**
	 * Whether the question need not be answered, because the proof of its segment is on chain: brought there
	 * now, if it can be. Throws RUN_UNSTEADY, and what engine and chain say.
	 */
	async isProven(entry: PartEntry, question: ChainQuestion, tell: (detail: string) => void): Promise<boolean> {
		const segment = segmentOf(question);
		const claim = segment === null ? null : await disputedClaimOf(entry);
		this.tell = tell;
		return claim !== null && this.clearer.clear(claim, segment!);
	}

	/** Whoever says a list proves what of it is demanded. Throws the same. */
	async proveDemanded(entry: PartEntry, tell: (detail: string) => void): Promise<void> {
		const claim = await disputedClaimOf(entry);
		this.tell = tell;
		if (claim !== null) await this.clearer.clearDemanded(claim);
	}

	collect(): Promise<void> {
		return this.clearer.collect();
	}
}
