// What `assay job check` found, for people: the verdict, what was run again, and every file by what became
// of it.
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import { codes } from "../../protocol/codes.ts";
import { formatPercent } from "../../protocol/format-number.ts";
import type { CheckedFile } from "../../validator/jobs/check-files.ts";
import { type CheckedJob, type CheckVerdict, judgeCheck, type Rerun } from "../../validator/jobs/judge-check.ts";
import { formatDuration } from "../print/format.ts";
import type { Paint } from "../print/paint.ts";
import { plural } from "../print/table.ts";
import type { KnownRun } from "./known-job.ts";

function headline({ rerun, wrongEnd, files }: CheckedJob, { verdict, code }: CheckVerdict, paint: Paint): string {
	const named = (status: CheckedFile["status"]) => names(files.filter((file) => file.status === status));
	const bad = (what: string) => `${paint.bad(paint.strong("FALSE"))}  ${what}  [${code}]`;
	const open = (what: string) => `${paint.unsure(paint.strong("INCONCLUSIVE"))}  ${what}  [${code}]`;
	if (verdict === "stopped") return `${paint.unsure(paint.strong("STOPPED"))}  before all that was drawn was run again`;
	switch (code) {
		case null:
			return paint.good(paint.strong("AGREES"));
		case "RUN_FALSE":
			return bad(falseClaim(rerun, wrongEnd));
		case "RUN_FILE_FALSE":
			return bad(`not what the claim's last state gives: ${named("different")}`);
		case "RUN_FILE_MISSING":
			return open(`missing: ${named("missing")}`);
		case "RUN_FILE_UNCOMPARED":
			return open(`not compared: ${named("uncompared")}`);
		case "RUN_NOT_RERUN":
			return open("the files are those of the claim, and nothing was run again");
	}
}

function falseClaim(rerun: Rerun, wrongEnd: CheckedJob["wrongEnd"]): string {
	if (wrongEnd === "result") return "the claimed result is not that of its last state";
	if (wrongEnd === "state" || rerun.kind === "none") return "the last state is not one that the program can end in";
	if (rerun.kind === "windows") return `segment ${rerun.found.wrong!.segment} ends elsewhere`;
	const { wrong, wrongSegment } = rerun.found;
	return wrong === null
		? `segment ${wrongSegment!.segment} does not end with these tokens`
		: `token ${wrong.place} of sequence ${wrong.sequence} is ${wrong.said}; ${wrong.right} follows`;
}

const odds = (share: number, what: string): string =>
	share === 1
		? `  every ${what === "batches" ? "batch" : "segment"} was run again: a false one would have been found`
		: `  a run with a tenth of its ${what} false is caught so with ${formatPercent(share)}`;

function rerunLines(rerun: Rerun): string[] {
	if (rerun.kind === "none") return [`  checked  nothing was run again: ${safeText(rerun.why)}`];
	if (rerun.kind === "prefill") {
		const { checked, batches, tokens, costShare, caughtShare, wrong, wrongSegment } = rerun.found;
		return [
			`  checked  ${tokens} tokens by prefill: ${checked.length} of ${batches} ${batches === 1 ? "batch" : "batches"}, and all states between`,
			`  cost     ${formatPercent(costShare)} of the bytes that generating them again would move`,
			...(wrong === null && wrongSegment === null ? [odds(caughtShare(0.1), "batches")] : []),
		];
	}
	const { checked, segments, windows, wrong, caughtShare } = rerun.found;
	const spans = windows.slice(0, 6).map(({ from, to }) => (to - from === 1 ? `${from}` : `${from}–${to - 1}`));
	return [
		`  checked  ${checked} of ${plural(segments, "segment")} (${formatPercent(checked / segments)}) in ${plural(windows.length, "window")}: ${spans.join(", ")}${windows.length > 6 ? ", …" : ""}`,
		...(wrong === null
			? [odds(caughtShare(0.1), "windows")]
			: [`  said     ${wrong.said}`, `  right    ${wrong.right}`]),
	];
}

const NUMBERED = /^(.*?)(\d+)(\.[a-z0-9]+)$/;

/** Whether a name is the one before it with the next number: `frames/0008.png` after `frames/0007.png`. */
function follows(name: string, before: string): boolean {
	const [a, b] = [NUMBERED.exec(before), NUMBERED.exec(name)];
	if (a === null || b === null || a[1] !== b[1] || a[3] !== b[3]) return false;
	return a[2]!.length === b[2]!.length && Number(b[2]) === Number(a[2]) + 1;
}

/** All names; of numbered ones that follow each other, the first and the last. */
function names(files: readonly CheckedFile[]): string {
	const spans: { readonly first: string; last: string; count: number }[] = [];
	for (const { name } of files) {
		const span = spans.at(-1);
		if (span !== undefined && follows(name, span.last)) {
			span.last = name;
			span.count += 1;
		} else spans.push({ first: name, last: name, count: 1 });
	}
	return spans
		.map(({ first, last, count }) => (count === 1 ? first : `${first}${count === 2 ? ", " : " … "}${last}`))
		.map(safeText)
		.join(", ");
}

const WORDS: Readonly<Record<CheckedFile["status"], string>> = {
	same: "same",
	different: "false",
	missing: "missing",
	uncompared: "not compared",
	unknown: "not compared",
};

/** One line for all files of which the same is to be said. */
function fileLines(files: readonly CheckedFile[], paint: Paint): string[] {
	const groups = new Map<string, CheckedFile[]>();
	for (const file of files) {
		const key = `${file.status} ${file.how}`;
		groups.set(key, [...(groups.get(key) ?? []), file]);
	}
	const order = Object.keys(WORDS);
	return [...groups.values()]
		.sort(([a], [b]) => order.indexOf(a!.status) - order.indexOf(b!.status))
		.map((group) => {
			const { status, how } = group[0]!;
			const style = status === "same" ? (text: string) => text : status === "different" ? paint.bad : paint.unsure;
			return `  ${style(WORDS[status])}: ${names(group)} ${paint.dim(`(${safeText(how)})`)}`;
		});
}

/** How sure it is that the last state, which gives the files, is true. */
function endLine({ rerun, files }: CheckedJob, segments: number): string[] {
	if (rerun.kind !== "windows" || !files.some(({ status }) => status === "same")) return [];
	const isRun = rerun.found.windows.some(({ to }) => to === segments);
	return [
		`  files are made again from the last state; its window was ${isRun ? "run again" : "not among those drawn"}`,
	];
}

export function checkText(
	{ run, why }: KnownRun,
	found: CheckedJob,
	{ seed, tookUs }: { readonly seed: string; readonly tookUs: number },
	paint: Paint,
): string {
	const { rerun, files } = found;
	const judged = judgeCheck(found);
	const { code } = judged;
	return [
		headline(found, judged, paint),
		...(code === null ? [] : [paint.dim(`  ${codes[code].hint}`)]),
		`  claim    ${bytesToHex(run.hash)}`,
		`  state    ${bytesToHex(run.states.at(-1)!)}`,
		...rerunLines(rerun),
		...endLine(found, run.segments),
		...fileLines(files, paint),
		...(why === "" || files.length === 0
			? []
			: [paint.dim(`  ${safeText(why)}; so files that are missing cannot be told`)]),
		paint.dim(`  drawn with --seed ${seed}; took ${formatDuration(tookUs)}`),
		"",
	].join("\n");
}
