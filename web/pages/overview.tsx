// The network as it is now: hosts, devices by model, what was proven in total, probes, cheaters, and what happens as it happens.
import { useState } from "preact/hooks";
import type { Network, NetworkEvent, ProbeSummary } from "../../src/api/types.ts";
import { formatBytes, formatRate } from "../../src/protocol/format-number.ts";
import { EpochsInFlight } from "../chain/chain-parts.tsx";
import { ChainTiles } from "../chain/chain-tiles.tsx";
import { type FollowedChain, useChain } from "../chain/use-chain.ts";
import { formatCount, formatSpan } from "../parts/format.ts";
import { Empty, Failed, Id, PageTitle, Panel, Shown, Tile, Time, VerdictBadge } from "../parts/small.tsx";
import { AttestedBadge } from "../proofs/attested.tsx";
import { api, type Loaded, useEvents, useLoaded, useReloadOn } from "../shell/api.ts";

const FEED_ROWS = 14;

export default function OverviewPage() {
	const network = useLoaded("network", (signal) => api.network({}, { signal }));
	const recent = useLoaded(
		"recent",
		async (signal) => (await api.listProbes({ query: { limit: FEED_ROWS } }, { signal })).rows,
	);
	const chain = useChain();
	useReloadOn(
		({ kind }) => kind !== "probe.progress",
		() => {
			network.reload();
			recent.reload();
		},
	);
	const [progress, setProgress] = useState<ReadonlyMap<string, string>>(new Map());
	useEvents((event) => {
		if (event.kind === "probe.progress") setProgress((before) => withProgress(before, event));
	});
	return (
		<>
			<PageTitle sub="Every GPU here is re-tested again and again, at random times. Only measured results count.">
				The network now
			</PageTitle>
			<Shown of={network} what="the network">
				{(now) => (
					<>
						<NetworkTiles now={now} chain={chain} />
						<ChainState chain={chain} />
						<div class="columns">
							<ModelsPanel now={now} />
							<ProbesPanel recent={recent} intervalMs={now.intervalMs} progress={progress} />
						</div>
					</>
				)}
			</Shown>
		</>
	);
}

function NetworkTiles({ now, chain }: { now: Network; chain: Loaded<FollowedChain> }) {
	return (
		<dl class="tiles by-four">
			<Tile
				name="Hosts proven"
				value={formatCount(now.providers.proven)}
				note={`${formatCount(now.providers.connected)} connected, ${formatCount(now.providers.active)} active`}
			/>
			<Tile
				name="GPUs proven"
				value={formatCount(now.gpus)}
				note={`${now.models.length} ${now.models.length === 1 ? "model" : "models"}, ${formatCount(now.providers.rented)} hosts rented`}
			/>
			<Tile
				name="fp16 matrix, all GPUs"
				value={formatRate(now.proven.fp16MopPerS * 1e6, "op/s")}
				note="sum of proven speeds"
			/>
			<Tile
				name="GPU memory, all GPUs"
				value={formatBytes(now.proven.memoryMiB * 2 ** 20)}
				note={`resident; ${formatRate(now.proven.memoryMBPerS * 1e6, "B/s")} read`}
			/>
			<Tile
				name="Probes an hour"
				value={anHour(now.probes.day.valid + now.probes.day.invalid + now.probes.day.inconclusive)}
				note={`last 24 h; ${formatCount(now.probes.running)} running, ${formatCount(now.probes.due)} due`}
			/>
			<Tile
				name="Cheats caught"
				value={formatCount(now.probes.day.invalid)}
				note={`last 24 h; ${formatCount(now.probes.total.invalid)} in all`}
			/>
			<Tile
				name="Evidence kept"
				value={formatCount(now.evidence.files)}
				note={`${formatBytes(now.evidence.bytes)} that anyone can check again`}
			/>
			{chain.value?.chain ? (
				<Tile
					name="Validators"
					value={formatCount(chain.value.chain.validators)}
					note="report every provider’s score, each epoch"
				/>
			) : (
				<Tile name="Epoch" value="–" note={chain.value === null ? "" : "none without a chain"} />
			)}
		</dl>
	);
}

function ModelsPanel({ now }: { now: Network }) {
	return (
		<Panel title="Devices by model" aside={`${formatCount(now.gpus)} GPUs`}>
			{now.models.length === 0 ? (
				<Empty title="No GPU is proven yet">
					A provider dials in with <code>assay provide</code>; its first probe starts at once.
				</Empty>
			) : (
				<ul class="bars">
					{now.models.slice(0, 12).map((row) => (
						<li key={row.model}>
							<a href={`/providers?model=${encodeURIComponent(row.model)}`}>{row.model}</a>
							<meter min={0} max={now.models[0]!.gpus} value={row.gpus} aria-label={`GPUs of model ${row.model}`} />
							<span class="num">{formatCount(row.gpus)}</span>
							<span class="dim num">{formatCount(row.providers)} hosts</span>
						</li>
					))}
				</ul>
			)}
		</Panel>
	);
}

function ProbesPanel({
	recent,
	intervalMs,
	progress,
}: {
	recent: Loaded<readonly ProbeSummary[]>;
	intervalMs: number;
	progress: ReadonlyMap<string, string>;
}) {
	return (
		<Panel title="Probes" aside={<a href="/probes">all</a>}>
			<Shown of={recent} what="probes">
				{(rows) =>
					rows.length === 0 ? (
						<Empty title="No probe yet">
							Each host is tested about every {formatSpan(intervalMs)}, at a random time.
						</Empty>
					) : (
						<ul class="feed" aria-label="Newest probes">
							{rows.map((probe) => (
								<li key={probe.id}>
									<VerdictBadge state={probe.state === "done" ? probe.verdict : probe.state} code={probe.code} />
									<Id id={probe.id} href={`/probes/${probe.id}`} label="Probe" />
									<span class="dim feed-what">
										{probe.state === "running" ? (
											(progress.get(probe.id) ?? "")
										) : (
											<AttestedBadge of={probe.attestation} />
										)}
									</span>
									<Time atMs={probe.finishedAtMs ?? probe.startedAtMs} />
								</li>
							))}
						</ul>
					)
				}
			</Shown>
		</Panel>
	);
}

/** Of a day's count: a young network has a part of one. */
const anHour = (aDay: number): string =>
	aDay === 0 || aDay >= 240 ? formatCount(Math.round(aDay / 24)) : (aDay / 24).toFixed(aDay < 24 ? 2 : 1);

/** Nothing where there is no chain; where its node is silent, that. */
function ChainState({ chain: { value, trouble, reload } }: { chain: Loaded<FollowedChain> }) {
	if (value === null)
		return trouble === null ? null : (
			<Panel title="Chain">
				<Failed trouble={trouble} again={reload} />
			</Panel>
		);
	const { chain, skewMs } = value;
	if (chain === null) return null;
	return (
		<Panel title="Chain" aside={trouble === null ? <a href="/epochs">all epochs</a> : "its node does not answer"}>
			<ChainTiles chain={chain} skewMs={skewMs} />
			<EpochsInFlight epochs={chain.inFlight.slice(0, 3)} skewMs={skewMs} />
		</Panel>
	);
}

const MAX_REMEMBERED = 64;

function withProgress(
	before: ReadonlyMap<string, string>,
	{ subject, detail }: NetworkEvent,
): ReadonlyMap<string, string> {
	const now = new Map([...before].slice(-MAX_REMEMBERED));
	const { step, name } = (detail ?? {}) as { step?: unknown; name?: unknown };
	now.set(subject, typeof name === "string" ? name : String(step ?? ""));
	return now;
}
