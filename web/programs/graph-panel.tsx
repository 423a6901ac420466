// A program's graph beside the op that is chosen in it; a phase at a time. Of two programs, one after the
// other, with what only it has marked.
import { useMemo, useState } from "preact/hooks";
import type { ComparedOp, DescribedProgram } from "../../src/work/program/describe-program.ts";
import { formatCount } from "../parts/format.ts";
import { Panel } from "../parts/small.tsx";
import { OpDetail } from "./op-detail.tsx";
import { type Mark, OpGraph } from "./op-graph.tsx";

type Phase = "init" | "step";

export interface GraphOf {
	readonly name: string;
	readonly program: DescribedProgram;
}

export function GraphPanel({ of, compared = [] }: { of: readonly GraphOf[]; compared?: readonly ComparedOp[] }) {
	const [which, setWhich] = useState(0);
	const [phase, setPhase] = useState<Phase>("step");
	const [chosen, setChosen] = useState<number | null>(null);
	const { program } = of[which] ?? of[0]!;
	const ops = useMemo(() => program.ops.filter((op) => op.phase === phase), [program, phase]);
	const place: Mark = which === 0 ? "first" : "second";
	const marks = useMemo(
		() =>
			new Map(
				compared
					.filter((one) => one.in === place && one.op.phase === phase)
					.map(({ op }) => [op.number, place] as const),
			),
		[compared, place, phase],
	);
	const counts = (of_: Phase) => program.ops.filter((op) => op.phase === of_).length;
	return (
		<Panel
			title="Graph"
			aside={
				<span class="bar">
					{of.length < 2 ? null : (
						<select
							aria-label="Program"
							value={which}
							onChange={({ currentTarget: { value } }) => {
								setWhich(Number(value));
								setChosen(null);
							}}
						>
							{of.map(({ name }, i) => (
								<option key={i} value={i}>
									{i === 0 ? "first" : "second"}: {name.slice(0, 60)}
								</option>
							))}
						</select>
					)}
					<select
						aria-label="Phase"
						value={phase}
						onChange={({ currentTarget: { value } }) => {
							setPhase(value as Phase);
							setChosen(null);
						}}
					>
						<option value="step">step, {formatCount(counts("step"))} ops</option>
						<option value="init">init, {formatCount(counts("init"))} ops</option>
					</select>
				</span>
			}
		>
			<div class="op-graph-and-detail">
				{ops.length === 0 ? (
					<p class="dim">This program has no ops in its init phase: its state begins with zeros.</p>
				) : (
					<OpGraph
						key={`${which} ${phase}`}
						label={`Graph of ${formatCount(ops.length)} ops: arrow keys move, Enter chooses`}
						{...{ ops, chosen, marks }}
						onChoose={setChosen}
					/>
				)}
				<OpDetail {...{ ops, chosen }} onChoose={setChosen} />
			</div>
			<p class="dim small-text">
				From top to bottom: an op stands below all that it reads. Lines over many rows are drawn for the chosen op.
				{compared.length === 0 ? "" : " − and +: only this one of the two has it."}
			</p>
		</Panel>
	);
}
