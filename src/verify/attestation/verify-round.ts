// Judges one round of a probe or job: reports of devices, the quote of the guest that asked them, and the
// vendors' files that came along, all bound to one nonce. Each device shows a level of its own; the round
// shows the lowest of its GPUs. Switches show that they are one machine. What is only missing, out of date or
// not known here lowers the level and is told. First by the vendors' roots; evidence under the roots of our
// own mint is judged as well, and says SIMULATED_ROOTS.
import { deviceKeyOf, reportDataOf, setOf } from "../../protocol/attest/binding.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import {
	ATTESTED_LEVELS,
	type AttestedDevice,
	type AttestedGuest,
	type AttestedLevel,
	type AttestedPolicy,
	type Finding,
} from "../../protocol/probe/verdict.ts";
import { openTable } from "./amd/certificate-table.ts";
import { verifySnp } from "./amd/verify-snp.ts";
import { verifyAzure } from "./azure/verify-azure.ts";
import type { CollateralEntry, CollateralItem } from "./collateral/bundle.ts";
import { chooseItems } from "./collateral/choose-items.ts";
import { kindOfFile } from "./file-kind.ts";
import { type GuestRule, ruleFor } from "./guest-rules.ts";
import { verifyQuote } from "./intel/verify-quote.ts";
import { Memory } from "./memory.ts";
import { chainOf, type DeviceEvidence, verifyDevice } from "./nvidia/verify-device.ts";
import { verifyDeviceSet } from "./nvidia/verify-set.ts";
import { policyAt } from "./policy.ts";
import { type AttestationSettings, DEFAULT_POLICY, MINT_ROOTS, type Roots, VENDOR_ROOTS } from "./settings.ts";
import type { AttestationVerdict } from "./verdict.ts";
import type { Certificate } from "./x509/certificate.ts";
import { rememberSignatures, type VerifySignature } from "./x509/signature.ts";

export interface RoundEvidence {
	/** GPUs, then switches, in the order of the set. */
	readonly devices: readonly DeviceEvidence[];
	readonly guest: { readonly quote: Uint8Array; readonly certificates: Uint8Array | null } | null;
	readonly collateral: readonly (Pick<CollateralEntry, "kind" | "id"> & { readonly bytes: Uint8Array })[];
}

type Fault = Pick<AttestationVerdict, "code" | "where" | "detail">;

export interface RoundVerdict {
	/** What is false; null: nothing. */
	readonly fault: Fault | null;
	/** What is shown if the roots are the vendors'. */
	readonly shown: AttestedLevel;
	readonly isSimulated: boolean;
	/** Those whose signature over this round's nonce is good. */
	readonly devices: readonly AttestedDevice[];
	/** Devices of which not even that can be told: the format of their evidence is not known here. */
	readonly untold: number;
	/** What of a device, or of a guest alone, is not known here; null: nothing. */
	readonly unread: string | null;
	readonly guest: AttestedGuest | null;
	/** Findings, and what is missing for more. */
	readonly reasons: readonly Finding[];
	readonly policy: AttestedPolicy;
}

export interface RoundQuestion {
	readonly bind: Uint8Array;
	readonly atMs: number;
	readonly verify: VerifySignature;
	/**
	 * Guests whose word that these are its devices counts; null: nobody's. Another guest is no fault, but not
	 * hosted.
	 */
	readonly guests: readonly GuestRule[] | null;
}

export function verifyRound(round: RoundEvidence, question: RoundQuestion): RoundVerdict {
	const verify = rememberSignatures(question.verify);
	const { atMs, guests } = question;
	const under = (roots: Roots): RoundVerdict => ({
		...judge(round, question, { roots, atMs, policy: DEFAULT_POLICY, verify, memory: new Memory() }),
		policy: policyAt({ roots, atMs, policy: { ...DEFAULT_POLICY, guests } }),
	});
	const real = under(VENDOR_ROOTS);
	if (real.fault?.code !== "ATTEST_CHAIN") return real;
	const simulated = under(MINT_ROOTS);
	return simulated.fault?.code === "ATTEST_CHAIN" ? real : { ...simulated, isSimulated: true };
}

type Judged = Omit<RoundVerdict, "policy">;

