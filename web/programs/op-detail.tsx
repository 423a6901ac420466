// One op of a program in full: what its operator is, what it reads and who reads it, shape, interval, work,
// and its definition as the text form has it. Before one is chosen: those with most of the work.
import { formatBytes } from "../../src/protocol/format-number.ts";
import type { OpLine } from "../../src/work/program/describe-program.ts";
import { formatCount } from "../parts/format.ts";
import { Fact } from "../parts/small.tsx";
import { shareText } from "./op-graph.tsx";

/** docs/work.md §2. */
const MEANS: Readonly<Record<string, string>> = {
	matmul: "Sums of products: C[t, i, j] = Σ A[t, i, k] · B[t, j, k] over k. Exact, in 64 bits.",
	map: "Each element by itself, by the instructions below, over whole numbers.",
	reduce: "One number for each row.",
	scatter_add: "Sums by index: out[v, c] = Σ X[c, r] over all r with index[r] = v.",
};
const UNITS: Readonly<Record<string, string>> = {
	...{ matmul: "products", map: "instructions", reduce: "terms", scatter_add: "terms" },
};
const kindOf = ({ operator }: OpLine): string => operator.split(" ")[0]!;
const HEAVIEST = 6;
const MOST_LINKS = 24;

function OpButtons({ numbers, onChoose }: { numbers: readonly number[]; onChoose: (number: number) => void }) {
	return (
		<span class="op-links">
			{numbers.slice(0, MOST_LINKS).map((n) => (
				<button key={n} type="button" class="small" onClick={() => onChoose(n)}>
					%{n}
				</button>
			))}
			{numbers.length > MOST_LINKS ? ` and ${formatCount(numbers.length - MOST_LINKS)} more` : null}
		</span>
	);
}

export function OpDetail(p: {
	/** Of one phase. */
	ops: readonly OpLine[];
	chosen: number | null;
	onChoose: (number: number) => void;
}) {
	const { ops, onChoose } = p;
	const whole = ops.reduce((sum, { work }) => sum + work, 0);
	const shareOf = ({ work }: OpLine) => (whole === 0 ? 0 : work / whole);
	const op = p.chosen === null ? undefined : ops[p.chosen];
	if (op === undefined) {
		const heaviest = [...ops].sort((a, b) => b.work - a.work).slice(0, HEAVIEST);
		return (
			<div class="op-detail">
				<h3>Most of the work</h3>
				<ul>
					{heaviest.map((one) => (
						<li key={one.number}>
							<button type="button" class="small" onClick={() => onChoose(one.number)}>
								%{one.number} {one.operator}
							</button>{" "}
							<span class="num">{shareText(shareOf(one))}</span> <code>{one.shape}</code>
						</li>
					))}
				</ul>
				<p class="dim">Choose a box to read its definition, and to see everything that it reads and that reads it.</p>
			</div>
		);
	}
	const tensors = op.reads.filter((one) => !one.startsWith("%"));
	const read = [...new Set(op.reads.filter((one) => one.startsWith("%")))].map((one) => Number(one.slice(1)));
	const readers = ops.filter(({ reads }) => reads.includes(`%${op.number}`)).map(({ number }) => number);
	return (
		<div class="op-detail" data-chosen={op.number}>
			<h3>
				%{op.number} {op.operator}
			</h3>
			<p class="dim" role="status">
				{MEANS[kindOf(op)]}
			</p>
			<dl class="facts">
				<Fact name="Reads">
					{tensors.join(", ")} {read.length === 0 ? null : <OpButtons numbers={read} onChoose={onChoose} />}
				</Fact>
				<Fact name="Read by">
					{readers.length === 0 ? "no op" : <OpButtons numbers={readers} onChoose={onChoose} />}
				</Fact>
				{op.writes === "" ? null : <Fact name="Replaces">{op.writes}</Fact>}
				<Fact name="Shape">
					<code>{op.shape}</code>, {formatBytes(op.bytes)}
				</Fact>
				<Fact name="Interval">
					<span class="num">{op.interval}</span>
				</Fact>
				<Fact name="Work">
					{formatCount(op.work)} {UNITS[kindOf(op)]}, {shareText(shareOf(op))} of the phase
				</Fact>
			</dl>
			<pre>{op.text.join("\n")}</pre>
		</div>
	);
}
