// A job in words, for terminals: its parts, its price, and one line for each thing that happens to it. Pure;
// what providers and validators say is made harmless first.
import type { Job, JobSummary, NetworkEvent } from "../../api/types.ts";
import { cancelledText } from "../../market/jobs/cancelled.ts";
import { totalMicros } from "../../market/jobs/check-offer.ts";
import { formatPercent, wholeSpan } from "../../protocol/format-number.ts";
import { powersOfChain } from "../../protocol/proof-powers.ts";
import { methodOf, methodText } from "../../verify/methods/methods.ts";
import type { Paint } from "../print/paint.ts";
import { type Column, formatAgo, left, plural, right, shortId, shown, table } from "../print/table.ts";
import { formatMicros } from "../print/tokens.ts";

export type Detail = { readonly [key: string]: unknown };

export function detailOf({ detail }: Pick<NetworkEvent, "detail">): Detail {
	return typeof detail === "object" && detail !== null && !Array.isArray(detail) ? (detail as Detail) : {};
}

/** "for the work 0.9, fee 0.018, up to 0.92 set aside for checks": what all parts may cost, item by item. */
function itemsText({ parts, priceMicros, feeMicros, auditMicros, method }: Job["offer"]["terms"]): string {
	const { extra } = methodOf(method).words;
	const more = auditMicros > priceMicros ? `; that is more for ${extra} than for the work` : "";
	return `for the work ${formatMicros(parts * priceMicros)}, fee ${formatMicros(parts * feeMicros)}, up to ${formatMicros(parts * auditMicros)} set aside for ${extra}, of which what is not spent comes back${more}`;
}

/**
 * What is agreed on before anybody works: "2 parts, about 41 min of work, 1.84 tokens; a skipped tenth is
 * found with 81 %". The time is the model's, on the slowest host that may be drawn; the limit leaves room.
 */
export function quoteLines(
	quote: {
		readonly offer: Job["offer"];
		readonly estimatedMs: number;
		readonly referenceMs: number;
		readonly hosts: number;
		readonly tenthFoundPpm: number;
		readonly isSimulated: boolean;
	},
	paint: Paint,
): string[] {
	const { terms } = quote.offer;
	const { words } = methodOf(terms.method);
	const each = terms.parts === 1 ? "" : " a part";
	return [
		`  ${paint.strong(`${formatMicros(totalMicros(terms))} tokens`)} at most: ${plural(terms.parts, "part")}, ${methodText(terms.method)}, about ${timeText(terms.parts * quote.estimatedMs)} of work on the slowest host that may be drawn, ${timeText(terms.parts * quote.referenceMs)} on an H200; ${words.found(formatPercent(quote.tenthFoundPpm / 1e6))}`,
		paint.dim(`  ${itemsText(terms)}`),
		paint.dim(`  ${plural(quote.hosts, "host")} may be drawn; each locks ${formatMicros(terms.bondMicros)}${each}`),
		paint.dim(`  at most ${wholeSpan(terms.workMs)}${each}; paid ${words.paid(terms)}`),
		...provenOver(quote.offer).map((line) => paint.dim(line)),
		...(quote.isSimulated ? [`  ${paint.bad("SIMULATED")}: ${SIMULATED}`] : []),
	];
}

const SIMULATED = "its hosts sign under roots that anybody can sign under. This tries the method out and shows nothing";

/** Of a job that is paid by proof: what its proofs are worth to others. */
export const provenOver = ({ terms, escrow }: Job["offer"]): string[] =>
	methodOf(terms.method).driver === "proofs" && escrow !== null
		? [`  proofs are over ${powersOfChain(escrow.chainId)}`]
		: [];

const timeText = (ms: number): string => (ms < 1000 ? `${ms} ms` : wholeSpan(ms));

type Part = Job["record"]["parts"][number];

function partState({ state, isChecked, attempt }: Part): string {
	const again = attempt > 1 ? `, attempt ${attempt}` : "";
	return `${state}${state === "claimed" && isChecked ? ", checked" : ""}${again}`;
}

function checksText({ audits, proven }: Part): string {
	if (proven !== undefined) return `${proven} proven`;
	if (audits.length === 0) return "";
	const agreed = audits.filter(({ agrees }) => agrees === true).length;
	const differ = audits.filter(({ agrees }) => agrees === false).length;
	return `${agreed} of ${audits.length} agree${differ > 0 ? `, ${differ} differ` : ""}`;
}

const columns: readonly Column<Part>[] = [
	right("part", ({ part }) => String(part + 1)),
	left("state", partState),
	left("provider", ({ provider }) => (provider === null ? null : shortId(provider))),
	right("segments", ({ done }) => String(done)),
	left("checks", checksText),
	left("claim", ({ claim }) => (claim === null ? null : shortId(claim))),
	right("until", ({ state, untilMs }) =>
		untilMs === 0 || state === "paid" || state === "refunded" ? null : formatAgo(untilMs, Date.now()),
	),
];

