// What the quote of a round answers, docs/attestation.md: the reports' nonce, and a hash that names all reports. Both ends compute it: who
// asks, and who judges.
import { concatBytes } from "../bytes/bytes.ts";
import { sha256Of, tagged } from "../hash/tagged-hash.ts";

/** Names these reports, in this order. */
export const setOf = (devices: readonly { readonly report: Uint8Array; readonly chain: Uint8Array }[]): Uint8Array =>
	tagged("assay/attest-set/1", ...devices.flatMap(({ report, chain }) => [sha256Of(report), sha256Of(chain)]));

/** What a quote's report data must be, 64 bytes. */
export const reportDataOf = (bind: Uint8Array, set: Uint8Array): Uint8Array => concatBytes(bind, set);
