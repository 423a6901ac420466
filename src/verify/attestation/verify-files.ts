// Judges a handful of files together, whatever they are: one thing to judge (a report, several reports of one
// round, a quote, Azure's or dstack's evidence, a manifest) and what it needs beside it (certificates,
// manifests, OCSP answers, lists, collateral).
import type { AttestedPolicy, Finding } from "../../protocol/probe/verdict.ts";
import { inOrder, openTable } from "./amd/certificate-table.ts";
import { verifySnp } from "./amd/verify-snp.ts";
import { verifyAzure } from "./azure/verify-azure.ts";
import { type CollateralItem, readBundle } from "./collateral/bundle.ts";
import { chooseItems, guestNeeds } from "./collateral/choose-items.ts";
import { dstackParts, verifyCcel, verifyDstack } from "./events/verify-events.ts";
import { type FileKind, kindOfFile, openText } from "./file-kind.ts";
import { verifyQuote } from "./intel/verify-quote.ts";
import { kindOfDevice, kindOfIdentity } from "./nvidia/device-facts.ts";
import { readSdkJson } from "./nvidia/sdk-json.ts";
import { readSpdmReport } from "./nvidia/spdm-report.ts";
import { chainOf, type DeviceEvidence } from "./nvidia/verify-device.ts";
import { verifyManifest } from "./nvidia/verify-manifest.ts";
import { policyAt } from "./policy.ts";
import { type AttestationSettings, MINT_ROOTS } from "./settings.ts";
import { type AttestationVerdict, cannotTell, hear, type Level, readSigned, refuse } from "./verdict.ts";
import { verifyDevices } from "./verify-devices.ts";
import { joinGuest } from "./verify-hosted.ts";

export interface FilesQuestion {
	readonly require: Exclude<Level, "none"> | null;
	readonly nonce: Uint8Array | null;
}

export interface FilesVerdict extends AttestationVerdict {
	/** What was judged. */
	readonly subject: FileKind | "round of devices" | "hosted devices";
	readonly policy: AttestedPolicy;
}
type Judged = Omit<FilesVerdict, "policy">;

const SUBJECTS: readonly FileKind[] = [
	"device report",
	"device list",
	"quote",
	"SNP report",
	"Azure evidence",
	"dstack evidence",
];

/** Of these, what a guest names its devices by. */
const GUESTS: readonly FileKind[] = ["quote", "SNP report", "Azure evidence"];

/**
 * Beside what is judged. What would not be looked at is refused: it may be meant as something else, and the
 * verdict be taken for more than it is.
 */
const DEVICE_FILES: readonly FileKind[] = ["certificates", "manifest", "OCSP answer"];
const USED: Readonly<Partial<Record<FileKind, readonly FileKind[]>>> = {
	...{
		"device report": DEVICE_FILES,
		"device list": DEVICE_FILES,
		manifest: ["manifest"],
		"dstack evidence": ["Intel collateral"],
	},
	...{ quote: ["Intel collateral", "event log"], "SNP report": ["certificates", "revocation list"] },
	"Azure evidence": ["certificates", "revocation list", "Intel collateral"],
};

export function verifyFiles(
	files: readonly Uint8Array[],
	question: FilesQuestion,
	settings: AttestationSettings,
): FilesVerdict {
	const judged = verifyTogether(files, question, settings);
	const isMinted = judged.code === "ATTEST_CHAIN" && isOfMint(files, question, settings);
	const findings = isMinted ? [...judged.findings, MINTED] : judged.findings;
	const verdict = { ...judged, findings, policy: policyAt(settings) };
	const isBelow = question.require !== null && LEVELS.indexOf(verdict.level) < LEVELS.indexOf(question.require);
	if (verdict.status !== "valid" || !isBelow) return verdict;
	const detail = `the files show level ${verdict.level}, not ${question.require}`;
	return { ...verdict, status: "inconclusive", code: "COLLATERAL_MISSING", where: "files", detail };
}

const MINTED: Finding = {
	code: "SIMULATED_ROOTS",
	detail: "it is signed under the roots of assay's own mint, as simulated hosts are: it shows no hardware",
};

