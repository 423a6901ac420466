// Reports of devices and a CPU's quote of one round, docs/attestation.md: the quote's report data is the
// reports' nonce and then the set, a hash of all reports and chains in their order. So one guest asked for
// exactly these reports.
import { reportDataOf, setOf } from "../../protocol/attest/binding.ts";
import { hexToBytes } from "../../protocol/bytes/bytes.ts";
import type { DeviceEvidence } from "./nvidia/verify-device.ts";
import type { AttestationPolicy, AttestationSettings } from "./settings.ts";
import type { AttestationVerdict, Level } from "./verdict.ts";

/**
 * `judgeGuest` judges the quote or SNP report, which must have this report data. The first fault of either
 * counts, the devices' first.
 */
export function joinGuest(
	devices: readonly DeviceEvidence[],
	reports: AttestationVerdict,
	judgeGuest: (reportData: Uint8Array | null) => AttestationVerdict,
	{ policy }: AttestationSettings,
): AttestationVerdict {
	if (reports.status === "invalid") return reports;
	// Null: no report can be read, and what it answers is not known.
	const nonce = hexToBytes((reports.facts.nonce as string | undefined) ?? "", 32);
	const guest = judgeGuest(nonce && reportDataOf(nonce, setOf(devices)));
	const isNamed = isAllowed(guest, policy);
	const findings = [...reports.findings, ...guest.findings].filter(
		(one, i, all) => !(isNamed && one.code === "RELAYABLE") && all.findIndex(({ code }) => code === one.code) === i,
	);
	const facts = { ...reports.facts, guest: guest.facts };
	// What is false decides before what is missing.
	if (guest.status === "invalid" || reports.status === "valid")
		return { ...guest, level: levelOf(reports, guest, policy), facts, findings };
	return { ...reports, facts, findings };
}

/**
 * Any guest may relay: only one that is allowed counts, on a platform whose TCB was judged. An enclave has no
 * devices.
 */
const isAllowed = ({ status, facts }: AttestationVerdict, { guests }: AttestationPolicy): boolean =>
	status === "valid" && guests !== null && facts.tcb !== undefined && facts.tee !== "sgx";

function levelOf(reports: AttestationVerdict, guest: AttestationVerdict, policy: AttestationPolicy): Level {
	if (guest.status !== "valid") return "none";
	// Each verdict says it of its own roots.
	if (guest.findings.some(({ code }) => code === "SIMULATED_ROOTS")) return "none";
	return reports.level === "measured" && isAllowed(guest, policy) ? "hosted" : reports.level;
}
