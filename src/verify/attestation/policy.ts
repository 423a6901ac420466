// By which rules a verdict was reached, as one hash (docs/attestation.md, Policy): trusted roots, allowed
// guests, TCB states, floors and ages. Whoever has the same rules has the same hash; whoever has others sees
// at once that a verdict is another's opinion. The moment stands beside it.
import { bytesToHex, utf8ToBytes } from "../../protocol/bytes/bytes.ts";
import { encodeCanonicalJson } from "../../protocol/bytes/canonical-json.ts";
import { tagged } from "../../protocol/hash/tagged-hash.ts";
import type { AttestedPolicy } from "../../protocol/probe/verdict.ts";
import type { AttestationSettings } from "./settings.ts";

type Rules = Pick<AttestationSettings, "roots" | "policy">;

/** All that decides, as plain JSON. Names of guests are for people, and their order decides nothing. */
export function policyRules({ roots, policy }: Rules) {
	const { guests, tcb, oldestDriver, highestVmpl, ocspHoldsMs, leadMs } = policy;
	const listed = guests?.map(({ tee, measurement, registers }) => ({ tee, measurement, registers }));
	const spelled = new Map(listed?.map((one) => [encodeCanonicalJson(one), one]));
	return {
		...{ format: "assay-attestation-policy", version: 1 },
		...{ roots, tcb, oldestDriver, highestVmpl, ocspHoldsMs, leadMs },
		guests: guests === null ? null : [...spelled].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, one]) => one),
	};
}

export const policyHash = (rules: Rules): string =>
	bytesToHex(tagged("assay/attest-policy/1", utf8ToBytes(encodeCanonicalJson(policyRules(rules)))));

export const policyAt = ({ roots, policy, atMs }: Rules & Pick<AttestationSettings, "atMs">): AttestedPolicy => ({
	...{ hash: policyHash({ roots, policy }), atMs },
});
