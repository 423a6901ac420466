// What this user handed in: by job, the job file as it was. With it `assay job result` makes of a job's
// tensors the same files as a run here; a job from elsewhere gives plain arrays.
import { join } from "node:path";
import { readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { customerFolder } from "../api-connection.ts";
import type { CliIo } from "../command.ts";

export interface BookedJob {
	/** Where the job file was: its own paths are relative to it. */
	readonly path: string;
	readonly text: string;
}

const pathOf = (io: Pick<CliIo, "env">, id: string): string => join(customerFolder(io.env), "jobs", `${id}.json`);

export async function bookJob(io: Pick<CliIo, "env">, id: string, { path, text }: BookedJob): Promise<void> {
	await writeDurably(pathOf(io, id), `${JSON.stringify({ path, text })}\n`);
}

/** Null: another machine, or another user, handed it in. */
export async function bookedJob(io: Pick<CliIo, "env">, id: string): Promise<BookedJob | null> {
	const found = await readIfPresent(pathOf(io, id));
	try {
		const { path, text } = JSON.parse(String(found ?? "null")) ?? {};
		return typeof path === "string" && typeof text === "string" ? { path, text } : null;
	} catch {
		return null;
	}
}
