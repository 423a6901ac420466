// "Check a segment here": the part is run again in this browser, from its beginning to the chosen segment,
// with the plain operators in a worker; after each segment the state's root is compared with the claimed one.
// For small work; the command does it for any.
import { useEffect, useRef, useState } from "preact/hooks";
import type { ClaimOfJob, JobDraws } from "../../src/api/types.ts";
import { partRange } from "../../src/market/jobs/job-rules.ts";
import type { Replay, ReplayedSegment } from "../../src/market/jobs/replay-claim.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { formatBytes } from "../../src/protocol/format-number.ts";
import { fetchJobBlob } from "../jobs/view/preview.tsx";
import { type JobWork, openJobWork } from "../jobs/work/job-work.ts";
import { formatCount, formatSpan } from "../parts/format.ts";
import { Badge, Failed, Id, IdCell, Table } from "../parts/small.tsx";
import type { Customer } from "../rent/rental-key.ts";
import { type Trouble, troubleOf } from "../shell/api.ts";

/** What a tab holds without trouble. */
const MOST_BYTES = 128 * 2 ** 20;
/**
 * Of one operation of the plain operators, in a browser: measured, and only to say beforehand how long it
 * will take.
 */
const NS = { product: 3, instruction: 30, term: 8 };
const LONGEST_S = 300;

type Told = Omit<Replay, "next">;

function estimateS({ first, k, cost }: Told, to: number): number {
	const step = NS.product * cost.productsAStep + NS.instruction * cost.instructionsAStep + NS.term * cost.termsAStep;
	return ((to - Math.max(1, first) + 1) * k * step) / 1e9;
}

/** Everything that the part is made of, each blob checked by its root. */
async function openReplay(
	work: JobWork,
	customer: Customer,
	draws: JobDraws,
	claim: ClaimOfJob,
	{ signal, onBytes }: { readonly signal: AbortSignal; readonly onBytes: (bytes: number, size: number) => void },
): Promise<Told> {
	const shown = await customer.client.getClaimCase({ params: { hash: claim.hash } }, { signal });
	const { spec, begin, ends } = shown;
	if (ends === null) throw new Error("somebody runs this claim again: its states are told afterwards");
	const blobs = [spec.program, ends.states, ...spec.given, ...(begin?.state ?? []), ...(begin?.results ?? [])];
	const size = blobs.reduce((sum, one) => sum + one.size, 0);
	if (size > MOST_BYTES) throw new Error(`its inputs have ${formatBytes(size)}: too much for a browser`);
	let done = 0;
	const fetch = async (blob: { readonly root: string; readonly size: number }) => {
		const bytes = await fetchJobBlob(customer, work, draws.id, blob, { signal });
		done += blob.size;
		onBytes(done, size);
		return bytes;
	};
	const all = async (list: readonly { readonly root: string; readonly size: number }[]) => {
		const bytes: Uint8Array[] = [];
		for (const one of list) bytes.push(await fetch(one));
		return bytes;
	};
	const given = new Map<number, Uint8Array>();
	for (const one of spec.given) given.set(one.tensor, await fetch(one));
	return work.ask("replay", {
		...{ id: draws.id, terms: draws.offer.terms, escrow: draws.offer.escrow, part: claim.part, claim, seed: spec.seed },
		...{ states: await fetch(ends.states), program: await fetch(spec.program), given },
		begin:
			begin &&
			(await all([...begin.state, ...begin.results]).then(
				(found) => ({ state: found.slice(0, begin.state.length), results: found.slice(begin.state.length) }),
				(error) => {
					if (!(error instanceof AssayError) || error.code !== "BLOB_UNKNOWN") throw error;
					throw new Error("what this part began with is kept no longer: it is paid, and so is the part after it");
				},
			)),
	});
}

interface Line extends ReplayedSegment {
	readonly tookMs: number;
}

