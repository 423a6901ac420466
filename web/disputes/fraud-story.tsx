// What a fraud file shows, worked out again here: the way down, the op, and the element with its operands,
// what was said beside what is right. The numbers come from explain-fraud.ts in the verifier's worker; no
// text of the accused is in them.
import { useState } from "preact/hooks";
import type { FraudStory, Working } from "../../src/verify/optimistic/fraud/explain-fraud.ts";
import type { ValidFraud } from "../../src/verify/optimistic/fraud/fraud-verdict.ts";
import { formatCount } from "../parts/format.ts";
import { Table } from "../parts/small.tsx";
import { WayDown } from "./way-down.tsx";

/** The two numbers beside each other; the first digit that differs is marked. */
export function SaidAndRight({ verdict: { said, right, kind, shows } }: { verdict: ValidFraud }) {
	const same = [...said].findIndex((char, i) => char !== right[i]);
	const at = same < 0 ? Math.min(said.length, right.length) : same;
	const shown = (text: string) => (
		<>
			{text.slice(0, at)}
			<mark>{text.slice(at)}</mark>
		</>
	);
	const isNumber = kind === "element";
	return (
		<>
			<dl class="verdict-pair">
				<div class="is-invalid">
					<dt>Said</dt>
					<dd>
						<code data-fraud="said">{shown(said)}</code>
					</dd>
				</div>
				<div class="is-valid">
					<dt>{kind === "words" ? "Also said" : "Right"}</dt>
					<dd>
						<code data-fraud="right">{shown(right)}</code>
					</dd>
				</div>
			</dl>
			<p class="dim">
				{isNumber
					? WORDS[shows]
					: kind === "words"
						? "Both are signed, and one question has one answer."
						: "Roots: 32 bytes that commit to a whole tensor."}
			</p>
		</>
	);
}

const WORDS: Readonly<Record<string, string>> = {
	chunk: "The sum that these operands give, and the one that was said of them.",
	value: "The number in the tensor that it committed to, and the one that it said when it was asked.",
	filling: "Bytes after a tensor's end are zero.",
	load: "A number that it said it had read, and the one that lies there.",
	turn: "What one turn of the loop gives, and what was said to come out of it.",
	end: "What the instructions give, and what was said to come out of them.",
};

const FEW = 6;

function SumWorking({ of, said }: { of: Extract<Working, { kind: "sum" }>; said: string }) {
	const [isAll, setAll] = useState(of.terms.length <= 3 * FEW);
	const { terms, columns } = of;
	const left = isAll ? 0 : terms.length - 2 * FEW;
	const shown = isAll ? terms : [...terms.slice(0, FEW), ...terms.slice(-FEW)];
	const isProduct = columns.length === 2 && columns[0] === "a";
	const head = ["Place", ...columns, ...(isProduct ? ["a · b"] : []), "Sum so far"].map(
		(one) => [one, one === "a · b" ? "num is-product" : "num"] as const,
	);
	const row = (term: (typeof terms)[number]) => (
		<tr key={term.k}>
			<td class="num">{term.k}</td>
			{term.values.map((value, i) => (
				<td key={i} class="num">
					{value}
				</td>
			))}
			{isProduct ? <td class="num is-product">{`${BigInt(term.values[0]!) * BigInt(term.values[1]!)}`}</td> : null}
			<td class="num">{term.running}</td>
		</tr>
	);
	return (
		<>
			<p>
				Places {formatCount(of.from)} to {formatCount(of.to - 1)} of {formatCount(of.length)}.{" "}
				{of.before === null ? (
					"The sum begins here."
				) : (
					<>
						Up to here it had said <code>{of.before}</code>.
					</>
				)}
			</p>
			<Table label="The chunk, worked out" head={head} class="working" hasBodies>
				<tbody>
					{shown.slice(0, isAll ? shown.length : FEW).map(row)}
					{left > 0 ? (
						<tr>
							<td colSpan={head.length}>
								<button type="button" class="small" onClick={() => setAll(true)}>
									Show {formatCount(left)} more places
								</button>
							</td>
						</tr>
					) : null}
					{isAll ? null : shown.slice(FEW).map(row)}
				</tbody>
				<tfoot>
					<tr class="is-valid">
						<th scope="row" colSpan={head.length - 1}>
							{of.isLast ? "The element is" : "The sum after this chunk is"}
						</th>
						<td class="num">{terms.at(-1)?.running}</td>
					</tr>
					<tr class="is-invalid">
						<th scope="row" colSpan={head.length - 1}>
							It said
						</th>
						<td class="num">{said}</td>
					</tr>
				</tfoot>
			</Table>
		</>
	);
}

function MapWorking({ of: { section, turn, carried, lines, wrong } }: { of: Extract<Working, { kind: "map" }> }) {
	const where = {
		before: "The instructions of the element",
		body: `Turn ${turn ?? 0} of its loop`,
		after: "After the loop",
	};
	return (
		<>
			<p>
				{where[section]}, with what it said of each.
				{carried.length === 0 ? null : (
					<>
						{" "}
						Carried in: <code>{carried.join(", ")}</code>.
					</>
				)}
			</p>
			<Table label="Instructions, as it said" head={["Instruction", ["It said", "num"]]} class="working">
				{lines.map(({ text, value }, i) => (
					<tr key={i} class={i === wrong ? "is-invalid" : undefined}>
						<td>
							<code>{text}</code>
						</td>
						<td class="num">{value}</td>
					</tr>
				))}
			</Table>
		</>
	);
}

function LeafWorking({ of: { leaf, at, around, what } }: { of: Extract<Working, { kind: "leaf" }> }) {
	return (
		<>
			<p>
				Leaf {formatCount(leaf)} of the output: {what}.
			</p>
			<Table
				label="The leaf"
				head={[
					["Place", "num"],
					["Holds", "num"],
				]}
				class="working"
			>
				{around.map(({ index, value }) => (
					<tr key={index} class={index === at ? "is-invalid" : undefined}>
						<td class="num">{index}</td>
						<td class="num">{value}</td>
					</tr>
				))}
			</Table>
		</>
	);
}

export function FraudStoryView({ story }: { story: FraudStory }) {
	const { verdict, way, op, coordinates, working } = story;
	return (
		<div class="fraud-story">
			<WayDown way={way} isOver />
			<section class="element" aria-labelledby="element-title" data-element={verdict.element ?? undefined}>
				<h3 id="element-title">
					{verdict.kind === "element" ? "The element" : "The contradiction"}
					{coordinates.length > 1 ? <span class="dim"> at [{coordinates.join(", ")}]</span> : null}
				</h3>
				<SaidAndRight verdict={verdict} />
				{working === null ? null : working.kind === "sum" ? (
					<SumWorking of={working} said={verdict.said} />
				) : working.kind === "map" ? (
					<MapWorking of={working} />
				) : (
					<LeafWorking of={working} />
				)}
				{op === null ? null : (
					<details class="as-table" open={op.length < 4}>
						<summary>The op, as the program has it</summary>
						<pre>{op.join("\n")}</pre>
					</details>
				)}
			</section>
		</div>
	);
}
