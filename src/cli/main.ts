// The program: signals and streams of this process around one command. Not here: which commands there are,
// and errors (run-command.ts).
import { exitCodes } from "./exit-codes.ts";
import { runCommand } from "./run-command.ts";

const interrupt = new AbortController();
for (const signal of ["SIGINT", "SIGTERM"] as const)
	process.on(signal, () => {
		if (interrupt.signal.aborted) process.exit(exitCodes.interrupted.code);
		interrupt.abort();
	});
// Started by another assay (`up` starts its provider like this): when that process is gone, even killed, stop.
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
