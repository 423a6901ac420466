// What counts of signatures for attested jobs: vendors' roots anywhere, our own on trial networks alone, and
// never a device that counts for another provider.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { CountedAttestation } from "../../../protocol/probe/verdict.ts";
import { attestation } from "../../../store/sample-rows.test-kit.ts";
import { signedLevel } from "./signed-level.ts";

const HOSTED = { level: "hosted", shown: "hosted" } as const;
const SIMULATED = { level: "none", shown: "hosted", isSimulated: true } as const;
const elsewhere = [{ key: "ab".repeat(32), providerId: "cd".repeat(32) }];
const signed = (over: Partial<CountedAttestation>): CountedAttestation => ({
	...{ ...attestation([]), elsewhere: [] },
	...over,
});

test("simulated signatures count where the operator of a trial network says so, and nowhere else", () => {
	for (const takes of [false, true]) {
		assert.deepEqual(signedLevel(null, takes), { attested: "none", isSimulated: false });
		assert.deepEqual(signedLevel(signed(HOSTED), takes), { attested: "hosted", isSimulated: false });
		assert.deepEqual(signedLevel(signed({ ...HOSTED, level: "none", elsewhere }), takes).attested, "none");
		assert.deepEqual(signedLevel(signed({ ...SIMULATED, elsewhere }), takes).attested, "none");
	}
	assert.deepEqual(signedLevel(signed(SIMULATED), false), { attested: "none", isSimulated: true });
	assert.deepEqual(signedLevel(signed(SIMULATED), true), { attested: "hosted", isSimulated: true });
});
