// A finished run's folder as a stranger reads it, docs/jobs.md §2: the claim with its states, the program,
// the journal, which states lie there. Everything is held against the claim before it is used. A result that
// was fetched from the market opens, too: its journal has one line, which names the state at its end.
import { RunReplay } from "../../engine/client/replay-run.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { RunFile, RunReader } from "../../store/runs/run-folder.ts";
import type { Answers, StateRoots } from "../../verify/optimistic/answers.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { type RunClaim, readClaim } from "../../work/runs/claim-file.ts";
import {
	foldedState,
	isFetchedHead,
	type Journal,
	readJournal,
	rootBytes,
	rootsBefore,
} from "../../work/runs/journal.ts";
import { firstState, inputsHashOf } from "../../work/trace/commitments.ts";

export interface OpenedRun extends RunClaim {
	readonly path: string;
	readonly storePath: string;
	readonly program: Program;
	readonly inputRoots: readonly Uint8Array[];
	readonly journal: Journal;
	readonly readBlob: RunReader["blob"];
	/** Segments from 0 to the end of the claim. */
	readonly segments: number;
	/** S_0 … S_segments. The claim is about the last of them, from S_first on. */
	readonly states: readonly Uint8Array[];
	/** Segments before which the state lies in the store, and folds to S. */
	readonly kept: readonly number[];
	/** A result of the market: of its states only the last one can lie here. */
	readonly isFetched: boolean;
}

type Refusal =
	| "RUN_ABSENT"
	| "RUN_INCOMPLETE"
	| "RUN_UNFINISHED"
	| "CHECKPOINT_OTHER"
	| "CLAIM_ROOT"
	| "CLAIM_MALFORMED";

const wrong = (code: Refusal, message: string, hint = codes[code].hint): AssayError =>
	new AssayError(code, message, { hint });

const NEEDED = ["claim.json", "states.bin", "program.bin", "journal.jsonl"] as const satisfies readonly RunFile[];

async function neededFiles(folder: RunReader): Promise<Readonly<Record<(typeof NEEDED)[number], Uint8Array>>> {
	const found: Partial<Record<(typeof NEEDED)[number], Uint8Array>> = {};
	for (const name of NEEDED) {
		const bytes = await folder.read(name);
		if (bytes !== null) found[name] = bytes;
	}
	const missing = NEEDED.filter((name) => found[name] === undefined);
	if (missing.length === NEEDED.length)
		throw wrong("RUN_ABSENT", `${folder.path} holds no run: it has none of ${NEEDED.join(", ")}`);
	if (found["claim.json"] === undefined && found["journal.jsonl"] !== undefined)
		throw wrong("RUN_UNFINISHED", `${folder.path} has no claim.json`);
	if (missing.length > 0)
		throw wrong("RUN_INCOMPLETE", `${folder.path} has no ${missing.join(", no ")}`, completeHint(found["claim.json"]));
	return found as Record<(typeof NEEDED)[number], Uint8Array>;
}

/** Results that were fetched by earlier versions have no program and no journal. */
function completeHint(claim: Uint8Array | undefined): string {
	const job = /"job": "([1-9][0-9]{0,77})"/.exec(bytesToUtf8(claim ?? new Uint8Array()) ?? "")?.[1];
	if (job === undefined) return codes.RUN_INCOMPLETE.hint;
	const id = BigInt(job).toString(16).padStart(64, "0").slice(0, 12);
	return `It is a result of the market: fetch it again with \`assay job result ${id}\`, which writes what a check needs.`;
}

/** S_0 up to the claim's own first state; the claim's list goes on from there. */
async function statesBefore(folder: RunReader, { claim }: RunClaim): Promise<Uint8Array[]> {
	if (claim.first === 0) return [];
	const bytes = await folder.read("earlier-states.bin");
	if (bytes === null)
		throw wrong(
			"RUN_INCOMPLETE",
			`${folder.path} has no earlier-states.bin, and its claim begins with segment ${claim.first}`,
		);
	if (bytes.length !== 32 * claim.first)
		throw wrong(
			"CLAIM_MALFORMED",
			`earlier-states.bin has ${bytes.length} bytes; ${claim.first} states have ${32 * claim.first}`,
		);
	return Array.from({ length: claim.first }, (_, i) => Uint8Array.from(bytes.subarray(32 * i, 32 * (i + 1))));
}