/** Whether only the roots are wrong: those of simulated hosts are told from false ones. */
const isOfMint = (files: readonly Uint8Array[], question: FilesQuestion, settings: AttestationSettings): boolean =>
	settings.roots !== MINT_ROOTS &&
	verifyTogether(files, question, { ...settings, roots: MINT_ROOTS }).code !== "ATTEST_CHAIN";

const LEVELS: readonly Level[] = ["none", "genuine", "measured", "hosted"];

function verifyTogether(given: readonly Uint8Array[], question: FilesQuestion, settings: AttestationSettings): Judged {
	const files = given.map(openText).flatMap(openTable);
	const kinds = files.map(kindOfFile);
	const of = (kind: FileKind): Uint8Array[] => files.filter((_, i) => kinds[i] === kind);
	const failed = (detail: string): Judged => ({
		subject: "unknown",
		...hear(() => cannotTell("files", detail, "ATTEST_FILES")),
	});
	const bundles = of("collateral bundle");
	if (bundles.length > 0) {
		const rest = files.filter((_, i) => kinds[i] !== "collateral bundle");
		return verifyByBundles(rest, bundles, question, settings);
	}
	const strange = kinds.indexOf("unknown");
	if (strange >= 0) return failed(`file ${strange + 1} is of no kind that is known here`);
	const found = new Set(kinds.filter((kind) => SUBJECTS.includes(kind)));
	const others = [...found].filter((kind) => kind !== "device report" && kind !== "device list");
	const hasGuest = others.length === 1 && GUESTS.includes(others[0]!);
	if (hasGuest && found.size > 1 && of(others[0]!).length === 1) return verifyHosted(of, question, settings);
	if (found.size > 1 && others.length > 0) return failed(`several things to judge: ${[...found].join(", ")}`);
	const subject = [...found][0];
	const idle = kinds.findIndex((kind) => !found.has(kind) && !USED[subject ?? "manifest"]!.includes(kind));
	if (idle >= 0)
		return failed(`file ${idle + 1} (${kinds[idle]}) has no part in judging this ${subject ?? "manifest"}`);
	if (subject === "device report" || subject === "device list") return verifyReports(of, question, settings);
	const one = files.filter((_, i) => kinds[i] === subject || (subject === undefined && kinds[i] === "manifest"));
	if (one.length !== 1) return failed("there must be one report, quote or manifest to judge");
	return { subject: subject ?? "manifest", ...verifyOne(subject, one[0]!, of, question, settings) };
}

/** With the files of the bundles that belong to what is judged. */
function verifyByBundles(
	files: readonly Uint8Array[],
	bundles: readonly Uint8Array[],
	question: FilesQuestion,
	settings: AttestationSettings,
): Judged {
	let items: CollateralItem[] = [];
	const opened = hear(() => {
		items = bundles.flatMap((file) => readBundle(file, "bundle").items);
		return "none";
	});
	if (opened.status !== "valid") return { subject: "collateral bundle", ...opened };
	const of: Of = (kind) => files.filter((file) => kindOfFile(file) === kind);
	let devices: DeviceEvidence[] = [];
	// What cannot be read is refused in the hearing that follows.
	hear(() => {
		const chains = of("certificates").slice(0, of("device report").length);
		devices = devicesOf((kind) => (kind === "certificates" ? chains : of(kind)));
		return "none";
	});
	const [quotes, snpReports] = [of("quote"), of("SNP report")];
	const none = { reports: [], quotes: [], snpReports: [], certificates: [] };
	const needing = [
		...devices.map(({ report, chain }) => ({ ...none, reports: [report], certificates: [chain] })),
		{ ...none, quotes, snpReports, certificates: of("certificates").slice(of("device report").length).slice(0, 1) },
		...[...of("Azure evidence"), ...of("dstack evidence")].slice(0, 1).map((one) => guestNeeds(one, null)),
	];
	const found = needing.flatMap((one) => chooseItems(one, items, settings));
	const chosen = [...new Set(found)].map(({ bytes }) => bytes);
	return verifyTogether([...files, ...chosen], question, settings);
}

type Of = (kind: FileKind) => Uint8Array[];

