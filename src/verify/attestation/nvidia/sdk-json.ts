// The JSON in which NVIDIA's attestation SDK hands evidence on: a list of devices, each with report and certificates in base64.
import { bytesToUtf8 } from "../../../protocol/bytes/bytes.ts";
import { tooDeepAt } from "../../../protocol/bytes/canonical-json.ts";
import { base64ToBytes } from "../bytes.ts";
import { refuse } from "../verdict.ts";
import type { DeviceEvidence } from "./verify-device.ts";

const MOST_CHARS = 1024 * 1024;
const MOST_DEVICES = 32;

const wrong = (where: string, detail: string): never => refuse("ATTEST_FORM", where, detail);

/** Parses JSON of strangers: bounded, not too deep. */
function parseJson(bytes: Uint8Array, where: string): unknown {
	const text = bytes.length <= MOST_CHARS ? bytesToUtf8(bytes) : null;
	if (text === null || tooDeepAt(text) !== null) return wrong(where, "no JSON that is worth reading");
	try {
		return JSON.parse(text);
	} catch {
		return wrong(where, "no JSON");
	}
}

export function readSdkJson(bytes: Uint8Array, where: string): DeviceEvidence[] {
	const rows = parseJson(bytes, where);
	if (!Array.isArray(rows) || rows.length === 0 || rows.length > MOST_DEVICES)
		return wrong(where, "no list of devices");
	return rows.map((row: unknown, i) => {
		const { arch, evidence, certificate } = (typeof row === "object" && row !== null ? row : {}) as Record<
			string,
			unknown
		>;
		const [report, chain] = [evidence, certificate].map((one) => (typeof one === "string" ? base64ToBytes(one) : null));
		if (report == null || chain == null) return wrong(`${where}[${i}]`, "no report or certificates in base64");
		return { kind: arch === "LS10" ? "switch" : "gpu", report, chain };
	});
}
