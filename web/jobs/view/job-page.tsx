// One job, live. What is public (parts, claims, draws) everybody sees; curve, pictures, prices and the log
// only its customer.
import { useMemo, useState } from "preact/hooks";
import type { Job, JobHostView } from "../../../src/api/types.ts";
import { totalMicros } from "../../../src/market/jobs/check-offer.ts";
import { formatBytes, formatRate } from "../../../src/protocol/format-number.ts";
import { methodOf, methodText } from "../../../src/verify/methods/methods.ts";
import { CURRENCY, formatCount, formatExactMoney, formatLeft, shortId } from "../../parts/format.ts";
import { Badge, exactTime, Failed, Id, PageTitle, Panel, Pending, Tile, Time } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import { api, type Trouble, troubleOf, useLoaded, useNow, useReloadOn } from "../../shell/api.ts";
import { WhyPanel } from "../../why/why-panel.tsx";
import { isMove, type LiveJob, stepsPerS } from "../job-events.ts";
import { DrawsPanel, PartsPanel } from "../job-parts.tsx";
import { ProofsPanel } from "../proofs-panel.tsx";
import { modelOf, RoundingReport } from "../rounding-report.tsx";
import { cancelJob, openWallet } from "../work/wallet.ts";
import { Checkpoints } from "./checkpoints.tsx";
import { Curve } from "./curve.tsx";
import { Preview, useJobWork } from "./preview.tsx";
import { ResultPanel } from "./result.tsx";
import { type Story, storyOf } from "./story.ts";
import { Timeline } from "./timeline.tsx";
import { useLiveJob } from "./use-live-job.ts";

export function JobPage({ id, customer }: { id: string; customer: Customer | null }) {
	const draws = useLoaded(`draws ${id}`, (signal) => api.getJobDraws({ params: { id } }, { signal }));
	const own = useLoaded(`job ${id}`, async (signal) =>
		customer === null ? null : customer.client.getJob({ params: { id } }, { signal }).catch(() => null),
	);
	const hosts = useLoaded("hosts of jobs", (signal) => api.listJobHosts({ query: { limit: 500 } }, { signal }));
	const reload = () => {
		draws.reload();
		own.reload();
	};
	const live = useLiveJob(id, customer, reload);
	useReloadOn((event) => isMove(event) && event.subject === id, reload, 500);
	// Many events a second change nothing in these: what is the same is not looked at again.
	const drawn = draws.value;
	const drawsPanel = useMemo(() => drawn && <DrawsPanel draws={drawn} />, [drawn]);
	const whyPanel = useMemo(() => drawn && <WhyPanel draws={drawn} customer={customer} />, [drawn, customer]);
	if (draws.value === null)
		return (
			<>
				<PageTitle>Job {shortId(id)}</PageTitle>
				<Pending of={draws} what="the job" lines={6} />
			</>
		);
	const job = own.value;
	const parts = job?.record.parts ?? draws.value.parts;
	return (
		<>
			<PageTitle
				sub={
					<>
						<a href="/jobs">All jobs</a> · {job === null ? null : `${job.spec.kind} · `}
						<Id id={id} /> {job === null ? null : <Time atMs={job.createdAtMs} />} ·{" "}
						<a href={`/programs?job=${id}`}>Its program</a>
					</>
				}
			>
				{job?.spec.title || `Job ${shortId(id)}`}
			</PageTitle>
			{draws.trouble === null ? null : <Failed trouble={draws.trouble} again={reload} />}
			{job === null || customer === null ? (
				<p class="dim">
					You see what is public: parts, claims and draws. Its customer also sees curve, price, result and log.
				</p>
			) : (
				<OwnJob job={job} live={live} customer={customer} onChange={reload} />
			)}
			<PartsPanel parts={parts} live={live} hosts={hosts.value?.rows ?? NO_HOSTS} perWindow={draws.value.perWindow} />
			{methodOf(draws.value.offer.terms.method).driver === "proofs" ? (
				<ProofsPanel id={id} chainId={draws.value.offer.escrow?.chainId ?? null} />
			) : null}
			{drawsPanel}
			{whyPanel}
			{live.lines.length === 0 ? null : <Log live={live} />}
		</>
	);
}

