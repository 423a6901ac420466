// A proof of training: whether it holds, of which steps of which program, and what it does not say. The judging is in training-worker.ts.
import { useEffect, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan } from "../parts/format.ts";
import { Empty, Fact, Failed, Id, VerdictBadge } from "../parts/small.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";
import type { TrainingWord } from "./training-worker.ts";
import { trainingInWorker, type VerifiedFile } from "./verify-in-worker.ts";

export function TrainingPanel({
	file,
	onVerdict,
}: {
	file: VerifiedFile;
	onVerdict?: ((verdict: { readonly status: string; readonly code: string | null }) => void) | undefined;
}) {
	const [judged, setJudged] = useState<TrainingWord | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	useEffect(() => {
		const stop = new AbortController();
		setJudged(null);
		setTrouble(null);
		trainingInWorker({ bytes: file.bytes }, stop.signal).then(
			(word) => {
				setJudged(word);
				const { verdict } = word;
				onVerdict?.({ status: verdict.status, code: verdict.status === "valid" ? null : verdict.code });
			},
			(error) => stop.signal.aborted || setTrouble(troubleOf(error)),
		);
		return () => stop.abort();
	}, [file]);
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (judged === null) return <p class="dim">Checking {file.name} …</p>;
	const { verdict, tookMs } = judged;
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<p class="verdict-line">
				<VerdictBadge state={verdict.status} code={verdict.status === "valid" ? null : verdict.code} />
				<span class="dim">
					{file.name}, {formatBytes(file.bytes.length)}, checked here in {formatSpan(tookMs)}
				</span>
			</p>
			{verdict.status === "valid" ? <ValidView {...verdict} /> : <Empty title={verdict.detail} />}
		</div>
	);
}

function ValidView({ statement, sizes }: Extract<TrainingWord["verdict"], { status: "valid" }>) {
	const { firstStep, steps, program, stateBefore, stateAfter, features, labels, srs } = statement;
	return (
		<>
			<dl class="facts">
				<Fact name="Proven" isWide>
					steps {firstStep} to {firstStep + steps - 1} of an MLP of {sizes.join("-")}, for these commitments
				</Fact>
				<Fact name="Program" isWide>
					<Id id={program} />
				</Fact>
				<Fact name="State before" isWide>
					<Id id={stateBefore} />
				</Fact>
				<Fact name="State after" isWide>
					<Id id={stateAfter} />
				</Fact>
				<Fact name="Features" isWide>
					<Id id={features} />
				</Fact>
				<Fact name="Labels" isWide>
					<Id id={labels} />
				</Fact>
				<Fact name="Powers of tau" isWide>
					<Id id={srs} />
				</Fact>
			</dl>
			<p>
				Whose data and weights these are is not shown by the proof alone: compare your bytes with{" "}
				<code>assay verify FILE --data --initial --result</code>.
			</p>
		</>
	);
}
