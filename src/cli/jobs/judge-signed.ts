// What devices signed for the parts of an attested job, judged again on the customer's own machine, by the
// rules that the validator publishes. What the validator says of them is held against that: it is hostile
// like any other. docs/attestation.md.
import type { ApiClient } from "../../api/create-client.ts";
import type { Job } from "../../api/types.ts";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { safeText } from "../../protocol/bytes/safe-text.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import type { AttestedLevel } from "../../protocol/probe/verdict.ts";
import type { GuestRule } from "../../verify/attestation/guest-rules.ts";
import { methodOf } from "../../verify/methods/methods.ts";
import { type JobAttestation, verifyJobRounds } from "../../verify/work/verify-job-rounds.ts";
import type { Paint } from "../print/paint.ts";

export interface SignedPart {
	readonly part: number;
	/** As the validator says. */
	readonly said: AttestedLevel;
	/** As it was found here; null: there is no file to judge. */
	readonly found: Pick<JobAttestation, "shown" | "isSimulated" | "policy" | "fault"> | null;
	readonly isSame: boolean;
}

/** Empty: the job is of another method, or nothing was claimed yet. */
export async function judgeSigned(client: ApiClient, { id: job, offer, record }: Job): Promise<SignedPart[]> {
	const claims = record.parts.flatMap(({ part, claim }) => (claim === null ? [] : [{ part, claim }]));
	if (!methodOf(offer.terms.method).needsHosted || claims.length === 0) return [];
	const { vendors } = await client.getAttestationPolicy();
	const { guests } = vendors.rules as unknown as { readonly guests: readonly GuestRule[] | null };
	const judged: SignedPart[] = [];
	for (const { part, claim: hash } of claims) {
		const { attestation, attempt, provider, first: start } = await client.getClaim({ params: { hash } });
		const said = attestation?.shown ?? "none";
		const sha256 = attestation?.file ?? null;
		if (sha256 === null) {
			judged.push({ part, said, found: null, isSame: said === "none" });
			continue;
		}
		const file = await client.getEvidence({ params: { sha256 } });
		const bound = { job, part, attempt, provider, escrow: offer.escrow, start, claim: hash };
		const found = verifyJobRounds(file, bound, { verify: nodeSignatures, guests });
		const isSame =
			bytesToHex(sha256Of(file)) === sha256 &&
			found.shown === said &&
			found.isSimulated === attestation!.isSimulated &&
			found.policy?.hash === attestation!.policy?.hash &&
			found.policy?.atMs === attestation!.policy?.atMs;
		judged.push({ part, said, found, isSame });
	}
	return judged;
}

export function signedLines(parts: readonly SignedPart[], paint: Paint): string[] {
	return parts.map(({ part, said, found, isSame }) => {
		const where = `  part ${part + 1}: the validator says that its devices signed: ${said}`;
		if (found === null)
			return `${where}; ${isSame ? "nothing is there to judge" : paint.bad("there is no file of it")}`;
		const own = `${found.shown}${found.isSimulated ? ", SIMULATED" : ""}`;
		const why = found.fault === null ? "" : ` (${safeText(found.fault.code)})`;
		const end = `by policy ${found.policy?.hash.slice(0, 16) ?? "none"}…`;
		return `${where}; judged again here: ${own}${why}, ${isSame ? "the same" : paint.bad("NOT the same")}, ${end}`;
	});
}