export function jobText({ id, spec, offer, record, isOver, createdAtMs }: Job, paint: Paint): string {
	const { terms } = offer;
	return [
		`${paint.strong(shown(spec.title, 100))}  ${shown(spec.kind)}, ${methodText(terms.method)}; ${isOver ? "over" : "open"}, handed in ${formatAgo(createdAtMs, Date.now())}`,
		`  job ${id}`,
		`  ${formatMicros(totalMicros(terms))} tokens at most: ${itemsText(terms)}`,
		`  ${plural(spec.segments, "segment")} in ${plural(terms.parts, "part")}${offer.escrow === null ? "; no chain: a record of what is owed" : ""}`,
		...provenOver(offer),
		...cancelledLines(record),
		table(columns, record.parts, paint),
		"",
	].join("\n");
}

function cancelledLines(record: Job["record"]): readonly string[] {
	const text = cancelledText(record, (micros) => `${formatMicros(micros)} tokens`);
	return text === null ? [] : [`  cancelled: ${text}`];
}

const statesText = (parts: JobSummary["parts"]): string => {
	const counts = new Map<string, number>();
	for (const { state, isChecked } of parts) {
		const word = state === "claimed" && isChecked ? "checked" : state;
		counts.set(word, (counts.get(word) ?? 0) + 1);
	}
	return parts.length === 1 ? [...counts.keys()].join() : [...counts].map(([word, n]) => `${n} ${word}`).join(", ");
};

export const listColumns: readonly Column<JobSummary>[] = [
	left("job", ({ id }) => shortId(id)),
	left("title", ({ title }) => shown(title, 32)),
	left("kind", ({ kind }) => shown(kind, 12)),
	left("method", ({ method }) => methodText(method)),
	left("parts", ({ parts }) => statesText(parts)),
	right("segments", ({ done, segments }) => `${done}/${segments}`),
	right("tokens", ({ totalMicros: micros }) => formatMicros(micros)),
	right("handed in", ({ createdAtMs }) => formatAgo(createdAtMs, Date.now())),
];

/** "5 of 8 segments; 4 by 0x12…, 5 by 0x34…: 1,124,000 gas" */
function provenText({ proven, of, by }: Detail): string {
	const proofs = (Array.isArray(by) ? by : []).slice(0, 8).map((one) => detailOf({ detail: one }));
	const names = proofs.map(({ segment, prover }) => `${Number(segment)} by ${shown(String(prover), 42).slice(0, 10)}`);
	const gas = proofs.reduce((sum, one) => sum + (Number(one.gas) || 0), 0);
	const told = names.length === 0 ? "" : `; ${names.join(", ")}, ${gas.toLocaleString("en")} gas`;
	return `${Number(proven)} of ${Number(of)} segments${told}`;
}

const WORDS: Readonly<Record<string, string>> = {
	submitted: "handed in",
	listed: "the list of hosts is published",
	drawn: "drawn",
	offered: "offered to",
	declined: "declined by",
	running: "runs on",
	stored: "result and states are stored",
	signed: "its devices signed",
	claimed: "claimed",
	audit: "is run again",
	answered: "was run again",
	compared: "compared",
	proven: "proven",
	checked: "checked",
	disputed: "disputed",
	undisputed: "disputed no more",
	paid: "paid",
	reopened: "is open again",
	returned: "handed back by",
	recovered: "stands on chain, by",
	convicted: "proof of fraud against",
	refunded: "given back",
	over: "over",
};

/** One line; null: nothing that is told in a line (metrics, previews, progress). */
export function eventLine(event: Pick<NetworkEvent, "kind" | "detail" | "providerId">, paint: Paint): string | null {
	const what = event.kind.replace(/^job\./, "");
	if (["metrics", "preview", "progress"].includes(what)) return null;
	const detail = detailOf(event);
	const part = typeof detail.part === "number" ? `part ${detail.part + 1}` : "job";
	const about = [
		typeof detail.provider === "string" ? shortId(shown(detail.provider)) : null,
		typeof detail.claim === "string" ? `claim ${shortId(shown(detail.claim))}` : null,
		typeof detail.agrees === "boolean" ? (detail.agrees ? "they agree" : "they differ") : null,
		typeof detail.level === "string" ? `level ${shown(detail.level)}` : null,
		detail.isSimulated === true ? "simulated" : null,
		typeof detail.proven === "number" ? provenText(detail) : null,
		typeof detail.why === "string" ? shown(detail.why, 120) : null,
	].filter((one) => one !== null);
	const style = what === "paid" || what === "checked" ? paint.good : what === "convicted" ? paint.bad : paint.strong;
	return `${part.padEnd(8)}  ${style(WORDS[what] ?? shown(what))}${about.length === 0 ? "" : ` ${about.join(", ")}`}`;
}
