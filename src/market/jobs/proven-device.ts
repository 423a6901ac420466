// The device of a host that works at jobs, and what was proven of it: the validator draws and quotes by that,
// and the host reckons with the same. Pure.

interface Figure {
	readonly device: number;
	readonly name: string;
	readonly value: number;
}

interface ProvenDevice {
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

/** The device that works: the fastest GPU, else the fastest CPU. Each figure of it is proven. */
export function provenDevice(
	figures: readonly Figure[],
	devices: readonly { readonly device: number; readonly kind: string }[],
): ProvenDevice | null {
	const least = (device: number, name: string): number => {
		const values = figures.filter((one) => one.device === device && one.name === name).map(({ value }) => value);
		return values.length === 0 ? 0 : Math.min(...values);
	};
	const facts = (kind: string) =>
		devices
			.filter((one) => one.kind === kind)
			.map(({ device }) => ({
				memoryBytes: least(device, "memory.resident"),
				int8OpsPerS: least(device, "gemm.int8"),
				bytesPerS: least(device, "memory.bandwidth"),
				int32OpsPerS: least(device, "fma.int32") || Math.floor(least(device, "fma.fp32") / FP32_AN_INT32),
			}))
			.filter(({ int8OpsPerS, bytesPerS }) => int8OpsPerS > 0 && bytesPerS > 0)
			.sort((a, b) => b.int8OpsPerS - a.int8OpsPerS);
	return facts("gpu")[0] ?? facts("cpu")[0] ?? null;
}
