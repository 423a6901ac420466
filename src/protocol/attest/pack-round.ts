// A round of signed reports as a record whose bytes are attachments: the same in the evidence of a probe and
// in the rounds of a job.
import type { AttestationRecord } from "../probe/evidence.ts";

interface Device {
	readonly device: number;
	readonly report: Uint8Array;
	readonly chain: Uint8Array;
}

interface RoundToPack extends Pick<AttestationRecord, "after" | "sentAtUs" | "receivedAtUs" | "end" | "says"> {
	readonly gpus: readonly Device[];
	readonly switches: readonly Device[];
	readonly cpu: {
		readonly kind: string;
		readonly quote: Uint8Array;
		readonly certificates: Uint8Array | null;
	} | null;
}

type File = Pick<AttestationRecord["collateral"][number], "kind" | "id"> & { readonly bytes: Uint8Array };

/** Attachments go after those that are there. */
export function packRound(
	round: RoundToPack,
	collateral: readonly File[],
	attachments: Uint8Array[],
): AttestationRecord {
	const { after, sentAtUs, receivedAtUs, end, gpus, switches, cpu, says } = round;
	const put = (bytes: Uint8Array) => attachments.push(bytes) - 1;
	const packed = ({ device, report, chain }: Device) => ({ device, report: put(report), chain: put(chain) });
	return {
		...{ after, sentAtUs, receivedAtUs, end, says },
		gpus: gpus.map(packed),
		switches: switches.map(packed),
		cpu: cpu && {
			kind: cpu.kind,
			quote: put(cpu.quote),
			certificates: cpu.certificates && put(cpu.certificates),
			events: null,
		},
		collateral: collateral.map(({ kind, id, bytes }) => ({ kind, id, attachment: put(bytes) })),
	};
}
