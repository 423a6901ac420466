// The files that a run delivers, docs/jobs.md §5: each is made again from the last state that the claim
// commits to, and compared. What cannot be made again is named. Says nothing of the claim itself, which
// check-run.ts and check-generation.ts look at.
import type { OpenWorkSession } from "../../engine/client/work-session.ts";
import { resultFiles } from "../../market/jobs/check-result.ts";
import { pieceRoot } from "../../platform/blob-tree.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex, equalBytes, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { codes } from "../../protocol/codes.ts";
import type { FolderEntry, RunFile, RunReader } from "../../store/runs/run-folder.ts";
import { isSamePng } from "../../work/formats/same-png.ts";
import { readGeneration } from "../../work/inference/generation-file.ts";
import { bytesOf, bytesToElements, elementCount } from "../../work/operators/tensor-type.ts";
import type { Tensor } from "../../work/program/shapes.ts";
import { claimText } from "../../work/runs/claim-file.ts";
import { rootBytes, rootsBefore } from "../../work/runs/journal.ts";
import { resultRootOf, stateHashOf } from "../../work/trace/commitments.ts";
import type { Workload } from "../../work/workloads/workload.ts";
import { mustGenerate } from "./check-generation.ts";
import type { CheckedJournal } from "./check-run.ts";
import { type OpenedRun, replayOf } from "./open-run.ts";

/**
 * `same`: equal to what was made again, or every hash in it leads to the claim. `missing`: the work delivers
 * it, and it is not there. `uncompared`: it may be delivered, and could not be made again or read.
 * `unknown`: no file of this run.
 */
export interface CheckedFile {
	readonly name: string;
	readonly status: "same" | "different" | "missing" | "uncompared" | "unknown";
	/** How it was compared, or why not. */
	readonly how: string;
}

/** State and results at the end of a run, as the claim commits to them. */
export interface RunOutcome {
	/** By the tensors' numbers. */
	readonly tensors: ReadonlyMap<number, Uint8Array>;
	/** Segments that were run for it: none where the last state lies in the folder. */
	readonly replayed: number;
	/** What the claim says of its end that is not so; null: nothing. */
	readonly wrong: "state" | "result" | null;
}

/** A tensor of the store, held against its root. */
async function storedTensor(run: OpenedRun, { name, type, dims }: Tensor, root: Uint8Array): Promise<Uint8Array> {
	const held = await run.readBlob(bytesToHex(root));
	const size = elementCount(dims) * bytesOf(type);
	// A root tells leaves of 1 KiB, not bytes; a program may declare more than there is memory for.
	if (held !== null && size - held.length < 1024) {
		const bytes = new Uint8Array(size);
		bytes.set(held.subarray(0, size));
		if (equalBytes(await pieceRoot(bytes), root)) return bytes;
	}
	throw new AssayError("TENSOR_ROOT", `${name} in the store is not the tensor that its file's name says`, {
		hint: codes.TENSOR_ROOT.hint,
	});
}

/** Elements outside their interval are in no true state, and files could not be made of them. */
function isInRange({ type, dims, lo, hi }: Tensor, bytes: Uint8Array): boolean {
	const elements = bytesToElements(bytes, type, elementCount(dims))!;
	if (elements instanceof BigInt64Array) return elements.every((value) => value >= lo && value <= hi);
	const [low, high] = [Number(lo), Number(hi)];
	for (const value of elements) if (value < low || value > high) return false;
	return true;
}

/**
 * From the folder where the last state is kept; else the last window is run again. Throws TENSOR_ROOT, and
 * what an engine says.
 */
