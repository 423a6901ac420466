// Verifies one file and shows it happen: each check, then the verdict with figures and cards. Used by the probe page and the verify page.
import { useEffect, useState } from "preact/hooks";
import type { Evidence } from "../../src/protocol/evidence.ts";
import { figureTitle, formatBytes, formatFigure, formatSpan } from "../parts/format.ts";
import { Empty, Failed, Id, Time, VerdictBadge } from "../parts/small.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";
import { type CheckEnd, checkRows } from "./check-list.ts";
import { type Checked, type Verified, verifyInWorker } from "./verify-in-worker.ts";

export interface VerifiedFile {
	readonly name: string;
	readonly bytes: Uint8Array;
}

export function VerifyPanel({
	file,
	onEvidence,
}: {
	file: VerifiedFile;
	onEvidence?: (evidence: Evidence | null) => void;
}) {
	const [told, setTold] = useState<readonly Checked[]>([]);
	const [verified, setVerified] = useState<Verified | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	useEffect(() => {
		const stop = new AbortController();
		const seen: Checked[] = [];
		setTold([]);
		setVerified(null);
		setTrouble(null);
		verifyInWorker(
			file.bytes,
			(check) => {
				seen.push(check);
				setTold([...seen]);
			},
			stop.signal,
		).then(
			(answer) => {
				setVerified(answer);
				onEvidence?.(answer.evidence);
			},
			(error) => stop.signal.aborted || setTrouble(troubleOf(error)),
		);
		return () => stop.abort();
	}, [file]);
	const end: CheckEnd = verified === null ? "running" : verified.verdict.status === "invalid" ? "failed" : "passed";
	const rows = checkRows(told, end);
	const challenges = told.at(-1)?.challenges ?? 0;
	const steps = 12 + 2 * challenges;
	if (trouble !== null) return <Failed trouble={trouble} />;
	return (
		<div class="verify" data-status={verified?.verdict.status ?? "running"}>
			<progress
				max={steps}
				value={verified === null ? Math.min(told.length, steps) : steps}
				aria-label="Checks made so far"
			/>
			<div aria-live="polite">
				{verified === null ? (
					<p class="dim">Checking {file.name} …</p>
				) : (
					<VerdictView file={file} verified={verified} />
				)}
			</div>
			<ol class="checks" aria-label="Checks">
				{rows.map((row) => (
					<li key={row.name} class={`check is-${row.state}`}>
						<span class="check-mark" aria-hidden="true">
							{{ passed: "✓", failed: "✕", running: "…", waiting: "·" }[row.state]}
						</span>
						<span class="check-title">{row.title}</span>
						<span class="check-state">
							{
								{
									passed: "passed",
									failed: "failed",
									running: "running",
									waiting: verified === null ? "waiting" : "not reached",
								}[row.state]
							}
							{row.begun > 1 ? ` (${row.begun} challenges)` : ""}
						</span>
						<span class="check-about dim">{row.about}</span>
					</li>
				))}
			</ol>
		</div>
	);
}

function VerdictView({ file, verified }: { file: VerifiedFile; verified: Verified }) {
	const { verdict, evidence, tookMs } = verified;
	const devices = evidence?.envelope.body.claim.devices ?? [];
	return (
		<div class="verdict">
			<p class="verdict-line">
				<VerdictBadge state={verdict.status} code={verdict.status === "valid" ? null : verdict.code} />
				<span class="dim">
					{file.name}, {formatBytes(file.bytes.length)}, checked here in {formatSpan(tookMs)}
				</span>
			</p>
			{verdict.status === "valid" ? (
				<>
					<dl class="facts">
						<div>
							<dt>Probe</dt>
							<dd>
								<Id id={verdict.probeId} />
							</dd>
						</div>
						<div>
							<dt>Made</dt>
							<dd>
								<Time atMs={evidence?.envelope.body.probe.startedAtMs ?? null} />
							</dd>
						</div>
						<div>
							<dt>Signed by</dt>
							<dd>
								<Id id={verdict.signer} />
							</dd>
						</div>
					</dl>
					{devices.map((device, index) => {
						const figures = verdict.figures.filter((figure) => figure.device === index);
						const identity = verdict.identity.find((one) => one.device === index);
						if (figures.length === 0) return null;
						return (
							<div key={index} class="device-block">
								<h3>
									Device {index}: {identity?.profile ?? device.name}{" "}
									<span class="dim">
										({device.kind}
										{identity === undefined ? "" : `, ${identity.state}`}; it says: {device.name})
									</span>
								</h3>
								<ul class="figures">
									{figures.map((figure) => (
										<li key={figure.name}>
											<span class="dim">{figureTitle(figure.name)}</span>
											<span class="num" data-figure={figure.name}>
												{formatFigure(figure.value, figure.unit)}
											</span>
										</li>
									))}
								</ul>
							</div>
						);
					})}
					{verdict.findings.length === 0 ? null : (
						<ul class="findings">
							{verdict.findings.map((finding) => (
								<li key={finding.code + finding.detail}>
									<code>{finding.code}</code> {finding.detail}
								</li>
							))}
						</ul>
					)}
				</>
			) : (
				<Empty title={verdict.detail}>
					<code>{verdict.where}</code>
				</Empty>
			)}
		</div>
	);
}