const NO_HOSTS: readonly JobHostView[] = [];

function OwnJob(p: { job: Job; live: LiveJob; customer: Customer; onChange: () => void }) {
	const { job, live, customer } = p;
	const { work, kept, built } = useJobWork(job.id);
	const model = kept === null ? null : modelOf(kept.text);
	const result = useMemo(() => <ResultPanel {...{ job, customer, work }} />, [job, customer, work]);
	const checkpoints = useMemo(() => <Checkpoints {...{ job, customer }} />, [job, customer]);
	return (
		<>
			<StoryBanner story={storyOf(job, live)} job={job} />
			<JobTiles
				job={job}
				live={live}
				tokensAStep={kept?.tokensAStep ?? null}
				peakBytes={built?.work.peakBytes ?? null}
			/>
			<Timeline job={job} spans={live.spans} />
			{result}
			<div class="columns">
				<Preview {...{ job, live, customer, work }} isKept={kept !== null} />
				<Curve job={job} live={live} />
			</div>
			{kept === null || model === null ? null : (
				<Panel title="Quantisation" aside="from the model’s files in this browser">
					<RoundingReport {...model} files={kept.files} />
				</Panel>
			)}
			{checkpoints}
			<CancelBar job={job} customer={customer} onDone={p.onChange} />
		</>
	);
}

function StoryBanner({ story, job }: { story: Story; job: Job }) {
	return (
		<section class={`story is-${story.tone}`} aria-label="State of the job" data-story={story.key}>
			<p class="story-title" role="status">
				<Badge tone={story.tone}>{story.title}</Badge>
				{story.untilMs === null || job.isOver ? null : <Left untilMs={story.untilMs} words={story.until} />}
			</p>
			<p>{story.text}</p>
		</section>
	);
}

function Left({ untilMs, words }: { untilMs: number; words: string }) {
	const now = useNow();
	return (
		<span class="left" title={exactTime(untilMs)}>
			{words} <strong class="num">{formatLeft(untilMs - now)}</strong>
		</span>
	);
}

function JobTiles(p: { job: Job; live: LiveJob; tokensAStep: number | null; peakBytes: number | null }) {
	const { job, live, tokensAStep, peakBytes } = p;
	const { spec, offer, record, isOver } = job;
	const { terms } = offer;
	const done = record.parts.reduce((sum, { part, done: of }) => sum + Math.max(of, live.done.get(part) ?? 0), 0);
	const paid = record.parts.filter(({ state }) => state === "paid").length;
	const speed = stepsPerS(live.curve);
	return (
		<dl class="tiles">
			<Tile
				name="Progress"
				value={`${Math.floor((100 * done) / spec.segments)} %`}
				note={`${formatCount(done)} of ${formatCount(spec.segments)} segments, as providers say`}
				chart={<progress aria-label="Segments done" max={spec.segments} value={done} />}
			/>
			{speed === null ? null : (
				<Tile
					name={isOver ? "Speed at the end" : "Speed"}
					value={
						tokensAStep === null
							? `${speed.toPrecision(3)} program steps/s`
							: formatRate(speed * tokensAStep, "tokens/s")
					}
					note={tokensAStep === null ? "from heartbeats" : `${speed.toPrecision(3)} steps/s, from heartbeats`}
				/>
			)}
			{peakBytes === null ? null : (
				<Tile name="Memory" value={formatBytes(peakBytes)} note="the program’s most; nobody with less is drawn" />
			)}
			<Tile
				name="Paid so far"
				value={<Tokens micros={paid * (terms.priceMicros + terms.feeMicros)} />}
				note={`of at most ${formatExactMoney(totalMicros(terms))}: ${itemsText(terms)}`}
			/>
			<Tile
				name="Provider's bond"
				value={<Tokens micros={terms.bondMicros} />}
				note="for each part, lost if its claim is false"
			/>
			<Tile
				name="Verified"
				value={<code>{methodText(terms.method)}</code>}
				note={offer.escrow === null ? "a record of what is owed" : `money held on chain ${offer.escrow.chainId}`}
			/>
			<Tile
				name="Inputs"
				value={formatBytes(spec.program.size + spec.given.reduce((sum, { size }) => sum + size, 0))}
				note={`in ${formatCount(spec.given.length + 1)} blobs`}
			/>
		</dl>
	);
}

