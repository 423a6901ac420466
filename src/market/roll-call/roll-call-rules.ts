// What a host must show in a roll call, from what it has proven: which devices answer, with how much work,
// holding how many bytes. Exact integers, so that host and validators come to the same. How an answer of that
// size is made is in verify/roll-call/. docs/roll-call.md.
import { type RollRequired, type RollSpec, rollBytes, rollOps } from "../../protocol/roll-call/roll-call.ts";
import type { Params } from "../params.ts";
import { provenFiguresOf } from "../scores/proven-figures.ts";
import type { Presence, Proof } from "../scores/score-input.ts";

const PPM = 1_000_000n;
const MS_A_SECOND = 1000n;

/** Two blocks, so that the chain's own times are a tight bound of the work. */
export function rollCallDeadlineMs(blockMs: number, { rollCallLeastMs }: Pick<Params, "rollCallLeastMs">): number {
	return Math.max(rollCallLeastMs, 2 * blockMs);
}

/** All GPUs; a host without one answers with its first CPU. Indexes in the claim. */
export function rollCallDevices(devices: readonly { readonly kind: string }[]): number[] {
	const gpus = devices.flatMap(({ kind }, i) => (kind === "gpu" ? [i] : []));
	const cpu = devices.findIndex(({ kind }) => kind === "cpu");
	return gpus.length > 0 || cpu < 0 ? gpus : [cpu];
}

/**
 * Of each device that must answer, in the claim's order. A share above a half of what it proved to do in the
 * time: so two keys that show one device cannot both answer. A device that proved nothing is worth nothing,
 * and little is asked of it.
 */
export function requiredOfHost(
	{ devices, figures, evidence }: Pick<Proof, "devices" | "figures" | "evidence">,
	deadlineMs: number,
	params: Params,
): RollRequired[] {
	const proven = provenFiguresOf({ figures, evidence });
	return rollCallDevices(devices).map((device) => {
		const share = devices[device]?.kind === "gpu" ? params.rollCallGpuSharePpm : params.rollCallCpuSharePpm;
		const opsPerS = BigInt(proven.proven(device, "gemm.int8", "op/s").value);
		const held = BigInt(proven.proven(device, "memory.resident", "B").value);
		return {
			device,
			ops: (opsPerS * BigInt(deadlineMs) * BigInt(share)) / (MS_A_SECOND * PPM),
			bytes: Number((held * BigInt(params.rollCallBytesPpm)) / PPM),
		};
	});
}

export function isEnough(spec: RollSpec, { device, ops, bytes }: RollRequired): boolean {
	return spec.device === device && rollOps(spec) >= ops && rollBytes(spec) >= bytes;
}

/**
 * Late, busy, silent and wrong are all absent, and so is whoever answers no calls at all. Excused is who was
 * being probed by this validator, or rented and paid for through the escrow.
 */
export type RollOutcome = "answered" | "absent" | "excused";

/** The newest `rollCallWindow` calls that are not excused. `outcomes`: newest first. */
export function presenceOf(
	outcomes: readonly RollOutcome[],
	{ rollCallWindow }: Pick<Params, "rollCallWindow">,
): Presence {
	const counted = outcomes.filter((one) => one !== "excused").slice(0, rollCallWindow);
	return { counted: counted.length, answered: counted.filter((one) => one === "answered").length };
}
