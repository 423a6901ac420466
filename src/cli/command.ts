// What a command is: a name, its help, and a function from arguments to an exit code. One command per file.
// Commands write results to `out` and everything else (progress, errors) to `err`, so that `--json` output stays clean.

export interface CliIo {
	readonly out: NodeJS.WriteStream;
	readonly err: NodeJS.WriteStream;
	readonly env: Readonly<Record<string, string | undefined>>;
	readonly cwd: string;
	/** Aborted by the first Ctrl-C (or SIGTERM); the second one ends the process at once. */
	readonly interrupted: AbortSignal;
}

export interface Command {
	readonly name: string;
	/** One line for the list of commands. */
	readonly summary: string;
	/** The whole help page, beginning with its usage line. */
	readonly help: string;
	run(args: readonly string[], io: CliIo): Promise<number>;
}
