// Verifies one file: the verdict with cards, date and signer first, then the figures; every check behind a
// line, open where one failed. Used by the probe page and the verify page.
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { WHO_COULD_LIE } from "../../src/protocol/probe/verdict.ts";
import { confidenceText } from "../../src/verify/hardware/confidence.ts";
import { cardsOf } from "../../src/verify/hardware/identify/identity-words.ts";
import { shortName } from "../../src/verify/hardware/identify/short-name.ts";
import { formatCount, formatSpan } from "../parts/format.ts";
import { exactTime, Fact, Failed, IdFact, Time, VerdictBadge } from "../parts/small.tsx";
import { AttestedFacts } from "../proofs/attested.tsx";
import { ChallengeList, type Place } from "../proofs/challenge-list.tsx";
import { Explained } from "../proofs/explained.tsx";
import { DeviceFigures, FindingList } from "../proofs/figure-list.tsx";
import { MerkleView } from "../proofs/merkle-view.tsx";
import { wrongCheck } from "../proofs/probe-events.ts";
import { type Trouble, troubleOf } from "../shell/api.ts";
import { type CheckEnd, type CheckRow, checkRows } from "./check-list.ts";
import { FraudPanel } from "./fraud-panel.tsx";
import { ReceiptPanel } from "./receipt-panel.tsx";
import { RollCallPanel } from "./roll-call-panel.tsx";
import { ShareLink } from "./share-link.tsx";
import { TrainingPanel } from "./training-panel.tsx";
import { type OnVerdict, shownVerdict } from "./use-judged.tsx";
import type { FileChallenge } from "./verifier-worker.ts";
import { type Progress, type Verified, type VerifiedFile, verifyInWorker } from "./verify-in-worker.ts";

interface Told {
	readonly checks: readonly Extract<Progress, { kind: "check" }>[];
	readonly challenges: readonly FileChallenge[];
	/** By challenge: spot checks found right so far, and how many there are. */
	readonly right: ReadonlyMap<number, { readonly done: number; readonly of: number }>;
	/** What another worker judges. */
	readonly other: "roll-call" | "training" | null;
	readonly fraud: Extract<Progress, { kind: "fraud" }> | null;
	readonly receipt: Extract<Progress, { kind: "receipt" }> | null;
}
const NOTHING_TOLD: Told = { checks: [], challenges: [], right: new Map(), other: null, fraud: null, receipt: null };
const AGAINST_NOTHING = { node: "", contract: "" };

/**
 * What the worker says, put on the screen at most once a frame: it says thousands of things in half a second.
 */
function useVerifier(file: VerifiedFile): { told: Told; verified: Verified | null; trouble: Trouble | null } {
	const [told, setTold] = useState(NOTHING_TOLD);
	const [verified, setVerified] = useState<Verified | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	useEffect(() => {
		const stop = new AbortController();
		let now = NOTHING_TOLD;
		let frame = 0;
		setTold(NOTHING_TOLD);
		setVerified(null);
		setTrouble(null);
		const show = () => {
			frame = 0;
			setTold(now);
		};
		verifyInWorker(
			file.bytes,
			(word) => {
				if (word.kind === "check") now = { ...now, checks: [...now.checks, word] };
				else if (word.kind === "roll-call" || word.kind === "training") now = { ...now, other: word.kind };
				else if (word.kind === "fraud") now = { ...now, fraud: word };
				else if (word.kind === "receipt") now = { ...now, receipt: word };
				else if (word.kind === "file") now = { ...now, challenges: word.challenges };
				else {
					const right = new Map(now.right);
					for (const [challenge, done, of] of word.right) right.set(challenge, { done, of });
					now = { ...now, right };
				}
				frame ||= requestAnimationFrame(show);
			},
			stop.signal,
		).then(
			(answer) => {
				setTold(now);
				setVerified(answer);
			},
			(error) => stop.signal.aborted || setTrouble(troubleOf(error)),
		);
		return () => {
			cancelAnimationFrame(frame);
			stop.abort();
		};
	}, [file]);
	return { told, verified, trouble };
}

