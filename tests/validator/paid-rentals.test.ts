// Rentals that are paid through the escrow, whole: a validator with the embedded chain, a provider with an
// account there, and customers who deposit, name another's deposit, too small a one, one for somebody else or
// a closed one. Also `assay rent` from the deposit to the refund.
import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import type { Rental } from "../../src/api/types.ts";
import { type Contracts, callOf, read } from "../../src/chain/contracts/contracts.ts";
import { approveCall, registerCall } from "../../src/chain/contracts/registry.ts";
import * as escrow from "../../src/chain/contracts/rental-escrow.ts";
import { createChainClient } from "../../src/chain/node/chain-client.ts";
import { httpRpc } from "../../src/chain/node/http-rpc.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { createParams } from "../../src/market/params.ts";
import { escrowPerSecond } from "../../src/market/rentals/paid-rental.ts";
import { realEnvironment } from "../../src/platform/environment.ts";
import { signChainKey } from "../../src/protocol/chain/key-binding.ts";
import { rentalSalt } from "../../src/protocol/chain/rental-salt.ts";
import type { EventHub } from "../../src/validator/event-hub.ts";
import { createScoreKeeper } from "../../src/validator/scoring/score-keeper.ts";
import { chainFolder, readContracts, treasurerOf } from "../../src/validator/settlement/home.ts";
import { createReportScores } from "../../src/validator/settlement/report-scores.ts";
import type { ValidatorConfig } from "../../src/validator/validator-config.ts";
import {
	createToyLink,
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
	toyClaimOf,
} from "./toy-agent.test-kit.ts";

const HOUR = 3_600_000;
/** A toy's figures are worth something against these. */
const PARAMS = createParams({ gpuInt8OpsPerS: 1, gpuFp32FlopPerS: 1 });
const UNIT = 10n ** 18n;
const PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f renter";
const PROVIDER = signerOf(71);
const CUSTOMER = signerOf(72);
const [host, payer] = ["b1", "c1"].map((digits) => accountOf(`0x${digits.repeat(32)}`)) as [ChainAccount, ChainAccount];
const data = makeDataDir();
let validator: ToyValidator;
let agent: Awaited<ReturnType<typeof startToyAgent>>;
let contracts: Contracts;
let perSecond = 0n;
/** Nobody is probed before this is resolved: a proof begins anew with every probe. */
let held = Promise.withResolvers<void>();
held.resolve();
let probes = 0;

before(async () => {
	validator = await startToyValidator({
		dataDir: data.path,
		params: { healthEveryMs: 100, rollCallLeastMs: 500 },
		chain: { epochSeconds: 3600, rollCalls: { every: 1, windowSeconds: 2 } },
		rollCalls: { restMs: 0 },
	});
	const folder = chainFolder(data.path);
	const client = await createChainClient(httpRpc(validator.chain!.url), { confirmations: 1, pollMs: 20 });
	contracts = { client, addresses: (await readContracts(join(folder, "contracts.json")))! };
	const treasurer = (await treasurerOf({ folder, isEmbedded: true }))!;
	for (const { address } of [host, payer]) {
		await sendCall(client, treasurer, { to: address, data: "0x", value: UNIT });
		await sendCall(client, treasurer, callOf(contracts, "token", "transfer", address, 100n * UNIT));
	}
	await sendCall(client, host, approveCall(contracts, 100n * UNIT));
	const { chainId, registry } = contracts.addresses;
	const keyProof = signChainKey(PROVIDER, { chainId, registry, account: host.address, number: 1 });
	const registration = { role: "provider", endpoint: "", amount: 100n * UNIT, keyNumber: 1, keyProof } as const;
	await sendCall(client, host, registerCall(contracts, { ...registration, signingKey: `0x${PROVIDER.key}` }));
	const claim = toyClaimOf("GPU-paid");
	const openLink = async () => {
		probes++;
		await held.promise;
		return createToyLink(claim);
	};
	agent = await startToyAgent({
		...{ url: validator.url, signer: PROVIDER, rentable: true, name: "paid for", claim, openLink },
	});
	const offer = await offered();
	perSecond = escrowPerSecond(offer.pricePerHourMicros);
});
after(async () => {
	await agent?.close();
	await validator?.stop();
	await data.remove();
});

const offered = () =>
	eventually(async () => (await validator.client.listOffers()).rows.find(({ providerId }) => providerId === agent.id));
const customer = (signer = CUSTOMER) => createApiClient({ baseUrl: validator.url, signer });
const tokensOf = (account: ChainAccount) => read(contracts, "token", "balanceOf", account.address);

