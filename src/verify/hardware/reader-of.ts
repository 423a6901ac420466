// Whose memory does a stream prove something about? Decided by the kinds of the devices in the claim, by
// nothing that a spec says.
import type { ChallengeSpec, DeviceClaim, KeptSpec } from "../../protocol/probe/evidence.ts";

/**
 * own: the gemm's device reads what it kept. peer: another device of the same kind reads it over whatever
 * joins the two. disk: a disk reads back its copy. null: no such reader, the challenge is wrong.
 */
export type Reader = "own" | "peer" | "disk" | null;

export function readerOf(
	spec: KeptSpec,
	specs: readonly ChallengeSpec[],
	devices: readonly Pick<DeviceClaim, "kind">[],
): Reader {
	const gemm = specs[spec.of];
	if (gemm?.kind !== "gemm") return null;
	const reader = devices[spec.device]?.kind;
	const holder = devices[gemm.device]?.kind;
	if (reader === "disk") return holder === "cpu" && spec.kind !== "chase" ? "disk" : null;
	// A copy goes to a disk and nowhere else.
	if (spec.kind === "copy" || reader === undefined || reader !== holder) return null;
	if (spec.device === gemm.device) return "own";
	// A chase is of one memory: the device's own.
	return spec.kind === "chase" ? null : "peer";
}
