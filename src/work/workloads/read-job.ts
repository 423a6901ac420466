// A job file, docs/training.md: JSON of some ten lines that says what to compute. Reads and refuses; what is left out gets its default.
// Not here: the files that it names, and whether they fit (build-workload.ts).
import { AssayError } from "../../protocol/assay-error.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import {
	type Fields,
	int,
	list,
	object,
	oneOf,
	pattern,
	type Shape,
	type Typed,
	text,
	variants,
} from "../../protocol/bytes/shape.ts";
import { codes } from "../../protocol/codes.ts";
import { isWholeBeta, type Optimizer } from "../models/optimizer.ts";
import { LIMITS } from "../program/shapes.ts";

/** A number in [min, max]; JSON has no NaN and no infinity. */
function real(min: number, max: number): Shape<number> {
	return (value, where) =>
		typeof value === "number" && value >= min && value <= max
			? null
			: { where, detail: `must be a number from ${min} to ${max}` };
}

/** An object in which fields may be missing; a missing one is not looked at. */
function partial<F extends Fields>(fields: F): Shape<{ readonly [K in keyof F]?: Typed<F[K]> }> {
	return (value, where) => {
		if (typeof value !== "object" || value === null || Array.isArray(value))
			return { where, detail: "must be an object" };
		const held = Object.keys(fields).filter((name) => Object.hasOwn(value, name));
		return object(Object.fromEntries(held.map((name) => [name, fields[name]!])))(value, where);
	};
}

const file = text(1024, 1);
const seed = pattern(/^0x[0-9a-f]{64}$/, "must be 0x and 64 lower-case hex digits");

const gpt = object({
	kind: oneOf("gpt"),
	layers: int(1, 96),
	width: int(8, 8192),
	heads: int(1, 128),
	context: int(2, 8192),
	vocabulary: int(2, 262_144),
});
const mlp = object({ kind: oneOf("mlp"), sizes: list(int(1, 65_536), 33) });
const model = variants("kind", { gpt, mlp });

/** One of these: text (bytes), tokens (u16 or u32), or rows with labels (npy); or numbers made from a seed. */
const data = partial({
	text: file,
	tokens: file,
	bytesPerToken: oneOf(2, 4),
	features: file,
	labels: file,
	generated: int(1, 2 ** 31 - 1),
});

const rates = {
	rate: real(1e-9, 1e3),
	/** Steps with a rising rate, at the start. */
	warmup: int(0, 2 ** 31 - 1),
	/** What the rate has fallen to at the last step, by a cosine; 1: it stays. */
	floor: real(0, 1),
};
const OPTIMIZERS = {
	"exact-sgd": partial({ kind: oneOf("exact-sgd"), shift: int(0, 30) }),
	sgd: partial({ kind: oneOf("sgd"), ...rates }),
	momentum: partial({ kind: oneOf("momentum"), ...rates, momentum: real(0, 0.9999) }),
	adamw: partial({
		kind: oneOf("adamw"),
		...rates,
		beta1: real(0, 0.9999),
		beta2: real(0, 0.99999),
		decay: real(0, 10),
	}),
};
const optimizer = variants("kind", OPTIMIZERS);

const train = partial({
	workload: oneOf("train"),
	model,
	data,
	optimizer,
	batch: int(1, 2 ** 20),
	steps: int(1, 2 ** 31 - 1),
	seed,
	order: oneOf("affine", "cube"),
	stepsPerSegment: int(1, LIMITS.steps),
});

const program = partial({
	workload: oneOf("program"),
	program: file,
	inputs: (value, where) => {
		if (typeof value !== "object" || value === null || Array.isArray(value))
			return { where, detail: "must be an object: tensor name to file" };
		for (const [name, path] of Object.entries(value)) {
			const found = file(path, `${where}.${name.slice(0, 64)}`);
			if (found !== null) return found;
		}
		return null;
	},
	segments: int(1, LIMITS.segment),
	seed,
});

const job = variants("workload", { train, program });

export type GptModel = Typed<typeof gpt>;
export type MlpModel = Typed<typeof mlp>;
type DataSpec = Typed<typeof data>;

interface ExactSgd {
	readonly kind: "exact-sgd";
	/** The rate is 2^-shift. */
	readonly shift: number;
}

export interface TrainSpec {
	readonly workload: "train";
	readonly model: GptModel | MlpModel;
	readonly data: DataSpec;
	readonly optimizer: ExactSgd | Optimizer;
	readonly batch: number;
	readonly steps: number;
	readonly seed: Uint8Array;
	readonly order: "affine" | "cube";
	/** Null: by the rule of docs/training.md. */
	readonly stepsPerSegment: number | null;
}

