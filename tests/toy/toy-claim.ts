// What a toy host claims: tiny cards and one CPU. A claim proves nothing, so anything may stand here.
import { PRECISIONS } from "../../src/protocol/maths/precision.ts";
import type { DeviceClaim, DeviceKind, HostClaim } from "../../src/protocol/probe/evidence.ts";

const NAMES: Readonly<Record<DeviceKind, string>> = { gpu: "Toy card", cpu: "Toy processor", disk: "Toy disk" };

export function toyDevice(kind: DeviceKind, number: number): DeviceClaim {
	return {
		kind,
		name: NAMES[kind],
		uuid: kind === "gpu" ? `GPU-toy-${number}` : "",
		memoryBytes: 64 * 2 ** 20,
		freeBytes: 48 * 2 ** 20,
		units: 1,
		clockMHz: 1000,
		compute: kind === "gpu" ? "9.0" : "",
		pcieGen: 0,
		pcieWidth: 0,
		powerLimitW: 0,
		powerDefaultW: 0,
		temperatureC: 0,
		precisions: kind === "disk" ? [] : PRECISIONS,
	};
}

/** GPUs, then CPUs, then a disk when asked for. */
export function toyClaim(gpus: number, cpus = 1, disk = false): HostClaim {
	return {
		engine: { version: "toy", arch: "toy", cuda: gpus > 0 },
		host: { os: "toy", cpu: "Toy processor", cores: 1, ramBytes: 64 * 2 ** 20, ramFreeBytes: 48 * 2 ** 20 },
		driver: gpus > 0 ? { version: "1", cuda: "1" } : null,
		why: gpus > 0 ? "" : "a toy has no card",
		devices: [
			...Array.from({ length: gpus }, (_, i) => toyDevice("gpu", i)),
			...Array.from({ length: cpus }, (_, i) => toyDevice("cpu", i)),
			...(disk ? [toyDevice("disk", 0)] : []),
		],
	};
}
