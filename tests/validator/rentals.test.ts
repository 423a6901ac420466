// Rentals through the API: an environment is made, extended, given back, refused, expires, and fails with its
// host. A rented provider is not probed.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { createApiClient } from "../../src/api/create-client.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { toyClaim } from "../toy/toy-claim.ts";
import {
	eventually,
	makeDataDir,
	signerOf,
	startToyAgent,
	startToyValidator,
	type ToyValidator,
} from "./toy-agent.test-kit.ts";

const HOUR = 3_600_000;
const PUBLIC_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f renter";
const data = makeDataDir();
let validator: ToyValidator;
/** Added to the wall clock: hours pass in a moment. */
let aheadMs = 0;
before(async () => {
	validator = await startToyValidator(
		{ dataDir: data.path, params: { healthEveryMs: 50, healthMisses: 2 } },
		{ nowMs: () => Date.now() + aheadMs },
	);
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

const customerOf = (n: number) =>
	createApiClient({ baseUrl: validator.url, signer: signerOf(n), nowMs: () => Date.now() + aheadMs });
const customer = () => customerOf(101);
const isOffered = (id: string) =>
	eventually(async () => (await validator.client.listOffers()).rows.find(({ providerId }) => providerId === id));
const probesOf = async (id: string) =>
	(await validator.client.listProviderProbes({ params: { id }, query: { state: "done" } })).rows.length;
const rentAt = (id: string, durationMs = HOUR) =>
	eventually(() =>
		customer()
			.rent({ body: { providerId: id, publicKey: PUBLIC_KEY, durationMs } })
			.catch((error) => {
				// Its probe has just been counted and its lease is being given back.
				if (error.code === "RENTAL_CONFLICT") return null;
				throw error;
			}),
	);

test("who looks for a machine means GPUs: a host without one is found when it is asked for, or named", async () => {
	const signer = signerOf(67);
	const agent = await startToyAgent({
		url: validator.url,
		signer,
		rentable: true,
		name: "no gpu",
		claim: toyClaim(0, 1),
	});
	try {
		const { id } = agent;
		await eventually(async () =>
			(await validator.client.listOffers({ query: { minDevices: 0 } })).rows.find((row) => row.providerId === id),
		);
		assert.ok(!(await validator.client.listOffers()).rows.some(({ providerId }) => providerId === id));
		const body = { publicKey: PUBLIC_KEY, durationMs: HOUR };
		await assert.rejects(customer().rent({ body: { ...body, want: {} } }), { code: "OFFER_NONE" });
		const any = await eventually(() =>
			customer()
				.rent({ body: { ...body, want: { minDevices: 0 } } })
				.catch(() => null),
		);
		assert.equal(any.providerId, id);
		await customer().releaseRental({ params: { id: any.id } });
		const named = await rentAt(id);
		await customer().releaseRental({ params: { id: named.id } });
	} finally {
		await agent.close();
	}
});

test("rented: access for its customer alone, no probes; extended, released, charged, and due at once", async () => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(61), rentable: true, name: "for rent" });
	try {
		const offer = await isOffered(agent.id);
		assert.equal(offer.pricePerHourMicros, 3_600_000);
		await assert.rejects(
			customer().rent({
				body: { providerId: agent.id, publicKey: PUBLIC_KEY, durationMs: HOUR, maxPriceMicros: 3_599_999 },
			}),
			{ code: "OFFER_DEARER" },
		);
		const rental = await rentAt(agent.id);
		assert.equal(rental.state, "active");
		assert.equal(rental.access?.user, "renter");
		assert.deepEqual([...agent.rented], [rental.id]);
		const shown = await validator.client.getProvider({ params: { id: agent.id } });
		assert.deepEqual([shown.rented, shown.nextProbeAtMs], [true, null]);
		assert.equal((await validator.client.listOffers()).rows.length, 0);
		await assert.rejects(customerOf(102).getRental({ params: { id: rental.id } }), { code: "RENTAL_UNKNOWN" });
		await assert.rejects(customerOf(102).releaseRental({ params: { id: rental.id } }), { code: "RENTAL_UNKNOWN" });
		await assert.rejects(
			customerOf(102).rent({ body: { providerId: agent.id, publicKey: PUBLIC_KEY, durationMs: HOUR } }),
			{ code: "PROVIDER_RENTED" },
		);
		assert.equal((await customerOf(102).listRentals()).rows.length, 0);

		// Its date is long past, and still nobody probes it.
		const before = await probesOf(agent.id);
		await validator.store.providers.requestProbe(agent.id, { atMs: 0 });
		validator.wake();
		await eventually(
			async () =>
				((await customer().getRental({ params: { id: rental.id } })).lastHealthyAtMs ?? 0) > rental.startedAtMs!,
		);
		assert.equal(await probesOf(agent.id), before);

		const longer = await customer().extendRental({ params: { id: rental.id }, body: { durationMs: HOUR } });
		assert.equal(longer.untilMs, rental.untilMs + HOUR);
		aheadMs += HOUR / 2;
		const released = await customer().releaseRental({ params: { id: rental.id } });
		assert.deepEqual([released.state, released.endReason], ["ended", "released"]);
		assert.equal(released.chargedMicros! + released.refundMicros!, 2 * 3_600_000);
		// Half an hour, and ten minutes at most of this machine's own.
		assert.ok(released.chargedMicros! >= 1_800_000 && released.chargedMicros! < 2_400_000);
		await assert.rejects(customer().releaseRental({ params: { id: rental.id } }), { code: "RENTAL_STATE" });
		await eventually(async () => agent.rented.size === 0);
		await eventually(async () => (await probesOf(agent.id)) > before);
	} finally {
		await agent.close();
	}
});

