// A finished run's folder as a stranger reads it, docs/jobs.md §2: the claim with its states, the program,
// the journal, which states lie there. Everything is held against the claim before it is used.
import { RunReplay } from "../../engine/client/replay-run.ts";
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToUtf8, equalBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { RunReader } from "../../store/runs/run-folder.ts";
import type { Answers, StateRoots } from "../../verify/optimistic/answers.ts";
import { orThrow } from "../../work/program/fault.ts";
import { openProgram, programRoot } from "../../work/program/open-program.ts";
import type { Program } from "../../work/program/shapes.ts";
import { type RunClaim, readClaim } from "../../work/runs/claim-file.ts";
import { foldedState, type Journal, readJournal, rootBytes } from "../../work/runs/journal.ts";
import { firstState, inputsHashOf } from "../../work/trace/commitments.ts";

export interface OpenedRun extends RunClaim {
	readonly path: string;
	readonly storePath: string;
	readonly program: Program;
	readonly inputRoots: readonly Uint8Array[];
	readonly journal: Journal;
	readonly readBlob: RunReader["blob"];
	/** Segments before which the state lies in the store, and folds to the claim's S. */
	readonly kept: readonly number[];
}

const wrong = (
	code: "RUN_UNFINISHED" | "CHECKPOINT_OTHER" | "CLAIM_ROOT" | "CLAIM_MALFORMED",
	message: string,
): AssayError => new AssayError(code, message, { hint: codes[code].hint });

async function mustRead(folder: RunReader, file: Parameters<RunReader["read"]>[0]): Promise<Uint8Array> {
	const found = await folder.read(file);
	if (found === null) throw wrong("RUN_UNFINISHED", `${folder.path} has no ${file}`);
	return found;
}

/** Throws RUN_UNFINISHED, CLAIM_MALFORMED, CLAIM_ROOT, CHECKPOINT_OTHER, RUN_DAMAGED, PROGRAM_…. */
export async function openRun(folder: RunReader): Promise<OpenedRun> {
	const claim = readClaim(await mustRead(folder, "claim.json"), await mustRead(folder, "states.bin"));
	const { program } = orThrow(openProgram(await mustRead(folder, "program.bin")));
	if (!equalBytes(programRoot(program), claim.claim.program))
		throw wrong("CLAIM_ROOT", "program.bin is not the claim's program");
	const journal = readJournal(bytesToUtf8(await mustRead(folder, "journal.jsonl")) ?? "");
	if (journal === null) throw wrong("RUN_UNFINISHED", `${folder.path} has an empty journal`);
	const inputRoots = rootBytes(journal.head.inputRoots);
	const inputs = program.tensors.filter(({ kind }) => kind === "input");
	if (
		inputs.length !== inputRoots.length ||
		!equalBytes(inputsHashOf(program, claim.seed, inputRoots), claim.claim.inputs)
	)
		throw wrong("CLAIM_ROOT", "the inputs that the journal names are not the claim's");
	if (claim.claim.first !== 0) throw wrong("CLAIM_MALFORMED", "a run's folder holds it from segment 0 on");
	const blobs = await folder.blobs();
	const kept = journal.checkpoints.filter((before) => {
		const { state, results } = journal.segments[before - 1]!;
		return before <= claim.claim.segments && [...state, ...results].every((root) => blobs.has(root));
	});
	for (const before of kept) {
		const { state, results } = journal.segments[before - 1]!;
		const folded = foldedState(program, before, state, results);
		if (folded === null || !equalBytes(folded, claim.states[before]!))
			throw wrong(
				"CHECKPOINT_OTHER",
				`the state kept before segment ${before} does not fold to S_${before} of the claim`,
			);
	}
	return {
		...claim,
		path: folder.path,
		storePath: folder.storePath,
		readBlob: folder.blob,
		program,
		inputRoots,
		journal,
		kept,
	};
}

/** What the run itself says of S_segment; it need not be true. */
function journalRoots({ journal }: OpenedRun, segment: number, zeros: () => StateRoots): StateRoots {
	const line = journal.segments[segment - 1];
	return line === undefined ? zeros() : { state: rootBytes(line.state), results: rootBytes(line.results) };
}

/** Runs parts of it again; `open` gives sessions with the folder's store. */
export const replayOf = (run: OpenedRun, open: OpenWorkSession, device: number): RunReplay =>
	new RunReplay(
		{ ...run, rootsBefore: (segment) => journalRoots(run, segment, () => ({ state: [], results: [] })) },
		open,
		device,
	);

/**
 * Answers for a run from its folder and an engine. `roots`: what S commits to comes from the journal, which
 * is the run's own word, or is computed again.
 */
export function answersOf(run: OpenedRun, replay: RunReplay, roots: "journal" | "computed"): Answers {
	return {
		claim: run.claim,
		states: run.states,
		stateRoots: async (segment) =>
			roots === "journal" ? journalRoots(run, segment, () => replay.zeros()) : await replay.stateRoots(segment),
		traceRoot: (segment) => replay.traceRoot(segment),
		traceNodes: (segment, level, index) => replay.traceNodes(segment, level, index),
		traceLeaf: (place) => replay.traceLeaf(place),
		outputNodes: (place, level, index) => replay.outputNodes(place, level, index),
		leaf: (place, of, leaf) => replay.leaf(place, of, leaf),
		transcript: (place, element, path) => replay.transcript(place, element, path),
		writer: (segment, tensor) => replay.writer(segment, tensor),
	};
}

/** Whether the run begins as every run does. */
export const beginsWithZeros = (run: OpenedRun): boolean => equalBytes(run.states[0]!, firstState(run.program));