export function SegmentCheck(p: { draws: JobDraws; claim: ClaimOfJob; customer: Customer | null }) {
	const { draws, claim, customer } = p;
	const { first, count } = partRange(draws.offer.terms, claim.part);
	const [target, setTarget] = useState(Math.min(first + count - 1, Math.max(1, first)));
	const [doing, setDoing] = useState("");
	const [told, setTold] = useState<Told | null>(null);
	const [lines, setLines] = useState<readonly Line[]>([]);
	const [trouble, setTrouble] = useState<Trouble | null>(null);
	const stop = useRef<AbortController | null>(null);
	useEffect(() => () => stop.current?.abort(), []);
	const check = async () => {
		if (customer === null) return;
		stop.current?.abort();
		const own = new AbortController();
		stop.current = own;
		const work = openJobWork();
		own.signal.addEventListener("abort", () => work.close());
		setLines([]);
		setTrouble(null);
		setTold(null);
		setDoing("fetching its inputs");
		try {
			const onBytes = (bytes: number, size: number) =>
				setDoing(`fetching its inputs, ${formatBytes(bytes)} of ${formatBytes(size)}`);
			const opened = await openReplay(work, customer, draws, claim, { signal: own.signal, onBytes });
			setTold(opened);
			const seconds = estimateS(opened, target);
			if (seconds > LONGEST_S)
				throw new Error(`that would take about ${formatSpan(1000 * seconds)} here; assay watch does it on an engine`);
			for (let segment = first; segment <= target; segment++) {
				setDoing(`running segment ${segment}`);
				const started = performance.now();
				const line = await work.ask("replayed", null);
				if (line === null || own.signal.aborted) break;
				setLines((before) => [...before, { ...line, tookMs: performance.now() - started }]);
				if (line.said !== line.found) break;
			}
		} catch (error) {
			if (!own.signal.aborted) setTrouble(troubleOf(error));
		}
		work.close();
		if (!own.signal.aborted) setDoing("");
	};
	if (customer === null)
		return <p class="dim">Sign in on the page Jobs to run a segment of an optimistic job, or of your own, here.</p>;
	const isBusy = doing !== "";
	return (
		<div class="segment-check">
			<form
				class="bar"
				onSubmit={(event) => {
					event.preventDefault();
					void check();
				}}
			>
				<label>
					Segment, {first} to {first + count - 1}
					<input
						type="number"
						min={first}
						max={first + count - 1}
						value={target}
						onInput={({ currentTarget: { valueAsNumber } }) =>
							Number.isSafeInteger(valueAsNumber) && setTarget(valueAsNumber)
						}
					/>
				</label>
				<button type="submit" class="primary" disabled={isBusy || target < first || target >= first + count}>
					Check it here
				</button>
				{isBusy ? (
					<button
						type="button"
						onClick={() => {
							stop.current?.abort();
							setDoing("");
						}}
					>
						Stop
					</button>
				) : null}
			</form>
			<p role="status" class="dim">
				{isBusy
					? `${doing} …`
					: lines.length === 0
						? "The part is run from its beginning: its states are known there."
						: ""}
			</p>
			{trouble === null ? null : <Failed trouble={trouble} />}
			{lines.length === 0 ? null : <Lines lines={lines} k={told?.k ?? 1} />}
		</div>
	);
}

function Lines({ lines, k }: { lines: readonly Line[]; k: number }) {
	const last = lines.at(-1)!;
	const isEqual = last.said === last.found;
	return (
		<>
			<p data-check={isEqual ? "equal" : "differs"}>
				<Badge tone={isEqual ? "valid" : "invalid"}>{isEqual ? "equal" : "differs"}</Badge> Segment{" "}
				{formatCount(last.segment)} ({last.segment === 0 ? "init" : k === 1 ? "one step" : `${formatCount(k)} steps`})
				was run here in {formatSpan(last.tookMs)}:{" "}
				{isEqual
					? "it ends in the state that was claimed."
					: "it ends elsewhere. Whoever claimed this can be asked down to one number."}
			</p>
			<Table label="Segments run here" head={[["Segment", "num"], "Claimed", "Found here", ["Took", "num"]]}>
				{lines.slice(-20).map(({ segment, said, found, tookMs }) => (
					<tr key={segment}>
						<td class="num">{segment}</td>
						<IdCell id={said} />
						<td>
							<span class={said === found ? "agrees" : "differs"}>
								<span aria-hidden="true">{said === found ? "✓" : "✕"}</span> <Id id={found} />
							</span>
						</td>
						<td class="num">{formatSpan(tookMs)}</td>
					</tr>
				))}
			</Table>
		</>
	);
}