test("of one rental one question is asked at a time: nobody is sent away, kept or found sick for that", async () => {
	let [checks, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
	const handlers = {
		check: async () => {
			checks.resolve();
			await goOn.promise;
			return { healthy: true, detail: "" };
		},
		// Longer than the watch needs for the two misses that would end it.
		extend: () => new Promise<void>((resolve) => setTimeout(resolve, 3000)),
	};
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(84), rentable: true, handlers });
	try {
		await isOffered(agent.id);
		const rental = await rentAt(agent.id);
		const of = { params: { id: rental.id } };
		await checks.promise;
		const extending = customer().extendRental({ ...of, body: { durationMs: HOUR } });
		setTimeout(goOn.resolve, 200);
		assert.equal((await extending).untilMs, rental.untilMs + HOUR);
		assert.deepEqual([(await customer().getRental(of)).state, [...agent.rented]], ["active", [rental.id]]);
		[checks, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
		await checks.promise;
		await customer().releaseRental(of);
		goOn.resolve();
		await eventually(async () => agent.rented.size === 0);
	} finally {
		await agent.close();
	}
});

test("refused by the provider: all is refunded and the code is told", async () => {
	const rent = async () => {
		throw new AssayError("RENTAL_FAILED", "no container runtime");
	};
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(62), rentable: true, handlers: { rent } });
	try {
		await isOffered(agent.id);
		const rental = await rentAt(agent.id);
		assert.deepEqual([rental.state, rental.chargedMicros, rental.refundMicros], ["refused", 0, 3_600_000]);
		assert.match(rental.detail ?? "", /RENTAL_FAILED/);
		assert.equal((await validator.client.getProvider({ params: { id: agent.id } })).rented, false);
	} finally {
		await agent.close();
	}
});

test("a host whose engine is in use for a moment is asked again: nobody is sent away for a roll call", async () => {
	let asked = 0;
	const rent = async () => {
		if (++asked < 3) throw new AssayError("PROVIDER_BUSY", "in use");
		return { ssh: { host: "127.0.0.1", port: 2222, user: "renter", hostKey: PUBLIC_KEY.replace(" renter", "") } };
	};
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(67), rentable: true, handlers: { rent } });
	try {
		await isOffered(agent.id);
		const { id, state } = await rentAt(agent.id);
		assert.deepEqual([state, asked], ["active", 3]);
		await customer().releaseRental({ params: { id } });
	} finally {
		await agent.close();
	}
});

test("at its end a rental expires, whoever asked for it; a host that dies fails it and refunds the rest", async () => {
	const agent = await startToyAgent({ url: validator.url, signer: signerOf(63), rentable: true });
	await isOffered(agent.id);
	const first = await rentAt(agent.id);
	aheadMs += HOUR + 1;
	const expired = await eventually(async () => {
		const rental = await customer().getRental({ params: { id: first.id } });
		return rental.state === "ended" && rental;
	});
	assert.deepEqual([expired.endReason, expired.refundMicros! < 100_000], ["expired", true]);
	await isOffered(agent.id);
	const second = await rentAt(agent.id);
	await agent.close();
	const failed = await eventually(async () => {
		const rental = await customer().getRental({ params: { id: second.id } });
		return rental.state === "ended" && rental;
	});
	assert.equal(failed.endReason, "failed");
	assert.ok(failed.refundMicros! > 3_400_000);
	assert.match(await validator.client.metrics(), /assay_rentals_total\{to="failed"\} 1/);
});