/** A deposit of the customer's, and how the API names it. */
async function deposit(
	nonce: string,
	{ to = host.address, price = perSecond, seconds = 7200, key = CUSTOMER.key } = {},
) {
	const salt = rentalSalt(key, nonce.repeat(32));
	const { client } = contracts;
	await sendCall(client, payer, escrow.approveEscrowCall(contracts, price * BigInt(seconds)));
	await sendCall(client, payer, escrow.openEscrowCall(contracts, salt, { provider: to, perSecond: price, seconds }));
	const named = { account: payer.address.toLowerCase(), nonce: nonce.repeat(32) };
	return { id: escrow.escrowId(payer.address, salt), named };
}

const rent = (named: { account: string; nonce: string } | null, signer = CUSTOMER): Promise<Rental> =>
	eventually(() =>
		customer(signer)
			.rent({
				body: {
					...{ providerId: agent.id, publicKey: PUBLIC_KEY, durationMs: HOUR },
					...(named && { escrow: named as { account: `0x${string}`; nonce: string } }),
				},
			})
			.catch((error) => {
				// Being probed at this moment.
				if (error.code === "RENTAL_CONFLICT") return null;
				throw error;
			}),
	);
const agedBy = async () => (await validator.store.providers.recall(agent.id))?.memory.proof?.rentedMs ?? 0;

test("only a deposit of the caller's own, for this provider, at its price, that runs", async () => {
	const refused = async (named: { account: string; nonce: string }, why: RegExp, signer = CUSTOMER) =>
		assert.rejects(rent(named, signer), (error: Error & { code?: string }) => {
			assert.equal(error.code, "ESCROW_REFUSED", String(error));
			assert.match(error.message, why);
			return true;
		});
	const { client } = contracts;
	await refused({ account: payer.address.toLowerCase(), nonce: "00".repeat(32) }, /no such deposit/);
	const right = await deposit("01");
	await refused(right.named, /no such deposit/, signerOf(73));
	await refused({ ...right.named, account: host.address.toLowerCase() }, /no such deposit/);
	await refused((await deposit("02", { to: payer.address })).named, /another account/);
	await refused((await deposit("03", { price: perSecond - 1n })).named, /a second/);
	const closed = await deposit("04");
	await sendCall(client, payer, escrow.closeEscrowCall(contracts, closed.id));
	await refused(closed.named, /does not run/);
	const token = await validator.client.getProvider({ params: { id: agent.id } });
	assert.equal(token.rented, false, "whoever is refused reserves nothing");
	const rental = await rent(right.named);
	assert.deepEqual([rental.state, rental.escrow], ["active", right.id]);
	await customer().releaseRental({ params: { id: rental.id } });
	await offered();
});

test("time beyond the deposit is not to be had; a closed deposit ends the rental; only paid time does not age the proof", async (t) => {
	const short = await deposit("11", { seconds: 1800 });
	const before = await agedBy();
	const rental = await rent(short.named);
	const ends = 1000 * (await escrow.readEscrow(contracts, short.id))!.endsAt;
	assert.ok(rental.untilMs <= ends && rental.untilMs > ends - 60_000, "cut to what is paid for");
	const longer = () => customer().extendRental({ params: { id: rental.id }, body: { durationMs: HOUR } });
	await assert.rejects(longer(), { code: "ESCROW_REFUSED" });
	await sendCall(contracts.client, payer, escrow.approveEscrowCall(contracts, perSecond * 3600n));
	await sendCall(contracts.client, payer, escrow.extendEscrowCall(contracts, short.id, 3600));
	assert.equal((await longer()).untilMs, rental.untilMs + HOUR);
	// Written just after the end, and begun anew by the probe that is due then.
	held = Promise.withResolvers<void>();
	t.after(() => held.resolve());
	await sendCall(contracts.client, payer, escrow.closeEscrowCall(contracts, short.id));
	const ended = await eventually(async () => {
		const found = await customer().getRental({ params: { id: rental.id } });
		return found.state === "ended" && found;
	});
	assert.equal(ended.endReason, "released");
	await eventually(async () => (await agedBy()) > before);
	held.resolve();
	await offered();
	const free = await rent(null);
	assert.equal(free.escrow, null);
	await new Promise((resolve) => setTimeout(resolve, 300));
	const proven = (await validator.store.providers.recall(agent.id))!.memory.proof!;
	held = Promise.withResolvers<void>();
	const begun = probes;
	await customer().releaseRental({ params: { id: free.id } });
	// It is due now: what is written of a rental was written before.
	await eventually(async () => probes > begun);
	assert.equal(await agedBy(), proven.rentedMs, "an unpaid rental excuses from nothing");
	held.resolve();
});

