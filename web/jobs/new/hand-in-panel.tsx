// The last step of a new job: what would be sent, the upload with pause and resume, the validator's price,
// and the one confirmation. With a chain the browser's wallet pays; without one a record is kept of what is
// owed.
import { useEffect, useRef } from "preact/hooks";
import type { Chain, JobQuote } from "../../../src/api/types.ts";
import { totalMicros } from "../../../src/market/jobs/check-offer.ts";
import { formatBytes, formatPercent, formatRate, wholeSpan } from "../../../src/protocol/format-number.ts";
import { methodOf, methodText } from "../../../src/verify/methods/methods.ts";
import { formatCount, formatExactMoney, formatSpan } from "../../parts/format.ts";
import { Fact, Failed, Loading } from "../../parts/small.tsx";
import type { BuiltJob, Progress } from "../work/job-worker.ts";
import { uploadSize } from "../work/upload-job.ts";
import { mayPayOn } from "../work/wallet.ts";
import { Simulated } from "./method-choice.tsx";
import type { Built } from "./use-built.ts";
import type { HandIn } from "./use-hand-in.ts";

export function BuiltFacts({ built }: { built: Built }) {
	if (built.state === "wrong") return <Failed trouble={built.trouble!} />;
	const { job, progress } = built;
	return (
		<>
			{progress === null ? null : <Building progress={progress} />}
			{job === null && progress === null ? <Loading what="the job: it is built here" lines={2} /> : null}
			{job === null ? null : (
				<div data-built aria-busy={built.state === "building"} role="status">
					<PlanFacts job={job} />
				</div>
			)}
		</>
	);
}

const DOING = { reading: "Reading your files …", naming: "Naming what will be uploaded …" } as const;

/** Large files take a while: what is done, and how much of it. */
function Building({ progress: { what, bytes, ofBytes } }: { progress: Progress }) {
	return (
		<div class="upload">
			<p class="bar">
				<strong role="status">{DOING[what]}</strong>
				<span class="num">
					{formatBytes(bytes)} of {formatBytes(ofBytes)}
				</span>
			</p>
			<progress aria-label={DOING[what]} max={Math.max(1, ofBytes)} value={bytes} />
		</div>
	);
}

function PlanFacts({ job }: { job: BuiltJob }) {
	const { spec, work, programSteps, notes, files } = job;
	return (
		<>
			<dl class="facts">
				<Fact name="Segments">
					{formatCount(spec.segments - 1)}, of {formatCount(programSteps)}{" "}
					{programSteps === 1 ? "program step" : "program steps"} together, and one that makes the first state
				</Fact>
				<Fact name="Work of a segment">{formatRate(work.ops, "op")}</Fact>
				<Fact name="Memory needed">{formatBytes(work.peakBytes)}</Fact>
				<Fact name="To upload">
					{formatBytes(uploadSize(job))} in {formatCount(job.blobs.length)} blobs
				</Fact>
				<Fact name="You get back" isWide>
					{files.slice(0, 4).join(", ")}
					{files.length > 4 ? ` and ${formatCount(files.length - 4)} more files` : ""}
				</Fact>
			</dl>
			{notes.map((note) => (
				<p key={note} class="unsure">
					{note}
				</p>
			))}
		</>
	);
}

const KEPT = {
	"not yet": "The files are being kept in this browser: leave the page open until they are.",
	yes: "You may close or reload this page: the upload goes on where it was when you come back.",
	no: "This browser has no room to keep the files: leave the page open.",
} as const;

function Upload({ of, size }: { of: HandIn; size: number }) {
	const isPaused = of.state === "paused";
	return (
		<div class="upload">
			<p class="bar">
				<strong>
					{of.state === "asking" ? "Uploaded; asking for the price …" : isPaused ? "Stopped" : "Uploading …"}
				</strong>
				<span class="num">
					{formatBytes(of.sentBytes)} of {formatBytes(size)}
				</span>
				<span class="grow" />
				{isPaused ? (
					<button type="button" class="primary" onClick={of.start}>
						Resume
					</button>
				) : (
					<button type="button" onClick={of.pause} disabled={of.state === "asking"}>
						Pause
					</button>
				)}
				<button type="button" onClick={of.drop}>
					Change the job
				</button>
			</p>
			<progress aria-label="Upload" max={Math.max(1, size)} value={of.sentBytes} />
			<p class="dim small-text">{KEPT[of.kept]}</p>
		</div>
	);
}

