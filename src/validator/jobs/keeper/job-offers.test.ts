// An offer that comes back: ours in every field, for this customer and this spec, and in time; each check
// alone.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { JobTerms } from "../../../protocol/network/job.ts";
import { type JobOffer, jobOfferHash } from "../../../protocol/network/job-offer.ts";
import type { JobSpec } from "../../../protocol/network/job-spec.ts";
import { makeOffer, mustBeOurs } from "./job-offers.ts";

const signer = createNodeSigner(new Uint8Array(32).fill(7));
const other = createNodeSigner(new Uint8Array(32).fill(8));
const NOW = 1_000_000;
const ROOT = "ab".repeat(32);
const spec: JobSpec = {
	...{ format: "assay-job", version: 1, title: "a job", kind: "program", program: { root: ROOT, size: 9 }, seed: ROOT },
	...{ given: [], segments: 6, metrics: [], previews: [], method: { name: "sampled", count: 2 } },
};
const terms: JobTerms = {
	...{ customer: "ann", program: ROOT, inputs: ROOT, method: spec.method, segments: 6, parts: 1 },
	...{ priceMicros: 100, feeMicros: 2, auditMicros: 30, bondMicros: 50 },
	...{ startByMs: NOW + 3_600_000, workMs: 60_000, windowMs: 100_000, checkedMs: 10_000 },
};
const wish = { spec, terms, account: null, salt: ROOT, perWindow: 2 };
const offer = makeOffer(wish, { start: ROOT }, { signer, chain: null, nowMs: NOW });
const asked = { spec, customer: "ann", signer, nowMs: NOW };
const signed = (changed: JobOffer, by = signer): JobOffer => ({
	...changed,
	signature: bytesToHex(by.sign(jobOfferHash(changed))),
});

function refuses(code: string, words: RegExp, changed: JobOffer, more: Partial<typeof asked> = {}): void {
	assert.throws(
		() => mustBeOurs(changed, { ...asked, ...more }),
		(error) => error instanceof AssayError && error.code === code && words.test(error.message),
	);
}

test("an offer is taken as it was made, until its last moment", () => {
	mustBeOurs(offer, asked);
	mustBeOurs(offer, { ...asked, nowMs: offer.untilMs });
	refuses("JOB_OFFER_EXPIRED", /run out/, offer, { nowMs: offer.untilMs + 1 });
});

test("an offer ends before the job must have started", () => {
	const soon = makeOffer(
		{ ...wish, terms: { ...terms, startByMs: NOW + 1 } },
		{ start: ROOT },
		{ signer, chain: null, nowMs: NOW },
	);
	assert.equal(soon.untilMs, NOW + 1);
});

test("another's signature, another customer, another spec", () => {
	refuses("JOB_OFFER", /did not sign/, signed(offer, other));
	for (const changed of [
		{ ...offer, untilMs: offer.untilMs + 1 },
		{ ...offer, perWindow: 3 },
		{ ...offer, salt: "cd".repeat(32) },
		{ ...offer, id: "cd".repeat(32) },
		{ ...offer, terms: { ...terms, priceMicros: 1 } },
	])
		refuses("JOB_OFFER", /did not sign/, changed);
	refuses("JOB_OFFER", /somebody else/, offer, { customer: "bob" });
	refuses("JOB_OFFER", /another spec/, offer, { spec: { ...spec, seed: "cd".repeat(32) } });
});