function openJournal(folder: RunReader, text: Uint8Array, { claim }: RunClaim): Journal {
	const journal = readJournal(bytesToUtf8(text) ?? "");
	if (journal === null) throw wrong("RUN_UNFINISHED", `${folder.path} has an empty journal`);
	const isFetched = isFetchedHead(journal.head);
	const isWhole = isFetched ? journal.head.first === claim.first + claim.segments : journal.head.first === 0;
	if (!isWhole || (claim.first !== 0 && !isFetched))
		throw wrong("CLAIM_MALFORMED", "a run's folder holds it from segment 0 on");
	return journal;
}

/**
 * Throws RUN_ABSENT, RUN_UNFINISHED, RUN_INCOMPLETE, CLAIM_MALFORMED, CLAIM_ROOT, CHECKPOINT_OTHER,
 * RUN_DAMAGED, FILE_UNREADABLE, PROGRAM_….
 */
export async function openRun(folder: RunReader): Promise<OpenedRun> {
	const files = await neededFiles(folder);
	const claim = readClaim(files["claim.json"], files["states.bin"]);
	const { program } = orThrow(openProgram(files["program.bin"]));
	if (!equalBytes(programRoot(program), claim.claim.program))
		throw wrong("CLAIM_ROOT", "program.bin is not the claim's program");
	const journal = openJournal(folder, files["journal.jsonl"], claim);
	const inputRoots = rootBytes(journal.head.inputRoots);
	const inputs = program.tensors.filter(({ kind }) => kind === "input");
	if (
		inputs.length !== inputRoots.length ||
		!equalBytes(inputsHashOf(program, claim.seed, inputRoots), claim.claim.inputs)
	)
		throw wrong("CLAIM_ROOT", "the inputs that the journal names are not the claim's");
	const states = [...(await statesBefore(folder, claim)), ...claim.states];
	const segments = states.length - 1;
	const isFetched = isFetchedHead(journal.head);
	const blobs = await folder.blobs();
	const kept = (isFetched ? [segments] : journal.checkpoints).filter((before) => {
		const roots = before <= segments ? rootsBefore(journal, before) : null;
		return roots !== null && [...roots.state, ...roots.results].every((root) => blobs.has(root));
	});
	for (const before of kept) {
		const { state, results } = rootsBefore(journal, before)!;
		const folded = foldedState(program, before, state, results);
		if (folded === null || !equalBytes(folded, states[before]!))
			throw wrong(
				"CHECKPOINT_OTHER",
				`the state kept before segment ${before} does not fold to S_${before} of the claim`,
			);
	}
	return {
		...{ ...claim, states, segments, program, inputRoots, journal, kept, isFetched },
		...{ path: folder.path, storePath: folder.storePath, readBlob: folder.blob },
	};
}

/** What the run itself says of S_segment; it need not be true. */
function journalRoots({ journal }: OpenedRun, segment: number, zeros: () => StateRoots): StateRoots {
	const roots = rootsBefore(journal, segment);
	return roots === null ? zeros() : { state: rootBytes(roots.state), results: rootBytes(roots.results) };
}

/** Runs parts of it again; `open` gives sessions with the folder's store. */
export const replayOf = (run: OpenedRun, open: OpenWorkSession, device: number): RunReplay =>
	new RunReplay(
		{ ...run, rootsBefore: (segment) => journalRoots(run, segment, () => ({ state: [], results: [] })) },
		open,
		device,
	);

/** Answers that an engine computes again. */
export const replayAnswers = (replay: RunReplay): Omit<Answers, "claim" | "states"> => ({
	stateRoots: (segment) => replay.stateRoots(segment),
	traceRoot: (segment) => replay.traceRoot(segment),
	traceNodes: (segment, level, index) => replay.traceNodes(segment, level, index),
	traceLeaf: (place) => replay.traceLeaf(place),
	outputNodes: (place, level, index) => replay.outputNodes(place, level, index),
	leaf: (place, of, leaf) => replay.leaf(place, of, leaf),
	transcript: (place, element, path) => replay.transcript(place, element, path),
	writer: (segment, tensor) => replay.writer(segment, tensor),
});

/**
 * Answers for a run from its folder and an engine. `roots`: what S commits to comes from the journal, which
 * is the run's own word, or is computed again.
 */
export function answersOf(run: OpenedRun, replay: RunReplay, roots: "journal" | "computed"): Answers {
	const computed = { claim: run.claim, states: run.states, ...replayAnswers(replay) };
	if (roots === "computed") return computed;
	return { ...computed, stateRoots: async (segment) => journalRoots(run, segment, () => replay.zeros()) };
}

/** Whether the run begins as every run does. */
export const beginsWithZeros = (run: OpenedRun): boolean => equalBytes(run.states[0]!, firstState(run.program));
