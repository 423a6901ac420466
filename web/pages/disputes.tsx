// Disputes: claims that fell, with the files that convicted them, and any one claim by its hash, live.
import type { ClaimOfJob, FraudOfJob } from "../../src/api/types.ts";
import { LiveDispute } from "../disputes/live-dispute.tsx";
import { shortId } from "../parts/format.ts";
import { Empty, Id, PageTitle, Time } from "../parts/small.tsx";
import { type Column, column, PagedTable } from "../parts/windowed-table.tsx";
import { api, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import { goTo } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";

export default function DisputesPage({ place }: PageProps) {
	const hash = place.parts[1];
	if (hash === undefined) return <DisputeList />;
	if (/^[0-9a-f]{64}$/.test(hash)) return <LiveDispute key={hash} hash={hash} />;
	return (
		<>
			<PageTitle>No such claim</PageTitle>
			<Empty title="A claim has a hash of 64 hex digits">
				<a href="/disputes">All disputes</a>
			</Empty>
		</>
	);
}

const FRAUDS: readonly Column<FraudOfJob>[] = [
	column("claim", "Claim", 8, (row) => <a href={`/disputes/${row.claim}`}>{shortId(row.claim)}</a>),
	column("accused", "Accused", 8, (row) => <Id id={row.accused} href={`/providers/${row.accused}`} label="provider" />),
	column("job", "Job", 8, (row) => <Id id={row.job} href={`/jobs/${row.job}`} label="job" />, { isMinor: true }),
	column("file", "Evidence", 8, (row) => <Id id={row.hash} />, { isMinor: true }),
	column("at", "Found", 5, (row) => <Time atMs={row.atMs} />, { isNumber: true }),
];

const FALLEN: readonly Column<ClaimOfJob>[] = [
	column("claim", "Claim", 8, (row) => <a href={`/disputes/${row.hash}`}>{shortId(row.hash)}</a>),
	column("provider", "Provider", 8, (row) => (
		<Id id={row.provider} href={`/providers/${row.provider}`} label="provider" />
	)),
	column("job", "Job", 8, (row) => <Id id={row.job} href={`/jobs/${row.job}`} label="job" />, { isMinor: true }),
	column("part", "Part", 4, (row) => row.part + 1, { isNumber: true }),
	column("at", "Claimed", 5, (row) => <Time atMs={row.atMs} />, { isNumber: true }),
];

const isJob = ({ kind }: { readonly kind: string }) => kind.startsWith("job.");

function DisputeList() {
	const frauds = usePaged<FraudOfJob>("frauds", (page, signal) =>
		api.listFrauds({ query: { limit: 100, ...page } }, { signal }),
	);
	const fallen = usePaged<ClaimOfJob>("fallen", (page, signal) =>
		api.listClaims({ query: { limit: 100, state: "fallen", ...page } }, { signal }),
	);
	useReloadOn(isJob, frauds.reload, 2000);
	useReloadOn(isJob, fallen.reload, 2000);
	return (
		<>
			<PageTitle sub="A claim stands until somebody shows one number in it that is false. These fell.">
				Disputes
			</PageTitle>
			<form
				class="bar"
				onSubmit={(event) => {
					event.preventDefault();
					const hash = String(new FormData(event.currentTarget).get("hash") ?? "").trim();
					if (hash !== "") goTo(`/disputes/${encodeURIComponent(hash)}`);
				}}
			>
				<label>
					Any claim, by its hash
					<input name="hash" autoComplete="off" spellcheck={false} placeholder="64 hex digits" />
				</label>
				<button type="submit">Show</button>
			</form>
			<h2>Fraud files</h2>
			<PagedTable
				of={frauds}
				what="fraud files"
				keepsRows
				empty={<Empty title="No fraud was proven here">Drop a fraud file of your own on the page Verify.</Empty>}
				label="Fraud files"
				rowKey={({ hash }) => hash}
				columns={FRAUDS}
			/>
			<h2>Claims that fell</h2>
			<PagedTable
				of={fallen}
				what="claims"
				keepsRows
				empty={
					<Empty title="No claim has fallen">Claims fall by a proof, by silence, or with one they were built on.</Empty>
				}
				label="Claims that fell"
				rowKey={({ hash }) => hash}
				columns={FALLEN}
			/>
		</>
	);
}
