// Drop any evidence file, get the verdict. Nothing leaves the browser; works without a network once the page
// was open. Several files are verified one after the other, each with its verdict; the one looked at shows
// every check. Reports and quotes of hardware are judged together with the files beside them.
import { useEffect, useRef, useState } from "preact/hooks";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { isContainer } from "../../src/protocol/probe/container.ts";
import { kindOfFile } from "../../src/verify/attestation/file-kind.ts";
import { isReceipt } from "../../src/verify/receipts/verify-receipt.ts";
import { DropArea } from "../parts/drop-area.tsx";
import { Badge, PageTitle, Panel, Shown, VerdictBadge } from "../parts/small.tsx";
import { api, useLoaded } from "../shell/api.ts";
import type { Place } from "../shell/router.ts";
import type { PageProps } from "../shell/shell.tsx";
import { AskedFields, AttestationPanel } from "../verify/attestation-panel.tsx";
import { RollCallPanel } from "../verify/roll-call-panel.tsx";
import type { Against } from "../verify/roll-call-worker.ts";
import type { VerifiedFile } from "../verify/verify-in-worker.ts";
import { VerifyPanel } from "../verify/verify-panel.tsx";

/** Evidence of a large host is some ten MB. */
const MAX_BYTES = 256 * 2 ** 20;
const MAX_FILES = 50;
/** Of a report, quote or what belongs to one. */
const MAX_ATTESTATION_BYTES = 8 * 2 ** 20;

/**
 * All of them, if one is a report, quote, certificate or the like; null: they are evidence of ours, or
 * nothing.
 */
async function readTogether(files: readonly File[]): Promise<readonly VerifiedFile[] | null> {
	if (files.some(({ size }) => size > MAX_ATTESTATION_BYTES)) return null;
	const read = await Promise.all(
		files.map(async (file) => ({ name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) })),
	);
	// Bundles look like our evidence, which comes alone.
	return read.some(({ bytes }) => !["unknown", "collateral bundle"].includes(kindOfFile(bytes))) ? read : null;
}

interface Verdict {
	readonly status: string;
	readonly code: string | null;
}
/** A file that does not say that it is evidence: nothing of it is false, and nothing is judged. */
const NOT_JUDGED: Verdict = { status: "not judged", code: "FILE_KIND" };

/** Of an address that somebody shared. */
function SharedFile({ probeId }: { probeId: string }) {
	const file = useLoaded(probeId, async (signal) => ({
		name: `${probeId.slice(0, 12)}.assay`,
		bytes: await api.getProbeEvidence({ params: { id: probeId } }, { signal }),
	}));
	return (
		<Shown of={file} what="the evidence">
			{(read) => <VerifyPanel file={read} isKept />}
		</Shown>
	);
}

const sharedProbe = (place: Place): string | null => /^[0-9a-f]{32}$/.exec(place.query.get("probe") ?? "")?.[0] ?? null;

export default function VerifyPage({ place }: PageProps) {
	const shared = sharedProbe(place);
	const [files, setFiles] = useState<readonly File[]>([]);
	const [verdicts, setVerdicts] = useState<ReadonlyMap<File, Verdict>>(new Map());
	const [shown, setShown] = useState<File | null>(null);
	const [refused, setRefused] = useState("");
	const [against, setAgainst] = useState<Against>({ node: "", contract: "" });
	const [together, setTogether] = useState<readonly VerifiedFile[]>([]);
	const [asked, setAsked] = useState({ nonce: "", at: "" });
	const turn = useRef(0);
	const take = async (all: readonly File[]) => {
		if (all.length === 0) return;
		const fits = all.filter(({ size }) => size <= MAX_BYTES).slice(0, MAX_FILES);
		const tooLarge = all.find(({ size }) => size > MAX_BYTES);
		setRefused(
			tooLarge !== undefined
				? `${tooLarge.name} has ${formatBytes(tooLarge.size)}: larger than any evidence`
				: all.length > MAX_FILES
					? `Only the first ${MAX_FILES} files are taken`
					: "",
		);
		const own = ++turn.current;
		// A file that cannot be read is said to be one where it is shown.
		const found = await readTogether(fits).catch(() => null);
		if (own !== turn.current) return;
		setTogether(found ?? []);
		setFiles(found === null ? fits : []);
		setVerdicts(new Map());
		setShown(found === null ? (fits[0] ?? null) : null);
	};
	const done = (file: File, verdict: Verdict) => {
		setVerdicts((before) => new Map(before).set(file, verdict));
		// The next one that waits; once all are judged the reader chooses.
		const next = files.find((one) => one !== file && !verdicts.has(one));
		if (next !== undefined) setShown((now) => (now === file ? next : now));
	};
	return (
		<>
			<PageTitle sub="Your browser checks the file with the same program as the validators. Nothing is uploaded, and this page works offline.">
				Verify evidence
			</PageTitle>
			{shared === null || together.length > 0 || files.length > 0 ? null : (
				<Panel title="Verdict" aside={<a href={`/probes/${shared}`}>The probe</a>}>
					<SharedFile key={shared} probeId={shared} />
				</Panel>
			)}
			<DropZone refused={refused} isSmall={shared !== null || shown !== null || together.length > 0} onFiles={take} />
			<AgainstFields against={against} onAgainst={setAgainst} />
			<AskedFields asked={asked} onAsked={setAsked} />
			{together.length === 0 ? null : (
				<Panel title="Attestation">
					<AttestationPanel files={together} asked={asked} />
				</Panel>
			)}
			{files.length < 2 ? null : <FileList files={files} verdicts={verdicts} shown={shown} onShown={setShown} />}
			{shown === null ? null : (
				<Panel title="Verdict" aside={files.length < 2 ? undefined : shown.name}>
					<ReadFile
						// A new one for each file: no frame may show the verdict of another.
						key={`${turn.current} ${files.indexOf(shown)}`}
						file={shown}
						against={against}
						onVerdict={(verdict) => done(shown, verdict)}
					/>
				</Panel>
			)}
		</>
	);
}

