// One round of attestation: the GPUs are asked first, where one signed the switches, then the guest, whose
// quote names their reports. What comes is kept as it is; what does not come is told by the host's own words.
// A host loses nothing by having none. Not here: what is true (verify/attestation).

import { setOf } from "../../protocol/attest/binding.ts";
import { bytesToUtf8 } from "../../protocol/bytes/bytes.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import type { End } from "../../protocol/probe/evidence.ts";
import type { EngineClient } from "./create-engine-client.ts";
import type { AttestAnswer, ReportRecord } from "./engine-answers.ts";

/** An H100 takes about a second to sign; the engine gives up on a guest's CPU after a minute. */
const DEADLINE_MS = { devices: 60_000, guest: 75_000 };
const MOST_SAYINGS = 66;

interface CollectedDevice {
	/** As NVML or NSCQ counts. */
	readonly device: number;
	readonly report: Uint8Array;
	readonly chain: Uint8Array;
}

interface CollectedQuote {
	/** What the kernel calls it, e.g. tdx_guest: a claim. */
	readonly kind: string;
	readonly quote: Uint8Array;
	readonly certificates: Uint8Array | null;
}

export interface CollectedRound {
	readonly sentAtUs: number;
	readonly receivedAtUs: number;
	readonly end: End;
	readonly gpus: readonly CollectedDevice[];
	readonly switches: readonly CollectedDevice[];
	readonly cpu: CollectedQuote | null;
	/** Why there is no report of a device, and no quote. */
	readonly says: readonly string[];
}

export async function collectRound(client: EngineClient, bind: Uint8Array): Promise<CollectedRound> {
	const none = new Uint8Array(32);
	const devices = await client.attest({ what: "devices", nonce: bind, set: none }, { deadlineMs: DEADLINE_MS.devices });
	const gpus = devicesIn(devices.parts);
	const says = sayingsOf("gpu", devices);
	const nothing = { gpus: [], switches: [], cpu: null };
	if (devices.end !== "complete") return { ...spanOf(devices, devices), ...nothing, says };
	const fabric = gpus.length === 0 ? null : await askSwitches(client, bind);
	if (fabric !== null) says.push(...sayingsOf("switch", fabric));
	// Refused: an engine of before, which knows of no switches.
	if (fabric !== null && fabric.end !== "complete" && fabric.end !== "refused")
		return { ...spanOf(devices, fabric), ...nothing, says };
	const switches = devicesIn(fabric?.parts ?? []);
	const guest = await client.attest(
		{ what: "guest", nonce: bind, set: setOf([...gpus, ...switches]) },
		{ deadlineMs: DEADLINE_MS.guest },
	);
	return {
		...{ ...spanOf(devices, guest), gpus, switches },
		cpu: guest.end === "complete" ? quoteIn(guest.parts) : null,
		says: [...says, ...sayingsOf("cpu", guest)].slice(0, MOST_SAYINGS),
	};
}

const askSwitches = (client: EngineClient, bind: Uint8Array): Promise<AttestAnswer> =>
	client.attest({ what: "switches", nonce: bind, set: new Uint8Array(32) }, { deadlineMs: DEADLINE_MS.devices });

const spanOf = (first: AttestAnswer, last: AttestAnswer) => ({
	sentAtUs: Math.floor(first.sentAtUs),
	receivedAtUs: Math.floor(last.endedAtUs),
	end: last.end,
});

/** Only whole pairs; the first of each part counts. */
function devicesIn(parts: readonly ReportRecord[]): CollectedDevice[] {
	const of = (index: number, part: ReportRecord["part"]) =>
		parts.find((one) => one.index === index && one.part === part)?.bytes;
	return [...new Set(parts.map(({ index }) => index))].flatMap((device) => {
		const [report, chain] = [of(device, "report"), of(device, "chain")];
		return report === undefined || chain === undefined ? [] : [{ device, report, chain }];
	});
}

function quoteIn(parts: readonly ReportRecord[]): CollectedQuote | null {
	const of = (part: ReportRecord["part"]) => parts.find((one) => one.part === part)?.bytes;
	const quote = of("quote");
	if (quote === undefined) return null;
	return { kind: words(of("provider") ?? new Uint8Array(0)), quote, certificates: of("certificates") ?? null };
}

const words = (bytes: Uint8Array): string => safeText(bytesToUtf8(bytes) ?? "no text").slice(0, 200);

function sayingsOf(what: "gpu" | "switch" | "cpu", { end, detail, parts }: AttestAnswer): string[] {
	if (end !== "complete") return [safeText(`${what}: ${detail}`).slice(0, 256)];
	return parts
		.filter(({ part }) => part === "nothing")
		.map(({ index, bytes }) => `${what}${what === "cpu" ? "" : ` ${index}`}: ${words(bytes)}`)
		.slice(0, MOST_SAYINGS);
}
