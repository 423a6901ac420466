// The parts of a host beside its GPUs: CPU, RAM, disk, each a share of a reference host, capped. Proven
// figures only; what is merely claimed (the size of the RAM) may lower a part and never raises it above what
// the proven bandwidth allows. docs/scores.md.

import type { Params } from "../params.ts";
import type { Term, Unit } from "./explanation.ts";
import type { ProvenFigures } from "./proven-figures.ts";
import { given, term } from "./recompute.ts";
import type { Proof } from "./score-input.ts";

type Reference = keyof Params & (`cpu${string}PerS` | `disk${string}PerS` | "ramBytesPerS");

/**
 * The best single CPU device: virtual ones share the cores, so that adding them up would pay for cutting a
 * CPU in pieces.
 */
export function cpuTerm({ devices }: Proof, figures: ProvenFigures, params: Params): Term {
	return best("cpu", indexesOf(devices, "cpu"), (device) =>
		term(`cpu ${device}`, "ppm", "mean", [
			share(device, "gemm.int8", "op/s", "cpuInt8OpsPerS", figures, params),
			share(device, "fma.fp32", "flop/s", "cpuFp32FlopPerS", figures, params),
			share(device, "fma.fp64", "flop/s", "cpuFp64FlopPerS", figures, params),
		]),
	);
}

/**
 * A probe keeps some hundred MiB in RAM: that there is RAM is proven, and how fast it is; how much there is,
 * is a claim.
 */
export function ramTerm({ devices, evidence, claimedRamBytes }: Proof, figures: ProvenFigures, params: Params): Term {
	const claimed = given("claimed size", "B", safe(claimedRamBytes), evidence);
	const size = term("size", "ppm", "share", [claimed, given("ramBytes", "B", params.ramBytes, "params:ramBytes")]);
	return best("ram", indexesOf(devices, "cpu"), (device) =>
		term(`ram of cpu ${device}`, "ppm", "min", [
			share(device, "memory.bandwidth", "B/s", "ramBytesPerS", figures, params),
			size,
			present(figures.proven(device, "memory.resident", "B")),
		]),
	);
}

export function diskTerm({ devices }: Proof, figures: ProvenFigures, params: Params): Term {
	return best("disk", indexesOf(devices, "disk"), (device) =>
		term(`disk ${device}`, "ppm", "min", [
			term("speed", "ppm", "mean", [
				share(device, "disk.read", "B/s", "diskReadBytesPerS", figures, params),
				share(device, "disk.write", "B/s", "diskWriteBytesPerS", figures, params),
			]),
			present(figures.proven(device, "disk.stored", "B")),
		]),
	);
}

function indexesOf(devices: Proof["devices"], kind: string): number[] {
	return devices.flatMap((device, i) => (device.kind === kind ? [i] : []));
}

function best(name: string, devices: readonly number[], each: (device: number) => Term): Term {
	return term(name, "ppm", "max", devices.map(each));
}

function share(
	device: number,
	name: string,
	unit: Unit,
	reference: Reference,
	figures: ProvenFigures,
	params: Params,
): Term {
	const full = given(reference, unit, params[reference], `params:${reference}`);
	return term(name, "ppm", "share", [figures.proven(device, name, unit), full]);
}

/** All or nothing: was any byte proven to be there? */
function present(bytes: Term): Term {
	return term("present", "ppm", "share", [bytes, given("one byte", "B", 1, "constant")]);
}

function safe(value: number): number {
	return Number.isSafeInteger(value) && value > 0 ? value : 0;
}
