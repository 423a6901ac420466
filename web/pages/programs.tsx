// Programs: what a job computes, op by op, with shapes, intervals and cost; and what two of them have in
// common. From a file, which never leaves this browser, from a sample, or from a
// job; each is checked as every provider checks it.
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { compareOps, type DescribedProgram } from "../../src/work/program/describe-program.ts";
import { CARDS } from "../jobs/new/cards.ts";
import { openJobWork } from "../jobs/work/job-work.ts";
import { DropArea } from "../parts/drop-area.tsx";
import { formatCount } from "../parts/format.ts";
import { Empty, Failed, Id, Loading, PageTitle, Panel, Table, Tile } from "../parts/small.tsx";
import { OpList } from "../programs/op-list.tsx";
import { type NamedProgram, openSource, type Source, sourcesOf } from "../programs/sources.ts";
import { type Trouble, troubleOf } from "../shell/api.ts";
import { replaceQuery } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";

/** What is asked for, opened; an outdated wish is ended. */
function useOpened(sources: readonly Source[], key: string) {
	const [shown, setShown] = useState<readonly NamedProgram[] | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	useEffect(() => {
		setTrouble(null);
		setShown(null);
		if (sources.length === 0) return setShown([]);
		const work = openJobWork();
		const stop = new AbortController();
		void (async () => {
			try {
				const found: NamedProgram[] = [];
				for (const one of sources) found.push(await openSource(work, one, stop.signal));
				if (!stop.signal.aborted) setShown(found);
			} catch (error) {
				if (stop.signal.aborted) return;
				setShown([]);
				setTrouble(troubleOf(error));
			}
			work.close();
		})();
		return () => {
			stop.abort();
			work.close();
		};
	}, [key]);
	return { shown, trouble };
}

export default function ProgramsPage({ place }: PageProps) {
	const [files, setFiles] = useState<readonly File[]>([]);
	// The same file may be chosen again when it has changed.
	const turn = useRef(0);
	const asked = sourcesOf(place.query);
	const sources = [...asked, ...files.map((file): Source => ({ kind: "file", file }))].slice(0, 2);
	const { shown, trouble } = useOpened(sources, `${place.query} ${turn.current}`);
	const take = (chosen: readonly File[], isMore: boolean) => {
		turn.current++;
		setFiles(isMore ? [...files.slice(0, 1 - asked.length), ...chosen.slice(0, 1)] : chosen.slice(0, 2));
		if (!isMore) replaceQuery(new URLSearchParams());
	};
	const sample = (name: string, isMore: boolean) => {
		const query = new URLSearchParams(isMore ? place.query : undefined);
		query.append("sample", name);
		if (!isMore) setFiles([]);
		replaceQuery(query);
	};
	const [first, second] = shown ?? [];
	return (
		<>
			<PageTitle sub="A job is a program of four operators over whole numbers, checked before anybody runs it. Drop one to read it, or two to compare them.">
				Programs
			</PageTitle>
			<Chooser onFiles={take} onSample={sample} hasOne={first !== undefined && second === undefined} />
			{trouble === null ? null : <Failed trouble={trouble} />}
			{shown === null ? (
				<Loading what="the program" />
			) : first === undefined ? (
				<Empty title="No program yet">
					<code>program.bin</code> lies in a run&#8217;s folder; <code>assay program show</code> prints one as text.
					Both can be dropped here. The page of a job links to its program.
				</Empty>
			) : second === undefined ? (
				<OneProgram key={first.program.root} of={first} />
			) : (
				<TwoPrograms key={`${first.program.root} ${second.program.root}`} first={first} second={second} />
			)}
		</>
	);
}

function SampleChoice({ label, onSample }: { label: string; onSample: (name: string) => void }) {
	return (
		<label>
			{label}
			<select
				value=""
				onChange={(event) => {
					const { value } = event.currentTarget;
					event.currentTarget.value = "";
					if (value !== "") onSample(value);
				}}
			>
				<option value="">Choose …</option>
				{CARDS.map(({ key, title, samples }) => (
					<optgroup key={key} label={title}>
						{samples.map(([name, text]) => (
							<option key={name} value={name}>
								{name}: {text}
							</option>
						))}
					</optgroup>
				))}
			</select>
		</label>
	);
}

