// What this is, what to do next, and the network as it is now: hosts, cards by model, what was proven in
// total, a day of probes, and what happens as it happens.
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { Chain, Network, NetworkEvent, ProbeSummary } from "../../src/api/types.ts";
import { formatBytes, formatPercent, formatRate } from "../../src/protocol/format-number.ts";
import { shortName } from "../../src/verify/hardware/identify/short-name.ts";
import { ChainLine } from "../chain/chain-line.tsx";
import { useChain } from "../chain/use-chain.ts";
import { formatCount, formatGpuPrice, formatSpan } from "../parts/format.ts";
import { CopyButton, Empty, exactTime, PageTitle, Panel, Shown, Tile } from "../parts/small.tsx";
import { Sparkline } from "../parts/sparkline.tsx";
import { ProbeFeed } from "../proofs/probe-feed.tsx";
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
	const interval = network.value === null ? "" : ` about every ${formatSpan(network.value.intervalMs)}`;
	return (
		<>
			<PageTitle
				sub={`assay tests every GPU host here${interval}, at a random time, and publishes the evidence. You see what was measured, not what was claimed.`}
			>
				A network of proven GPUs
			</PageTitle>
			<NextSteps chain={chain.value?.chain ?? null} />
			<Shown of={network} what="the network">
				{(now) => (
					<>
						<NetworkTiles now={now} />
						<ChainLine chain={chain} />
						<div class="columns">
							<ProbesPanel recent={recent} intervalMs={now.intervalMs} progress={progress} />
							<ModelsPanel now={now} />
						</div>
					</>
				)}
			</Shown>
		</>
	);
}

/** People come here who have work, who need a GPU, who have one, and who were handed a file. */
function NextSteps({ chain }: { chain: Chain | null }) {
	const cheapest = useLoaded(
		"cheapest",
		async (signal) =>
			(await api.listOffers({ query: { sort: "gpuPrice", minDevices: 1, limit: 1 } }, { signal })).rows[0] ?? null,
	);
	const command = `assay provide --validator ${location.origin}`;
	return (
		<ul class="steps">
			<Step title="Run a job" action={<a href="/jobs/new">Choose a job</a>}>
				Train a model, render or simulate on hosts here. The result is checked before it is paid.
				{chain?.trialAccounts ? " On this trial network it costs nothing, and you need no wallet." : ""}
			</Step>
			<Step title="Rent a GPU" action={<a href="/rent">See offers</a>}>
				{cheapest.value === null
					? "Hosts with a fresh valid proof. You get a shell with your own SSH key."
					: `From ${formatGpuPrice(cheapest.value)}. You get a shell with your own SSH key.`}
			</Step>
			<Step title="List your GPU" action={<CopyButton text={command} label="Copy command" />}>
				Run this on the GPU machine; its first probe starts at once: <code>{command}</code>
			</Step>
			<Step title="Verify a file" action={<a href="/verify">Open the verifier</a>}>
				Check an evidence file in your browser. It is not uploaded, and no account is needed.
			</Step>
			<LiarStep isTrial={chain?.isEmbedded ?? false} />
		</ul>
	);
}

const LIAR_COMMAND = "npm start -- --liar";

/** Where a lie was proven, how; on a trial network without one, how to see one. */
function LiarStep({ isTrial }: { isTrial: boolean }) {
	const frauds = useLoaded(
		"newest fraud",
		async (signal) => (await api.listFrauds({ query: { limit: 1 } }, { signal })).rows[0] ?? null,
	);
	useReloadOn(({ kind }) => kind.startsWith("job."), frauds.reload, 2000);
	const fraud = frauds.value;
	if (fraud !== null)
		return (
			<Step title="See a liar caught" action={<a href={`/disputes/${fraud.claim}`}>See how</a>}>
				A provider of this network claimed a number that is false. A file of a few kilobytes proves it.
			</Step>
		);
	if (!isTrial) return null;
	return (
		<Step title="See a liar caught" action={<CopyButton text={LIAR_COMMAND} label="Copy command" />}>
			Start a network whose provider changes one number, and watch it being convicted: <code>{LIAR_COMMAND}</code>
		</Step>
	);
}

function Step(p: { title: string; action: ComponentChildren; children: ComponentChildren }) {
	return (
		<li class="step">
			<h2>{p.title}</h2>
			<p class="dim">{p.children}</p>
			<p class="step-action">{p.action}</p>
		</li>
	);
}

