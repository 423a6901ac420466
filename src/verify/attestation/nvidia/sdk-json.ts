// The JSON in which NVIDIA's attestation SDK hands evidence on: a list of devices, each with report and
// certificates in base64. As its command line prints it, the list is `evidences` of an object; as its service
// is asked, it is `evidence_list`, and `arch` stands beside it.
import { base64ToBytes } from "../bytes.ts";
import { parseJson } from "../json.ts";
import { wrong } from "../verdict.ts";
import type { DeviceEvidence } from "./verify-device.ts";

const MOST_DEVICES = 32;

export function readSdkJson(bytes: Uint8Array, where: string): DeviceEvidence[] {
	const file = parseJson(bytes, "ATTEST_FORM", where);
	const outer = typeof file === "object" && file !== null ? (file as Record<string, unknown>) : {};
	const rows = Array.isArray(file) ? file : (outer.evidences ?? outer.evidence_list);
	if (!Array.isArray(rows) || rows.length === 0 || rows.length > MOST_DEVICES)
		return wrong(where, "no list of devices");
	return rows.map((row: unknown, i) => {
		const { arch, evidence, certificate } = (typeof row === "object" && row !== null ? row : {}) as Record<
			string,
			unknown
		>;
		const [report, chain] = [evidence, certificate].map((one) => (typeof one === "string" ? base64ToBytes(one) : null));
		if (report == null || chain == null) return wrong(`${where}[${i}]`, "no report or certificates in base64");
		return { kind: (arch ?? outer.arch) === "LS10" ? "switch" : "gpu", report, chain };
	});
}