test("the cheapest that fits, or none", async () => {
	const want = { minFp16OpsPerS: 1 };
	await assert.rejects(customer().rent({ body: { want, publicKey: PUBLIC_KEY, durationMs: HOUR } }), {
		code: "OFFER_NONE",
	});
});

test("N19: one key keeps no host for a month, nor many at once, nor one after the other, unless it pays", async () => {
	const agents = await Promise.all(
		[81, 82, 83].map((n) => startToyAgent({ url: validator.url, signer: signerOf(n), rentable: true })),
	);
	const renter = customerOf(104);
	const limit = { code: "RENTAL_LIMIT" };
	const body = (id: string, durationMs: number) => ({ body: { providerId: id, publicKey: PUBLIC_KEY, durationMs } });
	/** The codes of those that were refused, whatever was busy for a moment asked again. */
	const rentAll = (hours: number) =>
		Promise.all(
			agents.map(({ id }) =>
				eventually(() =>
					renter.rent(body(id, hours * HOUR)).catch((error) => (error.code === "RENTAL_CONFLICT" ? null : error)),
				),
			),
		);
	try {
		for (const { id } of agents) await isOffered(id);
		await assert.rejects(renter.rent(body(agents[0]!.id, 30 * 24 * HOUR)), limit);
		await assert.rejects(renter.rent(body(agents[0]!.id, 24 * HOUR + 1)), limit);
		// All at once, which is when a count that is read first and used later would be wrong.
		const first = await rentAll(20);
		const held = first.filter((one) => !(one instanceof Error));
		assert.deepEqual(
			first.flatMap((one) => (one instanceof Error ? [(one as AssayError).code] : [])),
			["RENTAL_LIMIT"],
		);
		const [one, two] = held as { readonly id: string }[];
		const longer = (id: string, hours: number) =>
			renter.extendRental({ params: { id }, body: { durationMs: hours * HOUR } });
		await longer(one!.id, 4);
		await assert.rejects(longer(one!.id, 1), limit, "longer than a day in pieces");
		await longer(two!.id, 3);
		// Given back at once: what was not used does not count, only that they are two.
		await renter.releaseRental({ params: { id: one!.id } });
		await renter.releaseRental({ params: { id: two!.id } });
		for (const { id } of agents) await isOffered(id);
		assert.equal(
			(await rentAll(23)).filter((again) => !(again instanceof Error)).length,
			2,
			"nearly two days are booked",
		);
		const { rows } = await renter.listRentals({ query: { state: "active" } });
		aheadMs += 12 * HOUR;
		await renter.releaseRental({ params: { id: rows[0]!.id } });
		for (const { id } of agents)
			if (id !== rows[1]!.providerId) await validator.store.providers.requestProbe(id, { atMs: 0 });
		validator.wake();
		const free = agents.find(({ id }) => id !== rows[1]!.providerId)!;
		const again = (hours: number) =>
			eventually(async () => {
				await isOffered(free.id);
				return renter
					.rent(body(free.id, hours * HOUR))
					.catch((error) => (error.code === "RENTAL_LIMIT" ? error : null));
			});
		assert.equal(((await again(24)) as unknown as AssayError).code, "RENTAL_LIMIT", "12 h used and 23 booked leave 13");
		assert.equal((await again(11)).state, "active");
	} finally {
		for (const agent of agents) await agent.close();
	}
});

test("ATTACK: a host that says it is busy whenever its rental is looked after fails it", async () => {
	const check = async () => {
		// The patience of the validator is over at once.
		aheadMs += 21_000;
		throw new AssayError("PROVIDER_BUSY", "ask me later");
	};
	const signer = signerOf(85);
	const agent = await startToyAgent({ url: validator.url, signer, rentable: true, handlers: { check } });
	try {
		await isOffered(agent.id);
		const { id } = await rentAt(agent.id);
		const ended = await eventually(async () => {
			const rental = await customer().getRental({ params: { id } });
			return rental.state === "ended" && rental;
		});
		assert.equal(ended.endReason, "failed");
	} finally {
		await agent.close();
	}
});
