// One dispute as it goes: the claim, how far the search has come, both sides' words, clocks and money; at its
// end the element, from the fraud file, judged and worked out again in this browser. Everything shown is
// public.
import { useEffect, useState } from "preact/hooks";
import type { Dispute, FraudOfJob } from "../../src/api/types.ts";
import { FRAUD_SHOWS } from "../../src/verify/optimistic/fraud/fraud-verdict.ts";
import { CURRENCY, formatCount, formatSpan, shortId } from "../parts/format.ts";
import {
	Badge,
	Empty,
	Failed,
	Id,
	PageTitle,
	Panel,
	Pending,
	Tile,
	Time,
	type Tone,
	VerdictBadge,
} from "../parts/small.tsx";
import { FindingList } from "../proofs/figure-list.tsx";
import { api, type Loaded, useLoaded, useReloadOn } from "../shell/api.ts";
import { type Progress, verifyInWorker } from "../verify/verify-in-worker.ts";
import { wayOf } from "./dispute-way.ts";
import { formatUnits, GamesPanel, gasOfAll, WordsPanel, wordsOf } from "./dispute-words.tsx";
import { FraudStoryView } from "./fraud-story.tsx";
import { WayDown } from "./way-down.tsx";

type Judged = Extract<Progress, { kind: "fraud" }>;

const EVERY_MS = 2000;

/** Again every few seconds while the claim may still fall: questions make no events. */
function useDispute(hash: string): Loaded<Dispute> {
	const loaded = useLoaded(`dispute ${hash}`, (signal) => api.getDispute({ params: { hash } }, { signal }));
	const { reload, value, trouble } = loaded;
	const job = value?.claim.job;
	useReloadOn(({ kind, subject }) => kind.startsWith("job.") && subject === job, reload, 300);
	const state = value?.claim.state;
	const isKnown = value !== null && (value.frauds.length > 0 || value.chain?.conviction?.by === "silence");
	const isEnded = state === "paid" || (state === "fallen" && isKnown);
	useEffect(() => {
		if (isEnded || trouble?.code === "CLAIM_UNKNOWN") return;
		const timer = setTimeout(() => document.visibilityState === "visible" && reload(), EVERY_MS);
		return () => clearTimeout(timer);
	}, [value, trouble, isEnded, reload]);
	return loaded;
}

/** A file that somebody holds against the claim, judged here. */
function useJudged(hash: string | null): { judged: Judged | null; failed: string } {
	const [judged, setJudged] = useState<Judged | null>(null);
	const [failed, setFailed] = useState("");
	useEffect(() => {
		setJudged(null);
		setFailed("");
		if (hash === null) return;
		const stop = new AbortController();
		(async () => {
			const bytes = await api.getFraud({ params: { hash } }, { signal: stop.signal });
			await verifyInWorker(bytes, (word) => word.kind === "fraud" && setJudged(word), stop.signal);
		})().catch((error: unknown) => {
			if (!stop.signal.aborted) setFailed(error instanceof Error ? error.message : "the file cannot be read");
		});
		return () => stop.abort();
	}, [hash]);
	return { judged, failed };
}

const STATES: Readonly<Record<Dispute["claim"]["state"], readonly [tone: Tone, word: string]>> = {
	stored: ["none", "not claimed yet"],
	claimed: ["running", "stands"],
	checked: ["inconclusive", "checked, stands"],
	paid: ["valid", "paid"],
	fallen: ["invalid", "fallen"],
};

function Outcome({ dispute: { claim, chain, frauds } }: { dispute: Dispute }) {
	const conviction = chain?.conviction ?? null;
	if (conviction !== null)
		return (
			<Tile
				name="Outcome"
				value={
					<Badge tone="invalid">{conviction.by === "silence" ? "convicted by silence" : "convicted by proof"}</Badge>
				}
				note={
					<>
						in <Id id={conviction.transaction} />
					</>
				}
			/>
		);
	const [tone, word] = STATES[claim.state];
	const note =
		claim.state === "paid"
			? "nobody proved it wrong in time"
			: claim.state === "fallen"
				? "it, or one that it was built on"
				: frauds.length > 0
					? "proven wrong, not yet on the chain"
					: "open until its window ends";
	return <Tile name="Outcome" value={<Badge tone={tone}>{word}</Badge>} note={note} />;
}