function verifyOne(
	subject: FileKind | undefined,
	file: Uint8Array,
	of: Of,
	{ require, nonce }: FilesQuestion,
	settings: AttestationSettings,
): AttestationVerdict {
	const [collateral = null] = of("Intel collateral");
	const [leaf, chain = null] = inOrder(of("certificates"));
	const [crl = null] = of("revocation list");
	switch (subject) {
		case "quote":
		case "dstack evidence": {
			const [quote, opened] = subject === "quote" ? [file, null] : openDstack(file);
			if (quote === null) return opened!;
			const [log] = of("event log");
			const ask = collateral !== null || (require ?? "genuine") !== "genuine" ? "tcb" : "signed";
			const verdict = verifyQuote(quote, { ask, reportData: nonce, collateral }, settings);
			if ((subject === "quote" && log === undefined) || verdict.status === "invalid") return verdict;
			const events = log === undefined ? verifyDstack(file, settings) : verifyCcel(quote, log, settings);
			return events.status === "valid" ? verdict : events;
		}
		case "SNP report": {
			if (leaf === undefined)
				return hear((hearing) => {
					hearing.doubtful("COLLATERAL_MISSING", "leaf", "the certificate of the chip (VCEK or VLEK) is not at hand");
					return "none";
				});
			return verifySnp({ report: file, leaf, chain, crl }, { product: null, reportData: nonce }, settings);
		}
		case "Azure evidence":
			return verifyAzure(file, { product: null, nonce, chain: chain ?? leaf ?? null, crl, collateral }, settings);
		default:
			return verifyManifest(file, settings);
	}
}

/** The quote inside; or why there is none. */
function openDstack(file: Uint8Array): readonly [quote: Uint8Array | null, opened: AttestationVerdict] {
	let quote: Uint8Array | null = null;
	const opened = hear(() => {
		quote = dstackParts(file).quote;
		return "none";
	});
	return [quote, opened];
}

/** Devices and the guest that asked them. Certificates: the devices' chains, then those of an SNP report. */
function verifyHosted(of: Of, question: FilesQuestion, settings: AttestationSettings): Judged {
	const chains = of("certificates");
	const count = of("device report").length;
	const without: Of = (kind) => (kind === "certificates" ? chains.slice(0, count) : of(kind));
	const reports = verifyReports(without, question, settings);
	if (reports.status === "invalid") return reports;
	const kind = GUESTS.find((one) => of(one).length > 0)!;
	const guestFiles: Of = (one) => (one === "certificates" ? chains.slice(count) : of(one));
	const judgeGuest = (reportData: Uint8Array | null) => {
		const asked = { require: null, nonce: reportData };
		return verifyOne(kind, of(kind)[0]!, guestFiles, asked, settings);
	};
	return { subject: "hosted devices", ...joinGuest(devicesOf(without), reports, judgeGuest, settings) };
}

/** What its certificates say; those that cannot be read are refused where they are judged. */
const kindOfChain = (chain: Uint8Array): DeviceEvidence["kind"] =>
	readSigned(() =>
		chainOf(chain, {}, "chain")
			.slice(1, 2)
			.map((one) => kindOfIdentity(one, "chain")),
	).value?.[0] ?? "gpu";

/** Reports with their chains, in the order in which both came; lists bring their own. */
function devicesOf(of: Of): DeviceEvidence[] {
	const chains = of("certificates");
	const reports = of("device report");
	if (chains.length !== reports.length)
		refuse("ATTEST_CHAIN", "files", `${chains.length} chains of certificates for ${reports.length} reports`);
	const bare = reports.map((report, i) => {
		const read = readSigned(() => readSpdmReport(report, `report ${i + 1}`)).value;
		const kind = read === null ? kindOfChain(chains[i]!) : kindOfDevice(read);
		return { kind, report, chain: chains[i]! };
	});
	return [...bare, ...of("device list").flatMap((file) => readSdkJson(file, "list"))];
}

function verifyReports(of: Of, { require, nonce }: FilesQuestion, settings: AttestationSettings): Judged {
	let devices: DeviceEvidence[] = [];
	const opened = hear(() => {
		devices = devicesOf(of);
		return "none";
	});
	if (opened.status !== "valid") return { subject: "device report", ...opened };
	const [manifests, ocsp] = [of("manifest"), of("OCSP answer")];
	const isMeasured = require === null ? manifests.length > 0 : require !== "genuine";
	const ask = isMeasured ? "measured" : "genuine";
	const subject = devices.length === 1 ? "device report" : "round of devices";
	return { subject, ...verifyDevices(devices, { ask, nonce, manifests, ocsp }, settings) };
}
