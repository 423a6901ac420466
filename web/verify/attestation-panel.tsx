// Reports of GPUs, quotes and reports of CPUs, and the files that belong to them: one verdict of all of them
// together, with level, key, what was signed, and reasons. The judging is in judge-attestation.ts.
import { useEffect, useState } from "preact/hooks";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { formatSpan } from "../parts/format.ts";
import { Empty, exactTime, Fact, Failed, IdFact, VerdictBadge } from "../parts/small.tsx";
import { FindingList } from "../proofs/figure-list.tsx";
import { type Trouble, troubleOf } from "../shell/api.ts";
import { type AttestationWord, attestationInWorker, type VerifiedFile } from "./verify-in-worker.ts";

/** What the reader asks beside what the files show. */
export interface Asked {
	/** Hex of 32 or 64 bytes; empty: nothing. */
	readonly nonce: string;
	/** As the browser's field writes it, in UTC; empty: now. */
	readonly at: string;
}

const LEVELS: Readonly<Record<string, string>> = {
	none: "none: nothing is shown of any hardware",
	genuine: "genuine: signed by a device of its vendor",
	measured: "measured: and what runs on it is known to its vendor",
	hosted: "hosted: and an allowed guest saw exactly these devices",
};

/** Null: it is no hex of 32 or 64 bytes. */
function nonceOf(text: string): Uint8Array | "none" | null {
	const plain = text.trim().toLowerCase().replace(/^0x/, "");
	if (plain === "") return "none";
	const bytes = hexToBytes(plain);
	return bytes !== null && (bytes.length === 32 || bytes.length === 64) ? bytes : null;
}

export function AttestationPanel({ files, asked }: { files: readonly VerifiedFile[]; asked: Asked }) {
	const [word, setWord] = useState<AttestationWord | null>(null);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const [atMs, setAtMs] = useState(0);
	const nonce = nonceOf(asked.nonce);
	useEffect(() => {
		setWord(null);
		setTrouble(null);
		if (nonce === null) return;
		const stop = new AbortController();
		const moment = asked.at === "" ? Date.now() : Date.parse(`${asked.at}Z`);
		setAtMs(moment);
		const question = { files: files.map(({ bytes }) => bytes), nonce: nonce === "none" ? null : nonce, atMs: moment };
		attestationInWorker(question, stop.signal).then(
			setWord,
			(error) => stop.signal.aborted || setTrouble(troubleOf(error)),
		);
		return () => stop.abort();
	}, [files, asked.nonce, asked.at]);
	if (nonce === null) return <p role="alert">The nonce is not 32 or 64 bytes of hex</p>;
	if (trouble !== null) return <Failed trouble={trouble} />;
	if (word === null)
		return <p class="dim">Judging {files.length === 1 ? files[0]!.name : `${files.length} files`} …</p>;
	const { judged, tookMs } = word;
	const { verdict, kinds, deviceKey } = judged;
	return (
		<div class="verify" data-status={verdict.status} aria-live="polite">
			<p class="verdict-line">
				<VerdictBadge state={verdict.status} code={verdict.code} />
				<span class="dim">
					{verdict.subject}, as of {exactTime(atMs)}, judged here in {formatSpan(tookMs)}
				</span>
			</p>
			{verdict.status === "valid" ? null : (
				<Empty title={verdict.detail}>
					<code>{verdict.where}</code>
				</Empty>
			)}
			<dl class="facts">
				<Fact name="Level" isWide>
					<span data-attested={verdict.level}>{LEVELS[verdict.level]}</span>
				</Fact>
				{deviceKey === null ? null : <IdFact name="Device key" isWide id={deviceKey} />}
				<IdFact name="Policy" isWide id={verdict.policy.hash} />
				{Object.entries(verdict.facts).map(([name, value]) => (
					<Fact key={name} name={name} isWide>
						<code data-fact={name}>{typeof value === "string" ? value : JSON.stringify(value)}</code>
					</Fact>
				))}
			</dl>
			<FindingList findings={verdict.findings} />
			<ul class="files" aria-label="Files judged together">
				{files.map(({ name, bytes }, i) => (
					<li key={i}>
						{name} <span class="dim">{kinds[i]}</span> <span class="dim num">{formatBytes(bytes.length)}</span>
					</li>
				))}
			</ul>
		</div>
	);
}

/** What a report must answer, and when it is to have held. */
export function AskedFields({ asked, onAsked }: { asked: Asked; onAsked: (asked: Asked) => void }) {
	return (
		<details class="against">
			<summary>Ask more of a report or quote</summary>
			<div class="row">
				<label class="grow">
					Nonce or report data that it must have
					<input
						type="text"
						placeholder="hex"
						value={asked.nonce}
						onChange={({ currentTarget: { value } }) => onAsked({ ...asked, nonce: value })}
					/>
				</label>
				<label class="grow">
					Moment at which it held, in UTC
					<input
						type="datetime-local"
						step={1}
						value={asked.at}
						onChange={({ currentTarget: { value } }) => onAsked({ ...asked, at: value })}
					/>
				</label>
			</div>
		</details>
	);
}
