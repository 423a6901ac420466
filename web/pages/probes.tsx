// All probes, and one of them: live while it runs, its verdict and figures afterwards, its evidence to
// download and to verify right here.
import { useEffect, useState } from "preact/hooks";
import type { Probe } from "../../src/api/types.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan, shortId } from "../parts/format.ts";
import {
	Empty,
	exactTime,
	Failed,
	HostLink,
	Id,
	PageTitle,
	Panel,
	Pending,
	Tile,
	Time,
	VerdictBadge,
} from "../parts/small.tsx";
import { AttestedPanel } from "../proofs/attested.tsx";
import { ChallengeList } from "../proofs/challenge-list.tsx";
import { Explained } from "../proofs/explained.tsx";
import { DeviceFigures, FindingList } from "../proofs/figure-list.tsx";
import { type LiveProbe, NOTHING_YET, withEvent, wrongCheck } from "../proofs/probe-events.ts";
import { ProbeTable } from "../proofs/probe-table.tsx";
import { api, type Trouble, troubleOf, useLoaded, useNow, useReloadOn } from "../shell/api.ts";
import { usePaged } from "../shell/paged.ts";
import type { Place } from "../shell/router.ts";
import { replaceQuery } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";
import type { VerifiedFile } from "../verify/verify-in-worker.ts";
import { VerifyPanel } from "../verify/verify-panel.tsx";

const STEPS: Readonly<Record<string, string>> = {
	waiting: "waiting for the host",
	claim: "the host says what it has",
	stage: "challenges are sent",
	root: "roots arrive",
	opened: "places are opened",
	checking: "the evidence is judged",
	checked: "openings are checked",
};
const VERDICTS = ["valid", "invalid", "inconclusive"] as const;

export default function ProbesPage({ place }: PageProps) {
	const id = place.parts[1];
	return id === undefined ? <ProbeList place={place} /> : <ProbePage key={id} id={id} />;
}

function ProbeList({ place }: { place: Place }) {
	const verdict = VERDICTS.find((one) => one === place.query.get("verdict"));
	const query = { limit: 100, ...(verdict === undefined ? {} : { verdict }) };
	const probes = usePaged(JSON.stringify(query), (page, signal) =>
		api.listProbes({ query: { ...query, ...page } }, { signal }),
	);
	useReloadOn(({ kind }) => kind === "probe.verdict" || kind === "probe.started", probes.reload);
	return (
		<>
			<PageTitle sub="A probe tests the hardware of one host. Its evidence is public: open one and check it in your browser.">
				Probes
			</PageTitle>
			<div class="bar">
				<label class="beside">
					Verdict
					<select
						value={verdict ?? ""}
						onChange={(event) => {
							const { value } = event.currentTarget;
							replaceQuery(new URLSearchParams(value === "" ? {} : { verdict: value }));
						}}
					>
						<option value="">all</option>
						{VERDICTS.map((one) => (
							<option key={one} value={one}>
								{one}
							</option>
						))}
					</select>
				</label>
			</div>
			<ProbeTable probes={probes} withProvider />
		</>
	);
}

/**
 * Follows the probe until its verdict. The server ends the stream then; one that breaks is reported and the
 * row is asked for again.
 */
function useLiveProbe(id: string, onEnd: () => void): LiveProbe {
	const [live, setLive] = useState(NOTHING_YET);
	useEffect(() => {
		const stop = new AbortController();
		(async () => {
			for await (const event of api.watchProbe({ params: { id } }, { signal: stop.signal }))
				setLive((before) => withEvent(before, event));
			onEnd();
		})().catch(() => stop.signal.aborted || onEnd());
		return () => stop.abort();
	}, [id]);
	return live;
}