test("a roll call excuses who is paid for, by what is burned, and nobody else who is rented", async () => {
	const newest = async () => (await validator.store.rollCalls.history(agent.id, { limit: 1 })).rows[0]?.call ?? 0;
	/**
	 * Of a call that begins from now on. Every transaction makes a block: to call, and to draw the places from.
	 */
	const nextCall = async () => {
		const after = Number(await contracts.client.viem.getBlockNumber());
		return eventually(async () => {
			await sendCall(contracts.client, payer, { to: payer.address, data: "0x" });
			await new Promise((resolve) => setTimeout(resolve, 500));
			if ((await newest()) <= after) return null;
			return (await validator.store.rollCalls.outcomes(agent.id, 1))[0];
		});
	};
	const { named } = await deposit("21");
	const rental = await rent(named);
	const excused = await nextCall();
	assert.equal(excused.state, "excused");
	assert.ok(excused.paidPpm !== null && excused.paidPpm >= 0);
	await customer().releaseRental({ params: { id: rental.id } });
	await offered();
	const free = await rent(null);
	const absent = await nextCall();
	assert.deepEqual(absent, { state: "absent", paidPpm: null });
	await customer().releaseRental({ params: { id: free.id } });
	await offered();
});

/** A full window of calls that it answered: toys answer none. */
async function answeredCalls(providerId: string): Promise<void> {
	const id = { chainId: 1, contract: providerId.replace(/^(.{40}).*$/, "0x$1") };
	const [hash, atMs] = ["cd".repeat(32), Date.now()];
	for (let call = 0; call < PARAMS.rollCallWindow; call++) {
		await validator.store.rollCalls.open({
			...id,
			call,
			beta0: hash,
			calledAtMs: atMs + call,
			deadlineMs: 1,
			b0AtS: 1,
		});
		const committed = { b1: 1, b1AtS: 1, root: hash, leaves: 1, transaction: "0x01" };
		await validator.store.rollCalls.commit({ ...id, call }, committed);
		const nothing = { code: null, paidPpm: null, ms: null, leaf: null, reply: null, files: [], megaOps: 0, bytes: 0 };
		const answers = [{ ...nothing, providerId, state: "answered" as const }];
		await validator.store.rollCalls.finish(
			{ ...id, call },
			{ b2: 1, b2AtS: 1, beta2: hash, nowMs: atMs + call, answers },
		);
	}
}

/**
 * What the validator would report of it at the end of an epoch in `laterMs`, had nothing else happened since.
 * Null: it is left out.
 */
async function reportedIn(
	laterMs: number,
	providerId: string,
	{ isScored = false, isOn = true } = {},
): Promise<number | null> {
	const nowMs = () => Date.now() + laterMs;
	const { store } = validator;
	const config = { params: PARAMS, chain: {}, rollCalls: { isOn } } as unknown as ValidatorConfig;
	const hub = { tell: () => {} } as unknown as EventHub;
	const keeper = createScoreKeeper({ store, config, env: { ...realEnvironment(), nowMs }, hub });
	if (isScored) await keeper.score(providerId);
	else await keeper.age(100);
	const account = host.address.toLowerCase() as `0x${string}`;
	const report = createReportScores({
		store,
		book: {
			refresh: async () => {},
			accountOf: (id) => (id === providerId ? account : null),
			isKnown: () => true,
			limitOf: () => ({ mostPpm: 1_000_000, why: null }),
		},
		keptAccountOf: null,
		archive: {
			async putReasons(_, reasons) {
				for await (const [reported] of reasons) assert.equal(reported, account);
			},
		},
		params: { genesis: 0, epochSeconds: 1000, commitSeconds: 20, revealSeconds: 20, signSeconds: 20 },
		maxAgeMs: PARAMS.maxAgeMs,
		nowMs,
	});
	return ((await report(0)) ?? [])[0]?.scorePpm ?? null;
}

test("M4: a host that is rented and paid for stays in reports until its proof is maxRentedAgeMs old", async () => {
	await offered();
	await answeredCalls(agent.id);
	const { named } = await deposit("31");
	const rental = await rent(named);
	assert.ok((await reportedIn(HOUR, agent.id, { isScored: true }))! > 0);
	// Not probed, not scored by anything else, its calls forgotten: time alone.
	for (const hours of [4, 8, 24, 48, 6 * 24]) {
		assert.ok((await reportedIn(hours * HOUR, agent.id))! > 0, `after ${hours} h`);
		await validator.store.rollCalls.prune({ beforeMs: Date.now() + HOUR, keep: 0 });
	}
	assert.ok(!(await reportedIn(PARAMS.maxRentedAgeMs + HOUR, agent.id)), "but not for ever");
	await customer().releaseRental({ params: { id: rental.id } });
});

