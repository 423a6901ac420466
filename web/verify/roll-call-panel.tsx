// The file of a roll call: its verdict, on whose word it is, and what it shows at least. The judging is in
// roll-call-worker.ts.
import { type ValidRollCall, whoCouldLie } from "../../src/protocol/roll-call/roll-verdict.ts";
import { figureTitle, formatFigure } from "../parts/format.ts";
import { Empty, exactTime, Fact, Failed, Id, IdFact } from "../parts/small.tsx";
import { FindingList } from "../proofs/figure-list.tsx";
import type { Against, RollWord } from "./roll-call-worker.ts";
import { type OnVerdict, useJudged, VerdictLine } from "./use-judged.tsx";
import { rollCallInWorker, type VerifiedFile } from "./verify-in-worker.ts";

type Judged = Extract<RollWord, { ok: true }>;

export function RollCallPanel({
	file,
	against,
	onVerdict,
}: {
	file: VerifiedFile;
	against: Against;
	onVerdict?: OnVerdict;
}) {
	const { node, contract } = against;
	const { judged, trouble } = useJudged<Judged>(
		(signal) => rollCallInWorker({ bytes: file.bytes, node, contract }, signal),
		[file, node, contract],
		onVerdict,
	);
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
			<VerdictLine verdict={verdict} file={file} tookMs={tookMs} />
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
				<IdFact name="Host" id={verdict.host} />
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