function ProbePage({ id }: { id: string }) {
	const probe = useLoaded(id, (signal) => api.getProbe({ params: { id } }, { signal }));
	const live = useLiveProbe(id, probe.reload);
	const [file, setFile] = useState<VerifiedFile | null>(null);
	const [fetching, setFetching] = useState(false);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const now = useNow(500);
	const shown = probe.value;
	if (shown === null)
		return (
			<>
				<PageTitle>Probe {shortId(id)}</PageTitle>
				<Pending of={probe} what="the probe" lines={8} />
			</>
		);
	const isRunning = shown.state === "running";
	const verify = () => {
		setFetching(true);
		setTrouble(null);
		api
			.getProbeEvidence({ params: { id } })
			.then(
				(bytes) => setFile({ name: `${id.slice(0, 12)}.assay`, bytes }),
				(error) => setTrouble(troubleOf(error)),
			)
			.finally(() => setFetching(false));
	};
	return (
		<>
			<PageTitle
				sub={
					<>
						of <HostLink id={shown.providerId} name={shown.host.name} /> by validator <Id id={shown.validator} />
					</>
				}
			>
				Probe {shortId(shown.id)}
			</PageTitle>
			<dl class="tiles">
				<Tile
					name="Verdict"
					value={
						<span aria-live="polite">
							<VerdictBadge state={isRunning ? "running" : (shown.verdict ?? shown.state)} />
						</span>
					}
					note={isRunning ? (STEPS[live.step] ?? live.step) : wordOf(shown.strength)}
				/>
				<Tile
					name="Started"
					value={<Time atMs={shown.startedAtMs} />}
					note={exactTime(shown.startedAtMs).slice(0, 16)}
				/>
				<Tile
					name={isRunning ? "Running for" : "Took"}
					value={formatSpan((shown.finishedAtMs ?? now) - shown.startedAtMs)}
					note={live.rttUs === null ? "" : `round trip ${(live.rttUs / 1000).toFixed(1)} ms`}
				/>
				<Tile
					name="Evidence"
					value={shown.evidenceBytes === null ? "–" : formatBytes(shown.evidenceBytes)}
					note={shown.evidenceSha256 === null ? "not there yet" : <Id id={shown.evidenceSha256} />}
				/>
			</dl>
			{shown.code === null ? null : (
				<Panel title={shown.verdict === "invalid" ? "Why it is invalid" : "Why it is inconclusive"}>
					<Explained code={shown.code} detail={shown.detail} where={shown.where} />
				</Panel>
			)}
			{shown.figures.length === 0 ? null : <ProvenPanel probe={shown} />}
			{isRunning || live.challenges.length > 0 ? <LivePanel live={live} probe={shown} /> : null}
			{shown.evidenceSha256 === null ? null : (
				<Panel title="Check it yourself">
					<div class="row">
						<button type="button" class="primary" disabled={fetching} onClick={verify}>
							{fetching ? "Fetching the evidence …" : "Verify in my browser"}
						</button>
						<a class="button" href={`/v1/probes/${shown.id}/evidence`} download={`${shown.id.slice(0, 12)}.assay`}>
							Download evidence
						</a>
						<span class="dim">
							or in a terminal: <code>assay verify {shown.id.slice(0, 12)}.assay</code>
						</span>
					</div>
					{trouble === null ? null : <Failed trouble={trouble} again={verify} />}
					{file === null ? null : <VerifyPanel file={file} isKept />}
				</Panel>
			)}
			<AttestedPanel of={shown.attestation} />
		</>
	);
}

function LivePanel({ live, probe }: { live: LiveProbe; probe: Probe }) {
	const isRunning = probe.state === "running";
	const stage = live.stages.at(-1);
	const counts = [
		live.devices === null ? "" : `${live.devices} ${live.devices === 1 ? "device" : "devices"} claimed`,
		live.bytes === null ? "" : `${formatBytes(live.bytes)} of evidence went to the verifier`,
	].filter((one) => one !== "");
	return (
		<Panel title={isRunning ? "Running now" : "As it ran"} aside={counts.length === 0 ? undefined : counts.join("; ")}>
			{live.challenges.length === 0 ? (
				<Empty title={stage === undefined ? "Waiting for the host's first answer" : `Stage: ${stage.name}`}>
					Challenges appear here as they run: first their roots, then the opened places as they are checked.
				</Empty>
			) : (
				<ChallengeList
					challenges={live.challenges}
					stageNames={new Map(live.stages.map((one) => [one.stage, one.name]))}
					verdict={probe.verdict}
					wrong={wrongCheck({ ...probe, status: probe.verdict }, live.challenges)}
				/>
			)}
		</Panel>
	);
}

const WORDS: Readonly<Record<NonNullable<Probe["strength"]>, string>> = {
	private: "on the word of the validator alone",
	countersigned: "countersigned by the host",
	public: "on nobody's word: checked against the chain",
};

/** Whose word the evidence is. */
function wordOf(strength: Probe["strength"]): string {
	return strength === null ? "" : WORDS[strength];
}

function ProvenPanel({ probe }: { probe: Probe }) {
	return (
		<Panel title="Proven by this probe">
			{probe.devices.map(({ device, kind, claimedName, profile, identity: state, alike = null }) => {
				const identity = { state, profile, alike };
				return (
					<DeviceFigures key={device} {...{ device, kind, identity }} claimed={claimedName} figures={probe.figures} />
				);
			})}
			<FindingList findings={probe.findings} />
		</Panel>
	);
}
