// What `assay up` prints while it runs: events of the network as lines, read from the API as anybody could. A
// probe and a roll call are one line each, at their end; on a terminal their progress is a line that is
// rewritten. Nothing here decides anything.
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../api/create-client.ts";
import type { NetworkEvent, Probe, Score } from "../../api/types.ts";
import { NO_CALL_YET } from "../../market/scores/score-provider.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes, formatRate, rateUnit } from "../../protocol/format-number.ts";
import { attestedWord } from "../print/attestation-lines.ts";
import { figureLines } from "../print/figures.ts";
import type { Paint } from "../print/paint.ts";
import { scoreLine } from "../print/score-lines.ts";
import { createStatusLine, type LineStream } from "../print/status-line.ts";
import { formatScore, plural, shortId, shown, verdictStyle } from "../print/table.ts";

export interface UpReport {
	line(text: string): void;
	show(event: NetworkEvent): Promise<void>;
	/** A further provider of a machine that was shown: its figures are the same, and it has no score. */
	further(id: string): void;
	/** Clears the rewritten line. */
	end(): void;
}

interface UpReportOptions {
	readonly stream: LineStream;
	readonly paint: Paint;
	readonly client: ApiClient;
	/** The chain is this network's own, and calls as soon as somebody is new. */
	readonly isTrial: boolean;
	readonly onScore: (score: Score) => void;
}

type Detail = { readonly [key: string]: unknown };

/** A score follows its verdict within milliseconds; on a loaded machine within a second or two. */
const SCORE_WITHIN_MS = 15_000;

export function createUpReport(options: UpReportOptions): UpReport {
	const { stream, paint, client } = options;
	const { print, update, clear } = createStatusLine(stream);
	const names = new Map<string, string>();
	/** Providers whose figures were shown in full; later verdicts are one line each. */
	const shownInFull = new Set<string>();
	/** By provider: the reason of its 0 that was told last; empty where it had more. */
	const toldScores = new Map<string, string>();
	const further = new Set<string>();

	const nameOf = async (id: string | null): Promise<string> => {
		if (id === null) return "?";
		if (!names.has(id)) {
			const provider = await client.getProvider({ params: { id } }).catch(() => null);
			names.set(id, provider === null ? shortId(id) : shown(provider.name));
		}
		return names.get(id)!;
	};

	async function connected(id: string): Promise<void> {
		const { name, claim } = await client.getProvider({ params: { id } });
		names.set(id, shown(name));
		const devices = (claim?.devices ?? []).map(
			(device) => `${shown(device.name)} (${formatBytes(device.memoryBytes)})`,
		);
		print(
			`${paint.strong("joined")}    ${shown(name)}, provider ${shortId(id)}; claims ${devices.slice(0, 4).join(", ") || "nothing"}`,
		);
	}

	async function verdict(event: NetworkEvent, id: string): Promise<void> {
		const probe = await client.getProbe({ params: { id: event.subject } });
		const text = verdictText(probe, await nameOf(id), paint);
		if (further.has(id)) return print(text);
		const since = () => scoreSince(client, id, probe.finishedAtMs ?? event.atMs);
		if (probe.verdict !== "valid" || shownInFull.has(id)) {
			const score = await since();
			print(score === null || score.scorePpm === 0 ? text : `${text}  score ${formatScore(score.scorePpm)}`);
			if (score?.scorePpm === 0) tellScore(await nameOf(id), id, score);
			if (score !== null) options.onScore(score);
			return;
		}
		shownInFull.add(id);
		print(text);
		for (const line of figureLines(probe, paint)) print(line);
		const attested = attestedWord(probe.attestation);
		if (attested !== null) print(`          attested: ${attested}`);
		const score = await since();
		if (score === null) return;
		tellScore(await nameOf(id), id, score);
		options.onScore(score);
	}

	/** With its terms once it is above 0; a 0 with each reason once. */
	function tellScore(name: string, id: string, score: Score): void {
		const said = score.scorePpm > 0 ? "" : score.terms.why;
		if (toldScores.get(id) !== said) print(`${paint.strong("score")}     ${name} ${scoreText(score, options.isTrial)}`);
		toldScores.set(id, said);
	}

	/** Nobody has a score before the first roll call; the one that it gives is worth a line. */
	async function scored(id: string, scorePpm: number): Promise<void> {
		if (scorePpm === 0 || toldScores.get(id) === "") return;
		const score = await client.getProviderScore({ params: { id } });
		tellScore(await nameOf(id), id, score);
		options.onScore(score);
	}

	async function show(event: NetworkEvent): Promise<void> {
		const { kind, subject, providerId: id } = event;
		const detail = (typeof event.detail === "object" && event.detail !== null ? event.detail : {}) as Detail;
		if (kind === "provider.connected") return connected(subject);
		if (kind === "probe.verdict" && id !== null) return verdict(event, id);
		if (kind === "score.changed" && id !== null) return scored(id, Number(detail.scorePpm));
		if (kind === "probe.progress") {
			const text = progressText(detail);
			if (text !== null) update(`            ${await nameOf(id)}: ${text}`);
			return;
		}
		if (kind === "probe.started") return update(`            ${await nameOf(id)}: probe ${shortId(subject)} starts`);
		if (kind === "roll-call.called") return update(`            roll call: block ${shown(subject)} calls`);
		const line = await eventLine(event, detail, () => nameOf(id), paint);
		if (line !== null) print(line);
	}

	return {
		line: print,
		end: clear,
		further: (id) => void further.add(id),
		async show(event) {
			// A missing line is no reason to end a network: `assay providers` shows later what the API cannot say
			// now.
			await show(event).catch((error: unknown) => {
				if (!(error instanceof AssayError)) throw error;
				print(paint.dim(`          ${error.message} [${error.code}]`));
			});
		},
	};
}