function Chooser(p: {
	onFiles: (files: readonly File[], isMore: boolean) => void;
	onSample: (name: string, isMore: boolean) => void;
	/** One is shown: another can stand beside it. */
	hasOne: boolean;
}) {
	const isMore = useRef(false);
	return (
		<DropArea
			title="Drop one program, or two"
			label="Program files"
			onFiles={(files, wasDropped) => p.onFiles(files, !wasDropped && isMore.current)}
		>
			{(choose) => {
				const ask = (more: boolean) => {
					isMore.current = more;
					choose();
				};
				return (
					<div class="bar program-choice">
						<button type="button" class="primary" onClick={() => ask(false)}>
							Choose files
						</button>
						<SampleChoice label="Show a sample" onSample={(name) => p.onSample(name, false)} />
						{p.hasOne ? (
							<>
								<button type="button" onClick={() => ask(true)}>
									Compare with a file
								</button>
								<SampleChoice label="Compare with a sample" onSample={(name) => p.onSample(name, true)} />
							</>
						) : null}
					</div>
				);
			}}
		</DropArea>
	);
}

function CostTiles({ program: { root, k, cost } }: { program: DescribedProgram }) {
	const { operators, productsAStep, instructionsAStep, termsAStep, bytes, peakBytes } = cost;
	return (
		<dl class="tiles">
			<Tile
				name="Program"
				value={<Id id={root} />}
				note={`${formatCount(k)} ${k === 1 ? "step" : "steps"} a segment`}
			/>
			<Tile
				name="Ops of a step"
				value={formatCount(cost.stepOps)}
				note={`${operators.matmul} matmul, ${operators.map} map, ${operators.reduce} reduce, ${operators.scatter_add} scatter`}
			/>
			<Tile name="Products a step" value={formatCount(productsAStep)} note="multiplications of all matmuls" />
			<Tile
				name="Instructions a step"
				value={formatCount(instructionsAStep)}
				note={`of maps; ${formatCount(termsAStep)} terms of sums`}
			/>
			<Tile
				name="Memory"
				value={formatBytes(peakBytes)}
				note={`state ${formatBytes(bytes.state)}, inputs ${formatBytes(bytes.input + bytes.constant)}`}
			/>
		</dl>
	);
}

function OneProgram({ of: { name, program } }: { of: NamedProgram }) {
	return (
		<>
			<CostTiles program={program} />
			<Panel title="Operators" aside={name}>
				<OpList label="Operators" ops={program.ops.map((op) => ({ in: "both", op }))} />
			</Panel>
			<Panel
				title="Tensors"
				aside={`${formatCount(program.tensors.length)}, with the interval that each number keeps to`}
			>
				<Table label="Tensors" head={["Name", "Kind", "Shape", "Interval"]}>
					{program.tensors.slice(0, 500).map((one) => (
						<tr key={one.name}>
							<td>{one.name}</td>
							<td>{one.kind}</td>
							<td>
								<code>{one.shape}</code>
							</td>
							<td class="num">{one.interval}</td>
						</tr>
					))}
				</Table>
			</Panel>
		</>
	);
}

function TwoPrograms({ first, second }: { first: NamedProgram; second: NamedProgram }) {
	const compared = useMemo(() => compareOps(first.program.ops, second.program.ops), [first, second]);
	const only = (place: "first" | "second") => compared.filter((one) => one.in === place).length;
	const isSame = first.program.root === second.program.root;
	return (
		<>
			<Panel title="Compared" aside={`${first.name} and ${second.name}`}>
				<p role="status">
					{isSame
						? "They are the same program: one root."
						: `${formatCount(compared.length - only("first") - only("second"))} ops are in both, ${formatCount(only("first"))} only in the first (−), ${formatCount(only("second"))} only in the second (+).`}
				</p>
				<CostTiles program={first.program} />
				<CostTiles program={second.program} />
			</Panel>
			{isSame ? null : (
				<Panel title="Ops of both">
					<OpList label="Ops of both" ops={compared} />
				</Panel>
			)}
		</>
	);
}
