// The Registry beside the TypeScript that speaks to it: consents, statements of devices, announcements and
// deeds are the contract's to the bit; and what each act of an account costs in gas. The rules themselves are
// stake/*.t.sol.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import {
	approveCall,
	isDeviceSigned,
	networkAllowances,
	readAccountFor,
	readDevice,
	registerCall,
	signConsent,
	signDevice,
	statementOf,
} from "../../src/chain/contracts/registry.ts";
import { announcementOf, deedOf } from "../../src/chain/contracts/slashing.ts";
import { announceCall } from "../../src/chain/sending/announce.ts";
import { accountOf } from "../../src/chain/sending/sign.ts";
import { DEVICE_KEY_SCHEMA, DEVICE_SCHEMA } from "../../src/protocol/chain/device-commitment.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { checkGas } from "./gas.test-kit.ts";
import { openTestNetwork, type TestNetwork, UNIT } from "./network.test-kit.ts";

const gas: Record<string, number> = {};
const word = (fill: string): Hex => `0x${fill.repeat(32)}`;
const owner = accountOf(word("01"));
const signer = accountOf(word("02"));
const locker = accountOf(word("03"));
let network: TestNetwork;
before(async () => {
	network = await openTestNetwork();
	const { contracts, treasurer, send } = network;
	for (const { address } of [owner, signer, locker]) {
		await send(treasurer, { to: address, data: "0x", value: UNIT });
		await send(treasurer, callOf(contracts, "token", "transfer", address, 3000n * UNIT));
	}
	await send(owner, approveCall(contracts, 3000n * UNIT));
});
after(() => network.close());

test("an account's life: registered with a signer, staked, locked, slashed, left", async () => {
	const { contracts, send, wait } = network;
	const { addresses } = contracts;
	const consent = await signConsent(signer, addresses, owner.address);
	const entry = {
		role: "provider",
		signingKey: word("04"),
		keyProof: word("05"),
		endpoint: "https://host.example",
	} as const;
	const allowances = [
		...networkAllowances(addresses),
		{ slasher: locker.address, mostPpm: 500_000, mostLocked: 1000n * UNIT },
	];
	const registered = { ...entry, amount: 1000n * UNIT, keyNumber: 1, allowances };
	const asked = (by: Hex) =>
		registerCall(contracts, { ...registered, signer: { address: signer.address, consent: by } });
	// A consent of another, and one to another account.
	await assert.rejects(send(owner, asked(await signConsent(locker, addresses, owner.address))), /ConsentInvalid/);
	await assert.rejects(send(owner, asked(await signConsent(signer, addresses, locker.address))), /ConsentInvalid/);
	gas.register = await send(owner, asked(consent));
	assert.equal(await readAccountFor(contracts, signer.address), owner.address.toLowerCase());
	assert.equal(await readAccountFor(contracts, locker.address), locker.address.toLowerCase());
	gas.stake = await send(owner, callOf(contracts, "registry", "stake", 500n * UNIT));
	gas.lock = await send(locker, callOf(contracts, "registry", "lock", owner.address, 300n * UNIT, word("06")));
	gas.slashLocked = await send(
		locker,
		callOf(contracts, "registry", "slashLocked", word("06"), 100n * UNIT, locker.address, word("07")),
	);
	gas.unlock = await send(locker, callOf(contracts, "registry", "unlock", word("06")));
	gas.slash = await send(
		locker,
		callOf(contracts, "registry", "slash", owner.address, 500_000, locker.address, word("07")),
	);
	assert.equal(await read(contracts, "registry", "slashableOf", owner.address), 700n * UNIT);
	gas.setSigner = await send(owner, callOf(contracts, "registry", "setSigner", owner.address, "0x"));
	gas.disallow = await send(owner, callOf(contracts, "registry", "disallow", locker.address));
	gas.unstake = await send(owner, callOf(contracts, "registry", "unstake", 100n * UNIT));
	wait(8 * 86_400);
	gas.withdraw = await send(owner, callOf(contracts, "registry", "withdraw", owner.address));
});

test("a device by statements of two of three validators, and what is none", async () => {
	const { contracts, validators, send } = network;
	const { addresses } = contracts;
	const { timestamp } = await contracts.client.viem.getBlock();
	const said = { device: word("08"), provider: owner.address, evidenceSha256: word("09"), issuedAt: timestamp };
	const sorted = [...validators].sort((a, b) => (a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1));
	const signatures = await Promise.all(sorted.map((one) => signDevice(one, addresses, said)));
	assert.ok(sorted.every(({ address }, i) => isDeviceSigned(addresses, address, said, signatures[i]!)));
	assert.ok(!isDeviceSigned(addresses, sorted[0]!.address, said, signatures[1]!));
	assert.ok(!isDeviceSigned(addresses, sorted[0]!.address, { ...said, evidenceSha256: word("0a") }, signatures[0]!));
	assert.ok(!isDeviceSigned({ ...addresses, scoreboard: owner.address }, sorted[0]!.address, said, signatures[0]!));
	const bind = (by: readonly Hex[]) => callOf(contracts, "registry", "bindDevice", statementOf(addresses, said), by);
	await assert.rejects(send(owner, bind(signatures.slice(0, 1))), /TooFewSigners/);
	gas.bindDevice = await send(owner, bind(signatures.slice(0, 2)));
	assert.equal((await readDevice(contracts, said.device)).provider, owner.address.toLowerCase());
	// A key is bound in the same way, under its own schema: the two never meet.
	const keyed = { ...said, schema: DEVICE_KEY_SCHEMA };
	assert.ok(!isDeviceSigned(addresses, sorted[0]!.address, keyed, signatures[0]!));
	const byKey = await Promise.all(sorted.slice(0, 2).map((one) => signDevice(one, addresses, keyed)));
	assert.equal((await readDevice(contracts, said.device, DEVICE_KEY_SCHEMA)).provider, null);
	await send(owner, callOf(contracts, "registry", "bindDevice", statementOf(addresses, keyed), byKey));
	assert.equal((await readDevice(contracts, said.device, DEVICE_KEY_SCHEMA)).provider, owner.address.toLowerCase());
	gas.releaseDevice = await send(
		owner,
		callOf(contracts, "registry", "releaseDevice", addresses.scoreboard, DEVICE_SCHEMA, said.device),
	);
	assert.equal((await readDevice(contracts, said.device)).provider, null);
});

test("deeds and announcements are the contract's", async () => {
	const { contracts, send } = network;
	const deed = deedOf({ provider: owner.address, probeId: word("0b") });
	assert.equal(await read(contracts, "slashing", "deedOf", owner.address, word("0b")), deed);
	const hash = announcementOf(locker.address, deed, word("0c"));
	assert.equal(await read(contracts, "slashing", "announcementOf", locker.address, deed, word("0c")), hash);
	gas.announce = await send(locker, announceCall(contracts, "slashing", hash));
	assert.notEqual(await read(contracts, "slashing", "announcedAt", hash), 0n);
	// The Scoreboard takes them by the same functions.
	await send(locker, announceCall(contracts, "scoreboard", hash));
	assert.notEqual(await read(contracts, "scoreboard", "announcedAt", hash), 0n);
});

test("gas is what contracts/gas.json says", () => checkGas("registry", gas));
