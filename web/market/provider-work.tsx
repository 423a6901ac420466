// A provider's work: its reputation with the rows that it is made of, the claims that it still answers for,
// and questions on the chain that wait for it.
import type { ProviderWork } from "../../src/api/types.ts";
import { formatPercent, wholeSpan } from "../../src/protocol/format-number.ts";
import { chainPlace, placeText } from "../disputes/dispute-way.ts";
import { isMove } from "../jobs/job-events.ts";
import { formatCount, formatLeft, formatMoney } from "../parts/format.ts";
import { useParams } from "../parts/network-params.ts";
import { Badge, IdCell, Panel, Pending, Table, Tile, Time, type Tone } from "../parts/small.tsx";
import { api, useLoaded, useNow, useReloadOn } from "../shell/api.ts";

const TONES: Readonly<Record<ProviderWork["rows"][number]["outcome"], Tone>> = {
	...{ checked: "valid", paid: "valid", lost: "inconclusive", late: "inconclusive" },
	...{ declined: "abandoned", returned: "abandoned", convicted: "invalid" },
};

export function ProviderWorkPanel({ id }: { id: string }) {
	const work = useLoaded(`work ${id}`, (signal) => api.getProviderWork({ params: { id } }, { signal }));
	useReloadOn(isMove, work.reload, 3000);
	const barredMs = useParams().value?.jobConvictionMs ?? null;
	if (work.value === null)
		return (
			<Panel title="Work">
				<Pending of={work} what="its work" lines={4} />
			</Panel>
		);
	const { reputation, rows, claims, questions } = work.value;
	// Most hosts are rented and take no jobs.
	if (rows.length === 0 && claims.length === 0) return null;
	return (
		<Panel title="Work" aside="recomputed from public rows">
			<Reputation of={reputation} barredMs={barredMs} />
			<h3>Claims it answers for</h3>
			{claims.length === 0 ? <p class="dim">None: everything was paid, or fell.</p> : <Claims claims={claims} />}
			<h3>Questions that wait for it</h3>
			{questions.length === 0 ? (
				<p class="dim">None on the chain. Silence past a clock costs the bond.</p>
			) : (
				<Questions questions={questions} skewMs={work.value.nowMs - Date.now()} />
			)}
			<h3>What became of its parts</h3>
			<Rows rows={rows} />
		</Panel>
	);
}

function Reputation({
	of: { counts, valueMicros, checkedInARow, isBarred, weightPpm },
	barredMs,
}: {
	of: ProviderWork["reputation"];
	/** How long a conviction keeps it from work; null: not known. */
	barredMs: number | null;
}) {
	return (
		<dl class="tiles">
			<Tile
				name="Standing"
				value={isBarred ? <Badge tone="invalid">convicted</Badge> : <Badge tone="valid">gets work</Badge>}
				note={
					isBarred
						? `no work ${barredMs === null ? "for a while" : `for ${wholeSpan(barredMs)}`} after a conviction`
						: `weight in draws ${formatPercent(weightPpm / 1e6)}`
				}
			/>
			<Tile name="Earned" value={formatMoney(valueMicros)} note={`${formatCount(counts.paid)} parts paid`} />
			<Tile name="Checked" value={formatCount(counts.checked)} note={`${formatCount(checkedInARow)} in a row`} />
			<Tile
				name="Not done"
				value={formatCount(counts.lost + counts.late)}
				note={`${formatCount(counts.lost)} lost, ${formatCount(counts.late)} late, ${formatCount(counts.declined)} declined, ${formatCount(counts.returned)} handed back`}
			/>
			<Tile name="Convicted" value={formatCount(counts.convicted)} note="claims proven false" />
		</dl>
	);
}

function Claims({ claims }: { claims: ProviderWork["claims"] }) {
	return (
		<Table label="Claims it answers for" head={["Claim", "Job", ["Part", "num"], "State", ["Claimed", "num"]]}>
			{claims.map(({ hash, job, part, state, atMs }) => (
				<tr key={hash}>
					<IdCell id={hash} href={`/disputes/${hash}`} label="claim" />
					<IdCell id={job} href={`/jobs/${job}`} label="job" />
					<td class="num">{part + 1}</td>
					<td>
						<Badge tone={state === "checked" ? "valid" : "running"}>{state}</Badge>
					</td>
					<td class="num">
						<Time atMs={atMs} />
					</td>
				</tr>
			))}
		</Table>
	);
}

function Questions({ questions, skewMs }: { questions: ProviderWork["questions"]; skewMs: number }) {
	const nowMs = useNow(1000) + skewMs;
	return (
		<Table label="Questions that wait for it" head={["Question", "Claim", "Asked by", ["Left", "num"]]}>
			{questions.map(({ claim, accuser, question, deadlineS }) => {
				const place = chainPlace(question);
				return (
					<tr key={`${claim} ${accuser}`}>
						<td>{place === null ? "not a question that can be read" : placeText(place)}</td>
						<IdCell id={claim} href={`/disputes/${claim}`} label="claim" />
						<IdCell id={accuser} />
						<td class="num">
							{1000 * deadlineS < nowMs ? (
								<Badge tone="invalid">past its clock</Badge>
							) : (
								formatLeft(1000 * deadlineS - nowMs)
							)}
						</td>
					</tr>
				);
			})}
		</Table>
	);
}

function Rows({ rows }: { rows: ProviderWork["rows"] }) {
	return (
		<Table
			label="What became of its parts"
			head={["Outcome", "Job", ["Part", "num"], ["Value", "num"], ["When", "num"]]}
		>
			{rows.slice(0, 30).map(({ job, part, attempt, outcome, valueMicros, atMs }) => (
				<tr key={`${job} ${part} ${attempt} ${outcome}`}>
					<td>
						<Badge tone={TONES[outcome]}>{outcome}</Badge>
					</td>
					<IdCell id={job} href={`/jobs/${job}`} label="job" />
					<td class="num">{part + 1}</td>
					<td class="num">{formatMoney(valueMicros)}</td>
					<td class="num">
						<Time atMs={atMs} />
					</td>
				</tr>
			))}
		</Table>
	);
}