function verdictText(probe: Probe, name: string, paint: Paint): string {
	const { verdict, code, startedAtMs, finishedAtMs, evidenceBytes } = probe;
	const head = verdictStyle(verdict, paint)((verdict ?? "").toUpperCase().padEnd(9));
	const took = finishedAtMs === null ? "" : ` in ${((finishedAtMs - startedAtMs) / 1000).toFixed(1)} s`;
	const evidence = evidenceBytes === null ? "" : paint.dim(`  evidence ${formatBytes(evidenceBytes)}`);
	const why = code === null ? "" : `  ${code}: ${shown(probe.detail ?? "", 200)}`;
	return `${head} ${name}, probe ${shortId(probe.id)}${took}${evidence}${why}`;
}

/** Null: nothing to show. */
async function eventLine(
	{ kind, subject, providerId: id, detail: raw }: NetworkEvent,
	detail: Detail,
	name: () => Promise<string>,
	paint: Paint,
): Promise<string | null> {
	if (kind === "provider.disconnected") return `left      ${await name()}`;
	if (kind === "probe.abandoned") return `probe     ${shortId(subject)} of ${await name()} was abandoned`;
	if (kind === "rental.changed") {
		const state = `${shown(String(detail.state))} ${shown(String(detail.endReason ?? ""))}`;
		return `rental    ${shortId(subject)} of ${await name()}: ${state}`.trimEnd();
	}
	if (kind === "chain.accused" && id !== null) {
		const end = detail.amount === null ? "accused" : `account ${shortId(shown(String(detail.account)))} was slashed`;
		return paint.bad(
			`fraud     ${await name()}, probe ${shortId(subject)}: a wrong result was proven on chain, ${end}`,
		);
	}
	if (kind.startsWith("roll-call.")) return rollCallLine(kind.slice(10), shown(subject), detail, paint);
	if (kind.startsWith("chain.")) return chainLine(kind.slice(6), subject, shown(String(detail.detail), 120), paint);
	if (kind.startsWith("suspicion."))
		return paint.unsure(`suspicion ${kind.slice(10)} ${shown(JSON.stringify(raw), 200)}`);
	return null;
}

function chainLine(what: string, epoch: string, detail: string, paint: Paint): string | null {
	const step = CHAIN_STEPS[what]?.(detail);
	if (step !== undefined) return `chain     epoch ${shown(epoch)}: ${step}`;
	// Final epochs are shown with their rewards; anything else is a dispute.
	return what === "final" ? null : paint.unsure(`chain     epoch ${shown(epoch)}: ${shown(what)} ${detail}`);
}

function rollCallLine(what: string, call: string, detail: Detail, paint: Paint): string | null {
	const of = (field: string) => Number(detail[field]) || 0;
	if (what === "void") return paint.unsure(`roll call block ${call}: void, ${shown(String(detail.code))}`);
	// Everybody was excused: it counts for nobody.
	if (what !== "done" || of("counted") === 0) return null;
	const [answered, late, busy] = [of("answered"), of("late"), of("busy")];
	const were = (count: number) => (count === 1 ? "one was" : `${count} were`);
	const words = [`${answered} of ${plural(of("counted"), "host")} answered`];
	if (answered > 0) words.push(`${plural(of("devices"), "device")} together, opened and verified`);
	if (late > 0) words.push(`${were(late)} too slow at that moment`);
	if (busy > 0) words.push(`${were(busy)} at work`);
	return `roll call block ${call}: ${words.join("; ")}`;
}

/** The score for people; where it cannot be there yet, what it waits for. */
function scoreText(score: Score, isTrial: boolean): string {
	if (score.terms.why !== NO_CALL_YET) return scoreLine(score);
	return `has none yet: it comes with the first roll call${isTrial ? ", within a minute" : ""}`;
}

const CHAIN_STEPS: Readonly<Record<string, (detail: string) => string>> = {
	committed: (detail) => `ended; committed to ${detail}`,
	revealed: () => "scores revealed",
	signed: (detail) => `weights signed, ${detail}`,
	posted: (detail) => `weights posted, ${detail}`,
};

/** Null: nothing to show. */
function progressText(detail: Detail): string | null {
	if (detail.step === "stage" || detail.step === "warm-up") return shown(String(detail.name));
	if (detail.step === "checking") return `checking ${formatBytes(Number(detail.bytes))} of evidence`;
	if (detail.step !== "root") return null;
	const unit = detail.precision === undefined ? "B/s" : rateUnit(String(detail.precision));
	const of = Number(detail.of) > 0 ? `/${detail.of}` : "";
	const speed = formatRate(Number(detail.perS), unit);
	return `device ${detail.device} ${shown(String(detail.what))} ${detail.done}${of}  ${speed}`;
}

/** The provider's score that is at least as new as a verdict; null when it does not come. */
async function scoreSince(client: ApiClient, id: string, atMs: number): Promise<Score | null> {
	for (let waitedMs = 0; waitedMs < SCORE_WITHIN_MS; waitedMs += 100) {
		const score = await client.getProviderScore({ params: { id } }).catch((error: unknown) => {
			if (error instanceof AssayError && error.code === "SCORE_UNKNOWN") return null;
			throw error;
		});
		if (score !== null && score.atMs >= atMs) return score;
		await sleep(100);
	}
	return null;
}
