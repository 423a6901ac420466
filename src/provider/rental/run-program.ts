// Runs a program of the host to its end: arguments as a list, never through a shell; bounded in time and
// output; a small environment.
import { execFile } from "node:child_process";
import { printable } from "../../engine/client/printable.ts";

export interface ProgramResult {
	/** The exit code; −1 when it could not be run or was ended by us. */
	readonly code: number;
	readonly stdout: string;
	/** Printable, short. */
	readonly stderr: string;
}

export function runProgram(
	command: string,
	args: readonly string[],
	how: { timeoutMs?: number; uid?: number; gid?: number; env?: Readonly<Record<string, string>> } = {},
): Promise<ProgramResult> {
	const { timeoutMs = 30_000, env, ...ids } = how;
	return new Promise((resolve) => {
		const options = {
			...ids,
			timeout: timeoutMs,
			killSignal: "SIGKILL" as const,
			maxBuffer: 4 << 20,
			env: { PATH: "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", LC_ALL: "C", ...env },
		};
		execFile(command, [...args], options, (error, stdout, stderr) => {
			const code = error === null ? 0 : typeof error.code === "number" ? error.code : -1;
			resolve({ code, stdout, stderr: printable(stderr || (code === -1 ? (error?.message ?? "") : ""), 500) });
		});
	});
}
