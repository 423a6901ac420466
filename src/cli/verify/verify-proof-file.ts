// `assay verify PROOF`: a proof of a segment of training, docs/zk.md, and whether bytes at hand are those that it is about. Not here: the check itself (src/verify/zk/).
import { realEnvironment } from "../../platform/environment.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import type { HeldBytes } from "../../verify/zk/bind-bytes.ts";
import { type ProofVerdict, verifyProofFile } from "../../verify/zk/proof-file.ts";
import { bytesOf, bytesToElements, type Elements, elementCount } from "../../work/operators/tensor-type.ts";
import type { Program, Tensor } from "../../work/program/shapes.ts";
import type { CliIo } from "../command.ts";
import { readInput } from "../evidence-file.ts";
import { exitCodes } from "../exit-codes.ts";
import { formatDuration } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { printResult } from "../print/print-result.ts";

export interface ProofOptions {
	readonly data?: string | undefined;
	readonly initial?: string | undefined;
	readonly result?: string | undefined;
	readonly dev: boolean;
	readonly json: boolean;
}

const MOST_BYTES = 2 ** 31;
const HINT =
	"Give the tensors' elements, little-endian, one tensor after the other in the program's order; docs/zk.md §6.";

/** All elements of these tensors, from one file. */
function elementsOf(path: string, tensors: readonly Tensor[]): Elements[] {
	const bytes = readInput(path, MOST_BYTES, HINT);
	const sizes = tensors.map(({ type, dims }) => elementCount(dims) * bytesOf(type));
	const total = sizes.reduce((sum, one) => sum + one, 0);
	if (bytes.length !== total)
		throw new AssayError("TENSOR_SIZE", `${path} has ${bytes.length} bytes; the tensors have ${total}`, { hint: HINT });
	let at = 0;
	return tensors.map(({ type, dims }, i) => {
		const own = bytes.slice(at, at + sizes[i]!);
		at += sizes[i]!;
		return bytesToElements(own, type, elementCount(dims))!;
	});
}

function heldBytes({ tensors }: Program, { data, initial, result }: ProofOptions): HeldBytes {
	const state = tensors.filter(({ kind }) => kind === "state");
	const named = (name: string) => tensors.find((one) => one.name === name)!;
	const [features, labels] = data === undefined ? [] : elementsOf(data, ["features", "labels"].map(named));
	return {
		...(features !== undefined && labels !== undefined && { data: { features, labels } }),
		...(initial !== undefined && { before: elementsOf(initial, state) }),
		...(result !== undefined && { after: elementsOf(result, state) }),
	};
}

function proofLines(verdict: ProofVerdict, paint: Paint): string[] {
	if (verdict.status === "invalid") {
		const { meaning, hint } = codes[verdict.code];
		const head = `${paint.bad(paint.strong("INVALID"))}  ${verdict.code}`;
		return [head, `  ${verdict.detail}`, `  ${meaning}`, paint.dim(`  ${hint}`)];
	}
	const { statement, bound, isDev } = verdict;
	const names = { data: "--data", before: "--initial", after: "--result" } as const;
	const missing = (["data", "before", "after"] as const).filter((one) => !bound.includes(one));
	const last = statement.firstStep + statement.steps - 1;
	return [
		`${paint.good(paint.strong("VALID"))}  steps ${statement.firstStep} to ${last} of the program, for these commitments`,
		`  program  ${statement.program}`,
		`  state    ${statement.stateBefore} before`,
		`           ${statement.stateAfter} after`,
		...(missing.length === 0
			? ["  bytes    data and weights at hand are those of the proof"]
			: [
					`  ${paint.unsure("note")}  not compared with bytes: whose commitments these are is not shown without ${missing.map((one) => names[one]).join(", ")}`,
				]),
		...(isDev
			? [`  ${paint.unsure("note")}  SRS_DEV: over powers of a known τ; anybody can prove anything over them`]
			: []),
	];
}

export function verifyTrainingProof(file: Uint8Array, path: string, values: ProofOptions, io: CliIo): number {
	const { clockUs } = realEnvironment();
	const verdict = verifyProofFile(file, { isDevAllowed: values.dev }, (program) => heldBytes(program, values));
	const tookUs = clockUs();
	const shown = verdict.status === "valid" ? { ...verdict, plan: undefined } : verdict;
	printResult(values, io, { ...shown, file: path, fileBytes: file.length, verifyUs: tookUs }, (paint) => {
		const took = paint.dim(`  ${path}: ${file.length} bytes checked in ${formatDuration(tookUs)}`);
		return [...proofLines(verdict, paint), "", took, ""].join("\n");
	});
	return exitCodes[verdict.status].code;
}
