// The draft, built again in the worker whenever it changes: its program, what would be uploaded, or what is
// wrong with it. One worker for one draft: what is outdated is ended, however long it would take.
import { useEffect, useRef, useState } from "preact/hooks";
import { type Trouble, troubleOf } from "../../shell/api.ts";
import { type JobWork, openJobWork } from "../work/job-work.ts";
import type { BuiltJob, JobFiles, Progress } from "../work/job-worker.ts";

export interface Draft {
	readonly card: string;
	readonly title: string;
	/** The job file. */
	readonly text: string;
	/** What was dropped; files of samples are fetched when they are needed. */
	readonly files: JobFiles;
}

export interface Built {
	readonly state: "none" | "building" | "ready" | "wrong";
	readonly job: BuiltJob | null;
	readonly work: JobWork | null;
	readonly trouble: Trouble | null;
	/** Of what is being built. */
	readonly progress: Progress | null;
}

/** Typing ends first. */
const PAUSE_MS = 350;
const NOTHING: Built = { state: "none", job: null, work: null, trouble: null, progress: null };

/** `of` is what was last built, or is being built: a draft that has just changed is another one. */
interface Made {
	readonly of: Pick<Draft, "title" | "text" | "files"> | null;
	readonly built: Built;
}

export function useBuilt(draft: Draft | null): Built {
	const [{ of, built }, setMade] = useState<Made>({ of: null, built: NOTHING });
	const open = useRef<JobWork | null>(null);
	const { title, text, files } = draft ?? { title: "", text: "", files: {} };
	useEffect(() => {
		if (draft === null) return;
		let isCurrent = true;
		const change = (next: Partial<Built>) => {
			if (isCurrent) setMade((before) => ({ of: { title, text, files }, built: { ...before.built, ...next } }));
		};
		const timer = setTimeout(() => {
			const work = openJobWork();
			open.current = work;
			const onProgress = (progress: Progress) => change({ state: "building", trouble: null, progress });
			work.ask("build", { text, title, files }, onProgress).then(
				(job) => change({ ...NOTHING, state: "ready", job, work }),
				(error) => change({ ...NOTHING, state: "wrong", trouble: troubleOf(error) }),
			);
		}, PAUSE_MS);
		return () => {
			isCurrent = false;
			clearTimeout(timer);
			open.current?.close();
			open.current = null;
		};
	}, [title, text, files, draft === null]);
	if (draft === null) return NOTHING;
	// Said at once, not when the effect has run: nobody may hand in what was built before the last key.
	const isOf = of !== null && of.title === title && of.text === text && of.files === files;
	return isOf ? built : { ...built, state: "building", trouble: null, progress: null };
}
