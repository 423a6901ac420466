// Two providers side by side, by proven figures; the better of two numbers is marked by word.
import type { Provider } from "../../src/api/types.ts";
import { formatPercent } from "../../src/protocol/format-number.ts";
import { shortName } from "../../src/verify/hardware/identify/short-name.ts";
import { figureTitle, formatFigure, formatMoney, formatScore, gpuPriceMicros, shortId } from "../parts/format.ts";
import { Empty, PageTitle, Panel, Shown, Table, Time, VerdictBadge } from "../parts/small.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { anyAttested } from "../rent/proven-columns.tsx";
import { api, useLoaded } from "../shell/api.ts";
import type { PageProps } from "../shell/shell.tsx";

export default function ComparePage({ place }: PageProps) {
	const [a, b] = [place.query.get("a") ?? "", place.query.get("b") ?? ""];
	return (
		<>
			<PageTitle sub={<a href="/providers">Back to the list</a>}>Compare</PageTitle>
			{a === "" || b === "" ? (
				<Empty title="Choose two providers in the list">Mark two of them and press “Compare” above the table.</Empty>
			) : (
				<Both key={`${a} ${b}`} a={a} b={b} />
			)}
		</>
	);
}

function Both({ a, b }: { a: string; b: string }) {
	const both = useLoaded(`${a} ${b}`, (signal) =>
		Promise.all([
			api.getProvider({ params: { id: a } }, { signal }),
			api.getProvider({ params: { id: b } }, { signal }),
		]),
	);
	return (
		<Shown of={both} what="both providers">
			{(value) => (
				<Panel title="Proven figures">
					{value.map((one) => (
						<Unsettled key={one.id} of={one} />
					))}
					<CompareTable both={value} />
				</Panel>
			)}
		</Shown>
	);
}

/** Why its figures are older than its last probe, or missing. */
function Unsettled({ of: { id, name, lastVerdict, lastCode, lastValidAtMs } }: { of: Provider }) {
	if (lastVerdict === "valid") return null;
	const older = lastValidAtMs === null ? "It has no figures yet." : "Its figures are those of the proof before.";
	return (
		<p class="compare-note">
			<a href={`/providers/${id}`}>{name || shortId(id)}</a>{" "}
			{lastVerdict === null
				? "was not probed yet."
				: lastVerdict === "inconclusive"
					? "was probed and nothing was proven, either way; it is probed again soon."
					: "failed its last probe: it proved nothing of what it claims."}{" "}
			{lastCode === null ? null : <code>{lastCode}</code>} {lastVerdict === null ? "" : older}
		</p>
	);
}

/** The best of a figure over the host's GPUs (or other devices, for figures that only those have). */
function bestOf({ figures }: Provider): Map<string, { value: number; unit: string }> {
	const best = new Map<string, { value: number; unit: string }>();
	for (const { name, value, unit } of figures)
		if (!name.startsWith("peer.") && value > (best.get(name)?.value ?? -1)) best.set(name, { value, unit });
	return best;
}

const nameHead = ({ id, name }: Provider) =>
	[
		<a key={id} href={`/providers/${id}`}>
			{name || shortId(id)}
		</a>,
		"num",
	] as const;

function CompareTable({ both }: { both: readonly [Provider, Provider] }) {
	const [left, right] = both;
	const figures = [bestOf(left), bestOf(right)] as const;
	const names = [...new Set([...figures[0].keys(), ...figures[1].keys()])];
	return (
		<Table label="Comparison" class="compare" head={["Figure", ...both.map(nameHead), ["2nd ÷ 1st", "num"]]}>
			<tr>
				<th scope="row">Last verdict</th>
				{both.map((one) => (
					<td key={one.id} class="num">
						<VerdictBadge state={one.lastVerdict} code={one.lastCode} />
					</td>
				))}
				<td />
			</tr>
			<tr>
				<th scope="row">Figures of the proof</th>
				{both.map((one) => (
					<td key={one.id} class="num">
						<Time atMs={one.lastValidAtMs} never="no valid proof yet" />
					</td>
				))}
				<td />
			</tr>
			<tr>
				<th scope="row">Proven</th>
				{both.map((one) => (
					<td key={one.id} class="num">
						{one.holdings.map(({ count, model }) => `${count}×${shortName(model)}`).join(", ") || "nothing"}
					</td>
				))}
				<td />
			</tr>
			{anyAttested(both) ? (
				<tr>
					<th scope="row">Attested</th>
					{both.map((one) => (
						<td key={one.id} class="num">
							<AttestedBadge of={one.attestation} />
						</td>
					))}
					<td />
				</tr>
			) : null}
			<NumberRow
				name="Price per GPU-hour"
				values={[gpuPriceMicros(left), gpuPriceMicros(right)]}
				format={formatMoney}
			/>
			<NumberRow name="Score" values={[left.scorePpm, right.scorePpm]} format={formatScore} />
			{names.map((name) => {
				const values = figures.map((best) => best.get(name)?.value ?? null) as [number | null, number | null];
				const unit = (figures[0].get(name) ?? figures[1].get(name))!.unit;
				return (
					<NumberRow
						key={name}
						name={figureTitle(name)}
						values={values}
						format={(value) => formatFigure(value, unit, name)}
					/>
				);
			})}
			<NumberRow name="Uptime" values={[left.uptimePpm, right.uptimePpm]} format={formatPpm} />
			<NumberRow name="Reliability" values={[left.reliabilityPpm, right.reliabilityPpm]} format={formatPpm} />
		</Table>
	);
}

const formatPpm = (ppm: number): string => formatPercent(ppm / 1e6);

function NumberRow(p: {
	name: string;
	values: readonly [number | null, number | null];
	format: (value: number) => string;
}) {
	const [left, right] = p.values;
	return (
		<tr>
			<th scope="row">{p.name}</th>
			<td class="num">{left === null ? "–" : p.format(left)}</td>
			<td class="num">{right === null ? "–" : p.format(right)}</td>
			<td class="num">{left === null || right === null || left === 0 ? "–" : `${(right / left).toFixed(2)} ×`}</td>
		</tr>
	);
}
