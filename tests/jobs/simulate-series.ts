// Networks of cheaters one after the other, each a process of its own with a limit of time: so that a
// thousand tries of each need neither one process that lives for days nor luck that nothing hangs meanwhile.
// What each found is a line of a file, which a later series goes on with. Said of all lines together: how
// often each kind was found out, and everything that ended otherwise than it must. The command: npm run
// simulate -- --jobs N --rounds R --series S [--into FILE].
import { execFile } from "node:child_process";
import { appendFileSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { serverFolder } from "../../src/store/open-store.ts";
import { stopEmbeddedServer } from "../../src/store/postgres/embedded-server.ts";
import type { JobsReport, KindReport } from "./simulate-jobs.ts";

/** What is kept of one network. */
export interface SeriesLine {
	readonly kinds: readonly Pick<KindReport, "kind" | "ends" | "tries" | "caught" | "chance" | "gain">[];
	readonly jobs: number;
	readonly attempts: number;
	readonly missed: readonly string[];
	readonly wronged: readonly string[];
	readonly seconds: number;
	/** Null: it came to its end. */
	readonly broken: string | null;
}

export interface SeriesSum {
	readonly networks: number;
	readonly jobs: number;
	readonly attempts: number;
	readonly seconds: number;
	readonly kinds: readonly KindReport[];
	readonly missed: readonly string[];
	readonly wronged: readonly string[];
	readonly broken: readonly string[];
	readonly ok: boolean;
}

/** A count of one network is too small to be off: kinds are looked at over all of them. */
const isOfAll = (missed: string): boolean => / σ off$/.test(missed);

export function sumOf(lines: readonly SeriesLine[]): SeriesSum {
	const names = [...new Set(lines.flatMap(({ kinds }) => kinds.map(({ kind }) => kind)))];
	const kinds = names.map((name): KindReport => {
		const all = lines.flatMap((line) => line.kinds.filter(({ kind }) => kind === name));
		const { ends, chance } = all[0]!;
		const [tries, caught] = [
			all.reduce((sum, one) => sum + one.tries, 0),
			all.reduce((sum, one) => sum + one.caught, 0),
		];
		const off = caught - chance * tries;
		const sigma = Math.sqrt(tries * chance * (1 - chance));
		return {
			...{ kind: name, ends, tries, caught, chance },
			sigmas: Math.abs(off) < 1e-9 ? 0 : sigma === 0 ? Math.sign(off) * Number.POSITIVE_INFINITY : off / sigma,
			gain: all.reduce((sum, one) => sum + one.gain * one.tries, 0) / Math.max(1, tries),
		};
	});
	const total = (of: (line: SeriesLine) => number): number => lines.reduce((sum, line) => sum + of(line), 0);
	const missed = [
		...lines.flatMap((line) => line.missed.filter((one) => !isOfAll(one))),
		...kinds
			.filter(({ sigmas }) => Math.abs(sigmas) > 3)
			.map(({ kind, caught, tries, sigmas }) => `${kind}: ${caught} of ${tries}, ${sigmas.toFixed(1)} σ off`),
	];
	const wronged = lines.flatMap((line) => line.wronged);
	const broken = lines.flatMap((line) => (line.broken === null ? [] : [line.broken]));
	return {
		...{ networks: lines.length, jobs: total(({ jobs }) => jobs), attempts: total(({ attempts }) => attempts) },
		...{ seconds: total(({ seconds }) => seconds), kinds, missed, wronged, broken },
		ok: lines.length > 0 && missed.length + wronged.length + broken.length === 0,
	};
}

export interface Series {
	readonly networks: number;
	readonly jobs: number;
	readonly rounds: number;
	readonly atOnce: number;
	/** Of each network: no round comes later. */
	readonly roundsWithinMs: number;
	readonly cheats: readonly string[] | null;
	/** Of each network. */
	readonly limitMs: number;
	/** Null: nothing is kept. */
	readonly into: string | null;
	readonly onProgress: (line: string) => void;
}

const MAIN = fileURLToPath(new URL("../network/simulate-main.ts", import.meta.url));
const MOST_BYTES = 64 * 1024 * 1024;

/** A process that was killed leaves its database running. */
async function clearAway(folder: string): Promise<void> {
	for (const name of readdirSync(folder)) await stopEmbeddedServer(serverFolder(join(folder, name))).catch(() => {});
	rmSync(folder, { recursive: true, force: true });
}

function runOne(
	{ jobs, rounds, atOnce, roundsWithinMs, cheats, limitMs }: Series,
	folder: string,
): Promise<SeriesLine> {
	const began = performance.now();
	const options = { jobs, rounds, "at-once": atOnce, "rounds-within": roundsWithinMs / 1000, tries: 0 };
	const args = Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]);
	args.push("--json", "--alone", ...(cheats ?? []).flatMap((name) => ["--cheat", name]));
	return new Promise((resolve) => {
		execFile(
			process.execPath,
			[MAIN, ...args],
			{ timeout: limitMs, killSignal: "SIGKILL", maxBuffer: MOST_BYTES, env: { ...process.env, TMPDIR: folder } },
			(error, stdout, stderr) => {
				const seconds = (performance.now() - began) / 1000;
				try {
					const { network } = JSON.parse(stdout) as { readonly network: JobsReport };
					const { kinds, missed, wronged } = network;
					const attempts = network.jobs.reduce((sum, one) => sum + one.attempts, 0);
					resolve({ kinds, jobs: network.jobs.length, attempts, missed, wronged, seconds, broken: null });
				} catch {
					// It has said nothing that can be counted, and was not caught for nothing either.
					const why = error?.killed
						? `not over in ${limitMs / 1000} s`
						: (stderr
								.trim()
								.split("\n")
								.findLast((line) => /Error/.test(line)) ?? "no word");
					resolve({ kinds: [], jobs: 0, attempts: 0, missed: [], wronged: [], seconds, broken: why.slice(0, 500) });
				}
			},
		);
	});
}

/** Lines that were kept before count too. */
export async function simulateSeries(o: Series): Promise<SeriesSum> {
	const kept = o.into !== null && existsSync(o.into) ? readFileSync(o.into, "utf8").trimEnd().split("\n") : [];
	const lines = kept.filter((line) => line !== "").map((line) => JSON.parse(line) as SeriesLine);
	for (let i = 1; i <= o.networks; i++) {
		const folder = mkdtempSync(join(tmpdir(), "assay-series-"));
		const line = await runOne(o, folder).finally(() => clearAway(folder));
		if (o.into !== null) appendFileSync(o.into, `${JSON.stringify(line)}\n`);
		lines.push(line);
		o.onProgress(`network ${i} of ${o.networks}: ${line.broken ?? `${line.jobs} jobs`}, ${line.seconds.toFixed(0)} s`);
	}
	return sumOf(lines);
}
