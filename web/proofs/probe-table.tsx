// A list of probes, newest first, for a provider's page and for all of them.
import type { ProbeSummary } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan } from "../parts/format.ts";
import { Empty, Id, Time, VerdictBadge } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import type { Paged } from "../shell/paged.ts";
import { AttestedBadge } from "./attested.tsx";

const minor = { isNumber: true, isMinor: true };
const COLUMNS: readonly Column<ProbeSummary>[] = [
	column("probe", "Probe", 7.5, (row) => <Id id={row.id} href={`/probes/${row.id}`} label="Probe" />),
	column(
		"provider",
		"Provider",
		7.5,
		(row) => <Id id={row.providerId} href={`/providers/${row.providerId}`} label="Provider" />,
		{ isMinor: true },
	),
	column(
		"verdict",
		"Verdict",
		15,
		(row) => <VerdictBadge state={row.state === "done" ? row.verdict : row.state} code={row.code} />,
		{ narrowRem: 5.5 },
	),
	column("attested", "Attested", 9, (row) => <AttestedBadge of={row.attestation} />, { isMinor: true }),
	column("detail", "Why", 14, (row) => <span title={row.detail ?? ""}>{row.detail ?? ""}</span>, { isMinor: true }),
	column(
		"took",
		"Took",
		4,
		(row) => (row.finishedAtMs === null ? "–" : formatSpan(row.finishedAtMs - row.startedAtMs)),
		minor,
	),
	column(
		"evidence",
		"Evidence",
		5,
		(row) => (row.evidenceBytes === null ? "–" : formatBytes(row.evidenceBytes)),
		minor,
	),
	column("at", "Started", 5, (row) => <Time atMs={row.startedAtMs} />, { isNumber: true }),
];
const OWN_COLUMNS = COLUMNS.filter(({ key }) => key !== "provider");

export function ProbeTable({ probes, withProvider }: { probes: Paged<ProbeSummary>; withProvider: boolean }) {
	return (
		<PagedTable
			of={probes}
			what="probes"
			empty={<Empty title="No probe yet" />}
			label="Probes"
			rowKey={(row) => row.id}
			columns={withProvider ? COLUMNS : OWN_COLUMNS}
		/>
	);
}
