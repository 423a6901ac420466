// The disk's part of a probe: products of the CPU are written to it and read back. Bytes that the CPU could
// make again as fast as the disk gives them prove nothing, so they must be dear enough for this disk: those
// of the RAM's fill when they are, else a few dearer ones made for it. A trial says how fast the disk is.
// Page: docs/hardware-proof.md §5, §9.
import type { GemmSpec } from "../../../protocol/probe/evidence.ts";
import type { Budgets } from "./budgets.ts";
import { devicesOf, filled, type Phase, stage, warm } from "./plan-stage.ts";
import { opsOfRound, roundBytes, type Seen } from "./probe-plan.ts";

const MiB = 2 ** 20;
/** Long enough to see a disk's speed, short enough for one of 100 MB/s. */
const TRIAL_BYTES = 32 * MiB;
/** verify asks for 3 (policy.ts); half as much again, for a trial is not the run. */
const MARGIN = 4.5;
const MAX_K = 65536;
const MAX_BYTES = 512 * MiB;
const DEADLINE_MS = 60_000;

interface Source {
	readonly index: number;
	readonly spec: GemmSpec;
}

/** Speed of a finished gemm, op/s. */
function proven(seen: Seen, { index, spec }: Source): number {
	const { seconds, roots } = seen.challenges[index]!;
	return seconds > 0 ? (opsOfRound(spec) * roots) / seconds : 0;
}

interface Disk {
	readonly device: number;
	/** The fill of the first CPU device. */
	readonly source: Source;
	/**
	 * Operations a second that the host's CPU devices have together: what could be put to making the bytes
	 * again.
	 */
	readonly opsPerS: number;
}

function diskOf(seen: Seen): Disk | null {
	const device = devicesOf(seen, "disk")[0];
	const cpus = devicesOf(seen, "cpu").map((cpu) => ramFill(seen, cpu));
	const source = cpus[0];
	if (device === undefined || !source || seen.claim.devices[device]!.freeBytes < 2 * MAX_BYTES) return null;
	const opsPerS = cpus.reduce((sum, fill) => sum + (fill ? proven(seen, fill) : 0), 0);
	return { device, source, opsPerS };
}

/** The first gemm of a CPU device is the fill of its RAM; one for the disk may follow. */
function ramFill(seen: Seen, device: number): Source | null {
	const index = seen.challenges.findIndex(({ spec }) => spec.kind === "gemm" && spec.device === device);
	const found = seen.challenges[index];
	return found?.spec.kind === "gemm" && found.end === "complete" ? { index, spec: found.spec } : null;
}

/** What the trial showed, B/s; null when it did not end well, and the disk is not asked. */
function trialOf(seen: Seen, device: number): { readonly write: number; readonly read: number } | null {
	const of = (kind: "copy" | "stream") =>
		seen.warmUps.findLast(({ run }) => run.kind === kind && run.device === device)?.bytesPerS ?? 0;
	const [write, read] = [of("copy"), of("stream")];
	return write > 0 && read > 0 ? { write, read } : null;
}

function dearerSpec(disk: Disk, read: number, ownOpsPerS: number, budgetS: number, samples: number): GemmSpec {
	let k = disk.source.spec.k;
	while (k < MAX_K && k * read < MARGIN * disk.opsPerS) k *= 2;
	let m = 2048;
	const n = 2048;
	const secondsOf = (rows: number) => opsOfRound({ kind: "gemm", m: rows, n, k }) / ownOpsPerS;
	while (m > 128 && secondsOf(m) > 2 * budgetS) m /= 2;
	const rounds = Math.max(
		1,
		Math.min(Math.floor(budgetS / secondsOf(m)), Math.floor(MAX_BYTES / roundBytes({ m, n }))),
	);
	return { kind: "gemm", device: disk.source.spec.device, precision: "int8", m, n, k, rounds, keep: rounds, samples };
}

export function diskPhases(
	budgets: Budgets,
	samples: number,
): Readonly<Record<"trial" | "fill" | "copy" | "stream", Phase>> {
	const places = Math.min(samples, budgets.disk.samples);
	/** The dearer products when there are any, else the RAM's fill. */
	const sourceOf = (seen: Seen, disk: Disk): Source | null => filled(seen, disk.source.spec.device);
	return {
		trial: {
			name: "disk trial",
			step: (seen) => {
				const disk = diskOf(seen);
				const isDone = seen.warmUps.some(({ run }) => run.kind === "copy");
				if (disk === null || isDone) return null;
				const { device, source } = disk;
				const newest = Math.min(source.spec.keep, Math.ceil(TRIAL_BYTES / roundBytes(source.spec)));
				return warm([
					{ kind: "copy", device, of: source.index, newest },
					{ kind: "stream", device, of: source.index, newest, passes: 2 },
				]);
			},
		},
		fill: {
			name: "disk fill",
			step: (seen) => {
				const disk = diskOf(seen);
				const trial = disk && trialOf(seen, disk.device);
				if (!disk || !trial || disk.source.spec.k * trial.read >= MARGIN * disk.opsPerS) return null;
				const own = proven(seen, disk.source);
				return stage(seen, [dearerSpec(disk, trial.read, own, budgets.disk.fillS, samples)], { hold: true });
			},
		},
		copy: {
			name: "disk copy",
			step: (seen) => {
				const disk = diskOf(seen);
				const trial = disk && trialOf(seen, disk.device);
				const source = disk && sourceOf(seen, disk);
				if (!disk || !trial || !source) return null;
				const rounds = Math.floor((budgets.disk.copyS * trial.write) / roundBytes(source.spec));
				const newest = Math.max(1, Math.min(source.spec.keep, rounds));
				return stage(seen, [{ kind: "copy", device: disk.device, of: source.index, newest, samples: places }], {
					hold: true,
					deadlineMs: DEADLINE_MS,
				});
			},
		},
		stream: {
			name: "disk stream",
			step: (seen) => {
				const disk = diskOf(seen);
				const trial = disk && trialOf(seen, disk.device);
				const copy = seen.challenges.findLast(({ spec }) => spec.kind === "copy")?.spec;
				if (!disk || !trial || copy?.kind !== "copy") return null;
				const { of, newest, device } = copy;
				const bytes = newest * roundBytes(seen.challenges[of]!.spec as GemmSpec);
				const passes = Math.min(64, Math.max(2, Math.ceil((budgets.disk.readS * trial.read) / bytes)));
				return stage(seen, [{ kind: "stream", device, of, newest, passes, samples: places }], {
					hold: true,
					deadlineMs: DEADLINE_MS,
				});
			},
		},
	};
}