export async function runOutcome(
	run: OpenedRun,
	{ open, device }: { readonly open: OpenWorkSession; readonly device: number },
): Promise<RunOutcome> {
	const { program, segments, claim } = run;
	const isResultRight = (results: readonly Uint8Array[]) =>
		equalBytes(resultRootOf(program, results), claim.resultRoot) ? null : "result";
	if (!run.kept.includes(segments)) {
		const replay = replayOf(run, open, device);
		try {
			const { roots, bytes } = await replay.outcomeBytes(segments);
			const isRight = equalBytes(stateHashOf(program, segments, roots.state, roots.results), run.states[segments]!);
			const wrong = isRight ? isResultRight(roots.results) : "state";
			return { tensors: bytes, replayed: replay.replayed, wrong };
		} finally {
			await replay.close();
		}
	}
	const roots = rootsBefore(run.journal, segments)!;
	const [state, results] = [rootBytes(roots.state), rootBytes(roots.results)];
	const tensors = new Map<number, Uint8Array>();
	const left = { state: [...state], result: [...results] };
	for (const [i, tensor] of program.tensors.entries())
		if (tensor.kind === "state" || tensor.kind === "result")
			tensors.set(i, await storedTensor(run, tensor, left[tensor.kind].shift()!));
	const isTrue = [...tensors].every(([i, bytes]) => isInRange(program.tensors[i]!, bytes));
	return { tensors, replayed: 0, wrong: isTrue ? isResultRight(results) : "state" };
}

export interface CheckFiles {
	readonly run: OpenedRun;
	readonly folder: RunReader;
	/** Built from the job file; null when that is not known. */
	readonly workload: Workload | null;
	/** Why there is no workload. */
	readonly why: string;
	/** Whether the workload was built from the folder's own job.json and data. */
	readonly isFolderJob: boolean;
	readonly tensors: RunOutcome["tensors"];
	/** What a re-run compared of the journal; null when nothing was run again. */
	readonly journal: CheckedJournal | null;
	/** Whether anything was run again: then the states before a fetched result's last part were compared. */
	readonly isRerun: boolean;
}

const BY_BYTES = "made again, equal byte for byte";
const BY_HASH = "every hash in it leads to the claim";
const BY_PIXELS = "made again, the same pixels (packed otherwise)";

/** A made file beside the one in the folder. */
async function compared(folder: RunReader, name: string, right: Uint8Array): Promise<CheckedFile> {
	// Packers differ between machines, so a picture may have other bytes, and more of them.
	const isPicture = name.endsWith(".png");
	try {
		const held = await folder.readListed(name, isPicture ? 2 * right.length + 65_536 : right.length);
		if (held !== null && equalBytes(held, right)) return { name, status: "same", how: BY_BYTES };
		if (held !== null && isPicture && (await isSamePng(held, right))) return { name, status: "same", how: BY_PIXELS };
		return { name, status: "different", how: "it is not what the claim's last state gives" };
	} catch (error) {
		if (!(error instanceof AssayError && error.code === "FILE_UNREADABLE")) throw error;
		return { name, status: "uncompared", how: error.message };
	}
}

const KINDS = {
	link: "it is a link, which is not followed",
	folder: "it is a folder",
	unread: "it has too many files, or folders in folders",
	other: "it is no plain file",
} as const;

/** What lies where a file should, or above it. */
function inItsPlace(listed: ReadonlyMap<string, FolderEntry>, name: string): FolderEntry | null {
	const parts = name.split("/");
	for (let count = 1; count <= parts.length; count++) {
		const found = listed.get(parts.slice(0, count).join("/"));
		if (found !== undefined) return found;
	}
	const below = [...listed.keys()].find((one) => one.startsWith(`${name}/`));
	return below === undefined ? null : { name, kind: "folder" };
}

/** The run's own files: each was held against the claim when the folder was opened. */
async function ownFiles(asked: CheckFiles): Promise<Map<string, CheckedFile>> {
	const { run, folder, workload, journal, isRerun } = asked;
	const found = new Map<string, CheckedFile>();
	const put = (name: RunFile, status: CheckedFile["status"], how: string) => found.set(name, { name, status, how });
	const isOwnText = equalBytes((await folder.read("claim.json"))!, utf8ToBytes(claimText(run.claim, run.seed)));
	put("claim.json", "same", isOwnText ? BY_HASH : `${BY_HASH}; its text was spelled otherwise`);
	put("states.bin", "same", BY_HASH);
	put("program.bin", "same", BY_HASH);
	put("journal.jsonl", ...journalStatus(run, journal));
	if (run.claim.first > 0)
		put(
			"earlier-states.bin",
			isRerun ? "same" : "uncompared",
			isRerun ? "states that were run again" : "only running the job again compares it",
		);
	const [status, how] = jobStatus(asked);
	put("job.json", status, how);
	if (workload === null && (await isOwnGeneration(run, folder)))
		put("generation.json", "same", "generates with the claim's program");
	put("rounds.bin", "unknown", "signed reports of the host's devices; `assay verify` judges them");
	return found;
}

