// A verdict on attestation evidence, and what a file says, for people. Text from devices is made harmless.
import { safeText } from "../../protocol/bytes/safe-text.ts";
import { codes } from "../../protocol/codes.ts";
import { type CountedAttestation, type ProbeAttestation, unreadAttestation } from "../../protocol/probe/verdict.ts";
import type { FilesVerdict } from "../../verify/attestation/verify-files.ts";
import type { Collected } from "../attest-collect.ts";
import { formatDuration } from "./format.ts";
import type { Paint } from "./paint.ts";

/** 64 bytes in hex are shown whole. */
const MOST_CHARS = 128;

function factLines(facts: Readonly<Record<string, unknown>>): string[] {
	return Object.entries(facts).flatMap(([name, value]) => {
		// Registers of a guest, certificates of a chain: one a line, as a list of guests has them.
		const values: readonly unknown[] = Array.isArray(value) && value.length > 0 ? value : [value];
		return values.map((one, i) => {
			const words = safeText(typeof one === "string" ? one : JSON.stringify(one));
			const cut = words.length > MOST_CHARS ? `${words.slice(0, MOST_CHARS)}…` : words;
			return `  ${(i === 0 ? name : "").padEnd(14)} ${cut}`;
		});
	});
}

const HEADS = { valid: "VALID", invalid: "INVALID", inconclusive: "INCONCLUSIVE" } as const;

function headOf(status: keyof typeof HEADS, paint: Paint): string {
	const head = paint.strong(HEADS[status]);
	return status === "valid" ? paint.good(head) : status === "invalid" ? paint.bad(head) : paint.unsure(head);
}

export function attestationLines(
	verdict: FilesVerdict & { readonly at: string; readonly verifyUs: number },
	paint: Paint,
): string[] {
	const { status, code, where, detail, subject, level, facts, findings } = verdict;
	const explained = code === null ? null : codes[code];
	return [
		code === null
			? `${headOf(status, paint)}  ${subject}${level === "none" ? "" : `, level ${level}`}`
			: `${headOf(status, paint)}  ${code}${where === "" ? "" : ` at ${where}`}`,
		...(detail === "" ? [] : [`  ${safeText(detail)}`]),
		...(explained === null ? [] : [`  ${explained.meaning}`, paint.dim(`  ${explained.hint}`)]),
		...factLines(facts),
		...findings.map((one) => `  ${paint.unsure("note")}  ${one.code}: ${safeText(one.detail)}`),
		"",
		paint.dim(`  judged at ${verdict.at} in ${formatDuration(verdict.verifyUs)}, by policy ${verdict.policy.hash}`),
	];
}

/** What attestation adds to a probe; nothing where the engine does not know ATTEST. */
export function probeAttestationLines(attestation: ProbeAttestation | undefined, paint: Paint): string[] {
	if (attestation === undefined) return [];
	const { level, shown, isSimulated, devices, guest, reasons, says, policy = null } = attestation;
	const unread = unreadAttestation(attestation);
	const ofLevel = isSimulated
		? paint.unsure(`SIMULATED: ${shown} under roots of a mint, which counts for nothing`)
		: level === "none"
			? "none"
			: paint.good(level);
	const head = unread === null ? ofLevel : paint.unsure(`cannot be told: ${safeText(unread.detail)}`);
	return [
		"",
		`  attestation  ${head}`,
		...devices.map(
			({ kind, key, chip, driver, firmware, level: own }) =>
				`    ${kind} ${safeText(chip)}, key ${key.slice(0, 16)}…, ${own}${driver === null ? "" : `, driver ${safeText(driver)}`}${firmware === null ? "" : `, firmware ${safeText(firmware)}`}`,
		),
		...(guest === null
			? []
			: [`    guest ${guest.tee}, measurement ${guest.measurement.slice(0, 16)}…, TCB ${guest.tcb ?? "not judged"}`]),
		...reasons.map(({ code, detail }) => `    ${paint.unsure("note")}  ${code}: ${safeText(detail)}`),
		...says.map((why) => paint.dim(`    none: ${safeText(why)}`)),
		...(policy === null
			? []
			: [paint.dim(`    judged as of ${new Date(policy.atMs).toISOString()}, by policy ${policy.hash}`)]),
	];
}

