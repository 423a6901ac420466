// An account consents to one provider's key: neither another key nor another account can use it.
import assert from "node:assert/strict";
import { test } from "node:test";
import { accountOf } from "../sending/sign.ts";
import { isJobConsent, signJobConsent } from "./job-account.ts";

test("a consent is one account's, to one provider", async () => {
	const [one, other] = ["11", "22"].map((byte) => accountOf(`0x${byte.repeat(32)}`));
	const [key, otherKey] = ["ab".repeat(32), "cd".repeat(32)];
	const named = (account: typeof one) => account!.address.slice(2).toLowerCase();
	const consent = await signJobConsent(one!, key);
	assert.match(consent, /^[0-9a-f]{130}$/);
	assert.equal(await isJobConsent(key, named(one), consent), true);
	assert.equal(await isJobConsent(otherKey, named(one), consent), false);
	assert.equal(await isJobConsent(key, named(other), consent), false);
	for (const spoilt of ["00".repeat(65), "ff".repeat(65), `${consent.slice(0, -2)}ff`, ""])
		assert.equal(await isJobConsent(key, named(one), spoilt), false);
});
