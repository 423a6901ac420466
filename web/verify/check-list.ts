// The checks of a verdict as a list for people: what was looked at, in order, and where it stopped. Pure.
import type { CheckName } from "../../src/verify/hardware/verify.ts";

const TITLES: Readonly<Record<CheckName, readonly [string, string]>> = {
	container: ["File", "canonical bytes, every attachment by its hash"],
	signature: ["Signature", "Ed25519 of the validator over the whole file"],
	expectations: ["Expectations", "signer, probe and time, where the asker named them"],
	specs: ["Questions", "every challenge within the protocol's limits"],
	claims: ["Claims", "what the host says of itself is well formed"],
	work: ["Cost", "checking it takes no longer than a verifier is willing to work"],
	times: ["Times", "one clock, in order, nothing answered before it was asked"],
	readings: ["Readings", "in order and within the probe"],
	roots: ["Commitments", "all roots there, openings at the places the secret draws"],
	countersign: ["Provider's word", "nonces as committed to, the host's signature over every root"],
	streams: ["Streams", "they read products that were committed"],
	figures: ["Figures", "derived again from times and sizes; equal to the file's"],
	residency: ["Residency", "bytes read faster than they could be made again"],
	contents: ["Openings", "leaves against their roots, products against the seeds, entry by entry"],
	fills: ["Fills", "memory filled as far as it was asked"],
	attestation: ["Attestation", "signed reports of the devices: chain, signature, nonce, measurements"],
	identity: ["Card", "figures against the profiles of known cards"],
};

export interface CheckRow {
	readonly name: CheckName;
	readonly title: string;
	readonly about: string;
	readonly state: "passed" | "failed" | "running" | "waiting";
	/** How many challenges this check has begun, when it is made for each. */
	readonly begun: number;
}

export type CheckEnd = "running" | "passed" | "failed";

/**
 * `told` in the order of the verifier. The one told last is the one that failed, when the verdict is invalid.
 */
export function checkRows(told: readonly { readonly name: CheckName }[], end: CheckEnd): CheckRow[] {
	const last = told.at(-1)?.name;
	return (Object.keys(TITLES) as CheckName[]).map((name) => {
		const begun = told.filter((one) => one.name === name).length;
		const [title, about] = TITLES[name];
		const state = begun === 0 ? "waiting" : name !== last || end === "passed" ? "passed" : end;
		return { name, title, about, state, begun };
	});
}
