// Epochs of a validator without a chain: what each validator said of each provider beside the median, and the shares of the emission; audited here from the signed
// reports. With a chain it is chain-epochs.tsx and chain-epoch.tsx.
import { useMemo } from "preact/hooks";
import type { Epoch, EpochScore } from "../../src/api/types.ts";
import { formatCount, formatMoney, formatScore, shortId } from "../parts/format.ts";
import { Empty, Failed, Id, Loading, PageTitle, Panel, Shown, Tile, Time } from "../parts/small.tsx";
import { type Column, WindowedTable } from "../parts/windowed-table.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { type Audit, type AuditedRow, auditEpoch, type SignedReport } from "./epoch-audit.ts";

export default function SignedEpochs({ number }: { number: number | null }) {
	return number === null ? <EpochList /> : <EpochPage key={number} number={number} />;
}

function EpochList() {
	const epochs = usePaged("epochs", (cursor, signal) =>
		api.listEpochs({ query: cursor === undefined ? { limit: 100 } : { limit: 100, cursor } }, { signal }),
	);
	useReloadOn(({ kind }) => kind.startsWith("epoch."), epochs.reload);
	return (
		<>
			<PageTitle sub="In each epoch every validator reports its scores, signed. The weight of a provider is the stake-weighted median.">
				Epochs
			</PageTitle>
			{epochs.trouble !== null ? (
				<Failed trouble={epochs.trouble} again={epochs.reload} />
			) : epochs.isFirst ? (
				<Loading what="epochs" />
			) : epochs.rows.length === 0 ? (
				<Empty title="No epoch yet" />
			) : (
				<WindowedTable
					label="Epochs"
					rows={epochs.rows}
					rowKey={(row) => String(row.number)}
					hasMore={epochs.hasMore}
					onNearEnd={epochs.more}
					columns={[
						{
							key: "number",
							title: "Epoch",
							cell: (row) => <a href={`/epochs/${row.number}`}>{formatCount(row.number)}</a>,
						},
						{ key: "state", title: "State", cell: (row) => row.state },
						{ key: "starts", title: "Began", isNumber: true, cell: (row) => <Time atMs={row.startsAtMs} /> },
						{ key: "ends", title: "Ends", isNumber: true, cell: (row) => <Time atMs={row.endsAtMs} /> },
						{ key: "emission", title: "Emission", isNumber: true, cell: (row) => formatMoney(row.emissionMicros) },
					]}
				/>
			)}
		</>
	);
}

interface WholeEpoch {
	readonly epoch: Epoch;
	readonly reports: readonly SignedReport[];
	readonly scores: readonly EpochScore[];
	readonly stakes: ReadonlyMap<string, number>;
	readonly names: ReadonlyMap<string, string>;
}

async function loadEpoch(number: number, signal: AbortSignal): Promise<WholeEpoch> {
	const [epoch, network] = await Promise.all([
		api.getEpoch({ params: { number } }, { signal }),
		api.network({}, { signal }),
	]);
	const reports = await Promise.all(
		epoch.reports.map(({ validator }) => api.getReport({ params: { number, validator } }, { signal })),
	);
	const scores: EpochScore[] = [];
	for await (const row of api.rows("listEpochScores", { params: { number }, query: { limit: 500 } }, { signal }))
		scores.push(row);
	return {
		epoch,
		reports,
		scores,
		stakes: new Map(network.validators.map(({ key, stake }) => [key, stake])),
		names: new Map(network.validators.map(({ key, name }) => [key, name])),
	};
}

function EpochPage({ number }: { number: number }) {
	const whole = useLoaded(`epoch ${number}`, (signal) => loadEpoch(number, signal));
	useReloadOn(({ kind }) => kind.startsWith("epoch."), whole.reload);
	return (
		<>
			<PageTitle sub={<a href="/epochs">All epochs</a>}>Epoch {number}</PageTitle>
			<Shown of={whole} what="the epoch">
				{(value) => <EpochView whole={value} />}
			</Shown>
		</>
	);
}

function paramOf(epoch: Epoch, name: string): number {
	const { params } = epoch;
	const value =
		typeof params === "object" && params !== null && !Array.isArray(params)
			? (params as Record<string, unknown>)[name]
			: undefined;
	return typeof value === "number" ? value : 0;
}

