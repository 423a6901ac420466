// Which files of a bundle does this evidence need? Only what holds at the moment: stale files would turn what
// is genuine into a doubt. An answer that says revoked counts for ever, because the verifier reads it before
// its date. Chosen by what nobody has checked yet: the verifier checks all of it, and a wrong choice can only
// be refused.
import { equalBytes } from "../../../protocol/bytes/bytes.ts";
import { openTable } from "../amd/certificate-table.ts";
import { azureParts } from "../azure/verify-azure.ts";
import { certificatesIn } from "../bytes.ts";
import { dstackParts } from "../events/verify-events.ts";
import { kindOfFile } from "../file-kind.ts";
import { platformTcb } from "../intel/pck.ts";
import { readQuote } from "../intel/quote.ts";
import { gpuFields, identityOf, kindOfDevice, switchFields } from "../nvidia/device-facts.ts";
import { readManifest } from "../nvidia/manifest.ts";
import { readSpdmReport } from "../nvidia/spdm-report.ts";
import { chainOf } from "../nvidia/verify-device.ts";
import { type AttestationSettings, readOnce } from "../settings.ts";
import { hear, readSigned } from "../verdict.ts";
import { type Certificate, readCertificate } from "../x509/certificate.ts";
import { answerAbout, readOcsp } from "../x509/ocsp.ts";
import type { CollateralItem } from "./bundle.ts";
import { caOf, intelId, manifestId, nameOf } from "./read-item.ts";

/** Of each kind: as many as the verifier takes. */
const MOST_CHOSEN = 16;

/** What is judged, as it came. `certificates`: chains of devices, or the leaf of an SNP report. */
export interface Needing {
	readonly reports: readonly Uint8Array[];
	readonly quotes: readonly Uint8Array[];
	readonly snpReports: readonly Uint8Array[];
	readonly certificates: readonly Uint8Array[];
}

/**
 * Of a guest's quote, SNP report or Azure's evidence. `given`: the certificates that its host handed out.
 * What cannot be read needs nothing.
 */
export function guestNeeds(quote: Uint8Array, given: Uint8Array | null): Needing {
	const none: Needing = { reports: [], quotes: [], snpReports: [], certificates: [] };
	const kind = kindOfFile(quote);
	if (kind === "quote") return { ...none, quotes: [quote] };
	if (kind === "SNP report")
		return { ...none, snpReports: [quote], certificates: given === null ? [] : openTable(given).slice(0, 1) };
	let found = none;
	if (kind === "dstack evidence")
		hear(() => {
			found = { ...none, quotes: [dstackParts(quote).quote] };
			return "none";
		});
	if (kind === "Azure evidence")
		hear(() => {
			const { tee, hardware, leaf, quote: inner } = azureParts(quote);
			if (tee === "snp" && leaf !== null) found = { ...none, snpReports: [hardware], certificates: [leaf] };
			if (tee === "tdx" && inner !== null) found = { ...none, quotes: [inner] };
			return "none";
		});
	return found;
}

