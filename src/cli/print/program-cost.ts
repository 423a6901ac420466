// What a program costs, as lines: bytes, work by operator, memory, and with --card a guess of the time there.
// Pure.
import { formatBytes, formatRate } from "../../protocol/format-number.ts";
import { normalName, type Profile, usualTotalBytes } from "../../verify/hardware/identify/profile.ts";
import { PROFILES, profilesNamed } from "../../verify/hardware/identify/profiles.ts";
import { estimateStep, type StepTime } from "../../work/program/estimate-time.ts";
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
	/** Seconds of a step. */
	readonly step: StepTime;
	/** Of the whole job, where its length is known. */
	readonly all: number | null;
}

/** Null without --card. `steps`: of the program, in all. */
export function guessFor(program: Program, name: string | undefined, steps: number | null): CardGuess | null {
	if (name === undefined) return null;
	const card = cardNamed(name);
	const { int8 = 0, int32 = 0 } = card.rates;
	const step = estimateStep(program, { int8OpsPerS: int8, int32OpsPerS: int32, bytesPerS: card.bytesPerS });
	const fits = programCost(program).peakBytes <= usualTotalBytes(card);
	return { card: card.id, fits, step, all: steps === null ? null : steps * step.all };
}

const count = (value: number): string => (value < 10_000 ? String(value) : formatRate(value, "").trim());
const duration = (seconds: number): string => formatDuration(Math.max(1, Math.round(1e6 * seconds)));

function guessLines({ card, fits, step, all }: CardGuess): string[] {
	const parts = [
		[step.products, "products"],
		[step.others, "maps and sums"],
		[step.hashing, "hashing"],
		[step.starting, "starting kernels"],
	] as const;
	const shares = parts
		.filter(([share]) => share > 0.05 * step.all)
		.map(([share, what]) => `${what} ${duration(share)}`);
	return [
		`  on ${card}${" ".repeat(Math.max(1, 7 - card.length))}about ${duration(step.all)} a step${all === null ? "" : `, ${duration(all)} in all`} (${shares.join(", ")})${fits ? "" : "; it does not fit its memory"}`,
		"            a guess from the card's data sheet; compared with what an H200 took alone (docs/workloads.md §7)",
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