function NetworkTiles({ now }: { now: Network }) {
	const { probes, providers, evidence, proven } = now;
	const ended = probes.day.valid + probes.day.invalid + probes.day.inconclusive;
	const hours = (what: string, of: (hour: Network["probes"]["hours"][number]) => number) => (
		<Sparkline
			label={`${what} by the hour, the last 24 hours`}
			values={probes.hours.map((hour) => ({
				value: of(hour),
				title: `${exactTime(hour.atMs).slice(11, 16)} UTC: ${formatCount(of(hour))}`,
			}))}
		/>
	);
	return (
		<dl class="tiles by-four">
			<Tile
				name="GPUs proven"
				value={formatCount(now.gpus)}
				note={`${now.models.length} ${now.models.length === 1 ? "model" : "models"}`}
			/>
			<Tile
				name="Hosts proven"
				value={formatCount(providers.proven)}
				note={`of ${formatCount(providers.active)}; ${formatCount(providers.connected)} connected, ${formatCount(providers.rented)} rented`}
			/>
			<Tile name="fp16, all GPUs" value={formatRate(proven.fp16MopPerS * 1e6, "FLOPS")} note="sum of proven speeds" />
			<Tile
				name="GPU memory, all GPUs"
				value={formatBytes(proven.memoryMiB * 2 ** 20)}
				note={`${formatRate(proven.memoryMBPerS * 1e6, "B/s")} read`}
			/>
			<Tile
				name="Probes, last hour"
				value={formatCount(probes.lastHour)}
				note={`${formatCount(probes.running)} running, ${formatCount(probes.due)} due`}
				chart={hours("Probes", (hour) => hour.valid + hour.invalid + hour.inconclusive)}
			/>
			<Tile
				name="Valid, last 24 h"
				value={ended === 0 ? "–" : formatPercent(probes.day.valid / ended)}
				note={`${formatCount(probes.day.invalid)} invalid, ${formatCount(probes.day.inconclusive)} inconclusive`}
				chart={hours("Valid probes", (hour) => hour.valid)}
			/>
			<Tile
				name="Cheats caught, last 24 h"
				value={formatCount(probes.cheats.day)}
				note={`false answers; ${formatCount(probes.cheats.total)} in all`}
				chart={hours("Cheats caught", (hour) => hour.cheats)}
			/>
			<Tile
				name="Evidence kept"
				value={`${formatCount(evidence.files)} ${evidence.files === 1 ? "file" : "files"}`}
				note={`${formatBytes(evidence.bytes)} that anyone can check`}
				chart={hours("Evidence files", (hour) => hour.files)}
			/>
		</dl>
	);
}

function ModelsPanel({ now }: { now: Network }) {
	return (
		<Panel title="GPUs by model" aside={`${formatCount(now.gpus)} GPUs`}>
			{now.models.length === 0 ? (
				<Empty title="No GPU is proven yet">
					Start <code>assay provide</code> on a GPU machine; its first probe starts at once.
				</Empty>
			) : (
				<ul class="bars">
					{now.models.slice(0, 12).map((row) => (
						<li key={row.model}>
							<a href={`/providers?model=${encodeURIComponent(row.model)}`} title={row.model}>
								{shortName(row.model)}
							</a>
							<meter min={0} max={now.models[0]!.gpus} value={row.gpus} aria-label={`GPUs of model ${row.model}`} />
							<span class="num">{formatCount(row.gpus)}</span>
							<span class="dim num">
								{formatCount(row.providers)} {row.providers === 1 ? "host" : "hosts"}
							</span>
						</li>
					))}
				</ul>
			)}
		</Panel>
	);
}

function ProbesPanel(p: {
	recent: Loaded<readonly ProbeSummary[]>;
	intervalMs: number;
	progress: ReadonlyMap<string, string>;
}) {
	return (
		<Panel title="Probes, live" aside={<a href="/probes">All probes</a>}>
			<Shown of={p.recent} what="probes">
				{(rows) =>
					rows.length === 0 ? (
						<Empty title="No probe yet">
							Each host is tested about every {formatSpan(p.intervalMs)}, at a random time.
						</Empty>
					) : (
						<ProbeFeed probes={rows} progress={p.progress} />
					)
				}
			</Shown>
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
