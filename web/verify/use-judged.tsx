// What a worker says of one file, for the panels that show it: asked again when the file or what it is held
// against changes, and the line that all verdicts begin with. Not here: the workers (verify-in-worker.ts),
// what a panel shows of a verdict.
import { useEffect, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan } from "../parts/format.ts";
import { VerdictBadge } from "../parts/small.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";
import type { VerifiedFile } from "./verify-in-worker.ts";

type Verdict = { readonly status: "valid" } | { readonly status: "invalid" | "inconclusive"; readonly code: string };

export interface ShownVerdict {
	readonly status: string;
	readonly code: string | null;
}
export type OnVerdict = ((verdict: ShownVerdict) => void) | undefined;

export const shownVerdict = (verdict: Verdict): ShownVerdict => ({
	status: verdict.status,
	code: verdict.status === "valid" ? null : verdict.code,
});

/** `inputs`: what the question depends on. */
export function useJudged<Word extends { readonly verdict: Verdict }>(
	ask: (signal: AbortSignal) => Promise<Word>,
	inputs: readonly unknown[],
	onVerdict: OnVerdict,
): { readonly judged: Word | null; readonly trouble: Trouble | null } {
	const [judged, setJudged] = useState<Word | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	useEffect(() => {
		const stop = new AbortController();
		setJudged(null);
		setTrouble(null);
		ask(stop.signal).then(
			(word) => {
				setJudged(word);
				onVerdict?.(shownVerdict(word.verdict));
			},
			(error) => stop.signal.aborted || setTrouble(troubleOf(error)),
		);
		return () => stop.abort();
	}, inputs);
	return { judged, trouble };
}

export function VerdictLine(p: { verdict: Verdict; file: VerifiedFile; tookMs: number; verb?: string }) {
	const { status, code } = shownVerdict(p.verdict);
	return (
		<p class="verdict-line">
			<VerdictBadge state={status} code={code} />
			<span class="dim">
				{p.file.name}, {formatBytes(p.file.bytes.length)}, {p.verb ?? "checked"} here in {formatSpan(p.tookMs)}
			</span>
		</p>
	);
}
