// Whether the process that wrote a file still runs. ATTACK: an address in a file that a dead process left may
// belong to anybody by now, who would be told secrets and believed.
import { readFile } from "node:fs/promises";

export interface ProcessMark {
	readonly pid: number;
	/** When the kernel started that process, in its own ticks: ids are used again, a pair of both is not. */
	readonly startTicks: string;
}

export const markOwnProcess = async (): Promise<ProcessMark> => ({
	pid: process.pid,
	startTicks: (await startTicksOf(process.pid)) ?? "",
});

export const isRunning = async ({ pid, startTicks }: Partial<ProcessMark>): Promise<boolean> =>
	Number.isSafeInteger(pid) && startTicks !== undefined && (await startTicksOf(pid!)) === startTicks;

/**
 * Field 22 of /proc/PID/stat; the name in field 2 may hold anything, so it is counted from its closing
 * bracket.
 */
async function startTicksOf(pid: number): Promise<string | null> {
	const text = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => null);
	const fields = text?.slice(text.lastIndexOf(")") + 2).split(" ");
	// A zombie has ended.
	return fields === undefined || fields[0] === "Z" ? null : (fields[19] ?? null);
}
