// The devices of a host that can work at jobs, and what was proven of each: the validator draws and quotes by
// that, and the host reckons with the same. Pure.

interface Figure {
	readonly device: number;
	readonly name: string;
	readonly value: number;
}

export interface ProvenDevice {
	readonly device: number;
	/** 0: none was proven. */
	readonly memoryBytes: number;
	readonly int8OpsPerS: number;
	readonly bytesPerS: number;
	/** 0: none was proven. */
	readonly int32OpsPerS: number;
}

/** Where only the other was proven: of an H200 1.95, of CPUs 3.5 to 4.6. */
const FP32_AN_INT32 = 2;

/** What a device's probes must show for it to be reckoned with. */
export const WORK_FIGURES = ["memory.resident", "gemm.int8", "memory.bandwidth", "fma.int32", "fma.fp32"] as const;

/** GPUs and CPUs with a proven speed, the fastest first. Each figure of one is that device's own. */
export function provenDevices(
	figures: readonly Figure[],
	devices: readonly { readonly device: number; readonly kind: string }[],
): readonly ProvenDevice[] {
	const least = (device: number, name: string): number => {
		const values = figures.filter((one) => one.device === device && one.name === name).map(({ value }) => value);
		return values.length === 0 ? 0 : Math.min(...values);
	};
	return devices
		.filter(({ kind }) => kind === "gpu" || kind === "cpu")
		.map(({ device }) => ({
			device,
			memoryBytes: least(device, "memory.resident"),
			int8OpsPerS: least(device, "gemm.int8"),
			bytesPerS: least(device, "memory.bandwidth"),
			int32OpsPerS: least(device, "fma.int32") || Math.floor(least(device, "fma.fp32") / FP32_AN_INT32),
		}))
		.filter(({ int8OpsPerS, bytesPerS }) => int8OpsPerS > 0 && bytesPerS > 0)
		.sort((a, b) => b.int8OpsPerS - a.int8OpsPerS || a.device - b.device);
}
