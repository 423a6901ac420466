// One provider: what it claims beside what it proved, its figures over time, its score term by term, its
// probes, its uptime, and how to rent it.
import type { ComponentType } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Provider } from "../../src/api/types.ts";
import { formatPercent } from "../../src/protocol/format-number.ts";
import { peerSpeeds } from "../../src/verify/hardware/peer-speeds.ts";
import { ChainPanel } from "../chain/chain-panel.tsx";
import { ProviderWorkPanel } from "../market/provider-work.tsx";
import {
	figureTitle,
	formatFigure,
	formatMoney,
	formatScore,
	formatSpan,
	gpuPriceMicros,
	shortId,
} from "../parts/format.ts";
import { LineChart } from "../parts/line-chart.tsx";
import {
	CopyButton,
	Empty,
	exactTime,
	Failed,
	Id,
	Loading,
	PageTitle,
	Panel,
	Shown,
	Tile,
	Time,
	VerdictBadge,
} from "../parts/small.tsx";
import { AttestedPanel } from "../proofs/attested.tsx";
import { CallBadge } from "../proofs/call-badge.tsx";
import { ClaimedPanel } from "../proofs/claims-table.tsx";
import { PeerMap } from "../proofs/peer-map.tsx";
import { ProbeTable } from "../proofs/probe-table.tsx";
import { ScoreTree } from "../proofs/score-tree.tsx";
import { provenCards } from "../rent/proven-columns.tsx";
import { api, useLoaded, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";

export default function ProviderPage({ id }: { id: string }) {
	const provider = useLoaded(id, (signal) => api.getProvider({ params: { id } }, { signal }));
	const score = useLoaded(`score ${id}`, (signal) => api.getProviderScore({ params: { id } }, { signal }));
	const probes = usePaged(`probes ${id}`, (page, signal) =>
		api.listProviderProbes({ params: { id }, query: { limit: 100, ...page } }, { signal }),
	);
	useReloadOn(
		(event) => event.providerId === id && event.kind !== "probe.progress",
		() => {
			provider.reload();
			score.reload();
			probes.reload();
		},
	);
	if (provider.value === null && provider.trouble !== null)
		return (
			<>
				<PageTitle>Provider {shortId(id)}</PageTitle>
				<Failed trouble={provider.trouble} again={provider.reload} />
			</>
		);
	if (provider.value === null) return <Loading what="the provider" lines={8} />;
	const shown = provider.value;
	const peers = peerSpeeds(shown.figures);
	const sustained = shown.figures.find(({ name }) => name.endsWith(".sustained"));
	return (
		<>
			<PageTitle
				sub={
					<>
						<Id id={shown.id} /> <CopyButton text={shown.id} label="Copy id" /> {shown.link} link, registered{" "}
						<Time atMs={shown.registeredAtMs} />
					</>
				}
			>
				{shown.name || shortId(shown.id)}
			</PageTitle>
			<ProviderTiles provider={shown} />
			{shown.suspicion === null ? null : (
				<p class="unsure" role="note">
					⚠ Under suspicion: {shown.suspicion}
				</p>
			)}
			<ClaimedPanel provider={shown} />
			<AttestedPanel of={shown.attestation} />
			<div class="columns">
				<FiguresPanel provider={shown} />
				<Panel title="Score">
					{score.value === null && score.trouble?.code === "SCORE_UNKNOWN" ? (
						<Empty title="Not scored yet">A score comes with the first valid probe.</Empty>
					) : (
						<Shown of={score} what="the score">
							{(value) => <ScoreTree score={value} />}
						</Shown>
					)}
				</Panel>
				{sustained === undefined ? null : (
					<Panel title="Sustained speed" aside="from the evidence of the last proof">
						<Sustained sha256={sustained.evidenceSha256} />
					</Panel>
				)}
				{peers === null ? null : (
					<Panel title="Between devices">
						<PeerMap peers={peers} />
					</Panel>
				)}
			</div>
			<PresencePanel id={shown.id} />
			<ChainPanel providerId={shown.id} />
			<ProviderWorkPanel id={shown.id} />
			<Panel title="Probes">
				<ProbeTable probes={probes} withProvider={false} />
			</Panel>
		</>
	);
}

/** The last roll calls of this host; nothing where there is no chain. */
function PresencePanel({ id }: { id: string }) {
	const calls = useLoaded(`calls ${id}`, (signal) =>
		api.listProviderRollCalls({ params: { id }, query: { limit: 24 } }, { signal }),
	);
	useReloadOn(({ kind }) => kind === "roll-call.done", calls.reload);
	const rows = calls.value?.rows ?? [];
	if (rows.length === 0) return null;
	const counted = rows.filter(({ state }) => state !== "excused" && state !== "uncalled");
	const answered = counted.filter(({ state }) => state === "answered").length;
	return (
		<Panel title="Presence" aside={`${answered} of the last ${counted.length} roll calls answered`}>
			<ul class="calls">
				{rows.map(({ call, state, code, ms }) => (
					<li key={call}>
						<a href={`/roll-calls/${call}`}>call {call}</a>
						<CallBadge state={state} code={code} />
						<span class="dim num">{ms === null ? "" : formatSpan(ms)}</span>
					</li>
				))}
			</ul>
		</Panel>
	);
}

function ProviderTiles({ provider: shown }: { provider: Provider }) {
	// As the list of offers has it.
	const isOnline = shown.state === "active" && shown.connected && shown.link === "agent";
	const isFree = isOnline && !shown.rented && shown.rentable && shown.lastVerdict === "valid";
	return (
		<dl class="tiles">
			<Tile
				name="GPUs proven"
				value={<span title={shown.model ?? ""}>{provenCards(shown)}</span>}
				note={
					shown.lastValidAtMs === null ? (
						"no valid proof yet"
					) : (
						<>
							proof of <Time atMs={shown.lastValidAtMs} />
						</>
					)
				}
			/>
			<Tile
				name={shown.gpuCount > 0 ? "Price per GPU-hour" : "Price per hour"}
				value={shown.rentable ? formatMoney(gpuPriceMicros(shown)) : "–"}
				note={
					shown.rented ? (
						"rented now"
					) : isFree ? (
						<>
							<a href={`/rent?provider=${shown.id}`}>Rent it</a>
							{shown.gpuCount > 1 ? `: ${formatMoney(shown.pricePerHourMicros)} for all ${shown.gpuCount}` : ""}
						</>
					) : (
						"not for rent now"
					)
				}
			/>
			<Tile
				name="Last verdict"
				value={<VerdictBadge state={shown.lastVerdict} />}
				note={
					<>
						{shown.lastCode === null ? null : (
							<>
								<code>{shown.lastCode}</code>{" "}
							</>
						)}
						<Time atMs={shown.lastProbeAtMs} />
						{shown.failures > 0 ? `, ${shown.failures} ${shown.failures === 1 ? "failure" : "failures in a row"}` : ""}
					</>
				}
			/>
			<Tile
				name="Score"
				value={shown.scorePpm === null ? "–" : formatScore(shown.scorePpm)}
				note={`reliability ${formatPercent(shown.reliabilityPpm / 1e6)}`}
			/>
			<Tile
				name="Uptime"
				value={formatPercent(shown.uptimePpm / 1e6)}
				note={`${shown.state !== "active" ? shown.state : shown.connected ? "connected" : "away"} · ${formatPercent(shown.answeredPpm / 1e6)} of probes answered`}
			/>
			<Tile
				name="Next probe"
				value={<Time atMs={shown.nextProbeAtMs} never="–" />}
				note={shown.rented ? "not while rented" : "at a random time"}
			/>
		</dl>
	);
}

/** What most come for. */
const FIRST_FIGURES = ["gemm.fp16", "gemm.int8"];

function firstChoice(choices: Provider["figures"]): Provider["figures"][number] | undefined {
	const wanted = FIRST_FIGURES.map((name) => choices.find((one) => one.name === name));
	return wanted.find((one) => one !== undefined) ?? choices[0];
}

function FiguresPanel({ provider }: { provider: Provider }) {
	const choices = provider.figures.filter(({ name }) => !name.startsWith("peer."));
	const [chosen, setChosen] = useState("");
	const wanted = choices.find(({ device, name }) => `${device} ${name}` === chosen) ?? firstChoice(choices);
	const points = useLoaded(
		`${provider.id} ${wanted?.device} ${wanted?.name} ${provider.lastValidAtMs}`,
		async (signal) =>
			wanted === undefined
				? []
				: (
						await api.listProviderFigures(
							{ params: { id: provider.id }, query: { name: wanted.name, device: wanted.device, limit: 200 } },
							{ signal },
						)
					).rows.toReversed(),
	);
	return (
		<Panel
			title="Figures over time"
			aside={
				choices.length === 0 ? undefined : (
					<select
						aria-label="Figure"
						value={wanted === undefined ? "" : `${wanted.device} ${wanted.name}`}
						onChange={(event) => setChosen(event.currentTarget.value)}
					>
						{choices.map(({ device, name }) => (
							<option key={`${device} ${name}`} value={`${device} ${name}`}>
								device {device}: {figureTitle(name)}
							</option>
						))}
					</select>
				)
			}
		>
			{wanted === undefined ? (
				<Empty title="No figure is proven yet" />
			) : (
				<Shown of={points} what="figures">
					{(rows) => (
						<LineChart
							label={figureTitle(wanted.name)}
							points={rows.map(({ atMs, value, unit }) => ({
								x: atMs,
								y: value,
								title: `${formatFigure(value, unit, wanted.name)}, ${exactTime(atMs)}`,
							}))}
							xFormat={(x) => exactTime(x).slice(5, 16)}
							yFormat={(y) => formatFigure(y, wanted.unit, wanted.name)}
						/>
					)}
				</Shown>
			)}
		</Panel>
	);
}

function Sustained({ sha256 }: { sha256: string }) {
	const [View, setView] = useState<ComponentType<{ sha256: string }> | null>(null);
	useEffect(() => {
		void import("../proofs/sustained-view.tsx").then(({ default: view }) => setView(() => view));
	}, []);
	return View === null ? <Loading what="the curve" /> : <View sha256={sha256} />;
}
