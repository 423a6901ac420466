// Programs: what a job computes, op by op, with shapes, intervals and cost; and what two of them have in common. A file never leaves this browser; it is checked as every
// provider checks it.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { compareOps, type DescribedProgram } from "../../src/work/program/describe-program.ts";
import { openJobWork } from "../jobs/work/job-work.ts";
import { formatCount } from "../parts/format.ts";
import { Empty, Failed, Id, PageTitle, Panel, Table, Tile } from "../parts/small.tsx";
import { OpList } from "../programs/op-list.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";

interface Named {
	readonly name: string;
	readonly program: DescribedProgram;
}

export default function ProgramsPage() {
	const [shown, setShown] = useState<readonly Named[]>([]);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const stop = useRef(() => {});
	useEffect(() => () => stop.current(), []);
	const take = async (files: readonly File[]) => {
		stop.current();
		const work = openJobWork();
		stop.current = () => work.close();
		setTrouble(null);
		try {
			const found: Named[] = [];
			for (const file of files.slice(0, 2))
				found.push({
					name: file.name,
					program: await work.ask("program", { file: new Uint8Array(await file.arrayBuffer()) }),
				});
			setShown(found);
		} catch (error) {
			setShown([]);
			setTrouble(troubleOf(error));
		}
		work.close();
	};
	const [first, second] = shown;
	return (
		<>
			<PageTitle sub="A job is a program of four operators over whole numbers, checked before anybody runs it. Drop one to read it, or two to compare them.">
				Programs
			</PageTitle>
			<Chooser onFiles={(files) => void take(files)} />
			{trouble === null ? null : <Failed trouble={trouble} />}
			{first === undefined ? (
				<Empty title="No program yet">
					<code>program.bin</code> lies in a run&#8217;s folder; <code>assay program show</code> prints one as text.
					Both can be dropped here.
				</Empty>
			) : second === undefined ? (
				<OneProgram of={first} />
			) : (
				<TwoPrograms first={first} second={second} />
			)}
		</>
	);
}

function Chooser({ onFiles }: { onFiles: (files: readonly File[]) => void }) {
	const input = useRef<HTMLInputElement>(null);
	return (
		// biome-ignore lint/a11y/noStaticElementInteractions: dropping is an extra; the button below does the same by keyboard.
		<div
			class="drop"
			onDragOver={(event) => event.preventDefault()}
			onDrop={(event) => {
				event.preventDefault();
				onFiles([...(event.dataTransfer?.files ?? [])]);
			}}
		>
			<p class="drop-title">Drop one program, or two</p>
			<button type="button" class="primary" onClick={() => input.current?.click()}>
				Choose files
			</button>
			<input
				ref={input}
				type="file"
				multiple
				class="hidden"
				tabIndex={-1}
				aria-label="Program files"
				onChange={(event) => {
					onFiles([...(event.currentTarget.files ?? [])]);
					event.currentTarget.value = "";
				}}
			/>
		</div>
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

function OneProgram({ of: { name, program } }: { of: Named }) {
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
					<tbody>
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
					</tbody>
				</Table>
			</Panel>
		</>
	);
}

function TwoPrograms({ first, second }: { first: Named; second: Named }) {
	const compared = compareOps(first.program.ops, second.program.ops);
	const only = (place: "first" | "second") => compared.filter((one) => one.in === place).length;
	const isSame = first.program.root === second.program.root;
	return (
		<Panel title="Compared" aside={`${first.name} and ${second.name}`}>
			<p role="status">
				{isSame
					? "They are the same program: one root."
					: `${formatCount(compared.length - only("first") - only("second"))} ops are in both, ${formatCount(only("first"))} only in the first (−), ${formatCount(only("second"))} only in the second (+).`}
			</p>
			<CostTiles program={first.program} />
			<CostTiles program={second.program} />
			{isSame ? null : <OpList label="Ops of both" ops={compared} />}
		</Panel>
	);
}