function jobStatus({ workload, isFolderJob, why }: CheckFiles): [CheckedFile["status"], string] {
	if (workload === null) return ["unknown", why];
	return isFolderJob ? ["same", "builds the claim's program and inputs"] : ["unknown", "--job was given in its place"];
}

/** Without the job file, which would make it again. */
async function isOwnGeneration({ claim }: OpenedRun, folder: RunReader): Promise<boolean> {
	try {
		const file = await folder.read("generation.json");
		if (file !== null) mustGenerate(readGeneration(file), claim.program);
		return file !== null;
	} catch (error) {
		if (error instanceof AssayError) return false;
		throw error;
	}
}

function journalStatus(run: OpenedRun, journal: CheckedJournal | null): [CheckedFile["status"], string] {
	const { segments } = run.journal;
	if (run.isFetched) return ["same", "names the claim's inputs and last state"];
	if (segments.length !== run.segments)
		return ["different", `it has ${segments.length} segments, the claim ${run.segments}`];
	const other = segments.find(({ after }, i) => after !== bytesToHex(run.states[i + 1]!));
	if (other !== undefined) return ["different", `segment ${other.segment} ends elsewhere than in the claim`];
	if (journal !== null && journal.wrong !== null)
		return ["different", `the ${journal.wrong.what} of segment ${journal.wrong.segment} are not those of the re-run`];
	const of = (count: number) => `${count} of ${run.segments} segments`;
	return [
		"same",
		`states of all segments; roots of ${of(journal?.roots ?? 0)}, metrics of ${of(journal?.metrics ?? 0)}`,
	];
}

/** Where states lie as plain arrays. */
const PLAIN = "state/";

/** Every file of the folder and every file that should be there, by name. */
export async function checkFiles(asked: CheckFiles): Promise<CheckedFile[]> {
	const { run, folder, workload, why, tensors } = asked;
	const listed = new Map((await folder.list()).map((entry) => [entry.name, entry]));
	const made = new Map(await resultFiles(run.program, workload, tensors));
	// A result whose job file was not at hand is written as plain arrays.
	if (workload !== null && [...listed.keys()].some((name) => name.startsWith(PLAIN)))
		for (const [name, bytes] of await resultFiles(run.program, null, tensors))
			if (listed.has(name) && !made.has(name)) made.set(name, bytes);
	const own = await ownFiles(asked);
	const stored = "tensors by their roots; each one that was used was hashed";
	const found: CheckedFile[] = [{ name: "store/", status: "same", how: stored }];
	for (const [name, right] of made) {
		const entry = inItsPlace(listed, name);
		const isOptional = workload === null && name.startsWith(PLAIN);
		if (entry?.name === name && entry.kind === "file") found.push(await compared(folder, name, right));
		else if (entry !== null && entry.kind !== "file")
			found.push({ name, status: "uncompared", how: `${entry.name}: ${KINDS[entry.kind]}` });
		else if (!isOptional) found.push({ name, status: "missing", how: "the work delivers it" });
	}
	for (const { name, kind } of listed.values()) {
		if (made.has(name)) continue;
		const known = own.get(name);
		if (known !== undefined) found.push(known);
		else if (name === ".lock") continue;
		else if (kind !== "file") found.push({ name, status: "unknown", how: KINDS[kind] });
		else if (workload === null) found.push({ name, status: "uncompared", how: why });
		else found.push({ name, status: "unknown", how: "this run delivers no such file" });
	}
	return found.sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Whether the inputs of a re-run are at hand: null, or what is missing. */
export async function missingForRerun(run: OpenedRun, folder: RunReader): Promise<string | null> {
	const blobs = await folder.blobs();
	const inputs = [...run.inputRoots];
	for (const { name, kind, root } of run.program.tensors) {
		if (kind !== "constant" && kind !== "input") continue;
		const hex = bytesToHex(kind === "input" ? inputs.shift()! : root!);
		if (!blobs.has(hex) && (await run.readBlob(hex)) === null) return name;
	}
	return null;
}
