// What whole-number weights cost a model, tensor by tensor: bytes, and the signal to noise of rounding,
// worked out in this browser from the model's own files, as `assay model import` does. What that does to
// answers only running the model shows: `assay model report`.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatCount } from "../parts/format.ts";
import { Badge, Failed, Table } from "../parts/small.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";
import { valueAt } from "./new/cards.ts";
import { type JobWork, openJobWork } from "./work/job-work.ts";
import type { JobFiles, Rounding } from "./work/job-worker.ts";

/**
 * The folder of the model that a job file names, and the weights that it runs with; null: it imports none.
 */
export function modelOf(text: string): { readonly folder: string; readonly weights: string | null } | null {
	let json: unknown = null;
	try {
		json = JSON.parse(text);
	} catch {}
	const [whole, base, weights] = ["model", "model.base", "weights"].map((path) => valueAt(json, path));
	const named = typeof whole === "string" ? whole : base;
	if (typeof named !== "string" || named.endsWith(".onnx")) return null;
	return { folder: named, weights: typeof weights === "string" ? weights : null };
}

const decibels = (value: number | null): string =>
	value === null ? "–" : Number.isFinite(value) ? `${value.toFixed(1)} dB` : "exact";
const worstOf = (all: readonly (number | null)[]): number | null =>
	all.reduce((least, one) => (one === null || (least !== null && least < one) ? least : one), null);

export function RoundingReport(p: { folder: string; weights: string | null; files: JobFiles }) {
	const [report, setReport] = useState<Rounding | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const work = useRef<JobWork | null>(null);
	const [isBusy, setBusy] = useState(false);
	useEffect(() => {
		setReport(null);
		setTrouble(null);
		setBusy(false);
		return () => {
			const own = work.current;
			work.current = null;
			own?.close();
		};
	}, [p.folder, p.files]);
	const ask = () => {
		const own = openJobWork();
		work.current = own;
		setBusy(true);
		own
			.ask("rounding", { folder: p.folder, files: p.files })
			.then(setReport, (error) => work.current === own && setTrouble(troubleOf(error)))
			.finally(() => {
				own.close();
				setBusy(false);
			});
	};
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (report === null)
		return (
			<p class="bar">
				<button type="button" class="small" disabled={isBusy} onClick={ask}>
					{isBusy ? "Reading every weight …" : "What do whole-number weights cost?"}
				</button>
			</p>
		);
	return <Report report={report} weights={p.weights} />;
}

function Report({ report: { tensors, i8Bytes, i16Bytes }, weights }: { report: Rounding; weights: string | null }) {
	const worst = { i8: worstOf(tensors.map(({ i8Db }) => i8Db)), i16: worstOf(tensors.map(({ i16Db }) => i16Db)) };
	return (
		<div class="rounding">
			<p role="status">
				With i8 weights the worst matrix keeps {decibels(worst.i8)} of signal over noise, in {formatBytes(i8Bytes)}.
				With i16 it keeps {decibels(worst.i16)}, in {formatBytes(i16Bytes)}.{" "}
				{weights === null ? null : (
					<>
						This job runs with <Badge tone="none">{weights}</Badge>
					</>
				)}
			</p>
			<details>
				<summary>{formatCount(tensors.length)} tensors</summary>
				<div class="tall">
					<Table
						label="Rounding, tensor by tensor"
						head={["Tensor", "Shape", ["Largest", "num"], ["i8", "num"], ["i16", "num"]]}
					>
						{tensors.map(({ name, dims, largest, i8Db, i16Db }) => (
							<tr key={name}>
								<td>
									<code>{name}</code>
								</td>
								<td>{dims.join(" × ")}</td>
								<td class="num">{largest.toPrecision(3)}</td>
								<td class="num">{decibels(i8Db)}</td>
								<td class="num">{decibels(i16Db)}</td>
							</tr>
						))}
					</Table>
				</div>
			</details>
			<p class="dim small-text">
				10·log10 of the sum of squares over that of the errors; vectors keep 32 bits. What it does to answers:{" "}
				<code>assay model report</code>
			</p>
		</div>
	);
}
