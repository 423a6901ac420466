// What a job gave: fetched, checked here against the claim by the same rules as the command line's, and made
// into files. Pictures and text are shown; everything can be saved. Nothing is taken on the validator's word.
import { useEffect, useState } from "preact/hooks";
import type { Job } from "../../../src/api/types.ts";
import { formatBytes } from "../../../src/protocol/format-number.ts";
import { CopyButton, Failed, IdFact, Panel, Table } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import { type Trouble, troubleOf } from "../../shell/api.ts";
import type { JobWork } from "../work/job-work.ts";
import type { CheckedResult, MadeFile } from "../work/job-worker.ts";
import { Player } from "./pictures.tsx";
import { fetchJobBlob } from "./preview.tsx";

async function openResult(
	job: Job,
	customer: Customer,
	work: JobWork,
	onProgress: (bytes: number, size: number) => void,
): Promise<CheckedResult> {
	const result = await customer.client.getJobResult({ params: { id: job.id } });
	const blobs = [job.spec.program, ...result.parts.map(({ states }) => states), ...result.state, ...result.results];
	const named = new Map(blobs.map(({ root, size }) => [root, { root, size }]));
	const size = [...named.values()].reduce((sum, one) => sum + one.size, 0);
	const held = new Map<string, Uint8Array>();
	let done = 0;
	for (const one of named.values()) {
		const before = done;
		const tell = (bytes: number) => onProgress(before + bytes, size);
		held.set(one.root, await fetchJobBlob(customer, work, job.id, one, { onProgress: tell }));
		done += one.size;
	}
	return work.ask("result", { job: job as never, result, held });
}

const MOST_SHOWN = 20_000;

function Save({ file }: { file: MadeFile }) {
	const [url, setUrl] = useState("");
	useEffect(() => {
		const made = URL.createObjectURL(new Blob([file.bytes as Uint8Array<ArrayBuffer>]));
		setUrl(made);
		return () => URL.revokeObjectURL(made);
	}, [file]);
	return (
		<a class="button small-button" href={url} download={file.name.replaceAll("/", "-")}>
			Save<span class="hidden"> {file.name}</span>
		</a>
	);
}

function ShownFiles({ files }: { files: readonly MadeFile[] }) {
	const pictures = files.filter(({ name }) => name.endsWith(".png"));
	const frames = pictures.filter(({ name }) => name.startsWith("frames/"));
	const texts = files.filter(({ name }) => /\.(jsonl|txt)$|^summary\.json$/.test(name));
	return (
		<>
			{pictures.length === 0 ? null : <Player frames={frames.length > 0 ? frames : pictures} label="Result" />}
			{texts.map(({ name, bytes }) => (
				<details key={name} open>
					<summary>{name}</summary>
					<pre class="said">{textOf(name, bytes)}</pre>
				</details>
			))}
		</>
	);
}

/** Generated text as prompt and continuation, where both are there; else the file as it is. */
function textOf(name: string, bytes: Uint8Array): string {
	const text = new TextDecoder().decode(bytes.subarray(0, MOST_SHOWN));
	if (name !== "text.jsonl") return text;
	try {
		return text
			.trim()
			.split("\n")
			.map((line) => JSON.parse(line) as { prompt?: string; text?: string; tokens: number[] })
			.map(({ prompt = "", text: own, tokens }) => (own === undefined ? tokens.join(" ") : `${prompt}${own}`))
			.join("\n\n");
	} catch {
		return text;
	}
}

function Checked({ result }: { result: CheckedResult }) {
	return (
		<div class="result">
			<p role="status">
				<span class="agrees">✓</span> <strong>These bytes are what was claimed</strong>: every tensor was hashed here,
				and the roots fold to the claim.
				{result.parts === result.ofParts
					? ""
					: ` ${result.parts} of ${result.ofParts} parts were paid; this is the last state of those.`}
				{result.isWhole ? "" : " The job file is not in this browser: plain arrays were made."}
			</p>
			<ShownFiles files={result.files} />
			<dl class="facts">
				<IdFact name="Claim" id={result.claim} />
				<IdFact name="Last state, the same on every machine" id={result.state} />
			</dl>
			<details open={result.files.length < 12}>
				<summary>{result.files.length} files</summary>
				<Table label="Files of the result" head={["File", ["Size", "num"], ""]}>
					{result.files.map((file) => (
						<tr key={file.name}>
							<td>
								<code>{file.name}</code>
							</td>
							<td class="num">{formatBytes(file.bytes.length)}</td>
							<td class="num">
								<Save file={file} />
							</td>
						</tr>
					))}
				</Table>
			</details>
		</div>
	);
}

export function ResultPanel({ job, customer, work }: { job: Job; customer: Customer; work: JobWork | null }) {
	const [result, setResult] = useState<CheckedResult | null>(null);
	const [progress, setProgress] = useState<readonly [number, number] | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	if (job.record.parts[0]?.state !== "paid") return null;
	const folder = `${job.spec.title.replace(/[^A-Za-z0-9._-]/g, "-") || "job"}.run`;
	const commands = `assay job result ${job.id.slice(0, 12)} --out ${folder}\nassay job audit ${job.id.slice(0, 12)}`;
	const start = () => {
		if (work === null) return;
		setTrouble(null);
		setProgress([0, 1]);
		openResult(job, customer, work, (bytes, size) => setProgress([bytes, size])).then(
			(found) => {
				setResult(found);
				setProgress(null);
			},
			(error) => {
				setTrouble(troubleOf(error));
				setProgress(null);
			},
		);
	};
	return (
		<Panel title="Result">
			{trouble === null ? null : <Failed trouble={trouble} again={start} />}
			{result !== null ? (
				<Checked result={result} />
			) : progress !== null ? (
				<div class="upload">
					<p>
						Fetching and checking: {formatBytes(progress[0])} of {formatBytes(progress[1])}
					</p>
					<progress aria-label="Result" max={Math.max(1, progress[1])} value={progress[0]} />
				</div>
			) : (
				<p class="bar">
					<button type="button" class="primary" disabled={work === null} onClick={start}>
						Open the result
					</button>
					<span class="dim">It is fetched, checked against the claim in this browser, and shown.</span>
				</p>
			)}
			<div class="bar command">
				<pre class="grow">{commands}</pre>
				<CopyButton text={commands} label="Copy commands" />
			</div>
			<p class="dim small-text">
				On your own machine: the first fetches it and checks it against the claim, the second does all draws again.
			</p>
		</Panel>
	);
}
