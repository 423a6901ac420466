// The book of the parts of jobs that this host has: one folder each, with a page that says what it is and how
// far it is, and the run beside it. A page is on disk before anybody hears of what it says, so that a
// provider which was killed goes on with the same part, and answers for its claims. Files only.
import { readdir, rm, stat } from "node:fs/promises";
import { join } from "node:path";
import { partOffer } from "../../api/schemas/job.ts";
import { makeFolder, readIfPresent, writeDurably } from "../../platform/durable-file.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { hex, int, object, oneOf, orNull, type Shape, type Typed, text } from "../../protocol/bytes/shape.ts";
import type { AskedPart, PartOffer } from "./job-desk.ts";

/**
 * assigning: a bond may be locked. running: it is ours. done: all segments are run. claimed: the claim, or
 * the audit's answer, is with the validator; it must stay answerable. over: it is nobody's concern any more,
 * and goes after a while.
 */
const STATES = ["assigning", "running", "done", "claimed", "over"] as const;
export type EntryState = (typeof STATES)[number];

/** The offer is read by its own schema. */
const offerShape: Shape<PartOffer> = (value, where) =>
	partOffer.safeParse(value).success ? null : { where, detail: "must be the offer of a part" };
const pageShape = object({
	version: oneOf(1),
	/** Of the agent link. */
	url: text(4096),
	validatorKey: hex(32),
	state: oneOf(...STATES),
	/** Running: to claim. */
	untilMs: int(),
	/** When it got into this state. */
	atMs: int(),
	/** Hash of our claim. */
	claim: orNull(hex(32)),
	offer: offerShape,
});
export type PartPage = Omit<Typed<typeof pageShape>, "version">;

export interface PartEntry {
	readonly name: string;
	/** The folder of the run. */
	readonly path: string;
	page: PartPage;
}

export const askedOf = ({ id: job, part, attempt, audit }: PartOffer): AskedPart => ({ job, part, attempt, audit });

export const entryName = ({ job, part, attempt, audit }: AskedPart): string =>
	`${job}-${part}-${attempt}${audit === null ? "" : `-audit${audit}`}`;

const NAME = /^[0-9a-f]{64}-\d+-\d+(-audit\d+)?$/;

export class PartBook {
	private readonly folder: string;

	constructor(dataFolder: string) {
		this.folder = join(dataFolder, "jobs");
	}

	/** Of an earlier start, too. What has no page was never taken: it goes. */
	async read(): Promise<PartEntry[]> {
		await makeFolder(this.folder);
		const entries: PartEntry[] = [];
		for (const name of (await readdir(this.folder)).filter((one) => NAME.test(one)).sort()) {
			const path = join(this.folder, name);
			const json = await readIfPresent(join(path, "part.json"));
			if (json === null) await rm(path, { recursive: true, force: true });
			else entries.push({ name, path, page: readPage(path, String(json)) });
		}
		return entries;
	}

	pathOf(asked: AskedPart): string {
		return join(this.folder, entryName(asked));
	}

	/** Durable when it resolves. */
	async write(asked: AskedPart, page: PartPage): Promise<PartEntry> {
		const path = this.pathOf(asked);
		await makeFolder(path);
		await writeDurably(join(path, "part.json"), `${JSON.stringify({ version: 1, ...page })}\n`);
		return { name: entryName(asked), path, page };
	}

	async remove(path: string): Promise<void> {
		await rm(path, { recursive: true, force: true });
	}

	/** Bytes on disk of these parts. */
	async bytes(paths: readonly string[]): Promise<number> {
		let sum = 0;
		for (const path of paths)
			for (const name of await readdir(path, { recursive: true }).catch(() => []))
				sum += (await stat(join(path, name)).catch(() => null))?.size ?? 0;
		return sum;
	}

	/** Why a device takes no jobs until its owner has looked at it; null: nothing is wrong. */
	async alarm(device: number): Promise<string | null> {
		const found = await readIfPresent(this.alarmPath(device));
		return found === null ? null : String(found).trim();
	}

	/** Durable when it resolves. */
	raiseAlarm(device: number, why: string): Promise<void> {
		return writeDurably(this.alarmPath(device), `${why}\n`);
	}

	alarmPath(device: number): string {
		return join(this.folder, `alarm-${device}.txt`);
	}
}

function readPage(path: string, json: string): PartPage {
	try {
		const value: unknown = JSON.parse(json);
		const fault = pageShape(value, "page");
		if (fault !== null) throw new Error(`${fault.where} ${fault.detail}`);
		const { version: _, ...page } = value as Typed<typeof pageShape>;
		return page;
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `${join(path, "part.json")} does not hold a part of a job`, {
			hint: "Repair it, or move its folder away: a claim that nobody can answer for any more may cost its bond.",
			cause,
		});
	}
}
