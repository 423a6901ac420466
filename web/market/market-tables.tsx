// The market's tables: providers by work done, prices by workload, who accused, and who was caught with the
// evidence that shows it. Names and kinds are strangers' words.
import type { FraudOfJob, JobMarket, ProbeSummary } from "../../src/api/types.ts";
import { isCheat } from "../../src/protocol/cheat-codes.ts";
import { formatUnits } from "../disputes/dispute-words.tsx";
import { CURRENCY, formatCount, formatMoney } from "../parts/format.ts";
import { Badge, Empty, IdCell, Panel, Table, Time } from "../parts/small.tsx";

export function ProvidersTable({ providers }: { providers: JobMarket["providers"] }) {
	const head = [
		"Provider",
		["Earned", "num"],
		["Paid", "num"],
		["Checked", "num"],
		["Lost", "num"],
		["Late", "num"],
		["Declined", "num"],
		["Handed back", "num"],
		["Convicted", "num"],
	] as const;
	return (
		<Panel title="Work done, by provider" aside="parts of jobs; each row is public">
			<Table label="Work done, by provider" head={head} none="Nobody has finished a part yet">
				{providers.map((one) => (
					<tr key={one.provider}>
						<IdCell id={one.provider} href={`/providers/${one.provider}`} label="provider" />
						<td class="num">{formatMoney(one.valueMicros)}</td>
						<td class="num">{formatCount(one.paid)}</td>
						<td class="num">{formatCount(one.checked)}</td>
						<td class="num">{formatCount(one.lost)}</td>
						<td class="num">{formatCount(one.late)}</td>
						<td class="num">{formatCount(one.declined)}</td>
						<td class="num">{formatCount(one.returned)}</td>
						<td class="num">
							{one.convicted === 0 ? "0" : <Badge tone="invalid">{formatCount(one.convicted)}</Badge>}
						</td>
					</tr>
				))}
			</Table>
		</Panel>
	);
}

export function PricesTable({ workloads }: { workloads: JobMarket["workloads"] }) {
	const head = ["Workload", ["Jobs", "num"], ["A part", "num"], ["A job", "num"]] as const;
	return (
		<Panel title="Prices by workload" aside="medians of the newest 2,000 jobs, work alone">
			{workloads.length === 0 ? (
				<Empty title="No job yet">
					<a href="/jobs/new">Hand one in</a>
				</Empty>
			) : (
				<Table label="Prices by workload" head={head}>
					{workloads.map(({ kind, jobs, partMicros, jobMicros }) => (
						<tr key={kind}>
							<td>{kind}</td>
							<td class="num">{formatCount(jobs)}</td>
							<td class="num">{formatMoney(partMicros)}</td>
							<td class="num">{formatMoney(jobMicros)}</td>
						</tr>
					))}
				</Table>
			)}
		</Panel>
	);
}

export function WatchersTable({ watchers }: { watchers: JobMarket["watchers"] }) {
	return (
		<Panel title="Who found them" aside="accusers, by the chain’s record">
			{watchers.length === 0 ? (
				<Empty title="Nobody was accused yet">
					Anyone may watch: <code>assay watch</code>
				</Empty>
			) : (
				<Table label="Accusers" head={["Account", ["Convictions", "num"], [`Earned, ${CURRENCY}`, "num"]]}>
					{watchers.map(({ account, convictions, earned }) => (
						<tr key={account}>
							<IdCell id={account} />
							<td class="num">{formatCount(convictions)}</td>
							<td class="num">{formatUnits(earned)}</td>
						</tr>
					))}
				</Table>
			)}
		</Panel>
	);
}

/**
 * Only what no honest host can cause: a proven fraud of a job, or a probe whose answers contradict its own
 * commitment or seed.
 */
export function CaughtTable({ frauds, probes }: { frauds: readonly FraudOfJob[]; probes: readonly ProbeSummary[] }) {
	const rows = [
		...frauds.map(({ hash, claim, accused, atMs }) => ({
			...{ key: hash, who: accused, atMs, what: "a false claim", code: "" },
			link: { href: `/disputes/${claim}`, text: "the number" },
		})),
		...probes
			.filter(({ code }) => isCheat(code))
			.map(({ id, providerId, code, finishedAtMs, startedAtMs }) => ({
				...{ key: id, who: providerId, atMs: finishedAtMs ?? startedAtMs, what: "a probe", code: code ?? "" },
				link: { href: `/probes/${id}`, text: "the evidence" },
			})),
	].sort((a, b) => b.atMs - a.atMs);
	return (
		<Panel title="Cheats caught" aside="only what no honest host can cause; the newest">
			<Table
				label="Cheats caught"
				head={["Provider", "By", "Shown by", ["When", "num minor"]]}
				none="Nobody was caught yet"
			>
				{rows.slice(0, 50).map(({ key, who, what, code, link, atMs }) => (
					<tr key={key}>
						<IdCell id={who} href={`/providers/${who}`} label="provider" />
						<td>
							{what} {code === "" ? null : <code>{code}</code>}
						</td>
						<td>
							<a href={link.href}>
								{link.text}
								<span class="hidden"> of {key.slice(0, 8)}</span>
							</a>
						</td>
						<td class="num minor">
							<Time atMs={atMs} />
						</td>
					</tr>
				))}
			</Table>
		</Panel>
	);
}
