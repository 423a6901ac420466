// The JSON in which NVIDIA's attestation SDK hands evidence on: a list of devices, each with report and certificates in base64.
import { base64ToBytes } from "../bytes.ts";
import { parseJson } from "../json.ts";
import { refuse } from "../verdict.ts";
import type { DeviceEvidence } from "./verify-device.ts";

const MOST_DEVICES = 32;

const wrong = (where: string, detail: string): never => refuse("ATTEST_FORM", where, detail);

export function readSdkJson(bytes: Uint8Array, where: string): DeviceEvidence[] {
	const rows = parseJson(bytes, "ATTEST_FORM", where);
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
