// An `assay up` in a process of its own, and commands that are typed beside it, for benches: a fresh folder,
// an embedded chain and database, this machine's CPU as hosts. Not here: what is handed in, what is measured.
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as sleep } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { createApiClient } from "../../src/api/create-client.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const LOOK_EVERY_MS = 500;
const PAGE = 100;

export interface Program {
	readonly child: ChildProcess;
	readonly ended: Promise<number | null>;
}

/** `said` hears each line of both outputs. */
export function startProgram(
	command: readonly string[],
	said: (line: string) => void,
	env: NodeJS.ProcessEnv = process.env,
): Program {
	const child = spawn(process.execPath, command, { cwd: root, env, stdio: ["ignore", "pipe", "pipe"] });
	for (const input of [child.stdout, child.stderr]) createInterface({ input }).on("line", said);
	return { child, ended: new Promise((resolve) => child.once("close", resolve)) };
}

export type TrialNetwork = Awaited<ReturnType<typeof openTrialNetwork>>;

/** `prepare` gets the validator's folder before it starts. Throws what `up` said where it does not start. */
export async function openTrialNetwork(o: {
	readonly arguments?: readonly string[];
	readonly said?: (line: string) => void;
	readonly prepare?: (dataDir: string) => void;
}) {
	const folder = mkdtempSync(join(tmpdir(), "assay-trial-"));
	const home = join(folder, "home");
	const dataDir = join(home, "network");
	const env = { ...process.env, ASSAY_HOME: home, DATABASE_URL: "", NO_COLOR: "1", COLUMNS: "200" };
	const lines: string[] = [];
	const typed = new Set<Program>();
	o.prepare?.(dataDir);
	const up = startProgram(
		["bin/assay.mjs", "up", "--port", "0", ...(o.arguments ?? [])],
		(line) => {
			lines.push(line);
			o.said?.(line);
		},
		env,
	);
	const found = (pattern: RegExp) => lines.map((line) => pattern.exec(line)?.[1]).find((one) => one !== undefined);
	const close = async (): Promise<number | null> => {
		for (const { child } of typed) child.kill("SIGKILL");
		if (up.child.exitCode === null) up.child.kill("SIGTERM");
		const exit = await up.ended;
		rmSync(folder, { recursive: true, force: true });
		return exit;
	};
	const urlOf = () => found(/^dashboard (http:\S+)/);
	while (urlOf() === undefined && up.child.exitCode === null) await sleep(100);
	const url = urlOf();
	if (url === undefined) {
		await close();
		throw new Error(`up did not start: ${lines.slice(-5).join(" | ")}`);
	}
	const client = createApiClient({ baseUrl: url, retries: 3 });
	return {
		...{ folder, dataDir, url, client, close },
		/** The validator's, which requests must name. */
		key: found(/^validator ([0-9a-f]{64})/)!,
		pid: up.child.pid!,
		isUp: () => up.child.exitCode === null,
		/** Hosts that may be drawn now; null: nobody answered. */
		hosts: () =>
			client.listJobHosts({ query: { limit: PAGE } }).then(
				({ rows }) => rows.length,
				() => null,
			),
		/** False where they do not come. */
		async hasHosts(count: number, withinMs: number): Promise<boolean> {
			const untilMs = performance.now() + withinMs;
			while (performance.now() < untilMs && up.child.exitCode === null) {
				if (((await this.hosts()) ?? 0) >= count) return true;
				await sleep(LOOK_EVERY_MS);
			}
			return false;
		},
		/** `assay …`, as its customer types it. */
		async type(...args: string[]): Promise<{ readonly exit: number | null; readonly lines: readonly string[] }> {
			const told: string[] = [];
			const program = startProgram(["bin/assay.mjs", ...args], (line) => told.push(line), env);
			typed.add(program);
			const exit = await program.ended;
			typed.delete(program);
			return { exit, lines: told };
		},
	};
}