function judge(
	round: RoundEvidence,
	{ bind, guests }: Pick<RoundQuestion, "bind" | "guests">,
	settings: AttestationSettings,
): Judged {
	const reasons: Finding[] = [];
	const note = (code: string | null, detail: string) => {
		if (code !== null && !reasons.some((one) => one.code === code)) reasons.push({ code, detail });
	};
	const told = (verdict: AttestationVerdict): AttestationVerdict => {
		for (const { code, detail } of verdict.findings) note(code, detail);
		if (verdict.status !== "valid" && !isFault(verdict)) note(verdict.code, verdict.detail);
		return verdict;
	};
	const devices: AttestedDevice[] = [];
	const levels: AttestedLevel[] = [];
	let guest: AttestedGuest | null = null;
	let isNamed = false;
	let unread: string | null = null;
	const result = (fault: Fault | null): Judged => {
		// ATTACK: beside one card that says nothing, eight that are measured show no host.
		const least = fault !== null ? "none" : (ATTESTED_LEVELS.find((level) => levels.includes(level)) ?? "none");
		const shown = isNamed && least === "measured" ? "hosted" : least;
		// Any guest may relay, but for those that are known not to.
		const kept = isNamed ? reasons.filter(({ code }) => code !== "RELAYABLE") : reasons;
		const untold = round.devices.length - devices.length;
		return { fault, shown, isSimulated: false, devices, untold, unread, guest, reasons: kept };
	};
	if (round.devices.length > 0) {
		const set = verifyDeviceSet(() => round.devices, bind, settings);
		if (set.status === "invalid") return result(set);
	}
	for (const [i, evidence] of round.devices.entries()) {
		const { verdict, device } = judgeDevice(evidence, round, bind, settings);
		if (isFault(told(verdict))) return result(at(verdict, `devices[${i}].`));
		if (device !== null) devices.push(device);
		if (device === null || verdict.facts.unread !== undefined) unread ??= verdict.detail;
		// Whoever shows its switches must not stand below whoever hides them.
		if (evidence.kind === "gpu") levels.push(device?.level ?? "none");
	}
	if (round.guest !== null) {
		const verdict = told(judgeGuest(round, reportDataOf(bind, setOf(round.devices)), settings));
		if (isFault(verdict)) return result(at(verdict, "cpu."));
		if (verdict.status === "valid") guest = guestOf(verdict.facts);
		if (verdict.code === "ATTEST_VERSION" && round.devices.length === 0) unread = verdict.detail;
		if (guest !== null && guests !== null) {
			const rule = ruleFor(guests, { ...guest, registers: registersOf(verdict.facts) });
			if (rule === null)
				note("GUEST_OTHER", `its guest (${guest.tee} ${guest.measurement.slice(0, 16)}…) is not allowed`);
			// An enclave has no devices; a platform whose TCB nobody judged may be broken.
			isNamed = rule !== null && guest.tee !== "sgx" && verdict.facts.tcb !== undefined;
		}
	}
	return result(null);
}

const at = ({ code, where, detail }: Fault, before: string): Fault => ({ code, where: `${before}${where}`, detail });

/**
 * Codes of genuine evidence that answers our nonce and shows something bad: a guest that its host can read,
 * or firmware that the vendor lists as out of date or does not list. It is no lie, so the probe stays valid,
 * but the guest does not count, and the device has no level.
 */
const SPEAKS_AGAINST: ReadonlySet<string | null> = new Set([
	...["GUEST_DEBUG", "GUEST_POLICY", "TCB_REFUSED", "TCB_UNKNOWN", "MEASUREMENT_WRONG"],
]);

const isFault = ({ status, code }: AttestationVerdict): boolean => status === "invalid" && !SPEAKS_AGAINST.has(code);