export interface ProgramSpec {
	readonly workload: "program";
	readonly program: string;
	readonly inputs: Readonly<Record<string, string>>;
	readonly segments: number;
	readonly seed: Uint8Array;
}

/** The bytes of a file that the job names, relative to the job file. */
export type Files = (name: string) => Promise<Uint8Array> | Uint8Array;

export type JobSpec = TrainSpec | ProgramSpec;

const RATES = { rate: 0.001, warmup: 0, floor: 1 };
const DEFAULTS = {
	"exact-sgd": { shift: 8 },
	sgd: { ...RATES, rate: 0.05 },
	momentum: { ...RATES, rate: 0.01, momentum: 0.9 },
	adamw: { ...RATES, beta1: 0.9, beta2: 0.999, decay: 0.01 },
} as const;

export function wrongField(where: string, detail: string, hint: string = codes.JOB_FIELD.hint): AssayError {
	return new AssayError("JOB_FIELD", `${where === "" ? "the job" : where} ${detail}`, { hint });
}

const REQUIRED = {
	train: ["model", "data", "optimizer", "batch", "steps", "seed"],
	program: ["program", "segments", "seed"],
} as const;

/** What no field shows by itself. */
function checkTrain({ model: of, data: from, optimizer: by, order, batch, steps, stepsPerSegment }: TrainSpec): void {
	if (of.kind === "gpt") {
		if (of.width % of.heads !== 0 || of.width / of.heads < 4 || of.width / of.heads > 128)
			throw wrongField("model.heads", "must divide the width into parts of 4 to 128");
		if (batch > LIMITS.turns || batch * of.context > LIMITS.summed)
			throw wrongField("batch", `must be at most ${LIMITS.turns}, and ${LIMITS.summed} tokens`);
		if (by.kind === "exact-sgd") throw wrongField("optimizer.kind", "exact-sgd is for an mlp");
	} else if (of.sizes.length < 2) throw wrongField("model.sizes", "must name at least inputs and outputs");
	if (by.kind === "adamw")
		for (const name of ["beta1", "beta2"] as const)
			if (!isWholeBeta(by[name]))
				throw wrongField(`optimizer.${name}`, "must be 1 − 1/n for a whole number n, as 0.9 or 0.999 are");
	const kinds = [from.text, from.tokens, from.features, from.generated].filter((one) => one !== undefined);
	if (kinds.length !== 1) throw wrongField("data", "must have one of text, tokens, features with labels, generated");
	if ((from.features === undefined) !== (from.labels === undefined))
		throw wrongField("data", "must have labels with features, and none without");
	if (from.bytesPerToken !== undefined && from.tokens === undefined)
		throw wrongField("data.bytesPerToken", "goes with tokens");
	if (of.kind === "gpt" && from.features !== undefined) throw wrongField("data.features", "is for an mlp");
	if (of.kind === "mlp" && (from.text ?? from.tokens) !== undefined)
		throw wrongField("data", "of an mlp is features with labels, or generated");
	if (of.kind === "gpt" && from.text !== undefined && of.vocabulary < 256)
		throw wrongField("model.vocabulary", "must be at least 256 for text, whose tokens are bytes");
	if (order === "cube" && of.kind !== "mlp") throw wrongField("order", "cube is for an mlp");
	if (stepsPerSegment !== null && steps % stepsPerSegment !== 0)
		throw wrongField("stepsPerSegment", "must divide steps");
}

/** Refuses with code, field and hint. */
export function readJob(json: unknown): JobSpec {
	const found = job(json, "");
	if (found !== null) throw wrongField(found.where, found.detail);
	const held = json as Typed<typeof job>;
	const kind = held.workload!;
	for (const name of REQUIRED[kind]) if (!Object.hasOwn(held, name)) throw wrongField(name, "is missing");
	const key = hexToBytes(held.seed!.slice(2), 32)!;
	if (kind === "program") {
		const { program: bytes, segments, inputs = {} } = json as Typed<typeof program>;
		const given = inputs as Readonly<Record<string, string>>;
		return { workload: kind, program: bytes!, inputs: given, segments: segments!, seed: key };
	}
	const { optimizer: by, order = "affine", stepsPerSegment = null, seed: _, ...rest } = json as Typed<typeof train>;
	const spec = {
		...(rest as Omit<TrainSpec, "optimizer" | "order" | "stepsPerSegment" | "seed">),
		optimizer: { ...DEFAULTS[by!.kind!], ...by } as TrainSpec["optimizer"],
		order,
		stepsPerSegment,
		seed: key,
	};
	checkTrain(spec);
	return spec;
}
