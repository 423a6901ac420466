// How far a job is, as something to look at: the picture pass by pass, the field as it moves, the text as it
// comes. From the tensors that the provider's heartbeats name, checked by their roots and made into files by
// the worker; it proves nothing.
import { useEffect, useRef, useState } from "preact/hooks";
import { fetchPieces } from "../../../src/api/blob-pieces.ts";
import type { Job } from "../../../src/api/types.ts";
import { Empty, Panel } from "../../parts/small.tsx";
import type { Customer } from "../../rent/rental-key.ts";
import type { LiveJob, NamedPreview } from "../job-events.ts";
import { type JobWork, openJobWork } from "../work/job-work.ts";
import type { BuiltJob } from "../work/job-worker.ts";
import { type KeptJob, loadKept } from "../work/kept-jobs.ts";
import { type Frame, Player } from "./pictures.tsx";

const MOST_FRAMES = 200;

interface HeldWork {
	readonly work: JobWork | null;
	/** Both null: the job's file is not in this browser. */
	readonly kept: KeptJob | null;
	readonly built: BuiltJob | null;
}

/** A worker that has built the job, where its file is in this browser; else one that has not. */
export function useJobWork(id: string): HeldWork {
	const [held, setHeld] = useState<HeldWork>({ work: null, kept: null, built: null });
	useEffect(() => {
		const work = openJobWork();
		let isCurrent = true;
		void (async () => {
			const kept = await loadKept(id);
			const { text, title, files } = kept ?? { text: "", title: "", files: {} };
			const built = kept === null ? null : await work.ask("build", { text, title, files }).catch(() => null);
			if (isCurrent) setHeld({ work, built, kept: built === null ? null : kept });
		})().catch(() => {});
		return () => {
			isCurrent = false;
			work.close();
		};
	}, [id]);
	return held;
}

/** One blob of the job, checked by its root in the worker. */
export async function fetchJobBlob(
	{ client }: Pick<Customer, "client">,
	work: JobWork,
	job: string,
	blob: { readonly root: string; readonly size: number },
	options: { readonly signal?: AbortSignal; readonly onProgress?: (bytes: number) => void } = {},
): Promise<Uint8Array> {
	const bytes = new Uint8Array(blob.size);
	await fetchPieces(
		client,
		blob,
		{ job, ...options },
		{ roots: [], put: (piece, at) => bytes.set(piece, at) },
		{ pieceRoot: (piece) => work.ask("hash", { piece }), foldPieces: (roots) => work.ask("fold", { roots }) },
	);
	return bytes;
}

/** Made of the newest heartbeat; while one is fetched, those in between are passed over. */
function useFrames({ job, live, customer, work, isKept }: PreviewProps) {
	const [frames, setFrames] = useState<readonly Frame[]>([]);
	const [text, setText] = useState<string | null>(null);
	const busy = useRef(false);
	const newest = useRef<readonly NamedPreview[] | null>(null);
	const program = useRef<Uint8Array | null>(null);
	const shown = useRef("");
	newest.current = live.preview;
	const key = live.preview?.map(({ root }) => root).join() ?? "";
	const stopping = useRef(new AbortController());
	useEffect(() => {
		stopping.current = new AbortController();
		return () => stopping.current.abort();
	}, []);
	useEffect(() => {
		// Whoever is at it goes on with the newest.
		if (work === null || key === "" || busy.current) return;
		const stop = stopping.current;
		busy.current = true;
		void (async () => {
			while (!stop.signal.aborted) {
				const wanted = newest.current ?? [];
				const name = wanted.map(({ root }) => root).join();
				if (name === shown.current) break;
				shown.current = name;
				if (!isKept)
					program.current ??= await fetchJobBlob(customer, work, job.id, job.spec.program, { signal: stop.signal });
				const tensors = new Map<number, Uint8Array>();
				for (const one of wanted)
					tensors.set(one.tensor, await fetchJobBlob(customer, work, job.id, one, { signal: stop.signal }));
				for (const { name: file, bytes } of await work.ask("preview", { tensors, program: program.current })) {
					if (file.endsWith(".png")) setFrames((before) => [...before, { name: file, bytes }].slice(-MOST_FRAMES));
					if (file.endsWith(".txt")) setText(new TextDecoder().decode(bytes));
				}
			}
		})()
			.catch(() => {})
			.finally(() => {
				busy.current = false;
			});
	}, [key, work]);
	return { frames, text };
}

interface PreviewProps {
	job: Job;
	live: LiveJob;
	customer: Customer;
	work: JobWork | null;
	/** The job file is in this browser. */
	isKept: boolean;
}

export function Preview(p: PreviewProps) {
	const { frames, text } = useFrames(p);
	if (p.job.spec.previews.length === 0) return null;
	const isText = text !== null;
	const title = isText ? "Text so far" : p.job.spec.kind === "render" ? "Picture, pass by pass" : "Field as it moves";
	if (frames.length === 0 && !isText)
		return p.job.isOver ? null : (
			<Panel title={title} aside="from heartbeats: no proof">
				<Empty title="Nothing to see yet">It appears with the first sign of progress.</Empty>
			</Panel>
		);
	return (
		<Panel title={title} aside="from heartbeats: no proof">
			{frames.length === 0 ? null : <Player frames={frames} label={title} />}
			{isText ? <pre class="said">{text}</pre> : null}
		</Panel>
	);
}