/** As much as its manifests show. Not having them is no fault. Null: whose report it is cannot be told. */
function judgeDevice(
	evidence: DeviceEvidence,
	{ collateral }: RoundEvidence,
	bind: Uint8Array,
	settings: AttestationSettings,
): { readonly verdict: AttestationVerdict; readonly device: AttestedDevice | null } {
	const { report, chain, kind } = evidence;
	const needing = { reports: [report], quotes: [], snpReports: [], certificates: [chain] };
	const chosen = chooseItems(needing, collateral.map(itemOf), settings);
	const of = (wanted: CollateralEntry["kind"]) => chosen.filter((one) => one.kind === wanted).map(({ bytes }) => bytes);
	const [manifests, ocsp] = [of("manifest"), of("OCSP answer")];
	const ask = manifests.length > 0 ? "measured" : "genuine";
	const verdict = verifyDevice(evidence, { ask, nonce: bind, chip: null, manifests, ocsp }, settings);
	const { facts, status } = verdict;
	if (isFault(verdict) || facts.spkiSha256 === undefined) return { verdict, device: null };
	const text = (name: string) => (typeof facts[name] === "string" ? (facts[name] as string) : null);
	const isNone = status === "invalid" || facts.unread !== undefined;
	const device: AttestedDevice = {
		kind,
		key: keyOfChain(chainOf(chain, settings, "chain")),
		chip: text("chip") ?? "",
		driver: text("driver"),
		firmware: text("vbios") ?? text("bios"),
		level: isNone ? "none" : status === "valid" ? ask : "genuine",
	};
	return { verdict, device };
}

/** Whether two rounds show different devices. Of what could not be read, anything may be. */
export function areOthers(a: RoundVerdict, b: RoundVerdict): boolean {
	const isBeyond = (these: RoundVerdict, those: RoundVerdict) =>
		these.devices.filter(({ key }) => !those.devices.some((one) => one.key === key)).length > those.untold;
	return a.devices.length + a.untold !== b.devices.length + b.untold || isBeyond(a, b) || isBeyond(b, a);
}

/** The files say themselves until when they hold, and the verifier asks them. */
const itemOf = (one: RoundEvidence["collateral"][number]): CollateralItem => ({
	...{ rank: 0, fetchedAtS: 0, validFromS: 0, validUntilS: Number.MAX_SAFE_INTEGER, source: "" },
	...one,
});

/** Of a chain that was judged. */
export const deviceKeyOfChain = (chain: Uint8Array): string => keyOfChain(chainOf(chain, {}, "chain"));
const keyOfChain = (chain: readonly Certificate[]): string => bytesToHex(deviceKeyOf(chain[1]!.spki));

function judgeGuest(
	{ guest, collateral }: RoundEvidence,
	reportData: Uint8Array,
	settings: AttestationSettings,
): AttestationVerdict {
	const { quote, certificates } = guest!;
	const of = (kind: CollateralEntry["kind"]) => collateral.filter((one) => one.kind === kind).map(({ bytes }) => bytes);
	const [file = null] = of("Intel collateral");
	const [crl = null] = of("revocation list");
	const kind = kindOfFile(quote);
	if (kind === "Azure evidence") {
		const [chain = null] = [...(certificates === null ? [] : [certificates]), ...of("certificates")];
		const asked = { product: null, nonce: reportData, chain, crl, collateral: file };
		return verifyAzure(quote, asked, settings);
	}
	if (kind !== "SNP report" && kind !== "quote") return { ...NO_KIND };
	if (kind === "quote")
		return verifyQuote(quote, { ask: file === null ? "signed" : "tcb", reportData, collateral: file }, settings);
	// What the host handed to its guest comes first.
	const given = certificates === null ? [] : openTable(certificates);
	const [leaf = null, chain = null] = [...given, ...of("certificates")];
	if (leaf === null) return { ...NO_LEAF };
	return verifySnp({ report: quote, leaf, chain, crl }, { product: null, reportData }, settings);
}

const NO_LEAF: AttestationVerdict = {
	...{ status: "inconclusive", level: "none", code: "COLLATERAL_MISSING", where: "leaf", facts: {}, findings: [] },
	detail: "the certificate of the chip (VCEK or VLEK) is not at hand",
};

const NO_KIND: AttestationVerdict = {
	...{ ...NO_LEAF, code: "ATTEST_VERSION", where: "quote" },
	detail: "what the CPU signed is of no kind that is known here",
};

const registersOf = ({ vtpm, pcrs, rtmr }: AttestationVerdict["facts"]): readonly (string | null)[] =>
	((vtpm === undefined ? rtmr : pcrs) ?? []) as readonly (string | null)[];

function guestOf(facts: AttestationVerdict["facts"]): AttestedGuest {
	const text = (...names: string[]) =>
		names.map((name) => facts[name]).find((one) => typeof one === "string") as string;
	return {
		tee: `${facts.vtpm === undefined ? "" : "azure-"}${text("tee") ?? "snp"}`,
		measurement: text("mrTd", "mrEnclave", "measurement") ?? "",
		tcb: text("tcb") ?? null,
	};
}
