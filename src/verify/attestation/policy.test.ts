// The hash of a policy: another one for every rule that decides, the same for what decides nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { GuestRule } from "./guest-rules.ts";
import { policyAt, policyHash } from "./policy.ts";
import { type AttestationPolicy, DEFAULT_POLICY, MINT_ROOTS, VENDOR_ROOTS } from "./settings.ts";

const HEX = "ab".repeat(48);
const guest: GuestRule = { name: "image 12", tee: "tdx", measurement: HEX, registers: [HEX, HEX, null, null] };
const other: GuestRule = { name: "image 13", tee: "snp", measurement: HEX, registers: null };
const hashOf = (change: Partial<AttestationPolicy>, roots = VENDOR_ROOTS) =>
	policyHash({ roots, policy: { ...DEFAULT_POLICY, ...change } });

test("every rule that decides is in the hash", () => {
	const hashes = [
		...[hashOf({}), hashOf({}, MINT_ROOTS), hashOf({}, { ...VENDOR_ROOTS, intel: [] }), hashOf({ guests: [] })],
		...[hashOf({ guests: [guest] }), hashOf({ guests: [other] }), hashOf({ guests: [guest, other] })],
		...[
			{ ...guest, tee: null },
			{ ...guest, measurement: "cd".repeat(48) },
			{ ...guest, registers: null },
		].map((one) => hashOf({ guests: [one] })),
		hashOf({ tcb: { ...DEFAULT_POLICY.tcb, OutOfDate: "tell" } }),
		...[
			hashOf({ oldestDriver: "550.90" }),
			hashOf({ highestVmpl: 0 }),
			hashOf({ ocspHoldsMs: 1 }),
			hashOf({ leadMs: 1 }),
		],
	];
	assert.equal(new Set(hashes).size, hashes.length);
});

test("names of guests, their order and repetitions are not; the moment stands beside it", () => {
	const listed = hashOf({ guests: [guest, other] });
	assert.equal(hashOf({ guests: [other, { ...guest, name: "the same" }, guest] }), listed);
	const settings = { roots: VENDOR_ROOTS, policy: { ...DEFAULT_POLICY, guests: [guest, other] } };
	assert.deepEqual(policyAt({ ...settings, atMs: 7 }), { hash: listed, atMs: 7 });
});
