// Judges an event log against the registers of a signed TDX quote.
import { bytesToHex, equalBytes } from "../../../protocol/bytes/bytes.ts";
import { anyHexToBytes } from "../bytes.ts";
import { checkSignedQuote } from "../intel/verify-quote.ts";
import { JsonFields, parseJson } from "../json.ts";
import type { AttestationSettings } from "../settings.ts";
import { type AttestationVerdict, type Hearing, hear, refuse } from "../verdict.ts";
import { type LoggedEvent, readCcel, readDstackLog, replay } from "./event-log.ts";

/** `log` in TCG's binary form. */
export function verifyCcel(quote: Uint8Array, log: Uint8Array, settings: AttestationSettings): AttestationVerdict {
	return hear((hearing) => {
		checkEvents(hearing, quote, () => readCcel(log), settings);
		return "genuine";
	});
}

/** Of dstack's JSON: a quote in hex and a log as text. */
export function dstackParts(bytes: Uint8Array): { readonly quote: Uint8Array; readonly log: string } {
	const fields = new JsonFields(parseJson(bytes, "ATTEST_FORM", "evidence"), "ATTEST_FORM", "evidence");
	const quote = anyHexToBytes(fields.text("quote")) ?? refuse("ATTEST_FORM", "quote", "not hex");
	return { quote, log: fields.text("event_log") };
}

export function verifyDstack(bytes: Uint8Array, settings: AttestationSettings): AttestationVerdict {
	return hear((hearing) => {
		const { quote, log } = dstackParts(bytes);
		checkEvents(hearing, quote, () => readDstackLog(log), settings);
		return "genuine";
	});
}

function checkEvents(
	hearing: Hearing,
	bytes: Uint8Array,
	readLog: () => readonly LoggedEvent[],
	settings: AttestationSettings,
): void {
	const { report } = checkSignedQuote(hearing, bytes, settings).quote;
	if (report.tee !== "tdx") refuse("ATTEST_FORM", "quote", "a quote of SGX has no registers");
	const registers = replay(readLog());
	hearing.facts.rtmr = registers.map(bytesToHex);
	const other = registers.findIndex((register, i) => !equalBytes(register, report.td.rtmr[i]!));
	if (other >= 0) refuse("EVENTS_WRONG", "log", `the events do not give register ${other} of the quote`);
}
