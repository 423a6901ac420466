// What this user handed in, or began to: by job, the job file as it was, and all that a validator and the
// escrow must be told of it. Written before any money moves, so that whatever fails from then on the same
// command goes on with the job, and its money can be taken back without anybody's help. With the job file
// `assay job result` makes of a job's tensors the same files as a run here; a job from elsewhere gives plain
// arrays.
//
// `jobs/ID.json` was handed in, or given up; `jobs/begun/ID/` was not yet.
import { readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Chain } from "../../api/types.ts";
import { makeFolder, readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { type FolderLock, lockFolder } from "../../platform/folder-lock.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import type { JobOffer } from "../../protocol/network/job-offer.ts";
import type { JobSpec } from "../../protocol/network/job-spec.ts";
import { customerFolder } from "../api-connection.ts";
import type { CliIo } from "../command.ts";

type Home = Pick<CliIo, "env">;

export interface BookedJob {
	/** Where the job file was: its own paths are relative to it. */
	readonly path: string;
	readonly text: string;
	readonly spec: JobSpec;
	readonly offer: JobOffer;
	/** Of the validator, as it named it; null: nothing is paid on a chain. */
	readonly chain: Chain | null;
}

/** One that is being handed in, by this process alone. */
export interface BegunJob {
	readonly job: BookedJob;
	/** It was handed in, or nothing of it is left to hand in. */
	finish(): Promise<void>;
	/** It stays begun. */
	leave(): Promise<void>;
}

const bookFolder = (io: Home): string => join(customerFolder(io.env), "jobs");
const begunFolder = (io: Home, id: string): string => join(bookFolder(io), "begun", id);
const pathOf = (io: Home, id: string): string => join(bookFolder(io), `${id}.json`);

/** Null: somebody else has it. Where nothing can be locked nobody waits. */
export const lockOrGoOn = (folder: string, waitMs?: number): Promise<FolderLock | null> =>
	lockFolder(folder, waitMs).catch((error: unknown) => {
		if (error instanceof AssayError && error.code === "LOCK_FAILED") return { release: async () => {} };
		throw error;
	});

async function readBooked(path: string): Promise<BookedJob | null> {
	const found = await readIfPresent(path);
	try {
		const job = JSON.parse(String(found ?? "null")) as Partial<BookedJob> | null;
		return typeof job?.path === "string" && typeof job.text === "string" && job.offer !== undefined
			? (job as BookedJob)
			: null;
	} catch {
		return null;
	}
}

const begun = (io: Home, job: BookedJob, lock: FolderLock): BegunJob => ({
	job,
	async finish() {
		const folder = begunFolder(io, job.offer.id);
		await rename(join(folder, "job.json"), pathOf(io, job.offer.id));
		await rm(folder, { recursive: true, force: true });
		await lock.release();
	},
	leave: lock.release,
});

/** Durable when it resolves. */
export async function bookJob(io: Home, job: BookedJob): Promise<BegunJob> {
	const folder = begunFolder(io, job.offer.id);
	await makeFolder(folder);
	const lock = (await lockOrGoOn(folder)) ?? { release: async () => {} };
	await writeDurably(join(folder, "job.json"), `${JSON.stringify(job)}\n`);
	return begun(io, job, lock);
}

/** The customer of an offer's escrow, in lower case; null: nothing is paid on a chain. */
const payerOf = ({ escrow }: JobOffer): string | null => escrow?.terms.customer.toLowerCase() ?? null;
const nameOf = (spec: JobSpec): string => Buffer.from(utf8ToBytes(encodeCanonicalJson(spec))).toString();

/** One of this very file and spec that was not handed in, and that no other command is at. */
export async function begunBefore(
	io: Home,
	{ path, text, spec }: Pick<BookedJob, "path" | "text" | "spec">,
	payer: string | null,
): Promise<BegunJob | null> {
	for (const id of await idsIn(join(bookFolder(io), "begun"))) {
		const file = join(begunFolder(io, id), "job.json");
		const job = await readBooked(file);
		if (job === null || job.path !== path || job.text !== text) continue;
		if (payerOf(job.offer) !== payer || nameOf(job.spec) !== nameOf(spec)) continue;
		const lock = await lockOrGoOn(begunFolder(io, id));
		if (lock === null) continue;
		if ((await readIfPresent(file)) !== null) return begun(io, job, lock);
		await lock.release();
	}
	return null;
}

/** Null: it was handed in, or nobody here began it. Throws JOB_STATE while another command is at it. */
export async function takeBegun(io: Home, id: string): Promise<BegunJob | null> {
	const folder = begunFolder(io, id);
	const job = await readBooked(join(folder, "job.json"));
	const lock = job && (await lockOrGoOn(folder));
	if (job === null || lock !== null) return job && lock && begun(io, job, lock);
	throw new AssayError("JOB_STATE", `another command is handing job ${id} in at this moment`, {
		hint: "End that one first.",
	});
}

const idsIn = async (folder: string): Promise<string[]> =>
	(await readdir(folder).catch(() => [])).map((name) => name.slice(0, 64)).filter((id) => /^[0-9a-f]{64}$/.test(id));

/** Null: another machine, or another user, handed it in. */
export const bookedJob = async (io: Home, id: string): Promise<BookedJob | null> =>
	(await readBooked(pathOf(io, id))) ?? (await readBooked(join(begunFolder(io, id), "job.json")));

/** By its number or the beginning of it. */
export async function findBooked(
	io: Home,
	text: string,
): Promise<{ readonly job: BookedJob; readonly isBegun: boolean } | null> {
	const begun = await idsIn(join(bookFolder(io), "begun"));
	const ids = [...begun, ...(await idsIn(bookFolder(io)))].filter((id) => id.startsWith(text));
	if (ids.length !== 1) return null;
	const job = await bookedJob(io, ids[0]!);
	return job && { job, isBegun: begun.includes(ids[0]!) };
}
