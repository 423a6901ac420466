// Runs the commands of a page as they are written there: every line that begins with `$ ` in a console block,
// by bash, in a folder of a user who has the package. A line that says "leave it running" is left running
// until the walk ends. Not here: any command of its own.
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { mkdirSync, readFileSync, symlinkSync } from "node:fs";
import { join } from "node:path";

export const root = join(import.meta.dirname, "../..");

export interface Step {
	readonly command: string;
	readonly isLeftRunning: boolean;
	/** What the page shows beneath it. */
	readonly shown: readonly string[];
}

export interface Ran {
	readonly code: number | null;
	readonly out: string;
	readonly err: string;
}

/** In order. */
export function stepsOf(page: string): Step[] {
	const text = readFileSync(join(root, page), "utf8");
	return [...text.matchAll(/^```console\n([\s\S]*?)^```/gm)].flatMap(([, block]) =>
		block!
			.split(/^\$ /m)
			.slice(1)
			.map((part) => {
				const [command, ...shown] = part.trimEnd().split("\n");
				return { command: command!, isLeftRunning: /# .*leave it running/.test(command!), shown };
			}),
	);
}

/** A folder whose node_modules has this checkout as the package, as `npm install` links it. */
export function makeUserFolder(folder: string): void {
	mkdirSync(join(folder, "node_modules/.bin"), { recursive: true });
	symlinkSync(root, join(folder, "node_modules/assay"));
	symlinkSync("../assay/bin/assay.mjs", join(folder, "node_modules/.bin/assay"));
	for (const name of ["vectors", "samples"]) symlinkSync(join(root, name), join(folder, name));
}

export function createWalk(folder: string, env: Readonly<Record<string, string | undefined>>) {
	const left = new Set<{ readonly child: ChildProcess; readonly said: () => string }>();
	const start = (command: string) => {
		// A group of its own, so that what it started ends with it.
		const child = spawn("bash", ["-c", command], { cwd: folder, env: env as NodeJS.ProcessEnv, detached: true });
		const said = { out: "", err: "" };
		child.stdout.on("data", (chunk) => (said.out += chunk));
		child.stderr.on("data", (chunk) => (said.err += chunk));
		const ended = new Promise<Ran>((resolve) => child.once("close", (code) => resolve({ code, ...said })));
		return { child, ended, said: () => said.out + said.err };
	};
	return {
		/** To its end; one that is left running gives nothing. */
		async run(step: Step): Promise<Ran> {
			const started = start(step.command);
			if (!step.isLeftRunning) return started.ended;
			left.add(started);
			return { code: null, out: "", err: "" };
		},
		/** What those that are left running have said so far. */
		said: () => [...left].map(({ said }) => said()).join("\n"),
		async end(): Promise<void> {
			for (const { child } of left) {
				const ended = child.exitCode !== null || new Promise((resolve) => child.once("exit", resolve));
				if (child.exitCode === null) process.kill(-child.pid!, "SIGTERM");
				await ended;
			}
			left.clear();
		},
	};
}

/** A step that must succeed. */
export function mustSucceed(step: Step, { code, out, err }: Ran): void {
	assert.equal(code, 0, `$ ${step.command}\n${err}${out}`);
}
