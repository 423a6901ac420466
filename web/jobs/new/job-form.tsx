// The form of one workload: its sample, its files, the fields that most people change, and the whole job file
// as text for everything else.
import { useEffect, useState } from "preact/hooks";
import type { JobFiles } from "../work/job-worker.ts";
import { sampleFile } from "../work/samples.ts";
import { type Card, type CardField, type CardSlot, valueAt, withValue } from "./cards.ts";
import { DropZone, filesUnder, LinesSlot, ModelSlot } from "./file-slots.tsx";
import type { Draft } from "./use-built.ts";

export type Json = Readonly<Record<string, unknown>>;

export const jobText = (json: unknown): string => `${JSON.stringify(json, null, "\t")}\n`;

export function jsonOf(text: string): Json | null {
	try {
		const json: unknown = JSON.parse(text);
		return typeof json === "object" && json !== null && !Array.isArray(json) ? (json as Json) : null;
	} catch {
		return null;
	}
}

interface FormProps {
	card: Card;
	draft: Draft;
	isLocked: boolean;
	onSample: (name: string) => void;
	onChange: (draft: Draft) => void;
}

export function JobForm({ card, draft, isLocked, onSample, onChange }: FormProps) {
	const json = jsonOf(draft.text);
	const change = (next: Json, files: JobFiles = draft.files) => onChange({ ...draft, text: jobText(next), files });
	return (
		<div class="job-form">
			<div class="row">
				<label>
					Start from
					<select disabled={isLocked} onChange={(event) => onSample(event.currentTarget.value)}>
						{card.samples.map(([name, title]) => (
							<option key={name} value={name} selected={draft.title === name}>
								{title}
							</option>
						))}
					</select>
				</label>
				<label>
					Title
					<input
						maxLength={100}
						disabled={isLocked}
						value={draft.title}
						onInput={(event) => onChange({ ...draft, title: event.currentTarget.value })}
					/>
				</label>
			</div>
			{json === null ? null : (
				<>
					{card.slots.map((slot) => (
						<Slot key={slot.path} slot={slot} json={json} files={draft.files} isLocked={isLocked} onChange={change} />
					))}
					<div class="row">
						{card.fields.map((field) => (
							<Field key={field.path} field={field} json={json} isLocked={isLocked} onChange={change} />
						))}
					</div>
				</>
			)}
			<details>
				<summary>The whole job file</summary>
				<label>
					<span class="hidden">Job file</span>
					<textarea
						class="job-text"
						rows={12}
						spellcheck={false}
						disabled={isLocked}
						value={draft.text}
						onInput={(event) => onChange({ ...draft, text: event.currentTarget.value })}
					/>
				</label>
				<p class="dim small-text">
					The same file works on the command line: <code>assay job submit job.json</code>
				</p>
			</details>
		</div>
	);
}

interface PartProps {
	json: Json;
	isLocked: boolean;
	onChange: (json: Json, files?: JobFiles) => void;
}

function Field({ field, json, isLocked, onChange }: PartProps & { field: CardField }) {
	const value = valueAt(json, field.path);
	if (value === undefined) return null;
	const { label, unit, kind } = field;
	if (typeof kind === "object")
		return (
			<label>
				{label}
				<select
					disabled={isLocked}
					onChange={(event) => onChange(withValue(json, field.path, event.currentTarget.value))}
				>
					{kind.map((one) => (
						<option key={one} selected={one === value}>
							{one}
						</option>
					))}
				</select>
			</label>
		);
	return (
		<label>
			<span>
				{label} {unit === undefined ? null : <span class="dim">{unit}</span>}
			</span>
			<input
				type="number"
				min="0"
				step={kind === "real" ? "any" : "1"}
				disabled={isLocked}
				value={String(value)}
				onInput={({ currentTarget: { value: typed } }) => {
					if (typed !== "" && Number.isFinite(Number(typed))) onChange(withValue(json, field.path, Number(typed)));
				}}
			/>
		</label>
	);
}

function Slot({ slot, json, files, isLocked, onChange }: PartProps & { slot: CardSlot; files: JobFiles }) {
	const named = valueAt(json, slot.path);
	if (slot.kind === "lines") return <Prompts {...{ slot, json, files, isLocked, onChange }} />;
	if (typeof named !== "string") return null;
	if (slot.kind === "model") {
		const folder = `${named.replace(/\/+$/, "")}/`;
		return (
			<ModelSlot
				{...{ slot, folder, files, isLocked, weights: typeof json.weights === "string" ? json.weights : null }}
				onModel={(list) => onChange(withValue(json, slot.path, "model/"), { ...files, ...filesUnder("model/", list) })}
			/>
		);
	}
	const isScene = slot.kind === "scene";
	const take = (list: readonly File[]) => {
		const added = filesUnder(isScene ? "scene/" : "", list);
		const names = Object.keys(added);
		const first = isScene ? names.find((name) => name.endsWith(".json")) : names[0];
		onChange(first === undefined ? json : withValue(json, slot.path, first), { ...files, ...added });
	};
	const held = Object.hasOwn(files, named) ? named : `sample ${named}`;
	return <DropZone {...{ label: slot.label, hint: slot.hint, isMany: isScene, isLocked, held }} onFiles={take} />;
}

const LINES = { text: "lines.txt", tokens: "lines.jsonl" } as const;

/** Lines that begin as JSON lists are token ids. */
function Prompts({ slot, json, files, isLocked, onChange }: PartProps & { slot: CardSlot; files: JobFiles }) {
	const { text, tokens } = (json.prompts ?? {}) as { readonly text?: unknown; readonly tokens?: unknown };
	const name = String(text ?? tokens ?? "");
	const [shown, setShown] = useState("");
	useEffect(() => {
		let isCurrent = true;
		const held = Object.hasOwn(files, name) ? files[name]!.text() : sampleFile(name).then(textOf);
		held.then((found) => isCurrent && setShown(found)).catch(() => {});
		return () => {
			isCurrent = false;
		};
	}, [name, files[name]]);
	const take = (typed: string) => {
		const lines = typed.split("\n").filter((line) => line.trim() !== "");
		const kind = lines.length > 0 && lines.every((line) => line.trim().startsWith("[")) ? "tokens" : "text";
		const prompts = { [kind]: LINES[kind] };
		onChange({ ...json, prompts }, { ...files, [LINES[kind]]: new Blob([typed], { type: "text/plain" }) });
	};
	return <LinesSlot slot={slot} text={shown} isLocked={isLocked} onText={take} />;
}

const textOf = (bytes: Uint8Array | null): string => (bytes === null ? "" : new TextDecoder().decode(bytes));
