// Several probes of one machine, how well they agree and how near they come to what is possible: each
// figure's median, spread and ratio to its ceilings (ceilings.ts), with machine, driver and commit.
//   npm run bench                        three probes of this machine →
//                                        bench/results/<device>-<date>-probes.json
//   node bench/probes.ts FILE.json …     the same from what `assay probe --json` printed elsewhere
// Figures on the verifier's clock, as a customer sees them. The kernels beside the vendor's library:
// bench/run.sh; run it first on a machine with a GPU, and its results are the ceilings here.
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { formatFigure } from "../src/cli/print/format.ts";
import type { Figure, HostClaim } from "../src/protocol/probe/evidence.ts";
import type { Identity } from "../src/protocol/probe/verdict.ts";
import { PROFILES } from "../src/verify/hardware/identify/profiles.ts";
import { ceilingsOf, type KernelResults, type Known, type ProbeResults } from "./ceilings.ts";

interface Probe {
	readonly verdict: {
		readonly status: string;
		readonly figures: readonly Figure[];
		readonly identity: readonly Identity[];
	};
	readonly claim: HostClaim;
	readonly tookUs: number;
	readonly evidence: { readonly bytes: number };
}

const PROBES = 3;
const root = fileURLToPath(new URL("../", import.meta.url));

function probeHere(): Probe[] {
	const folder = mkdtempSync(join(tmpdir(), "assay-bench-"));
	try {
		return Array.from({ length: PROBES }, (_, i) => {
			const args = [join(root, "src/cli/main.ts"), "probe", "local", "--json", "--out", join(folder, `${i}.assay`)];
			const run = spawnSync(process.execPath, args, { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] });
			if (run.status !== 0) throw new Error(`probe ${i} ended with ${run.status}: ${run.stdout}`);
			return JSON.parse(run.stdout) as Probe;
		});
	} finally {
		rmSync(folder, { recursive: true, force: true });
	}
}

function median(values: readonly number[]): number {
	return [...values].sort((a, b) => a - b)[values.length >> 1]!;
}

/** All results that were kept of earlier runs, by what they are. */
function keptResults(): Pick<Known, "kernels" | "earlier"> {
	const folder = join(root, "bench/results");
	const results = readdirSync(folder)
		.filter((name) => name.endsWith(".json"))
		.map((name) => JSON.parse(readFileSync(join(folder, name), "utf8")) as object);
	return {
		kernels: results.filter((r): r is KernelResults => "vendor" in r),
		earlier: results.filter((r): r is ProbeResults => "probes" in r),
	};
}

/**
 * The best figure of each name and device in every probe, over all probes. `spread` is largest ÷ smallest −
 * 1.
 */
function summarise(probes: readonly Probe[]) {
	const { verdict: first, claim } = probes[0]!;
	const kept = keptResults();
	const machine = claim.devices.map(({ name }) => name);
	const names = new Map(first.figures.map((f) => [`${f.device} ${f.name}`, f]));
	return [...names.values()].map(({ device, name, unit }) => {
		const values = probes.flatMap(({ verdict }) => {
			const own = verdict.figures.filter((f) => f.device === device && f.name === name).map((f) => f.value);
			return own.length === 0 ? [] : [Math.max(...own)];
		});
		const spread = Math.max(...values) / Math.min(...values) - 1;
		const value = median(values);
		const id = first.identity.find((identity) => identity.device === device)?.profile ?? null;
		const profile = PROFILES.find((p) => p.id === id) ?? null;
		const ceilings = ceilingsOf({ device, name }, claim.devices[device]!, { ...kept, profile, machine }).map((c) => ({
			...c,
			ratio: Number((value / c.value).toFixed(3)),
		}));
		return { device, name, unit, median: value, spread: Number(spread.toFixed(4)), values, ceilings };
	});
}

const files = process.argv.slice(2);
const probes = files.length === 0 ? probeHere() : files.map((file) => JSON.parse(readFileSync(file, "utf8")) as Probe);
if (probes.some(({ verdict }) => verdict.status !== "valid"))
	throw new Error("a probe that is not valid measures nothing");
const { claim } = probes[0]!;
const commit =
	process.env.COMMIT ??
	execFileSync("git", ["rev-parse", "--short=12", "HEAD"], { cwd: root, encoding: "utf8" }).trim();
const date = new Date().toISOString().slice(0, 10);
const result = {
	machine: claim.devices.map(({ name }) => name),
	host: { cpu: claim.host.cpu, cores: claim.host.cores, os: claim.host.os },
	driver: claim.driver?.version ?? null,
	commit,
	date,
	probes: probes.length,
	probeSeconds: probes.map(({ tookUs }) => Number((tookUs / 1e6).toFixed(2))),
	evidenceBytes: probes.map(({ evidence }) => evidence.bytes),
	figures: summarise(probes),
};
const device = claim.devices[0]!.name.toLowerCase()
	.replace(/^nvidia /, "")
	.replace(/[^a-z0-9]+/g, "-")
	.replace(/-$/, "");
const path = join(root, "bench/results", `${device}-${date}-probes.json`);
writeFileSync(
	path,
	`${JSON.stringify(result, null, "\t").replace(/\[\n\t+([\d.,\n\t]+?)\n\t+\]/g, (_, list: string) => `[${list.replace(/\n\t+/g, " ")}]`)}\n`,
);
for (const { device: at, name, unit, median: value, spread, ceilings } of result.figures) {
	const beside = ceilings.map(
		(c) => `${c.ratio.toFixed(3)} of ${c.of} (${formatFigure({ name, unit, value: Math.round(c.value) })})`,
	);
	console.log(
		`device ${at}  ${name.padEnd(24)} ${formatFigure({ name, value, unit }).padStart(13)}  spread ${(100 * spread).toFixed(1).padStart(4)} %  ${beside.join(", ")}`.trimEnd(),
	);
}
console.log(`${probes.length} probes in ${result.probeSeconds.join(", ")} s → ${path.slice(root.length)}`);
