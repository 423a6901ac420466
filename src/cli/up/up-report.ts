// What `assay up` says while it runs: events of the network as lines, told by the API like to anybody else. On a terminal the progress of probes is
// one line that renews itself; elsewhere one line for each stage. Nothing here decides anything.
import { setTimeout as sleep } from "node:timers/promises";
import type { ApiClient } from "../../api/create-client.ts";
import type { NetworkEvent, Probe, Score } from "../../api/types.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { formatBytes, formatFigure, formatRate } from "../print/format.ts";
import { scoreLine } from "../print/score-lines.ts";
import { shortId, shown, verdictStyle } from "../print/table.ts";
import { bestFigures, figureLabel, type Paint } from "../print/verdict-table.ts";

export interface UpReport {
	line(text: string): void;
	show(event: NetworkEvent): Promise<void>;
	/** Clears the renewed line. */
	end(): void;
}

/** A score follows its verdict within milliseconds; on a loaded machine within a second or two. */
const SCORE_WITHIN_MS = 15_000;

export function createUpReport(o: {
	readonly stream: Pick<NodeJS.WriteStream, "columns" | "isTTY"> & { write(text: string): unknown };
	readonly paint: Paint;
	readonly client: ApiClient;
	readonly onScore: (score: Score) => void;
}): UpReport {
	const { stream, paint, client } = o;
	const names = new Map<string, string>();
	/** Providers whose figures were shown in full; later verdicts are one line each. */
	const told = new Set<string>();
	let isLineOpen = false;

	const clear = () => {
		if (isLineOpen) stream.write("\r\u001b[K");
		isLineOpen = false;
	};
	const line = (text: string) => {
		clear();
		stream.write(`${text}\n`);
	};
	const renew = (text: string) => {
		if (stream.isTTY !== true) return;
		stream.write(`\r\u001b[K${text.slice(0, Math.max(20, (stream.columns || 80) - 1))}`);
		isLineOpen = true;
	};
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
		line(
			`${paint.strong("joined")}    ${shown(name)}, provider ${shortId(id)}; claims ${devices.slice(0, 4).join(", ") || "nothing"}`,
		);
	}

	async function verdict(event: NetworkEvent, id: string): Promise<void> {
		const probe = await client.getProbe({ params: { id: event.subject } });
		const took =
			probe.finishedAtMs === null ? "" : ` in ${((probe.finishedAtMs - probe.startedAtMs) / 1000).toFixed(1)} s`;
		const style = verdictStyle(probe.verdict, paint);
		const why = probe.code === null ? "" : `  ${probe.code}: ${shown(probe.detail ?? "", 200)}`;
		const evidence = probe.evidenceBytes === null ? "" : paint.dim(`  evidence ${formatBytes(probe.evidenceBytes)}`);
		line(
			`${style((probe.verdict ?? "").toUpperCase().padEnd(9))} ${await nameOf(id)}, probe ${shortId(probe.id)}${took}${evidence}${why}`,
		);
		if (probe.verdict === "valid" && !told.has(id)) {
			told.add(id);
			for (const text of figureLines(probe, paint)) line(text);
		}
		const score = await scoreSince(client, id, probe.finishedAtMs ?? event.atMs);
		if (score === null) return;
		line(`${paint.strong("score")}     ${await nameOf(id)} ${scoreLine(score)}`);
		o.onScore(score);
	}

	async function show(event: NetworkEvent): Promise<void> {
		const { kind, subject, providerId: id } = event;
		const detail = (typeof event.detail === "object" && event.detail !== null ? event.detail : {}) as Detail;
		if (kind === "provider.connected") return connected(subject);
		if (kind === "provider.disconnected") return line(`left      ${await nameOf(id)}`);
		if (kind === "probe.started") return line(`probe     ${shortId(subject)} of ${await nameOf(id)} begins`);
		if (kind === "probe.abandoned") return line(`probe     ${shortId(subject)} of ${await nameOf(id)} was given up`);
		if (kind === "probe.progress") return progress(detail, await nameOf(id));
		if (kind === "probe.verdict" && id !== null) return verdict(event, id);
		if (kind === "rental.changed")
			return line(
				`rental    ${shortId(subject)} of ${await nameOf(id)}: ${shown(String(detail.state))} ${shown(String(detail.endReason ?? ""))}`.trimEnd(),
			);
		if (kind === "chain.accused" && id !== null) return fraud(subject, id, detail);
		if (kind.startsWith("chain.")) return chainLine(kind.slice(6), subject, shown(String(detail.detail), 120));
		if (kind.startsWith("suspicion."))
			return line(paint.unsure(`suspicion ${kind.slice(10)} ${shown(JSON.stringify(event.detail), 200)}`));
	}

	async function fraud(probe: string, id: string, { account, amount }: Detail): Promise<void> {
		const end = amount === null ? "accused" : `account ${shortId(shown(String(account)))} pays`;
		const told = `a wrong element was shown to the chain, ${end}`;
		line(paint.bad(`fraud     ${await nameOf(id)}, probe ${shortId(probe)}: ${told}`));
	}

	function chainLine(what: string, epoch: string, detail: string): void {
		const told = CHAIN_STEPS[what]?.(detail);
		// Final epochs are told with their rewards; anything else is a dispute.
		if (told !== undefined) line(`chain     epoch ${shown(epoch)}: ${told}`);
		else if (what !== "final") line(paint.unsure(`chain     epoch ${shown(epoch)}: ${shown(what)} ${detail}`));
	}

	function progress(detail: Detail, name: string): void {
		if (detail.step === "stage" && stream.isTTY !== true)
			line(paint.dim(`            ${name}: ${shown(String(detail.name))}`));
		else if (detail.step === "stage" || detail.step === "warm-up")
			renew(`            ${name}: ${shown(String(detail.name))}`);
		else if (detail.step === "root") {
			const unit = detail.what === "stream" || detail.what === "copy" ? "B/s" : "op/s";
			const of = Number(detail.of) > 0 ? `/${detail.of}` : "";
			renew(
				`            ${name}: device ${detail.device} ${shown(String(detail.what))} ${detail.done}${of}  ${formatRate(Number(detail.perS), unit)}`,
			);
		} else if (detail.step === "checking")
			renew(`            ${name}: checking ${formatBytes(Number(detail.bytes))} of evidence`);
	}

	return {
		line,
		end: clear,
		async show(event) {
			// A line less is no reason to end a network: whatever the API cannot say now it says to `assay providers` later.
			await show(event).catch((error: unknown) => {
				if (!(error instanceof AssayError)) throw error;
				line(paint.dim(`          ${error.message} [${error.code}]`));
			});
		},
	};
}

const CHAIN_STEPS: Readonly<Record<string, (detail: string) => string>> = {
	committed: (detail) => `ended; committed to ${detail}`,
	revealed: () => "scores revealed",
	proposed: (detail) => `weights proposed, ${detail}`,
};

type Detail = { readonly [key: string]: unknown };

/** What was proven, device by device, the best of each. */
export function figureLines({ devices, figures }: Pick<Probe, "devices" | "figures">, paint: Paint): string[] {
	return devices.flatMap(({ device, kind, claimedName, profile }) => {
		const own = bestFigures(figures.filter((figure) => figure.device === device && !figure.name.startsWith("peer.")));
		if (own.length === 0) return [];
		const values = own.map(({ name, value, unit }) => `${figureLabel(name)} ${formatFigure(value, unit)}`);
		const isNamed = profile === null ? "" : `, proven ${shown(profile)}`;
		const lines = [`          ${paint.strong(`${kind} ${device}`)}  ${shown(claimedName)}${paint.dim(isNamed)}`];
		for (let i = 0; i < values.length; i += 3) lines.push(`                 ${values.slice(i, i + 3).join(" · ")}`);
		return lines;
	});
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
