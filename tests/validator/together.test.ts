// Two providers that show one UUID are probed at the same time: with one card between them they cannot both
// answer, with two they are cleared.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { JobsOffer } from "../../src/engine/agent/agent-messages.ts";
import { ERROR_CODE } from "../../src/engine/wire/frame-table.ts";
import type { Cheat } from "../toy/toy-engine.ts";
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

const data = makeDataDir();
let validator: ToyValidator;
before(async () => {
	validator = await startToyValidator({ dataDir: data.path, params: { retries: 0 } });
});
after(async () => {
	await validator?.stop();
	await data.remove();
});

/**
 * A card that one engine can use at a time: whoever comes while another's products lie in its memory gets
 * none.
 */
function oneCard() {
	let holder: object | null = null;
	return (uuid: string) => async () => {
		const me = {};
		const cheat: Cheat = {
			request(toy, id, request) {
				if (request.kind !== "gemm") return false;
				holder ??= me;
				if (holder !== me) toy.send(id, { kind: "error", code: ERROR_CODE.no_memory, message: "the card is full" });
				return holder !== me;
			},
		};
		return createToyLink(toyClaimOf(uuid), cheat, () => {
			if (holder === me) holder = null;
		});
	};
}

const judged = (id: string) =>
	eventually(async () => {
		const { rows } = await validator.store.journal.list({ kind: "suspicion.judged" });
		const line = rows.find(({ detail }) => (detail as { providers: string[] }).providers.includes(id));
		return (
			line &&
			(line.detail as { providers: string[]; cleared: string[][]; failed: { provider: string; code: string }[] })
		);
	});

async function provenProviders(
	uuid: string,
	numbers: readonly number[],
	open: () => ReturnType<ReturnType<typeof oneCard>>,
	{ at = validator, jobs }: { readonly at?: ToyValidator; readonly jobs?: JobsOffer } = {},
) {
	const agents = [];
	for (const n of numbers) {
		const agent = await startToyAgent({
			url: at.url,
			signer: signerOf(n),
			claim: toyClaimOf(uuid),
			openLink: open(),
			...(jobs && { jobs }),
		});
		agents.push(agent);
		// One after the other: alone, each of them is as good as the other.
		const first = await eventually(async () => {
			const { rows } = await at.store.probes.list({ providerId: agent.id, state: "done" });
			return rows.at(-1);
		});
		assert.equal(first.verdict, "valid");
	}
	return agents;
}

test("one card behind two providers is found out, and counts for the first alone", async () => {
	const card = oneCard();
	const agents = await provenProviders("GPU-one", [71, 72], () => card("GPU-one"));
	try {
		const { providers, cleared, failed } = await judged(agents[0]!.id);
		assert.deepEqual([...providers].sort(), agents.map(({ id }) => id).sort());
		assert.deepEqual(cleared, []);
		assert.deepEqual(
			failed.map(({ code }) => code),
			["CHALLENGE_REFUSED"],
		);
		const shown = await Promise.all(agents.map(({ id }) => validator.client.getProvider({ params: { id } })));
		assert.deepEqual(
			shown.map(({ suspicion }) => suspicion),
			["shared-uuid", "shared-uuid"],
		);
		const [first, second] = await Promise.all(
			agents.map(({ id }) => validator.client.getProviderScore({ params: { id } })),
		);
		const gpus = (terms: unknown) => JSON.stringify(terms).includes("gemm");
		assert.equal(gpus(first!.terms), true, "the first prover keeps the card");
		assert.equal(gpus(second!.terms), false, "the second has none");
	} finally {
		for (const agent of agents) await agent.close();
	}
});

test("two cards of one name pass together and are cleared of it", async () => {
	const agents = await provenProviders("GPU-two", [73, 74], () => oneCard()("GPU-two"));
	try {
		const { cleared, failed } = await judged(agents[0]!.id);
		assert.deepEqual(cleared, [agents.map(({ id }) => id).sort()]);
		assert.deepEqual(failed, []);
		for (const { id } of agents) {
			await eventually(async () => (await validator.client.getProvider({ params: { id } })).suspicion === null);
			const { rows } = await validator.client.listProviderProbes({ params: { id } });
			assert.deepEqual(
				rows.map(({ verdict }) => verdict),
				["valid", "valid"],
			);
		}
		// Cleared: the same doubt does not come back with the next probe.
		const lines = await validator.store.journal.list({ kind: "suspicion.together" });
		assert.equal(lines.rows.length, 2);
	} finally {
		for (const agent of agents) await agent.close();
	}
});

const JOBS: JobsOffer = {
	...{
		account: null,
		consent: null,
		pricePerHourMicros: 1,
		mostBondMicros: 0,
		memoryBytes: 1e9,
		minutes: 60,
		devices: [0],
	},
	...{ methods: ["sampled"], devices: [0] },
};

test("on a trial network those that stand for others' hosts on its own machine are no suspects; anybody else is", async () => {
	const folder = makeDataDir();
	const at = await startToyValidator({ dataDir: folder.path, params: { retries: 0 }, jobs: { isLoopbackApart: true } });
	const open = () => oneCard()("GPU-trial");
	const agents = await provenProviders("GPU-trial", [75, 76], open, { at, jobs: JOBS });
	try {
		const groups = async () =>
			(await at.store.journal.list({ kind: "suspicion.together" })).rows.map(({ detail }) => detail);
		// One that says nothing of jobs, and so nothing of where it is: the doubt is there at once.
		agents.push(...(await provenProviders("GPU-trial", [77], open, { at })));
		const [found] = await eventually(async () => {
			const rows = await groups();
			return rows.length > 0 && (rows as { readonly providers: readonly string[] }[]);
		});
		assert.ok(found!.providers.includes(agents[2]!.id), JSON.stringify(found));
		// The two were proven long before, and nothing came of it.
		assert.equal((await groups()).length, 1);
	} finally {
		for (const agent of agents) await agent.close();
		await at.stop();
		await folder.remove();
	}
});
