// Ops of a program as a list: what each reads and gives, its interval and its share of the work; opened, its
// definition. Names in a program are its author's words.
import { useState } from "preact/hooks";
import type { ComparedOp, OpLine } from "../../src/work/program/describe-program.ts";
import { formatCount } from "../parts/format.ts";

const MARKS = { both: "", first: "−", second: "+" } as const;
const WORDS = { both: "", first: "only in the first", second: "only in the second" } as const;
const FEW = 200;

/** Its share of the work of its phase. */
function Share({ op, whole }: { op: OpLine; whole: number }) {
	const share = whole === 0 ? 0 : op.work / whole;
	return (
		<span class="op-work">
			<meter min={0} max={1} value={share} aria-hidden="true" />
			<span class="num">{formatCount(op.work)}</span>
		</span>
	);
}

export function OpList({ ops, label }: { ops: readonly ComparedOp[]; label: string }) {
	const [isAll, setAll] = useState(false);
	const whole = { init: 0, step: 0 };
	for (const { op } of ops) whole[op.phase] += op.work;
	const shown = isAll ? ops : ops.slice(0, FEW);
	return (
		<>
			<ol class="ops" aria-label={label}>
				{shown.map(({ in: place, op }) => (
					<li
						key={`${place} ${op.phase} ${op.number}`}
						data-op={`${op.phase} ${op.number}`}
						class={`op-line is-in-${place}`}
					>
						<details>
							<summary>
								<span class="op-name">
									<code>
										{MARKS[place]}%{op.number}
									</code>{" "}
									<strong>{op.operator}</strong> <span class="dim">{op.phase === "init" ? "init" : ""}</span>
									{place === "both" ? null : <span class="hidden">{WORDS[place]}</span>}
								</span>
								<span class="op-reads">
									{op.reads.join(", ")} → <code>{op.shape}</code>
									{op.writes === "" ? null : <> in {op.writes}</>}
								</span>
								<span class="op-interval dim">{op.interval}</span>
								<Share op={op} whole={whole[op.phase]} />
							</summary>
							<pre>{op.text.join("\n")}</pre>
						</details>
					</li>
				))}
			</ol>
			{shown.length === ops.length ? null : (
				<button type="button" onClick={() => setAll(true)}>
					Show all {formatCount(ops.length)} ops
				</button>
			)}
		</>
	);
}