test("N7: a host that is rented for nothing leaves the reports when its proof runs out", async () => {
	const own = await startToyAgent({
		url: validator.url,
		signer: signerOf(74),
		rentable: true,
		name: "its own customer",
	});
	try {
		const body = { providerId: own.id, publicKey: PUBLIC_KEY, durationMs: HOUR };
		const rental = await eventually(() =>
			customer(signerOf(75))
				.rent({ body })
				.catch(() => null),
		);
		await answeredCalls(own.id);
		assert.ok((await reportedIn(PARAMS.maxAgeMs - 2 * HOUR, own.id, { isScored: true }))! > 0, "the twin");
		assert.ok(!(await reportedIn(PARAMS.maxAgeMs + 60_000, own.id)));
		await customer(signerOf(75)).releaseRental({ params: { id: rental.id } });
	} finally {
		await own.close();
	}
});

test("N7: without roll calls nobody knows what a rental burned, and it excuses from nothing", async () => {
	const own = await startToyAgent({ url: validator.url, signer: signerOf(76), rentable: true, name: "pays itself" });
	try {
		await eventually(async () =>
			(await validator.client.listOffers()).rows.find(({ providerId }) => providerId === own.id),
		);
		// As if it had been rented for a deposit of a millionth.
		const uncalled = { isScored: true, isOn: false };
		assert.ok((await reportedIn(PARAMS.maxAgeMs - HOUR, own.id, uncalled))! > 0, "the twin");
		const [{ memory }] = [(await validator.store.providers.recall(own.id))!];
		await validator.store.providers.remember(own.id, { ...memory, proof: { ...memory.proof!, rentedMs: 100 * HOUR } });
		assert.ok(!(await reportedIn(PARAMS.maxAgeMs + 60_000, own.id, uncalled)));
	} finally {
		await own.close();
	}
});

test("assay rent: deposits, extends, gives back; the provider is paid", async () => {
	const keyFile = join(data.path, "payer.key");
	writeFileSync(keyFile, "c1".repeat(32));
	writeFileSync(join(data.path, "host.key"), "b1".repeat(32));
	writeFileSync(join(data.path, "ssh.pub"), `${PUBLIC_KEY}\n`);
	const at = ["--api", validator.url, "--data", data.path, "--json"];
	const assay = async (...args: string[]) => {
		const said = { out: "", err: "" };
		const stream = (name: "out" | "err") =>
			({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
		const io = { env: { ASSAY_HOME: data.path }, cwd: data.path, interrupted: new AbortController().signal };
		const code = await runCommand(["rent", ...args, ...at], { ...io, out: stream("out"), err: stream("err") });
		return { code, err: said.err, json: code === 0 ? JSON.parse(said.out) : null };
	};
	// What the tests before have left.
	assert.notEqual((await assay("withdraw", "--key-file", keyFile)).json?.paid, "0");
	let before = 0n;
	const start = ["start", agent.id, "--for", "10m", "--ssh-key", "ssh.pub", "--key-file", keyFile];
	const started = await eventually(async () => {
		// One that finds it busy has paid for the second or two in which it asked.
		before = await tokensOf(payer);
		const found = await assay(...start);
		return /RENTAL_CONFLICT/.test(found.err) ? null : found;
	});
	assert.equal(started.code, 0, started.err);
	assert.match(started.err, /depositing/);
	const { id, escrow: deposited } = started.json;
	assert.equal(before - (await tokensOf(payer)), perSecond * 720n);
	const twice = await assay(...start);
	assert.match(twice.err, /RENTED|OFFER_NONE/);
	assert.equal(before - (await tokensOf(payer)), perSecond * 720n, "what was not rented is not paid for");
	const longer = await assay("extend", id, "--for", "10m", "--key-file", keyFile);
	assert.equal(longer.json.untilMs - started.json.untilMs, 600_000, longer.err);
	// Seconds of blocks are whole: what ends in its first one is free.
	const { startedAt } = (await escrow.readEscrow(contracts, deposited))!;
	await eventually(async () => Date.now() / 1000 >= startedAt + 2);
	const released = await assay("release", id, "--key-file", keyFile);
	assert.equal(released.json?.state, "ended", released.err);
	const found = (await escrow.readEscrow(contracts, deposited))!;
	assert.ok(found.isClosed);
	const used = BigInt(found.endsAt - found.startedAt);
	assert.equal(before - (await tokensOf(payer)), used * perSecond);
	const owed = await read(contracts, "rentalEscrow", "owedTo", host.address);
	assert.ok(owed > 0n && used > 0n);
	const withdrawn = await assay("withdraw", "--key-file", join(data.path, "host.key"));
	assert.equal(withdrawn.json?.paid, String(owed), withdrawn.err);
	assert.equal(await tokensOf(host), owed);
});