/** Of a provider or a probe of a network; nothing where nothing was signed. */
export function countedAttestationLines(attestation: CountedAttestation | null, paint: Paint): string[] {
	if (attestation === null || (attestation.devices.length === 0 && attestation.guest === null)) return [];
	const elsewhere = attestation.elsewhere.map(
		({ key, providerId }) =>
			`    ${paint.unsure("note")}  DEVICE_ELSEWHERE: ${key.slice(0, 16)}… counts for ${providerId}`,
	);
	return [...probeAttestationLines(attestation, paint).slice(1), ...elsewhere];
}

/** In a word, for lists; null: nothing was shown. */
export function attestedWord(
	of: Pick<CountedAttestation, "shown" | "isSimulated" | "elsewhere"> | null,
): string | null {
	if (of === null || of.shown === "none") return null;
	const word = of.elsewhere.length > 0 ? "counts elsewhere" : of.shown;
	return of.isSimulated ? `${word}, simulated` : word;
}

export function collectedLines(
	{ nonce, files, says }: Collected & { readonly target: string },
	paint: Paint,
): string[] {
	return [
		files.length === 0
			? `${paint.unsure(paint.strong("NOTHING"))}  this host gave no report and no quote`
			: `${paint.good(paint.strong("COLLECTED"))}  ${files.length} files, nonce ${nonce}`,
		...files.map((file) => `  ${file}`),
		...says.map((why) => `  ${paint.unsure("none")}  ${safeText(why)}`),
		...(files.length === 0
			? []
			: ["", paint.dim(`  check them: assay attest verify ${files.join(" ")} --nonce ${nonce}`)]),
	];
}

export function shownLines(
	shown: { readonly kind: string; readonly code: string | null; readonly detail: string; readonly facts: object },
	paint: Paint,
): string[] {
	const trouble = shown.code === null ? [] : [`  ${paint.bad(shown.code)}: ${safeText(shown.detail)}`];
	return [`${shown.kind} (unchecked)`, ...trouble, ...factLines(shown.facts as Record<string, unknown>)];
}

export function policyLines(
	{ vendors, simulated }: Readonly<Record<"vendors" | "simulated", { readonly hash: string; readonly rules: object }>>,
	paint: Paint,
): string[] {
	return [
		`${paint.strong(vendors.hash)}  policy, by the vendors' roots`,
		...factLines(vendors.rules as Record<string, unknown>),
		paint.dim(`  ${simulated.hash} is the same with roots that anybody can sign under (SIMULATED_ROOTS)`),
	];
}

export function updateLines(
	result: {
		readonly items: number;
		readonly madeAt: string;
		readonly counts: Readonly<Record<string, number>>;
		readonly refused: readonly { readonly file: string; readonly code: string; readonly detail: string }[];
		readonly atHand?: number;
		readonly failed?: readonly { readonly url: string; readonly detail: string }[];
	},
	paint: Paint,
): string[] {
	const { atHand = 0, failed = [] } = result;
	const changes = Object.entries({ ...result.counts, "at hand": atHand }).filter(([, count]) => count > 0);
	return [
		`${paint.strong(String(result.items))} vendors' files in the bundle of ${result.madeAt}`,
		...changes.map(([change, count]) => `  ${change.padEnd(12)} ${count}`),
		...result.refused.map(
			({ file, code, detail }) => `  ${paint.bad("refused")}  ${safeText(file)}: ${code}, ${safeText(detail)}`,
		),
		...failed.map(({ url, detail }) => `  ${paint.unsure("not fetched")}  ${url}: ${safeText(detail)}`),
	];
}