function Tiles({ dispute }: { dispute: Dispute }) {
	const { claim, chain } = dispute;
	return (
		<dl class="tiles">
			<Outcome dispute={dispute} />
			<Tile
				name="Accused"
				value={<Id id={claim.provider} href={`/providers/${claim.provider}`} label="provider" />}
				note={chain === null ? "no account on a chain" : <Id id={chain.account} />}
			/>
			<Tile
				name="Claim"
				value={<Id id={claim.hash} />}
				note={
					<>
						part {claim.part + 1} of <a href={`/jobs/${claim.job}`}>job {shortId(claim.job)}</a>,{" "}
						<Time atMs={claim.atMs} />
					</>
				}
			/>
			{chain === null ? null : (
				<>
					<Tile name="Bond" value={formatUnits(chain.bond)} note={`${CURRENCY}, as long as the claim stands`} />
					<Tile name="Gas" value={formatCount(gasOfAll(chain))} note="games and proof together" />
				</>
			)}
		</dl>
	);
}

function Money({ conviction }: { conviction: NonNullable<NonNullable<Dispute["chain"]>["conviction"]> }) {
	return (
		<Panel title="Where the bond went" aside={`in ${CURRENCY}`}>
			<dl class="tiles">
				<Tile name="To the accuser" value={formatUnits(conviction.toAccuser)} note={<Id id={conviction.accuser} />} />
				<Tile name="To the customer" value={formatUnits(conviction.toCustomer)} />
				<Tile name="Burned" value={formatUnits(conviction.burned)} />
			</dl>
		</Panel>
	);
}

function Element({ fraud }: { fraud: FraudOfJob }) {
	const { judged, failed } = useJudged(fraud.hash);
	if (failed !== "") return <p role="alert">{failed}</p>;
	if (judged === null) return <p class="dim">The fraud file is judged here …</p>;
	const { verdict, story, tookMs } = judged;
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<p class="verdict-line">
				<VerdictBadge state={verdict.status} code={verdict.status === "valid" ? null : verdict.code} />
				<span class="dim">judged in this browser in {formatSpan(tookMs)}</span>
				<a href={`/v1/frauds/${fraud.hash}`} download={`${fraud.hash.slice(0, 16)}.fraud`}>
					Download the file
				</a>
			</p>
			{verdict.status === "valid" ? (
				<>
					<p>
						<strong>{`${FRAUD_SHOWS[verdict.kind].slice(0, 1).toUpperCase()}${FRAUD_SHOWS[verdict.kind].slice(1)}.`}</strong>{" "}
						{verdict.signer === null ? (
							"Its answers are bound by the chain, or rest on no answer."
						) : (
							<>
								Every answer is signed by <code>0x{verdict.signer}</code>.
							</>
						)}
					</p>
					<FindingList findings={verdict.findings} />
					{story === null ? null : <FraudStoryView story={story} />}
				</>
			) : (
				<Empty title={verdict.detail}>
					<code>{verdict.where}</code>
				</Empty>
			)}
		</div>
	);
}

export function LiveDispute({ hash }: { hash: string }) {
	const loaded = useDispute(hash);
	const dispute = loaded.value;
	if (dispute === null)
		return (
			<>
				<PageTitle>Dispute</PageTitle>
				<Pending of={loaded} what="the dispute" lines={6} />
			</>
		);
	const words = wordsOf(dispute);
	const way = wayOf(words.flatMap(({ place }) => (place === null ? [] : [place])));
	const [fraud] = dispute.frauds;
	const { chain, claim } = dispute;
	const isOver = claim.state === "fallen" || claim.state === "paid";
	return (
		<>
			<PageTitle sub="Both sides answer until one number is left that is false by arithmetic. Whoever is silent loses by the clock.">
				Dispute about claim {shortId(hash)}
			</PageTitle>
			<Tiles dispute={dispute} />
			{loaded.trouble === null ? null : <Failed trouble={loaded.trouble} again={loaded.reload} />}
			{fraud === undefined ? (
				<Panel title="The way down" aside={isOver ? undefined : "live"}>
					{chain?.conviction?.by === "silence" ? (
						<p>
							<strong>Its provider did not answer before the clock ended: that convicts.</strong> There is no number to
							show.
						</p>
					) : null}
					{way.length === 0 ? (
						<Empty title={isOver ? "Nobody published how it fell" : "Nobody has asked about this claim"}>
							Anyone may run a claim again and ask: assay watch does.
						</Empty>
					) : (
						<WayDown way={way} isOver={isOver} />
					)}
				</Panel>
			) : (
				<Panel title="One number decided" aside={<Time atMs={fraud.atMs} />}>
					<Element key={fraud.hash} fraud={fraud} />
				</Panel>
			)}
			{chain?.conviction == null ? null : <Money conviction={chain.conviction} />}
			<WordsPanel words={words} />
			{chain === null ? null : <GamesPanel chain={chain} />}
		</>
	);
}