export function VerifyPanel({
	file,
	onVerdict,
	isKept = false,
}: {
	file: VerifiedFile;
	onVerdict?: OnVerdict;
	/** It came from this validator. */
	isKept?: boolean;
}) {
	const { told, verified, trouble } = useVerifier(file);
	const [chosen, setChosen] = useState<Place>({ challenge: 0, opening: 0 });
	useEffect(() => setChosen({ challenge: 0, opening: 0 }), [file]);
	const { verdict } = told.fraud ?? told.receipt ?? verified ?? {};
	useEffect(() => {
		if (verdict !== undefined) onVerdict?.(shownVerdict(verdict));
	}, [verdict]);
	const drawing = useRef<HTMLDivElement>(null);
	const choose = useCallback((place: Place) => {
		setChosen(place);
		drawing.current?.scrollIntoView({ block: "nearest" });
	}, []);
	const end: CheckEnd = verified === null ? "running" : verified.verdict.status === "invalid" ? "failed" : "passed";
	const rows = checkRows(told.checks, end);
	const challenges = told.challenges.length;
	const steps = 12 + 2 * challenges;
	const evidence = verified?.evidence ?? null;
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (told.fraud !== null) return <FraudPanel file={file} judged={told.fraud} />;
	if (told.receipt !== null) return <ReceiptPanel file={file} judged={told.receipt} />;
	if (told.other === "training") return <TrainingPanel file={file} onVerdict={onVerdict} />;
	if (told.other === "roll-call") return <RollCallPanel file={file} against={AGAINST_NOTHING} onVerdict={onVerdict} />;
	return (
		<div class="verify" data-status={verified?.verdict.status ?? "running"}>
			{verified !== null ? null : (
				<progress max={steps} value={Math.min(told.checks.length, steps)} aria-label="Checks made so far" />
			)}
			<div aria-live="polite">
				{verified === null ? (
					<p class="dim">Checking {file.name} …</p>
				) : (
					<VerdictView file={file} verified={verified} isKept={isKept} />
				)}
			</div>
			{/* What was found right needs no more than a line; what was found wrong is shown. */}
			<details class="checked" open={end === "failed"}>
				<summary>{checkedWords(rows, told)}</summary>
				<CheckList rows={rows} isOver={verified !== null} />
				{challenges === 0 ? null : (
					<>
						<h2>Each challenge and its spot checks</h2>
						<ChallengeList
							challenges={told.challenges.map((one) => ({
								...one,
								done: one.roots,
								of: one.roots,
								perS: 0,
								openings: one.openings === 0 ? null : one.openings,
								checks: told.right.get(one.challenge)?.of ?? null,
								checked: told.right.get(one.challenge)?.done ?? 0,
							}))}
							verdict={verified?.verdict.status ?? null}
							wrong={wrongCheck(verified?.verdict ?? null, told.challenges)}
							{...(evidence === null ? {} : { onPlace: choose })}
						/>
					</>
				)}
				<div ref={drawing}>
					{evidence === null ? null : <MerkleView evidence={evidence} chosen={chosen} onChosen={setChosen} />}
				</div>
			</details>
		</div>
	);
}

function checkedWords(rows: readonly CheckRow[], told: Told): string {
	const passed = rows.filter(({ state }) => state === "passed").length;
	const spots = [...told.right.values()].reduce((sum, { done }) => sum + done, 0);
	const failed = rows.find(({ state }) => state === "failed");
	const words = `${passed} ${passed === 1 ? "check" : "checks"} passed, ${formatCount(spots)} spot ${spots === 1 ? "check" : "checks"} right`;
	return failed === undefined ? words : `“${failed.title}” failed; before it ${words}`;
}

function CheckList({ rows, isOver }: { rows: readonly CheckRow[]; isOver: boolean }) {
	// What comes after the one that failed was not looked at.
	const shown = isOver ? rows.filter(({ state }) => state !== "waiting") : rows;
	return (
		<ol class="checks" aria-label="Checks">
			{shown.map((row) => (
				<li key={row.name} class={`check is-${row.state}`}>
					<span class="check-mark" aria-hidden="true">
						{{ passed: "✓", failed: "✕", running: "…", waiting: "·" }[row.state]}
					</span>
					<span class="check-title">{row.title}</span>
					<span class="check-state">
						{row.state}
						{row.begun > 1 ? ` (${row.begun} challenges)` : ""}
					</span>
					<span class="check-about dim">{row.about}</span>
				</li>
			))}
		</ol>
	);
}

function VerdictView({ file, verified, isKept }: { file: VerifiedFile; verified: Verified; isKept: boolean }) {
	const { verdict, evidence, tookMs } = verified;
	const body = evidence?.envelope.body;
	const about = `${file.name}, ${formatBytes(file.bytes.length)}, checked here in ${formatSpan(tookMs)}`;
	if (verdict.status !== "valid")
		return (
			<div class="verdict">
				<p class="verdict-line">
					<VerdictBadge state={verdict.status} />
					<span class="dim">{about}</span>
				</p>
				<Explained code={verdict.code} detail={verdict.detail} where={verdict.where} />
			</div>
		);
	const madeAtMs = body?.probe.startedAtMs ?? null;
	return (
		<div class="verdict">
			<p class="verdict-line">
				<VerdictBadge state={verdict.status} />
				<strong class="verdict-cards">{body === undefined ? "" : cardsOf(body.claim, verdict, shortName)}</strong>
				<span class="dim">{about}</span>
			</p>
			<dl class="facts">
				<Fact name="Made">
					{madeAtMs === null ? "–" : `${exactTime(madeAtMs).slice(0, 16)} UTC, `}
					<Time atMs={madeAtMs} never="" />
				</Fact>
				<IdFact name="Signed by" id={verdict.signer} />
				{verdict.host === null ? null : <IdFact name="Countersigned by the host" id={verdict.host} />}
				<Fact name="Who could have lied">
					{WHO_COULD_LIE[verdict.strength]} <span class="dim">({verdict.strength})</span>
				</Fact>
				<IdFact name="Probe" id={verdict.probeId} />
			</dl>
			<ShareLink probeId={verdict.probeId} isKept={isKept} />
			{(body?.claim.devices ?? []).map(({ kind, name }, device) => {
				const identity = verdict.identity.find((one) => one.device === device);
				return <DeviceFigures key={device} {...{ device, kind, identity }} claimed={name} figures={verdict.figures} />;
			})}
			<p class="dim" data-confidence>
				{confidenceText(verdict)}
			</p>
			<FindingList findings={verdict.findings} />
			{verdict.attestation === undefined ? null : (
				<>
					<h3>Attestation</h3>
					<AttestedFacts of={{ ...verdict.attestation, elsewhere: [] }} />
				</>
			)}
		</div>
	);
}