function QuoteFacts({ quote }: { quote: JobQuote }) {
	const { terms, escrow } = quote.offer;
	const { words } = methodOf(terms.method);
	const each = terms.parts === 1 ? "" : " a part";
	return (
		<dl class="facts">
			<Fact name="Parts">
				{formatCount(terms.parts)}, about {formatSpan(terms.parts * quote.estimatedMs)} of work on the slowest host that
				may be drawn, {formatSpan(terms.parts * quote.referenceMs)} on an H200; at most {wholeSpan(terms.workMs)}
				{each}
			</Fact>
			<Fact name="For the work">
				{formatExactMoney(terms.priceMicros)}
				{each}
			</Fact>
			<Fact name="Fee">
				{formatExactMoney(terms.feeMicros)}
				{each}
			</Fact>
			<Fact name={`Set aside for ${words.extra}`}>
				up to {formatExactMoney(terms.auditMicros)}
				{each}; what is not spent comes back
				{terms.auditMicros > terms.priceMicros ? <strong> More than the work costs.</strong> : null}
			</Fact>
			<Fact name="Provider's bond">
				{formatExactMoney(terms.bondMicros)}
				{each}: lost if its claim is false
			</Fact>
			<Fact name="Who may be drawn">
				{formatCount(quote.hosts)} {quote.hosts === 1 ? "host" : "hosts"}, by proven speed and memory
			</Fact>
			<Fact name="Verified">
				<code>{methodText(terms.method)}</code>: {words.found(formatPercent(quote.tenthFoundPpm / 1e6))}
				{quote.isSimulated ? <Simulated /> : null}
			</Fact>
			<Fact name="Paid">{words.paid(terms)}</Fact>
			<Fact name="Money" isWide>
				{escrow === null
					? "No chain here: the validator keeps a record of what is owed."
					: `Held by the escrow ${escrow.contract} on chain ${escrow.chainId}: paid for what is right, else given back.`}
			</Fact>
		</dl>
	);
}

const BUSY = {
	allow: "Confirm in your wallet: allow the escrow to take the price (1 of 2) …",
	fund: "Confirm in your wallet: fund the job (2 of 2) …",
	submitting: "Handing in …",
} as const;
/** With an account of this page there is nothing to confirm. */
const BUSY_BY_ITSELF: Readonly<Record<string, string>> = {
	...{ allow: "Funding the job (1 of 2) …", fund: "Funding the job (2 of 2) …", submitting: BUSY.submitting },
};

function Offer({ of, quote }: { of: HandIn; quote: JobQuote }) {
	const button = useRef<HTMLButtonElement>(null);
	// Whoever waited for the price goes on here, by keyboard too.
	useEffect(() => button.current?.focus(), []);
	const busy = of.isTrial ? BUSY_BY_ITSELF[of.state] : BUSY[of.state as keyof typeof BUSY];
	return (
		<>
			<p class="price">
				At most <strong>{formatExactMoney(totalMicros(quote.offer.terms))}</strong>
			</p>
			<QuoteFacts quote={quote} />
			<p class="bar">
				<button ref={button} type="button" class="primary" disabled={busy !== undefined} onClick={of.accept}>
					Hand in for at most {formatExactMoney(totalMicros(quote.offer.terms))}
				</button>
				<button type="button" onClick={of.drop} disabled={busy !== undefined}>
					Change the job
				</button>
				<span role="status" class="dim">
					{busy ?? ""}
				</span>
			</p>
		</>
	);
}

const noWallet = ({ chainId, rpcUrl, token, contracts }: Chain): string =>
	`Jobs here are paid on chain ${chainId} in ${token.symbol} (token ${contracts.token}), and this browser has no wallet. ` +
	`Install one${rpcUrl === null ? "" : ` (node ${rpcUrl})`}, or use the command line.`;

export function HandInSteps(p: {
	of: HandIn;
	job: BuiltJob | null;
	isSignedIn: boolean;
	isReady: boolean;
	/** Null: nothing is paid on chain here. */
	chain: Chain | null;
}) {
	const { of, job, chain } = p;
	const mayPay = chain === null || mayPayOn(chain);
	const size = job === null ? 0 : uploadSize(job);
	return (
		<>
			{of.trouble === null ? null : <Failed trouble={of.trouble} />}
			{of.quote !== null && of.state !== "edit" && of.state !== "paused" ? (
				<Offer of={of} quote={of.quote} />
			) : of.state === "edit" ? (
				<p class="bar">
					<button type="button" class="primary" disabled={!p.isReady || !p.isSignedIn || !mayPay} onClick={of.start}>
						Upload {size === 0 ? "" : formatBytes(size)} and get the price
					</button>
					<span class="dim">
						{!p.isSignedIn
							? "Create a key or enter a token first."
							: !mayPay
								? noWallet(chain)
								: chain?.trialAccounts
									? `Nothing is paid before you see the price. On this trial network the tokens are given to you.`
									: "Nothing is paid before you see the price."}
					</span>
				</p>
			) : (
				<Upload of={of} size={size} />
			)}
		</>
	);
}
