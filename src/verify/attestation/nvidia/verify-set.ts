// Judges several devices of one host and one round: each genuine, one nonce, no key twice, and with protected
// PCIe one fabric: each GPU names its switches and each switch its GPUs, so equal sets are one machine.
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import type { AttestationSettings } from "../settings.ts";
import { type AttestationVerdict, hear, orDoubt, refuse } from "../verdict.ts";
import { checkGenuine, type DeviceEvidence, type GenuineDevice } from "./verify-device.ts";

const MOST_DEVICES = 32;

/** `read` gives the devices and may refuse: files are read inside the hearing. */
export function verifyDeviceSet(
	read: () => readonly DeviceEvidence[],
	nonce: Uint8Array | null,
	settings: AttestationSettings,
): AttestationVerdict {
	return hear((hearing) => {
		const evidence = read();
		if (evidence.length === 0 || evidence.length > MOST_DEVICES)
			refuse("ATTEST_FORM", "devices", `${evidence.length} devices in one round`);
		const told = evidence.map((one, i) =>
			orDoubt(hearing, () => checkGenuine(hearing, one, settings, `devices[${i}].`)),
		);
		for (const [i, one] of told.entries())
			if (typeof one?.unread === "string") hearing.doubtful("ATTEST_VERSION", `devices[${i}].report`, one.unread);
		const devices = told.filter((one) => one !== null);
		hearing.facts.devices = devices.map(({ spkiSha256 }) => spkiSha256);
		const asked = nonce ?? devices[0]?.nonce;
		const other = devices.findIndex((one) => asked === undefined || !equalBytes(one.nonce, asked));
		if (other >= 0) refuse("NONCE_WRONG", `devices[${other}]`, "the report is of another round");
		if (asked !== undefined) hearing.facts.nonce = bytesToHex(asked);
		const keys = devices.map(({ spkiSha256 }) => spkiSha256);
		const twice = keys.findIndex((key, i) => keys.indexOf(key) !== i);
		if (twice >= 0) refuse("DEVICE_REPEATED", `devices[${twice}]`, "one card is shown as two");
		// One of whom nothing is known would have to be named by the others.
		if (devices.length === evidence.length && checkFabric(devices)) hearing.facts.fabric = true;
		hearing.find("RELAYABLE", "no CPU quote names these reports: they may come from cards elsewhere");
		return "genuine";
	});
}

/** True when a fabric is shown; false when nothing speaks of one, or one of them cannot be read. */
function checkFabric(devices: readonly GenuineDevice[]): boolean {
	const gpus = devices.filter(({ kind }) => kind === "gpu");
	const switches = devices.filter(({ kind }) => kind === "switch");
	if (switches.length === 0) return false;
	if (gpus.length === 0) return false;
	checkLinks(gpus, switches);
	checkLinks(switches, gpus);
	return devices.every(({ unread }) => unread === null);
}

/** Each of `these` names exactly `those`. */
function checkLinks(these: readonly GenuineDevice[], those: readonly GenuineDevice[]): void {
	const due = those.map(({ pdi }) => pdi).sort();
	for (const { pdi, links, kind } of these.filter(({ unread }) => unread === null))
		if (links === null || links.length !== due.length || links.some((link, i) => link !== due[i]))
			refuse(
				"TOPOLOGY_WRONG",
				`${kind} ${pdi}`,
				`it is linked to ${links?.length ?? "no"} devices, not to the ${due.length} shown`,
			);
}
