// Auditors that run nothing and copy what the claimant is asked on chain, in a whole network: they are not
// paid, and no claim is checked by them, whether it is true or false. An honest auditor that answers only
// after somebody asked on chain is paid. Audit F2; docs/jobs.md §9.
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { readEvents } from "../../src/chain/contracts/contracts.ts";
import { openGameCall, readGames } from "../../src/chain/contracts/dispute-games.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { encodeChainQuestion } from "../../src/protocol/network/chain-question.ts";
import { depthOf } from "../../src/verify/optimistic/answers.ts";
import { eventually } from "../validator/toy-agent.test-kit.ts";
import { type Customer, submit, TOY_SEGMENTS, toyJob, upload } from "./customer.ts";
import * as lies from "./job-lies.ts";
import { type JobCheat, type JobMarket, type MarketParty, openJobMarket } from "./job-market.ts";

let market: JobMarket;
let customer: Customer;
const parties: MarketParty[] = [];
before(async () => {
	// Nobody is drawn by chance, and whoever does not show its work is given up soon.
	const times = { jobLeastWorkMs: 600_000, jobBeatMs: 60_000, jobSilenceMs: 2000 };
	market = await openJobMarket({ ...times, jobAuditPpm: 10_000 });
	customer = await market.customer("customer");
});
after(() => market?.close());

async function provide(name: string, cheat: JobCheat, isAuditor: boolean): Promise<MarketParty> {
	const party = await market.provide(name, { cheat, isAuditor, sweepMs: 1000 });
	parties.push(party);
	return party;
}
/** The next test has hosts of its own. */
const allGo = async () => {
	for (const party of parties.splice(0)) await party.close();
};

/** The list of states of the claim that stands, as its claimant tells it on chain to whoever asks there. */
async function askedOnChain(job: string, { account }: Pick<MarketParty, "account">): Promise<Uint8Array> {
	const { contracts } = market;
	const id = BigInt(`0x${job}`);
	const claimed = await eventually(async () => {
		return (await readEvents(contracts, "jobEscrow", "Claimed", { job: id })).at(-1) ?? null;
	});
	const count = TOY_SEGMENTS + 1;
	const node = hexToBytes(claimed.args.segmentRoot.slice(2))!;
	const nodes = { kind: "nodes", tree: "segments", segment: 0, step: 0, op: 0 } as const;
	const question = toHex(encodeChainQuestion({ ...nodes, height: depthOf(count), index: 0, count, node }));
	await sendCall(contracts.client, account, await openGameCall(contracts, { job: id, part: 0 }, question));
	return eventually(async () => {
		const games = await readGames(contracts, { accuser: account.address as `0x${string}` });
		const answer = games.find(({ sitting }) => sitting.job === id)?.rounds[0]?.answer ?? null;
		return answer === null ? null : hexToBytes(answer.slice(2))!;
	});
}

/** Hands in what it read on chain, whatever it ran. */
function copying(self: () => MarketParty, more: JobCheat = {}): JobCheat & { readonly copies: string[] } {
	const copies: string[] = [];
	return {
		...{ ...more, copies },
		desk: (honest) => ({
			...honest,
			async answerAudit(asked) {
				const bytes = await askedOnChain(asked.job, self());
				await honest.answerAudit(asked, await honest.upload({ bytes }, AbortSignal.timeout(600_000)));
				copies.push(asked.job);
			},
		}),
	};
}

const SOON: ReadonlySet<string> = new Set(["JOB_NO_PROVIDER", "RATE_LIMITED"]);

/** As soon as the validator knows the hosts of this test. */
async function handIn(): Promise<string> {
	const job = await toyJob({ name: "redundant", count: 2 });
	await upload(customer, job);
	return eventually(() =>
		submit(market, customer, job.spec).catch((error: unknown) => {
			if (!(error instanceof AssayError) || !SOON.has(error.code)) throw error;
			return null;
		}),
	);
}
const partOf = async (id: string) => (await customer.client.getJob({ params: { id } })).record.parts[0]!;
/** Whom the escrow was told to pay for audits of the job. */
const checkedOf = async (id: string) =>
	readEvents(market.contracts, "jobEscrow", "Checked", { job: BigInt(`0x${id}`) });

for (const [what, engine, ask] of [
	["a true claim, and has run something else", undefined, true],
	["a false claim, and says nothing about it", lies.lying({ segment: 3, step: 0, op: 0, element: 3 }), false],
] as const)
	test(`who copies from the chain the states of ${what} is replaced, unpaid, and checks nothing`, async () => {
		const worker = await provide(`worker ${what}`, engine === undefined ? {} : { engine }, false);
		let lazy: MarketParty;
		const silent: JobCheat["handlers"] = (honest) => ({
			...honest,
			ask: async () => {
				throw new AssayError("PROVIDER_BUSY", "ask later");
			},
		});
		const more: JobCheat = ask ? { engine: lies.lying(lies.spoiled, true) } : { handlers: silent };
		const cheat = copying(() => lazy, more);
		lazy = await provide(`lazy ${what}`, cheat, true);
		const had = await market.worth(lazy.account.address as `0x${string}`);
		const id = await handIn();
		await eventually(async () => cheat.copies.includes(id));
		const tried = await eventually(async () => {
			const { audits, isChecked } = await partOf(id);
			assert.equal(isChecked, false, "checked by a copy");
			return audits.some((audit) => audit.tried.includes(lazy.id)) && audits;
		});
		assert.ok(tried.every(({ auditor, agrees }) => auditor !== lazy.id && agrees !== true));
		assert.deepEqual(await checkedOf(id), []);
		assert.equal(await market.worth(lazy.account.address as `0x${string}`), had, "paid");
		assert.equal((await partOf(id)).provider, worker.id, "nobody is excluded by it");
		await allGo();
	});

test("an honest auditor that answers after somebody asked on chain shows its work, and is paid", async () => {
	const worker = await provide("worker", {}, false);
	const griefer = await market.customer("griefer");
	let asked: Promise<Uint8Array> | null = null;
	const auditor = await provide(
		"auditor",
		{
			desk: (honest) => ({
				...honest,
				async answerAudit(of, states) {
					asked ??= askedOnChain(of.job, griefer);
					await asked;
					await honest.answerAudit(of, states);
				},
			}),
		},
		true,
	);
	const had = await market.worth(auditor.account.address as `0x${string}`);
	const id = await handIn();
	await eventually(async () => (await partOf(id)).isChecked);
	const { provider, audits } = await partOf(id);
	assert.deepEqual(
		[provider, audits.map((one) => [one.auditor, one.agrees, one.inside])],
		[worker.id, [[auditor.id, true, undefined]]],
	);
	assert.ok((await market.worth(auditor.account.address as `0x${string}`)) > had, "paid");
	await allGo();
});
