// A list of probes, newest first, for a provider's page and for all of them; cards on phones.
import type { ProbeSummary } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan } from "../parts/format.ts";
import { Empty, HostLink, Id, Time, VerdictBadge } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import type { Paged } from "../shell/paged.ts";
import { AttestedBadge } from "./attested.tsx";
import { cardsOf } from "./probe-feed.tsx";

const stateOf = ({ state, verdict }: ProbeSummary) => (state === "done" ? verdict : state);
const cardsShown = (row: ProbeSummary) => (row.verdict === "valid" ? (cardsOf(row.host) ?? "no GPU") : "");

const hostLink = ({ providerId, host }: ProbeSummary) => <HostLink id={providerId} name={host.name} />;
const minor = { isNumber: true, isMinor: true };
const HOST: readonly Column<ProbeSummary>[] = [
	column("host", "Host", 9, hostLink),
	column("cards", "GPUs", 9, cardsShown),
];
const ATTESTED = column<ProbeSummary>("attested", "Attested", 9, (row) => <AttestedBadge of={row.attestation} />);
const columnsOf = (withProvider: boolean, isAnyAttested: boolean): readonly Column<ProbeSummary>[] => [
	...(withProvider ? HOST : []),
	column("verdict", "Verdict", 6.6, (row) => <VerdictBadge state={stateOf(row)} />),
	column("code", "Why", 24, (row) =>
		row.code === null ? (
			""
		) : (
			<span title={row.detail ?? ""}>
				<code>{row.code}</code> <span class="dim">{row.detail}</span>
			</span>
		),
	),
	...(isAnyAttested ? [ATTESTED] : []),
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
	column("probe", "Probe", 7.5, (row) => <Id id={row.id} href={`/probes/${row.id}`} label="Probe" />),
];
const COLUMNS = { host: columnsOf(true, false), own: columnsOf(false, false) };
const ATTESTED_COLUMNS = { host: columnsOf(true, true), own: columnsOf(false, true) };

function ProbeCard({ row, withProvider }: { row: ProbeSummary; withProvider: boolean }) {
	const probe = <Id id={row.id} href={`/probes/${row.id}`} label="Probe" />;
	return (
		<>
			<p>
				<span class="card-title">{withProvider ? hostLink(row) : probe}</span>
				<VerdictBadge state={stateOf(row)} />
			</p>
			<p class="dim">
				<span>{row.code === null ? cardsShown(row) : <code>{row.code}</code>}</span>
				<AttestedBadge of={row.attestation} />
				{withProvider ? null : <Time atMs={row.startedAtMs} />}
			</p>
			{withProvider ? (
				<p class="dim">
					{probe}
					<Time atMs={row.startedAtMs} />
				</p>
			) : null}
		</>
	);
}

export function ProbeTable({ probes, withProvider }: { probes: Paged<ProbeSummary>; withProvider: boolean }) {
	const isAnyAttested = probes.rows.some(({ attestation }) => attestation !== null && attestation.shown !== "none");
	return (
		<PagedTable
			of={probes}
			what="probes"
			empty={<Empty title="No probe yet">The first probe of a host starts as soon as it dials in.</Empty>}
			label="Probes"
			rowKey={(row) => row.id}
			columns={(isAnyAttested ? ATTESTED_COLUMNS : COLUMNS)[withProvider ? "host" : "own"]}
			card={{ heightPx: withProvider ? 118 : 86, of: (row) => <ProbeCard row={row} withProvider={withProvider} /> }}
		/>
	);
}
