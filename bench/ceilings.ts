// What each proven figure is put beside: on a GPU the engine's bare kernel and the vendor's library when
// bench/run.sh was run on such a machine, else the data sheet of the card that the figures say it is; on CPUs
// and disks, of which no data sheet is at hand, the best that an earlier run of this bench kept of the same
// machine. Pure: files are read in probes.ts. Tests: tests/bench-ceilings.test.ts.
import type { Precision } from "../src/protocol/maths/precision.ts";
import type { DeviceClaim, Figure } from "../src/protocol/probe/evidence.ts";
import type { Profile } from "../src/verify/hardware/identify/profile.ts";

export interface Ceiling {
	readonly value: number;
	readonly of: string;
}

/** As bench/vendor.py writes it. */
export interface KernelResults {
	readonly machine: string;
	readonly copyGbytesPerS: number;
	readonly vendor: readonly { readonly precision: string; readonly tops: number }[];
	readonly figures: readonly { readonly figure: string; readonly precision: string; readonly value: number }[];
}

/** As bench/probes.ts writes it. */
export interface ProbeResults {
	readonly machine: readonly string[];
	readonly figures: readonly { readonly device: number; readonly name: string; readonly median: number }[];
}

export interface Known {
	readonly kernels: readonly KernelResults[];
	readonly earlier: readonly ProbeResults[];
	/** The card that the figures say the device is; null when they do not. */
	readonly profile: Profile | null;
	readonly machine: readonly string[];
}

/** The nearest first; empty when nothing is known that the figure could be put beside. */
export function ceilingsOf(figure: Pick<Figure, "device" | "name">, claim: DeviceClaim, known: Known): Ceiling[] {
	if (figure.name === "memory.resident")
		return claim.kind === "gpu" ? [{ value: claim.memoryBytes, of: "claimed" }] : [];
	// A share is its own ratio.
	if (/^scaling\.|ratio$/.test(figure.name)) return [];
	const measured =
		claim.kind === "gpu" ? [...kernelCeilings(figure.name, claim, known), ...sheet(figure.name, known)] : [];
	return measured.length > 0 ? measured : earlierBest(figure, known);
}

function kernelCeilings(name: string, claim: DeviceClaim, { kernels }: Known): Ceiling[] {
	const results = kernels.filter(({ machine }) => machine === claim.name);
	const most = (values: readonly number[], scale: number, of: string): Ceiling[] =>
		values.length === 0 ? [] : [{ value: Math.max(...values) * scale, of }];
	if (name === "memory.bandwidth") {
		const copies = results.map(({ copyGbytesPerS }) => copyGbytesPerS);
		return most(copies, 1e9, "device copy");
	}
	const [, kind, precision] = /^(gemm|fma)\.(\w+)/.exec(name) ?? [];
	if (kind === undefined) return [];
	const kernel = results.flatMap(({ figures }) =>
		figures.filter((f) => f.figure === `${kind}_kernel` && f.precision === precision).map(({ value }) => value),
	);
	if (kind === "fma") return most(kernel, 2e12, "bare kernel"); // a step is a multiply and an add
	const vendor = results.flatMap((r) => r.vendor.filter((v) => v.precision === precision).map(({ tops }) => tops));
	return [...most(kernel, 1e12, "bare kernel"), ...most(vendor, 1e12, "cuBLAS")];
}

function sheet(name: string, { profile }: Known): Ceiling[] {
	if (profile === null) return [];
	const of = `data sheet of ${profile.id}`;
	if (name === "memory.bandwidth") return [{ value: profile.bytesPerS, of }];
	const rate = profile.rates[/^(?:gemm|fma)\.(\w+)/.exec(name)?.[1] as Precision];
	return rate === undefined ? [] : [{ value: rate, of }];
}

function earlierBest({ device, name }: Pick<Figure, "device" | "name">, { earlier, machine }: Known): Ceiling[] {
	const same = earlier.filter((r) => r.machine.length <= machine.length && r.machine.every((m, i) => m === machine[i]));
	const medians = same.flatMap(({ figures }) =>
		figures.filter((f) => f.device === device && f.name === name).map(({ median }) => median),
	);
	return medians.length === 0 ? [] : [{ value: Math.max(...medians), of: "best kept earlier" }];
}
