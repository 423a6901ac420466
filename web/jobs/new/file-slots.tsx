// The files of a job: dropped, chosen or typed. A model's headers are read here, in the worker, before
// anything is sent: what it is, its tensors, and what will not map. Nothing leaves this page.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../../src/protocol/format-number.ts";
import { useDrop } from "../../parts/drop-area.tsx";
import { formatCount } from "../../parts/format.ts";
import { Failed, Loading, Table } from "../../parts/small.tsx";
import { type Trouble, troubleOf } from "../../shell/api.ts";
import { RoundingReport } from "../rounding-report.tsx";
import { openJobWork } from "../work/job-work.ts";
import type { JobFiles } from "../work/job-worker.ts";
import type { LookedModel } from "../work/look-at-model.ts";
import type { CardSlot } from "./cards.ts";

const MOST_LISTED = 2000;

/** Names as the job file may call them: plain ones. */
const plainName = (name: string): string => name.replaceAll(/[^\w.-]/g, "-").slice(0, 100) || "file";

export function DropZone(p: {
	label: string;
	hint: string;
	isMany: boolean;
	isLocked: boolean;
	/** What is there now, in words. */
	held: string;
	onFiles: (files: readonly File[]) => void;
}) {
	const take = (files: readonly File[]) => {
		if (files.length > 0 && !p.isLocked) p.onFiles(p.isMany ? files : files.slice(0, 1));
	};
	const { isOver, on } = useDrop(take);
	return (
		<label class={`slot ${isOver ? "is-over" : ""}`} {...on}>
			<span>
				<strong>{p.label}</strong> <span class="dim">{p.held}</span>
			</span>
			<input
				type="file"
				multiple={p.isMany}
				disabled={p.isLocked}
				onChange={(event) => take([...(event.currentTarget.files ?? [])])}
			/>
			<span class="dim small-text">{p.hint}</span>
		</label>
	);
}

/** Files of the model, by their plain names, out of all files of the job. */
export function ModelSlot(p: {
	slot: CardSlot;
	/** The folder that the job file names. */
	folder: string;
	/** What the job runs it with. */
	weights: string | null;
	files: JobFiles;
	isLocked: boolean;
	onModel: (files: readonly File[]) => void;
}) {
	const own = Object.entries(p.files).filter(([name]) => name.startsWith(p.folder));
	const bytes = own.reduce((sum, [, blob]) => sum + blob.size, 0);
	const held = own.length === 0 ? `sample ${p.folder}` : `${own.length} files, ${formatBytes(bytes)}`;
	return (
		<>
			<DropZone label={p.slot.label} hint={p.slot.hint} isMany isLocked={p.isLocked} held={held} onFiles={p.onModel} />
			{own.length === 0 ? null : <ModelLook folder={p.folder} files={p.files} />}
			<RoundingReport folder={p.folder} weights={p.weights} files={p.files} />
		</>
	);
}

function ModelLook({ folder, files }: { folder: string; files: JobFiles }) {
	const [looked, setLooked] = useState<LookedModel | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const names = Object.keys(files).filter((name) => name.startsWith(folder));
	useEffect(() => {
		const work = openJobWork();
		setLooked(null);
		setTrouble(null);
		const own = Object.fromEntries(names.map((name) => [name.slice(folder.length), files[name]!]));
		let isCurrent = true;
		work.ask("model", { files: own }).then(setLooked, (error) => isCurrent && setTrouble(troubleOf(error)));
		return () => {
			isCurrent = false;
			work.close();
		};
	}, [files, folder]);
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (looked === null) return <Loading what="the model's headers" lines={1} />;
	const { what, tensors, parameters, unused, vocabulary } = looked;
	return (
		<div class="looked" role="status">
			{looked.trouble === null ? (
				<p>
					<span class="agrees">✓</span> <strong>{what}</strong>: {formatCount(parameters)} parameters in{" "}
					{formatCount(tensors.length)} tensors.
					{unused.length > 0 ? ` ${formatCount(unused.length)} tensors are not used.` : ""}
					{vocabulary !== null && vocabulary !== 256
						? " Its tokens are not bytes: give token ids (`assay model tokens` makes them)."
						: ""}
				</p>
			) : (
				<Failed trouble={looked.trouble} />
			)}
			{tensors.length === 0 ? null : (
				<details>
					<summary>{formatCount(tensors.length)} tensors</summary>
					<div class="tall">
						<Table label="Tensors of the model" head={["Name", "Type", "Shape", ""]}>
							{tensors.slice(0, MOST_LISTED).map(({ name, type, dims }) => (
								<tr key={name}>
									<td>
										<code>{name}</code>
									</td>
									<td>{type}</td>
									<td>{dims.join(" × ")}</td>
									<td class="dim">{unused.includes(name) ? "not used" : ""}</td>
								</tr>
							))}
						</Table>
					</div>
				</details>
			)}
		</div>
	);
}

/** Typed here; kept as a file of the job. */
export function LinesSlot(p: { slot: CardSlot; text: string; isLocked: boolean; onText: (text: string) => void }) {
	const [text, setText] = useState(p.text);
	const given = useRef(p.text);
	useEffect(() => {
		if (given.current === p.text) return;
		given.current = p.text;
		setText(p.text);
	}, [p.text]);
	return (
		<label>
			{p.slot.label}
			<textarea
				rows={4}
				spellcheck={false}
				disabled={p.isLocked}
				value={text}
				onInput={(event) => {
					setText(event.currentTarget.value);
					given.current = event.currentTarget.value;
					p.onText(event.currentTarget.value);
				}}
			/>
			<span class="dim small-text">{p.slot.hint}</span>
		</label>
	);
}

/** Files under a folder's name, as the job file calls them. */
export const filesUnder = (folder: string, files: readonly File[]): JobFiles =>
	Object.fromEntries(files.map((file) => [`${folder}${plainName(file.name)}`, file]));