function EpochView({ whole }: { whole: WholeEpoch }) {
	const { epoch, reports, scores, stakes, names } = whole;
	const audit = useMemo(() => {
		try {
			return auditEpoch({
				reports,
				stakes,
				published: scores,
				emissionMicros: epoch.emissionMicros,
				clipPpm: paramOf(epoch, "clipPpm"),
				quorumPpm: paramOf(epoch, "quorumPpm"),
			});
		} catch {
			return null;
		}
	}, [epoch, reports, scores, stakes]);
	const columns: Column<AuditedRow>[] = [
		{
			key: "provider",
			title: "Provider",
			cell: (row) => <Id id={row.providerId} href={`/providers/${row.providerId}`} label="Provider" />,
		},
		...reports.map(({ validator }, i) => ({
			key: validator,
			title: names.get(validator) || shortId(validator),
			isNumber: true,
			cell: (row: AuditedRow) => (row.scores[i] == null ? "–" : formatScore(row.scores[i])),
		})),
		{ key: "median", title: "Median", isNumber: true, cell: (row) => formatScore(row.medianPpm) },
		{
			key: "weight",
			title: "Published",
			isNumber: true,
			cell: (row) => (row.publishedPpm === null ? "–" : formatScore(row.publishedPpm)),
		},
		{
			key: "share",
			title: "Reward",
			isNumber: true,
			cell: (row) => (row.shareMicros === null ? "–" : formatMoney(row.shareMicros)),
		},
	];
	return (
		<>
			<dl class="tiles">
				<Tile name="State" value={epoch.state} note={<Time atMs={epoch.closedAtMs ?? epoch.endsAtMs} />} />
				<Tile
					name="Emission"
					value={formatMoney(epoch.emissionMicros)}
					note={`to ${scores.filter(({ shareMicros }) => shareMicros > 0).length} providers`}
				/>
				<Tile name="Reports" value={epoch.reports.length} note={`of ${stakes.size} validators`} />
				<Tile
					name="Audit here"
					value={<AuditMark audit={audit} isOpen={epoch.state === "open"} />}
					note={auditNote(audit, epoch.state === "open")}
				/>
			</dl>
			<Panel title="Who reported">
				{epoch.reports.length === 0 ? (
					<Empty title="Nobody has reported yet" />
				) : (
					<ul class="feed">
						{epoch.reports.map(({ validator, receivedAtMs, scores: count }) => (
							<li key={validator}>
								<span>{names.get(validator) || "validator"}</span>
								<Id id={validator} />
								<span class="dim">
									{formatCount(count)} scores, stake {formatCount(stakes.get(validator) ?? 0)},{" "}
									{audit === null
										? ""
										: audit.unsigned.includes(validator)
											? "✕ signature is wrong"
											: "✓ signature holds"}
								</span>
								<Time atMs={receivedAtMs} />
							</li>
						))}
					</ul>
				)}
			</Panel>
			<Panel title="Weights and rewards">
				{audit === null || audit.rows.length === 0 ? (
					<Empty title="No weights yet">They are there when the epoch is closed.</Empty>
				) : (
					<WindowedTable
						label="Weights and rewards"
						rows={audit.rows}
						rowKey={(row) => row.providerId}
						columns={columns}
					/>
				)}
			</Panel>
		</>
	);
}

function AuditMark({ audit, isOpen }: { audit: Audit | null; isOpen: boolean }) {
	if (audit === null) return <span class="unsure">? not possible</span>;
	if (isOpen) return <span class="dim">· still open</span>;
	if (audit.unsigned.length > 0) return <span class="differs">✕ signature</span>;
	if (!audit.quorum) return <span class="unsure">~ no quorum</span>;
	return audit.wrong === 0 ? <span class="agrees">✓ equal</span> : <span class="differs">≠ {audit.wrong} rows</span>;
}

function auditNote(audit: Audit | null, isOpen: boolean): string {
	if (audit === null || isOpen) return "";
	if (!audit.quorum) return "the weights before stand";
	return "medians and shares from the signed reports, with today's stakes";
}