/** Short; the exact amount on hover. */
/** What all parts may cost, item by item. */
function itemsText({ parts, priceMicros, feeMicros, auditMicros, method }: Job["offer"]["terms"]): string {
	const { extra } = methodOf(method).words;
	return `${formatExactMoney(parts * priceMicros)} for the work, fee ${formatExactMoney(parts * feeMicros)}, up to ${formatExactMoney(parts * auditMicros)} set aside for ${extra}`;
}

function Tokens({ micros }: { micros: number }) {
	const tokens = micros / 1e6;
	return (
		<span title={formatExactMoney(micros)}>
			{tokens === 0 ? "0" : tokens >= 100 ? formatCount(Math.round(tokens)) : tokens.toPrecision(3)}{" "}
			<span class="unit">{CURRENCY}</span>
		</span>
	);
}

function CancelBar({ job, customer, onDone }: { job: Job; customer: Customer; onDone: () => void }) {
	const [isAsked, setAsked] = useState(false);
	const [isBusy, setBusy] = useState(false);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const openParts = job.record.parts.filter(({ state }) => state === "open");
	const open = openParts.length;
	if (job.isOver || (open === 0 && trouble === null)) return null;
	const cancel = async () => {
		setBusy(true);
		setTrouble(null);
		try {
			if (job.offer.escrow !== null) {
				const { chain } = await api.getChain();
				const had = openParts.filter(({ attempt }) => attempt > 0).map(({ part }) => part);
				await cancelJob(await openWallet(chain!, customer.client), job.offer.escrow as never, had);
			}
			await customer.client.cancelJob({ params: { id: job.id } });
			setAsked(false);
		} catch (error) {
			setTrouble(troubleOf(error));
		}
		setBusy(false);
		onDone();
	};
	return (
		<div class="cancel">
			{trouble === null ? null : <Failed trouble={trouble} />}
			{isAsked ? (
				<p class="bar">
					<span>
						{open === job.record.parts.length ? "Nobody works at it" : `Nobody works at ${open} of its parts`}: take
						that back?
					</span>
					<button type="button" class="primary" disabled={isBusy} onClick={() => void cancel()}>
						{isBusy ? "Cancelling …" : "Yes, cancel it"}
					</button>
					<button type="button" onClick={() => setAsked(false)}>
						No, keep it
					</button>
				</p>
			) : (
				<button type="button" onClick={() => setAsked(true)}>
					Cancel the job
				</button>
			)}
		</div>
	);
}

const WORDS: Readonly<Record<string, string>> = {
	...{
		submitted: "handed in",
		listed: "list of hosts published",
		drawn: "drawn",
		offered: "offered to",
		declined: "declined by",
	},
	...{ running: "runs on", stored: "result and states stored", claimed: "claimed by", audit: "is run again" },
	...{
		answered: "was run again",
		compared: "compared",
		checked: "checked",
		paid: "paid",
		reopened: "open again, was with",
		returned: "handed back by",
	},
	...{ convicted: "proof of fraud against", disputed: "disputed", refunded: "given back", over: "over" },
};
const MOST_SHOWN = 60;

function Log({ live: { lines } }: { live: LiveJob }) {
	const [isAll, setAll] = useState(false);
	const shown = isAll ? lines : lines.slice(-MOST_SHOWN);
	return (
		<Panel title="Log" aside="what happened, newest last">
			{shown.length === lines.length ? null : (
				<button type="button" class="small" onClick={() => setAll(true)}>
					Show all {formatCount(lines.length)}
				</button>
			)}
			<ol class="events" aria-label="Events of the job">
				{shown.map(({ id, atMs, part, what, provider, why }) => (
					<li key={id}>
						<time dateTime={new Date(atMs).toISOString()} title={exactTime(atMs)}>
							{new Date(atMs).toISOString().slice(11, 19)}
						</time>
						<span class="dim">{part === null ? "job" : `part ${part + 1}`}</span>
						<span>
							<strong>{WORDS[what] ?? what}</strong>{" "}
							{provider === null ? null : <Id id={provider} href={`/providers/${provider}`} />} {why}
						</span>
					</li>
				))}
			</ol>
		</Panel>
	);
}