/** Where files are dropped or chosen. */
function DropZone({
	refused,
	isSmall,
	onFiles,
}: {
	refused: string;
	/** There is something else to look at already. */
	isSmall: boolean;
	onFiles: (files: readonly File[]) => void;
}) {
	return (
		<DropArea title="Drop evidence here" label="Evidence file" isSmall={isSmall} onFiles={onFiles}>
			{(choose) => (
				<>
					{isSmall ? null : (
						<p class="dim drop-about">
							Evidence of a probe (<code>.assay</code>), a fraud file of a job (<code>.fraud</code>), a proof of
							training (<code>.proof</code>), a receipt of RISC Zero or SP1 (<code>.json</code>), or what hardware
							signed: a GPU&#8217;s report, a TDX or SGX quote, an SNP report, with the vendor&#8217;s files beside it.
						</p>
					)}
					<button type="button" class="primary" onClick={choose}>
						Choose files
					</button>
					{refused === "" ? null : <p role="alert">{refused}</p>}
				</>
			)}
		</DropArea>
	);
}

/** Several files, each with its verdict. */
function FileList({
	files,
	verdicts,
	shown,
	onShown,
}: {
	files: readonly File[];
	verdicts: ReadonlyMap<File, Verdict>;
	shown: File | null;
	onShown: (file: File) => void;
}) {
	return (
		<Panel title="Files" aside={`${verdicts.size} of ${files.length} verified`}>
			<ul class="files">
				{files.map((file, i) => (
					<li key={i}>
						<button
							type="button"
							class="small"
							aria-pressed={file === shown}
							disabled={!verdicts.has(file) && file !== shown}
							onClick={() => onShown(file)}
						>
							{file.name}
						</button>
						<span class="dim num">{formatBytes(file.size)}</span>
						{verdicts.get(file) === NOT_JUDGED ? (
							<Badge tone="none">not judged</Badge>
						) : (
							<VerdictBadge state={verdicts.get(file)?.status ?? "waiting"} code={verdicts.get(file)?.code} />
						)}
					</li>
				))}
			</ul>
		</Panel>
	);
}

/** What a roll call is compared with. */
function AgainstFields({ against, onAgainst }: { against: Against; onAgainst: (against: Against) => void }) {
	return (
		<details class="against">
			<summary>Check a roll call against its chain</summary>
			<div class="row">
				<label class="grow">
					Node of the chain
					<input
						type="url"
						placeholder="https://…"
						value={against.node}
						onChange={({ currentTarget: { value } }) => onAgainst({ ...against, node: value.trim() })}
					/>
				</label>
				<label class="grow">
					Contract of the network, if you know it
					<input
						type="text"
						placeholder="0x…"
						value={against.contract}
						onChange={({ currentTarget: { value } }) => onAgainst({ ...against, contract: value.trim() })}
					/>
				</label>
			</div>
			<p class="dim">Your browser asks that node for a few blocks. The file itself goes nowhere.</p>
		</details>
	);
}

/** Reads, then verifies; a file that goes away between (a stick that is pulled) is said to be one. */
function ReadFile({
	file,
	against,
	onVerdict,
}: {
	file: File;
	against: Against;
	onVerdict: (verdict: Verdict) => void;
}) {
	const [read, setRead] = useState<VerifiedFile | null>(null);
	const [failed, setFailed] = useState("");
	const isForeign = read !== null && !isContainer(read.bytes) && !isReceipt(read.bytes);
	useEffect(() => {
		if (isForeign) onVerdict(NOT_JUDGED);
	}, [isForeign]);
	useEffect(() => {
		let isCurrent = true;
		file.arrayBuffer().then(
			(buffer) => isCurrent && setRead({ name: file.name, bytes: new Uint8Array(buffer) }),
			() => isCurrent && setFailed(`${file.name} cannot be read`),
		);
		return () => {
			isCurrent = false;
		};
	}, [file]);
	if (failed !== "") return <p role="alert">{failed}</p>;
	if (read === null) return <p class="dim">Reading {file.name} …</p>;
	if (isForeign)
		return (
			<p class="not-judged">
				<strong>{file.name}</strong> is no file that this page judges: no evidence, fraud file, proof of training,
				receipt, report or quote. Runs of jobs are judged by <code>assay job check</code>.
			</p>
		);
	if (against.node !== "") return <RollCallPanel file={read} against={against} onVerdict={onVerdict} />;
	return <VerifyPanel file={read} onVerdict={onVerdict} />;
}
