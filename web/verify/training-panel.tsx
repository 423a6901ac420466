// A proof of training: whether it holds, of which steps of which program, and what it does not say. The
// judging is in training-worker.ts.
import { Empty, Fact, Failed, Id, IdFact } from "../parts/small.tsx";
import type { ProvenSteps, TrainingWord } from "./training-worker.ts";
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
			{verdict.status === "valid" ? <ValidView {...verdict.proven} /> : <RefusedView {...verdict} />}
		</div>
	);
}

function RefusedView(p: Exclude<TrainingWord["verdict"], { status: "valid" }>) {
	return (
		<>
			<Empty title={p.detail}>
				{p.meaning} {p.hint}
			</Empty>
			{p.unproven === null ? null : (
				<>
					<p>
						What the file says, which nothing proves unless you trust its key. If you do, name it:{" "}
						<code>assay verify FILE --wrap-key KEY</code>.
					</p>
					<Facts {...p.unproven} name="Said" />
				</>
			)}
		</>
	);
}

function ValidView(proven: ProvenSteps) {
	const { firstStep } = proven.first;
	return (
		<>
			<Facts {...proven} name="Proven" />
			<p>
				Whose data and weights these are is not shown by the proof alone: compare your bytes with{" "}
				<code>assay verify FILE --data --initial --result</code>.{" "}
				{proven.isStartRight === true
					? "It begins with the weights that the program makes of its seed."
					: firstStep === 0
						? "Whether the run began with the weights of its seed was not checked here; assay verify does it."
						: `It begins with step ${firstStep}; what came before is not shown.`}
			</p>
		</>
	);
}

function Facts({ name, first, last, ...p }: ProvenSteps & { readonly name: string }) {
	const [from, to] = [first.firstStep / first.steps + 1, last.firstStep / first.steps + 1];
	return (
		<dl class="facts">
			<Fact name={name} isWide>
				steps {first.firstStep} to {last.firstStep + last.steps - 1} of an MLP of {p.sizes.join("-")}, for these
				commitments
			</Fact>
			<Fact name="Segments" isWide>
				{from === to ? from : `${from} to ${to}`}, of {p.maxSegments} at most; how many the run was to have is in no
				proof
			</Fact>
			<IdFact name="Program" isWide id={first.program} />
			<IdFact name="Seed" isWide id={first.seed} />
			<IdFact name="State before" isWide id={first.stateBefore} />
			<IdFact name="State after" isWide id={last.stateAfter} />
			<IdFact name="Features" isWide id={first.features} />
			<IdFact name="Labels" isWide id={first.labels} />
			<Fact name="Powers" isWide>
				{p.powers} <Id id={first.srs} />
			</Fact>
			{p.key === null ? null : <IdFact name="Key" isWide id={p.key} />}
		</dl>
	);
}
