// What a validator signs when it reports scores: the report without its signature, in canonical JSON. Pure.
import { utf8ToBytes } from "../protocol/bytes/bytes.ts";
import { encodeCanonicalJson } from "../protocol/bytes/canonical-json.ts";
import { tagged } from "../protocol/hash/tagged-hash.ts";
import { isSignature } from "../protocol/probe/signer.ts";
import type { Report } from "./types.ts";

export type UnsignedReport = Omit<Report, "signature">;

export function reportHash({ validator, epoch, scores }: UnsignedReport): Uint8Array {
	return tagged("assay/report/1", utf8ToBytes(encodeCanonicalJson({ validator, epoch, scores })));
}

export function isReportSigned(report: Report): boolean {
	return isSignature(report.validator, report.signature, reportHash(report));
}
