// Roll calls: the last ones, what the network proved together in each, and one of them: who answered, and
// every public file to be verified right here.
import { useState } from "preact/hooks";
import type { RollCall, RollCallAnswer } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatCount, formatFigure, formatSpan } from "../parts/format.ts";
import { Empty, exactTime, Failed, HostLink, Id, PageTitle, Panel, Pending, Tile, Time } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { CallBadge } from "../proofs/call-badge.tsx";
import { api, type Trouble, troubleOf, useLoaded, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import type { PageProps } from "../shell/shell.tsx";
import { RollCallPanel } from "../verify/roll-call-panel.tsx";
import type { VerifiedFile } from "../verify/verify-in-worker.ts";

const isCall = ({ kind }: { readonly kind: string }) => kind.startsWith("roll-call.");

export default function RollCallsPage({ place }: PageProps) {
	const text = place.parts[1];
	if (text === undefined) return <CallList />;
	if (/^\d{1,15}$/.test(text)) return <CallPage key={text} call={Number(text)} />;
	return (
		<>
			<PageTitle>No such roll call</PageTitle>
			<Empty title="A roll call has a number: that of its block or drand round">
				<a href="/roll-calls">All roll calls</a>
			</Empty>
		</>
	);
}

/** Its work ÷ the time between the two blocks; null while there is no second one. */
function leastSpeed({ gigaOps, b0AtS, b1AtS }: RollCall): string | null {
	if (b1AtS === null || b1AtS <= b0AtS || gigaOps === 0) return null;
	return formatFigure(Math.floor((1e9 * gigaOps) / (b1AtS - b0AtS)), "op/s", "int8");
}

const NUMBER = { isNumber: true };
const MINOR = { isNumber: true, isMinor: true };
const COLUMNS: readonly Column<RollCall>[] = [
	column("call", "Call", 6, (row) => <a href={`/roll-calls/${row.call}`}>{formatCount(row.call)}</a>, {
		narrowRem: 3.4,
	}),
	column("state", "State", 9, (row) => <CallBadge state={row.state} code={row.code} />, { narrowRem: 5 }),
	column("hosts", "Answered", 6, (row) => `${formatCount(row.hosts)} of ${formatCount(row.counted)}`, {
		...NUMBER,
		narrowRem: 4.5,
	}),
	column("devices", "Devices", 5, (row) => formatCount(row.devices), MINOR),
	column("speed", "Together at least", 8, (row) => leastSpeed(row) ?? "–", MINOR),
	column("bytes", "Held", 7, (row) => formatBytes(1e6 * row.megaBytes), MINOR),
	column("at", "Called", 5, (row) => <Time atMs={row.calledAtMs} />, { ...NUMBER, narrowRem: 4.2 }),
];

function CallList() {
	const calls = usePaged("roll calls", (page, signal) =>
		api.listRollCalls({ query: { limit: 100, ...page } }, { signal }),
	);
	useReloadOn(isCall, calls.reload);
	const newest = calls.rows.find(({ state, hosts }) => state === "done" && hosts > 0);
	return (
		<>
			<PageTitle sub="A block of the chain, or a drand round, calls by its own hash, which hosts cannot foresee. Those that are called then work at the same time, and one transaction commits to all answers.">
				Roll calls
			</PageTitle>
			{newest === undefined ? null : <Together call={newest} />}
			<PagedTable
				of={calls}
				what="roll calls"
				keepsRows
				empty={<Empty title="No roll call yet">Without a chain there is none; with one it comes by itself.</Empty>}
				label="Roll calls"
				rowKey={(row) => `${row.contract} ${row.call}`}
				columns={COLUMNS}
			/>
		</>
	);
}

/** What the network proved in one call, in a sentence and in numbers. */
function Together({ call }: { call: RollCall }) {
	const { b0AtS, b1AtS, devices, hosts, counted, megaBytes } = call;
	const clock = (atS: number) => exactTime(1000 * atS).slice(11, 19);
	return (
		<Panel title="Proved together" aside={<a href={`/roll-calls/${call.call}`}>call {formatCount(call.call)}</a>}>
			{b1AtS === null || devices === 0 ? null : (
				<p>
					Between {clock(b0AtS)} and {clock(b1AtS)} UTC,{" "}
					{devices === 1 ? "one device" : `${formatCount(devices)} devices`} answered.
				</p>
			)}
			<dl class="tiles">
				<Tile
					name="Hosts"
					value={`${formatCount(hosts)} of ${formatCount(counted)}`}
					note="answered in time and rightly"
				/>
				<Tile name="int8 at least" value={leastSpeed(call) ?? "–"} note="all work ÷ the time between the two blocks" />
				<Tile
					name="Memory"
					value={formatBytes(1e6 * megaBytes)}
					note="sum of what each device held when it had answered"
				/>
			</dl>
		</Panel>
	);
}

function CallPage({ call }: { call: number }) {
	const row = useLoaded(`roll call ${call}`, (signal) => api.getRollCall({ params: { call } }, { signal }));
	const answers = usePaged(`answers ${call}`, (page, signal) =>
		api.listRollCallAnswers({ params: { call }, query: { limit: 100, ...page } }, { signal }),
	);
	useReloadOn(
		(event) => isCall(event) && event.subject === String(call),
		() => {
			row.reload();
			answers.reload();
		},
	);
	const [file, setFile] = useState<VerifiedFile | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const verify = (sha256: string) => {
		setTrouble(null);
		api.getEvidence({ params: { sha256 } }).then(
			(bytes) => setFile({ name: `${sha256.slice(0, 12)}.assay`, bytes }),
			(error) => setTrouble(troubleOf(error)),
		);
	};
	const shown = row.value;
	if (shown === null)
		return (
			<>
				<PageTitle>Roll call {formatCount(call)}</PageTitle>
				<Pending of={row} what="the roll call" lines={6} />
			</>
		);
	return (
		<>
			<PageTitle sub={<a href="/roll-calls">All roll calls</a>}>Roll call {formatCount(call)}</PageTitle>
			<CallTiles call={shown} />
			{shown.hosts === 0 ? null : <Together call={shown} />}
			{trouble === null ? null : <Failed trouble={trouble} />}
			{file === null ? null : (
				<Panel title="Checked in your browser" aside="against a node of your own: on the page Verify">
					<RollCallPanel key={file.name} file={file} against={{ node: "", contract: shown.contract }} />
				</Panel>
			)}
			<Panel title="Who answered" aside={<a href={`/v1/roll-calls/${call}/leaves`}>the tree’s leaves, for auditors</a>}>
				<PagedTable
					of={answers}
					what="answers"
					keepsRows
					empty={<Empty title="Nobody yet" />}
					label="Answers"
					rowKey={({ providerId }) => providerId}
					columns={answerColumns(verify)}
				/>
			</Panel>
		</>
	);
}

function CallTiles({ call }: { call: RollCall }) {
	const { state, code, b0AtS, b1, b2, leaves, transaction, deadlineMs, calledAtMs } = call;
	return (
		<dl class="tiles">
			<Tile name="State" value={<CallBadge state={state} code={code} />} note={<Time atMs={calledAtMs} />} />
			<Tile name="Called by" value={formatCount(call.call)} note={exactTime(1000 * b0AtS)} />
			<Tile
				name="Committed in block"
				value={b1 === null ? "–" : formatCount(b1)}
				note={transaction === null ? "not yet" : <Id id={transaction} />}
			/>
			<Tile
				name="Drawn by"
				value={b2 === null ? "–" : formatCount(b2)}
				note="a block or drand round after all had answered"
			/>
			<Tile
				name="Answers"
				value={leaves === null ? "–" : formatCount(leaves)}
				note={`within ${formatSpan(deadlineMs)}`}
			/>
		</dl>
	);
}

function answerColumns(verify: (sha256: string) => void): Column<RollCallAnswer>[] {
	return [
		column(
			"provider",
			"Provider",
			9,
			(row) => (
				<>
					<HostLink id={row.providerId} name={row.name} /> <AttestedBadge of={row.attestation} />
				</>
			),
			{ narrowRem: 6 },
		),
		column("state", "Answer", 12, (row) => <CallBadge state={row.state} code={row.code} />, { narrowRem: 5.4 }),
		column("ms", "After", 4, (row) => (row.ms === null ? "–" : formatSpan(row.ms)), MINOR),
		column("bytes", "Held", 5, (row) => (row.bytes === 0 ? "–" : formatBytes(row.bytes)), MINOR),
		column(
			"files",
			"Public files",
			12,
			(row) => (
				<span class="row">
					{row.files.map(({ device, sha256 }) => (
						<button key={device} type="button" class="small" onClick={() => verify(sha256)}>
							<span class="wide-only">Verify</span> device {device}
						</button>
					))}
				</span>
			),
			{ narrowRem: 4.8 },
		),
	];
}
