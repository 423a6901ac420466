// The program: signals and streams of this process around one command. Not here: which commands there are,
// and errors (run-command.ts).
import { exitCodes } from "./exit-codes.ts";
import { runCommand } from "./run-command.ts";

const interrupt = new AbortController();
/**
 * Whoever stops a group of processes, a terminal or a supervisor, reaches this one twice where npm, or our
 * own starter, passes signals on: that is one wish, and ending at once would leave a database behind. A
 * second Ctrl-C by hand comes later; a supervisor that has waited enough sends SIGKILL.
 */
const ONE_WISH_MS = 1500;
let firstAtMs = 0;
for (const signal of ["SIGINT", "SIGTERM"] as const)
	process.on(signal, () => {
		if (!interrupt.signal.aborted) firstAtMs = performance.now();
		else if (signal === "SIGINT" && performance.now() - firstAtMs > ONE_WISH_MS)
			process.exit(exitCodes.interrupted.code);
		interrupt.abort();
	});
// Started by another assay (`up` starts its provider like this): when that process is gone, even killed,
// stop.
if (process.channel !== undefined) {
	process.once("disconnect", () => interrupt.abort());
	process.channel.unref();
}
// A reader that went away (`assay … | head`) is no error: stop in order, as by Ctrl-C.
process.stdout.on("error", (error: NodeJS.ErrnoException) => {
	if (error.code !== "EPIPE") process.exit(exitCodes.output.code);
	interrupt.abort();
});

process.exitCode = await runCommand(process.argv.slice(2), {
	out: process.stdout,
	err: process.stderr,
	env: process.env,
	cwd: process.cwd(),
	interrupted: interrupt.signal,
});
