// A proof of training: whether it holds, of which steps of which program, and what it does not say. The
// judging is in training-worker.ts.
import { Empty, Fact, Failed, Id } from "../parts/small.tsx";
import type { TrainingWord } from "./training-worker.ts";
import { type OnVerdict, useJudged, VerdictLine } from "./use-judged.tsx";
import { trainingInWorker, type VerifiedFile } from "./verify-in-worker.ts";

export function TrainingPanel({ file, onVerdict }: { file: VerifiedFile; onVerdict?: OnVerdict }) {
	const ask = (signal: AbortSignal) => trainingInWorker({ bytes: file.bytes }, signal);
	const { judged, trouble } = useJudged<TrainingWord>(ask, [file], onVerdict);
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (judged === null) return <p class="dim">Checking {file.name} …</p>;
	const { verdict, tookMs } = judged;
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<VerdictLine verdict={verdict} file={file} tookMs={tookMs} />
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
