// A list of probes, newest first, for a provider's page and for all of them.
import type { ProbeSummary } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan } from "../parts/format.ts";
import { Empty, Failed, Id, Loading, Time, VerdictBadge } from "../parts/small.tsx";
import { type Column, WindowedTable } from "../parts/windowed-table.tsx";
import type { Paged } from "../shell/paged.ts";

const COLUMNS: readonly Column<ProbeSummary>[] = [
	{
		key: "probe",
		title: "Probe",
		widthRem: 7.5,
		cell: (row) => <Id id={row.id} href={`/probes/${row.id}`} label="Probe" />,
	},
	{
		key: "provider",
		title: "Provider",
		widthRem: 7.5,
		isMinor: true,
		cell: (row) => <Id id={row.providerId} href={`/providers/${row.providerId}`} label="Provider" />,
	},
	{
		key: "verdict",
		title: "Verdict",
		widthRem: 15,
		narrowRem: 5.5,
		cell: (row) => <VerdictBadge state={row.state === "done" ? row.verdict : row.state} code={row.code} />,
	},
	{
		key: "detail",
		title: "Why",
		widthRem: 14,
		isMinor: true,
		cell: (row) => <span title={row.detail ?? ""}>{row.detail ?? ""}</span>,
	},
	{
		key: "took",
		title: "Took",
		widthRem: 4,
		isNumber: true,
		isMinor: true,
		cell: (row) => (row.finishedAtMs === null ? "–" : formatSpan(row.finishedAtMs - row.startedAtMs)),
	},
	{
		key: "evidence",
		title: "Evidence",
		widthRem: 5,
		isNumber: true,
		isMinor: true,
		cell: (row) => (row.evidenceBytes === null ? "–" : formatBytes(row.evidenceBytes)),
	},
	{ key: "at", title: "Started", isNumber: true, widthRem: 5, cell: (row) => <Time atMs={row.startedAtMs} /> },
];
const OWN_COLUMNS = COLUMNS.filter(({ key }) => key !== "provider");

export function ProbeTable({ probes, withProvider }: { probes: Paged<ProbeSummary>; withProvider: boolean }) {
	if (probes.trouble !== null) return <Failed trouble={probes.trouble} again={probes.reload} />;
	if (probes.isFirst) return <Loading what="probes" />;
	if (probes.rows.length === 0) return <Empty title="No probe yet" />;
	return (
		<WindowedTable
			label="Probes"
			rows={probes.rows}
			rowKey={(row) => row.id}
			columns={withProvider ? COLUMNS : OWN_COLUMNS}
			hasMore={probes.hasMore}
			onNearEnd={probes.more}
		/>
	);
}