export function chooseItems(
	needing: Needing,
	items: readonly CollateralItem[],
	settings: AttestationSettings,
): CollateralItem[] {
	const chosen: CollateralItem[] = [];
	hear(() => {
		const { reports, quotes, snpReports, certificates } = needing;
		const { atMs, policy } = settings;
		const holds = ({ validFromS, validUntilS }: CollateralItem) =>
			atMs + policy.leadMs >= validFromS * 1000 && atMs <= validUntilS * 1000;
		const current = (kind: CollateralItem["kind"], ids: readonly string[]) =>
			items.filter((one) => one.kind === kind && ids.includes(one.id) && holds(one));
		if (reports.length === 1 && certificates.length === 1) {
			const chain = chainOf(certificates[0]!, settings, "file");
			// Bounded before they are read: a stranger's bundle may name one version a thousand times.
			const named = current("manifest", manifestIds(reports[0]!, chain)).slice(0, MOST_CHOSEN);
			const signers = named.map(({ bytes }) => signersOf(bytes, settings));
			// ATTACK: one that its vendor did not sign would keep those out that it did.
			const manifests = named.filter((_, i) => signers[i] !== null);
			const chains = signers.filter((one) => one !== null);
			const about = (these: readonly (readonly Certificate[])[]) =>
				items
					.filter(({ kind }) => kind === "OCSP answer")
					.map((one) => ({ one, state: stateIn(one.bytes, these, settings) }))
					.filter(({ one, state }) => state === "revoked" || (state !== null && holds(one)));
			const [own, theirs] = [about([chain.slice(1)]), about(chains)];
			// ATTACK: whatever else a bundle holds, what is revoked comes first, then what is about the card
			// itself.
			const first = [...own, ...theirs].filter(({ state }) => state === "revoked");
			const answers = new Set([...first, ...own, ...theirs].map(({ one }) => one));
			chosen.push(...manifests, ...[...answers].slice(0, MOST_CHOSEN));
		}
		if (quotes.length === 1) chosen.push(...current("Intel collateral", [platformId(quotes[0]!)]).slice(0, 1));
		if (reports.length === 0 && snpReports.length === 1 && certificates.length === 1) {
			const [leaf] = chainIn(certificates[0]!);
			const chains = items.filter((one) => one.kind === "certificates" && isSubject(one.bytes, leaf!));
			const root = chains[0] === undefined ? null : chainIn(chains[0].bytes).at(-1)!;
			chosen.push(...chains.slice(0, 1), ...(root === null ? [] : current("revocation list", [nameOf(root)])));
		}
		return "none";
	});
	return chosen;
}

export const chainIn = (file: Uint8Array): Certificate[] =>
	certificatesIn(file, "file").map((der, i) => readCertificate(der, `file[${i}]`));

function manifestIds(file: Uint8Array, chain: readonly Certificate[]): string[] {
	// Of one that cannot be read the answers about its certificates count all the same.
	const report = readSigned(() => readSpdmReport(file, "report")).value;
	if (report === null) return [];
	if (kindOfDevice(report) === "switch") {
		const { pdi } = identityOf(chain[1]!, "switch", "chain");
		return [manifestId("LS10", switchFields(report, pdi, "report").bios)];
	}
	const { chip, driver, vbios } = gpuFields(report, chain[1]!, "report");
	return [driver, vbios].map((version) => manifestId(chip, version));
}

function platformId(file: Uint8Array): string {
	const { report, certificates } = readQuote(file);
	const pck = readCertificate(certificates[0]!, "quote");
	return intelId(report.tee, platformTcb(pck).fmspc, caOf(pck.issuer));
}

/** The certificates that signed a manifest; null: it is no manifest. */
function signersOf(file: Uint8Array, settings: AttestationSettings): readonly Certificate[] | null {
	let found: readonly Certificate[] | null = null;
	hear((hearing) => {
		found = readManifest(hearing, file, settings, "bundle").chain;
		return "none";
	});
	return found;
}

/**
 * What an answer says of a certificate in one of the chains; null: it is about none of them, or no answer.
 */
function stateIn(
	file: Uint8Array,
	chains: readonly (readonly Certificate[])[],
	settings: AttestationSettings,
): "good" | "revoked" | "unknown" | null {
	const states = new Set<"good" | "revoked" | "unknown">();
	hear(() => {
		const answer = readOnce(settings, "answer", file, () => readOcsp(file, "bundle"));
		for (const chain of chains)
			for (const [i, certificate] of chain.slice(0, -1).entries()) {
				const found = answerAbout(answer, certificate, chain[i + 1]!);
				if (found !== null) states.add(found.state);
			}
		return "none";
	});
	return states.has("revoked") ? "revoked" : ([...states][0] ?? null);
}

/** Whether the first of these authorities has the name of the leaf's issuer. */
const isSubject = (file: Uint8Array, leaf: Certificate): boolean => equalBytes(chainIn(file)[0]!.subject, leaf.issuer);
