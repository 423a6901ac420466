// The file of a roll call: its verdict, on whose word it is, and what it shows at least. The judging is in roll-call-worker.ts.
import { useEffect, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { type ValidRollCall, whoCouldLie } from "../../src/protocol/roll-call/roll-verdict.ts";
import { figureTitle, formatFigure, formatSpan } from "../parts/format.ts";
import { Empty, exactTime, Fact, Failed, Id, VerdictBadge } from "../parts/small.tsx";
import { FindingList } from "../proofs/figure-list.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";
import type { Against, RollWord } from "./roll-call-worker.ts";
import { rollCallInWorker, type VerifiedFile } from "./verify-in-worker.ts";

type Judged = Extract<RollWord, { ok: true }>;

export function RollCallPanel({
	file,
	against,
	onVerdict,
}: {
	file: VerifiedFile;
	against: Against;
	onVerdict?: ((verdict: { readonly status: string; readonly code: string | null }) => void) | undefined;
}) {
	const [judged, setJudged] = useState<Judged | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const { node, contract } = against;
	useEffect(() => {
		const stop = new AbortController();
		setJudged(null);
		setTrouble(null);
		rollCallInWorker({ bytes: file.bytes, node, contract }, stop.signal).then(
			(word) => {
				setJudged(word);
				const { verdict } = word;
				onVerdict?.({ status: verdict.status, code: verdict.status === "valid" ? null : verdict.code });
			},
			(error) => stop.signal.aborted || setTrouble(troubleOf(error)),
		);
		return () => stop.abort();
	}, [file, node, contract]);
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (judged === null)
		return (
			<p class="dim">
				{node === "" ? "Checking" : `Asking ${node} about`} {file.name} …
			</p>
		);
	const { verdict, tookMs, committedIn } = judged;
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<p class="verdict-line">
				<VerdictBadge state={verdict.status} code={verdict.status === "valid" ? null : verdict.code} />
				<span class="dim">
					{file.name}, {formatBytes(file.bytes.length)}, checked here in {formatSpan(tookMs)}
				</span>
			</p>
			{verdict.status === "valid" ? (
				<ValidView verdict={verdict} committedIn={committedIn} />
			) : (
				<Empty title={verdict.detail}>
					<code>{verdict.where}</code>
				</Empty>
			)}
		</div>
	);
}

function ValidView({ verdict, committedIn }: { verdict: ValidRollCall; committedIn: number | null }) {
	const { strength, chain, call, calledAtS, committedAtS, figures, findings } = verdict;
	return (
		<>
			<dl class="facts">
				<Fact name="Strength" isWide>
					{strength}: {whoCouldLie(verdict)}
				</Fact>
				<Fact name="Chain">
					{chain.id}, contract <Id id={chain.contract} />
				</Fact>
				<Fact name="Called">
					by {call}, at {exactTime(1000 * calledAtS)}
				</Fact>
				<Fact name="Committed">
					in block {committedIn}, {committedAtS - calledAtS} s later, by <Id id={verdict.validator} />
				</Fact>
				<Fact name="Host">
					<Id id={verdict.host} />
				</Fact>
				{figures.map(({ name, value, unit }) => (
					<Fact key={name} name={`${figureTitle(name)}, at least`}>
						<span data-figure={name}>{formatFigure(value, unit, name)}</span>
					</Fact>
				))}
			</dl>
			<FindingList findings={findings} />
		</>
	);
}
