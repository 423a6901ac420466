// What a program costs, as lines: bytes, work by operator, memory, and with --card a guess of the time there.
// Pure.
import { formatBytes, formatRate } from "../../protocol/format-number.ts";
import { normalName, type Profile, usualTotalBytes } from "../../verify/hardware/identify/profile.ts";
import { PROFILES, profilesNamed } from "../../verify/hardware/identify/profiles.ts";
import { nsOn, programTime, type Rates, type WorkTime } from "../../work/cost/work-time.ts";
import { type ProgramCost, programCost } from "../../work/program/program-cost.ts";
import { type Program, TENSOR_KINDS } from "../../work/program/shapes.ts";
import { usageError } from "../options.ts";
import { formatDuration } from "./format.ts";
import { plural } from "./table.ts";

/** The card of this name: whole, or its id. */
function cardNamed(name: string): Profile {
	const found = profilesNamed(name)[0] ?? PROFILES.find(({ id }) => normalName(id) === normalName(name));
	if (found !== undefined) return found;
	const alike = PROFILES.filter(({ id }) => normalName(id).includes(normalName(name))).map(({ id }) => id);
	const meant = alike.length === 0 ? "" : ` Did you mean ${alike.slice(0, 5).join(", ")}?`;
	throw usageError(`--card ${name.slice(0, 64)}: docs/profiles.md has no card of this name.${meant}`);
}

interface CardGuess {
	readonly card: string;
	readonly fits: boolean;
	/** Seconds of the init phase, of any other segment, and of its parts. */
	readonly init: number;
	readonly segment: number;
	readonly of: Readonly<Record<keyof WorkTime, number>>;
	/** Of the whole job, where its length is known. */
	readonly all: number | null;
}

/** Data sheet of the card that the model's times are of; others are compared by theirs. */
const H200: Required<Rates> = { int8OpsPerS: 1.979e15, int32OpsPerS: 33.5e12, bytesPerS: 4.8e12 };
const NOTHING: WorkTime = { productsNs: 0, memoryNs: 0, instructionsNs: 0, startsNs: 0 };

/** Null without --card. `segments`: of the job, without segment 0. */
export function guessFor(program: Program, name: string | undefined, segments: number | null): CardGuess | null {
	if (name === undefined) return null;
	const card = cardNamed(name);
	const { int8 = 0, int32 = 0 } = card.rates;
	const rates = { int8OpsPerS: int8, int32OpsPerS: int32, bytesPerS: card.bytesPerS };
	const secondsOf = (time: WorkTime): number => 1e-9 * Number(nsOn(time, rates, H200));
	const time = programTime(program);
	const fields = Object.entries(time.segment) as readonly [keyof WorkTime, number][];
	const of = Object.fromEntries(fields.map(([field, ns]) => [field, secondsOf({ ...NOTHING, [field]: ns })]));
	const [init, segment] = [secondsOf(time.init), secondsOf(time.segment)];
	return {
		...{ card: card.id, fits: programCost(program).peakBytes <= usualTotalBytes(card), init, segment },
		...{ of: of as CardGuess["of"], all: segments === null ? null : init + segments * segment },
	};
}

const count = (value: number): string => (value < 10_000 ? String(value) : formatRate(value, "").trim());
const duration = (seconds: number): string => formatDuration(Math.max(1, Math.round(1e6 * seconds)));

function guessLines({ card, fits, init, segment, of, all }: CardGuess): string[] {
	const parts = [
		[of.productsNs, "products"],
		[of.memoryNs, "memory"],
		[of.instructionsNs, "instructions"],
		[of.startsNs, "starting kernels"],
	] as const;
	const shares = parts.filter(([share]) => share > 0.05 * segment).map(([share, what]) => `${what} ${duration(share)}`);
	const begins = init > 0.05 * segment ? `, ${duration(init)} to begin` : "";
	const whole = all === null ? "" : `, ${duration(all)} in all`;
	return [
		`  on ${card}${" ".repeat(Math.max(1, 7 - card.length))}about ${duration(segment)} a segment${begins}${whole} (${shares.join(", ")})${fits ? "" : "; it does not fit its memory"}`,
		"            by the model that prices are made of, and the card's data sheet (docs/workloads.md §8)",
	];
}

export function costLines({ k }: Program, cost: ProgramCost, programBytes: number, guess: CardGuess | null): string[] {
	const held = TENSOR_KINDS.filter((kind) => cost.bytes[kind] > 0).map(
		(kind) => `${kind} ${formatBytes(cost.bytes[kind])}`,
	);
	const operators = Object.entries(cost.operators).filter(([, many]) => many > 0);
	const work = [
		[cost.productsAStep, "products"],
		[cost.termsAStep, "terms of sums"],
		[cost.instructionsAStep, "instructions of maps"],
	] as const;
	const nonzero = work.filter(([many]) => many > 0).map(([many, what]) => `${count(many)} ${what}`);
	return [
		`  program   ${formatBytes(programBytes)}, ${plural(cost.initOps, "init op")}, ${plural(cost.stepOps, "step op")} (${operators.map(([name, many]) => `${many} ${name}`).join(", ")}), ${plural(k, "step")} a segment`,
		`  tensors   ${held.join(", ") || "none"}`,
		`  memory    ${formatBytes(cost.peakBytes)} at its peak`,
		`  one step  ${nonzero.join(", ") || "nothing"}; ${formatBytes(cost.writtenAStep)} written by its ops`,
		`  trace     ${plural(cost.traceLeaves, "leaf").replace("leafs", "leaves")} a segment`,
		...(guess === null ? [] : guessLines(guess)),
	];
}
