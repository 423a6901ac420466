// An offer as its customer reads it: every term of the escrow that it would fund must be the one that it was
// shown, or nothing is funded.
import assert from "node:assert/strict";
import { test } from "node:test";
import { jobIdOf } from "../../../chain/contracts/job-escrow.ts";
import { jobTermsFromText } from "../../../chain/contracts/job-terms-text.ts";
import { checkOffer, leastPaidOf } from "../../../market/jobs/check-offer.ts";
import { DEFAULT_PARAMS, type ParamOverrides } from "../../../market/params.ts";
import { createNodeSigner } from "../../../platform/node-ed25519.ts";
import { bytesToHex, hexToBytes } from "../../../protocol/bytes/bytes.ts";
import type { EscrowTermsText, JobOffer } from "../../../protocol/network/job-offer.ts";
import { toyWorkload } from "../../../provider/jobs/toy-run.test-kit.ts";
import { mlpSample } from "../../../work/builder/samples.test-kit.ts";
import { programRoot } from "../../../work/program/open-program.ts";
import { firstState, inputsHashOf } from "../../../work/trace/commitments.ts";
import { specOfWorkload } from "../../../work/workloads/spec-of-workload.ts";
import type { JobChain } from "./job-chain.ts";
import { makeOffer } from "./job-offers.ts";

const NOW = 1_000_000;
const account = `0x${"c1".repeat(20)}` as const;
const salt = "5a".repeat(32);
const workload = toyWorkload(mlpSample(), 5);
const method = { name: "attested", count: 0 } as const;
const { spec } = await specOfWorkload(workload, {
	...{ title: "a toy job", kind: "program", method },
	rootOf: async () => new Uint8Array(32).fill(3),
});
const { program, seed } = workload;
const roots = spec.given.filter(({ tensor }) => program.tensors[tensor]!.kind === "input");
const inputs = inputsHashOf(
	program,
	seed,
	roots.map(({ root }) => hexToBytes(root, 32)!),
);
const terms = {
	...{ customer: "ann", program: bytesToHex(programRoot(program)), inputs: bytesToHex(inputs), method },
	...{ segments: spec.segments, parts: 1, priceMicros: 100, feeMicros: 2, auditMicros: 30, bondMicros: 50 },
	...{ startByMs: NOW + 3_600_000, workMs: 60_000, windowMs: 100_000, checkedMs: 10_000 },
};
const chain = { chainId: 7, escrow: `0x${"e5".repeat(20)}`, account: `0x${"da".repeat(20)}` } as unknown as JobChain;
const signer = createNodeSigner(new Uint8Array(32).fill(7));
const start = bytesToHex(firstState(program));
const offer = makeOffer({ spec, terms, account, salt, perWindow: 2 }, { start }, { signer, chain, nowMs: NOW });
const asked = { workload, spec, order: { mostMicros: null, mostMs: null } };
const check = (one: JobOffer) => checkOffer(one, asked, { account, salt });

/** With the number that these terms have. */
function funding(change: Partial<EscrowTermsText>): JobOffer {
	const changed = { ...offer.escrow!.terms, ...change };
	const id = jobIdOf(jobTermsFromText(changed)).toString(16).padStart(64, "0");
	return { ...offer, id, escrow: { ...offer.escrow!, terms: changed } };
}

test("what is funded is what was shown, term by term", () => {
	assert.deepEqual(check(offer), offer.escrow!.terms);
	const hex32 = `0x${"77".repeat(32)}` as const;
	const changes: readonly Partial<EscrowTermsText>[] = [
		...[{ customer: `0x${"c2".repeat(20)}` as const }, { salt: hex32 }, { program: hex32 }, { inputs: hex32 }],
		...[{ spec: hex32 }, { seed: hex32 }, { start: hex32 }, { segments: "7" }, { parts: 2 }, { price: "1" }],
		...[{ fee: "1" }, { audit: "1" }, { bond: "1" }, { startBy: "5" }, { workSeconds: 1 }, { windowSeconds: 1 }],
		...[{ checkedSeconds: 1 }, { method: 5 }],
	];
	for (const change of changes) {
		const [name] = Object.keys(change);
		assert.throws(() => check(funding(change)), { code: "JOB_OFFER", message: new RegExp(`${name} on chain`) }, name);
	}
	// A quorum, and who is in it, are the validator's own to say; another number is not.
	assert.ok(check(funding({ quorum: 2 })));
	assert.throws(() => check({ ...offer, id: "0".repeat(64) }), { code: "JOB_OFFER", message: /its number/ });
});

test("no more is paid for a part than its work is worth at the customer's price an hour", () => {
	const at = (hourMicros: number) =>
		checkOffer(offer, { ...asked, order: { ...asked.order, hourMicros } }, { account, salt });
	// A part of this toy is a minute, the least that is paid: 100 micro-units are 6,000 an hour.
	assert.ok(at(6000));
	assert.throws(() => at(5900), { code: "JOB_PRICE", message: /0\.0001 tokens for a part; 0\.000099 / });
});

test("the least time that is paid is the network's own, up to ten minutes a part", () => {
	const under = (published: ParamOverrides, hourMicros: number) =>
		checkOffer(
			offer,
			{ ...asked, order: { ...asked.order, hourMicros } },
			{ account, salt },
			leastPaidOf({ ...DEFAULT_PARAMS, ...published }),
		);
	assert.throws(() => under({}, 1200), { code: "JOB_PRICE" });
	// Five minutes: 100 micro-units are 1,200 an hour.
	assert.ok(under({ jobLeastPaidMs: 300_000 }, 1200));
	assert.throws(() => under({ jobLeastPaidMs: 300_000 }, 1100), { code: "JOB_PRICE", message: /as 5 min at least$/ });
	assert.ok(under({ jobLeastPaidMs: 600_000 }, 600));
	// ATTACK: a validator that publishes whatever its price needs.
	assert.throws(() => under({ jobLeastPaidMs: 600_001 }, 600), { code: "JOB_PRICE", message: /10 min are allowed/ });
	assert.throws(() => under({ jobLeastPaidMs: 86_400_000 }, 5), { code: "JOB_PRICE", message: /as 24 h at least/ });
	assert.throws(() => under({ jobLeastPaidMs: -1 }, 6000), { code: "PARAMS_BAD" });
});
