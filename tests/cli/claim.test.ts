// `assay claim` over an embedded chain that another program runs, on a clock of the test's own: what is final
// is claimed and paid in one go, what was only claimed is paid with it, what was paid stays paid, what nobody
// claimed in time has lapsed.

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { rewardsAbi } from "../../src/chain/abi/rewards-abi.ts";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import { approveCall, registerCall } from "../../src/chain/contracts/registry.ts";
import { claimCall, readEmission, readOwed } from "../../src/chain/contracts/rewards.ts";
import * as board from "../../src/chain/contracts/scoreboard.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { ChainAccount } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { createScoreReport } from "../../src/market/epochs/score-report.ts";
import { createWeightProposal, shareOf, type WeightProposal } from "../../src/market/epochs/weight-proposal.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { type ChainHome, openChainHome, treasurerOf } from "../../src/validator/settlement/home.ts";
import { createReportArchive } from "../../src/validator/settlement/report-archive.ts";
import { chainDefaults } from "../../src/validator/settlement/settings.ts";

const DAY_S = 86_400;
const EPOCH_S = 600;
const STAKE = 5000n * 10n ** 18n;
const PROVIDERS: readonly Hex[] = [`0x${"1a".repeat(20)}`, `0x${"2b".repeat(20)}`, `0x${"3c".repeat(20)}`];
const scratch = mkdtempSync(join(tmpdir(), "assay-claim-"));
const data = join(scratch, "data");
/**
 * The command asks the real clock which epochs are the last ones: the chain's starts 100 days before it and
 * ends there.
 */
const realS = Math.floor(Date.now() / 1000);
let nowS = realS - 100 * DAY_S;
let home: ChainHome;
let treasurer: ChainAccount;
let params: board.EpochParams;

before(async () => {
	home = await openChainHome({
		dataDir: data,
		settings: { ...chainDefaults, epochSeconds: EPOCH_S },
		mayDeploy: true,
		nowMs: () => 1000 * nowS,
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
	const { contracts, account } = home;
	const { client } = contracts;
	treasurer = (await treasurerOf(home))!;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: 10n ** 18n });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, STAKE));
	await sendCall(client, account, approveCall(contracts, STAKE));
	const signingKey = `0x${"ab".repeat(32)}` as const;
	const registration = { role: "validator", signingKey, keyProof: "0x", endpoint: "", amount: STAKE } as const;
	await sendCall(client, account, registerCall(contracts, registration));
	params = await board.readEpochParams(contracts);
});
after(async () => {
	await home.close();
	rmSync(scratch, { recursive: true, force: true });
});

async function assayClaim(...args: string[]) {
	const said = { out: "", err: "" };
	const stream = (name: "out" | "err") =>
		({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
	const interrupted = new AbortController().signal;
	const env = { ASSAY_HOME: scratch, NO_COLOR: "1" };
	const surroundings = { out: stream("out"), err: stream("err"), env, cwd: scratch, interrupted };
	const code = await runCommand(["claim", "--data", data, ...args], surroundings);
	assert.equal(code, 0, said.err);
	return said.out;
}

/** From the epoch's end to final weights, all providers in it. */
async function settle(epoch: number): Promise<WeightProposal> {
	const { contracts, account, folder } = home;
	const { client } = contracts;
	const validator = account.address;
	const evidenceSha256 = `0x${"00".repeat(32)}` as const;
	const leaves = PROVIDERS.map((provider, n) => ({ provider, scorePpm: 100_000 * (n + 1) + epoch, evidenceSha256 }));
	const report = createScoreReport(leaves);
	const [number, root, salt] = [BigInt(epoch), report.reportRoot, evidenceSha256];
	const { endsAt, revealsAt, proposesAt } = board.windowsOf(params, epoch);
	nowS = Math.max(nowS, endsAt);
	const commitment = await read(contracts, "scoreboard", "commitmentOf", number, validator, root, salt);
	await sendCall(client, account, callOf(contracts, "scoreboard", "commit", number, commitment));
	nowS = revealsAt;
	await sendCall(client, account, callOf(contracts, "scoreboard", "reveal", number, root, salt));
	nowS = proposesAt;
	const weights = createWeightProposal([{ validator, stake: STAKE, report }], await readEmission(contracts, epoch));
	await createReportArchive(join(folder, "epochs")).putWeights(epoch, validator.toLowerCase() as Hex, weights.leaves);
	await sendCall(client, account, callOf(contracts, "scoreboard", "propose", number, weights.proposal));
	nowS += params.challengeSeconds;
	return weights;
}

const share = (weights: WeightProposal, n: number) => shareOf(weights.proposal, weights.leaves[n]!);
const balances = () => Promise.all(PROVIDERS.map((provider) => read(home.contracts, "token", "balanceOf", provider)));

/**
 * How many claims each transaction to Rewards that claimed or paid had, oldest first. None costs more than
 * 90,000 gas a claim.
 */
async function sentByClaim(): Promise<readonly number[]> {
	const { contracts } = home;
	const { client } = contracts;
	const logs = await client.viem.getContractEvents({
		address: contracts.addresses.rewards,
		abi: rewardsAbi,
		fromBlock: 0n,
		strict: true,
	});
	const events = logs.filter(({ eventName }) => eventName === "Claimed" || eventName === "Collected");
	const hashes = [...new Set(events.map(({ transactionHash }) => transactionHash))];
	return Promise.all(
		hashes.map(async (hash) => {
			const of = events.filter(({ eventName, transactionHash }) => eventName === "Claimed" && transactionHash === hash);
			const { gasUsed } = await client.viem.getTransactionReceipt({ hash });
			assert.ok(gasUsed < 90_000 * Math.max(1, of.length), `${of.length} claims for ${gasUsed} gas`);
			return of.length;
		}),
	);
}

test("claims and pays in one go; shows first with --dry-run; a second time there is nothing to pay", async () => {
	const old = await settle(0);
	const current = Math.floor((realS - params.genesis) / params.epochSeconds);
	const recent = [await settle(current - 6), await settle(current - 5)];
	const due = PROVIDERS.map((_, n) => share(recent[0]!, n) + share(recent[1]!, n));

	const dry = JSON.parse(await assayClaim("--dry-run", "--json"));
	assert.deepEqual(
		dry.claims.map(({ state }: { state: string }) => state),
		Array.from({ length: 6 }, () => "can be claimed"),
	);
	assert.deepEqual(
		dry.collected,
		PROVIDERS.map((provider, n) => ({ provider, amount: String(due[n]) })),
	);
	assert.deepEqual(await balances(), [0n, 0n, 0n]);

	const one = JSON.parse(await assayClaim("--json", "--provider", PROVIDERS[1]!));
	assert.deepEqual(
		one.claims.map(({ epoch, amount, state }: { epoch: number; amount: string; state: string }) => [
			epoch,
			amount,
			state,
		]),
		recent.map((weights, i) => [current - 6 + i, String(share(weights, 1)), "paid"]),
	);
	assert.deepEqual(await balances(), [0n, due[1]!, 0n]);

	// One epoch of an account that never had a token: both slots are new, so claim and payment are a
	// transaction each.
	await assayClaim("--provider", PROVIDERS[2]!, "--epoch", String(current - 6));
	assert.deepEqual(await balances(), [0n, due[1]!, share(recent[0]!, 2)]);
	assert.deepEqual((await sentByClaim()).slice(-2), [1, 0]);

	const text = await assayClaim();
	assert.match(text, /already paid/);
	assert.match(text, /paid \S+ to 0x1a/);
	assert.doesNotMatch(text, /paid \S+ to 0x2b/);
	assert.deepEqual(await balances(), due);

	// Claimed by anybody, not paid yet: the next claim pays it along, whatever epoch it asks for.
	const next = await settle(current - 3);
	const { contracts } = home;
	const { client } = contracts;
	await sendCall(
		client,
		treasurer,
		claimCall(contracts, { epoch: current - 3, proposal: next.proposal, opening: next.open(0) }),
	);
	assert.equal((await readOwed(contracts, PROVIDERS[0]!, current)).length, 1);
	const along = JSON.parse(await assayClaim("--json", "--provider", PROVIDERS[0]!, "--epoch", "0"));
	assert.deepEqual(along.claims, [
		{ epoch: 0, provider: PROVIDERS[0], amount: String(share(old, 0)), state: "lapsed" },
	]);
	assert.deepEqual(along.collected, [{ provider: PROVIDERS[0], amount: String(share(next, 0)) }]);
	assert.deepEqual(await balances(), [due[0]! + share(next, 0), due[1]!, due[2]!]);

	// A file that is not what the root says is no file, and nothing of that epoch is claimed.
	const archive = createReportArchive(join(home.folder, "epochs"));
	const self = home.account.address.toLowerCase() as Hex;
	await archive.putWeights(current - 3, self, recent[0]!.leaves);
	assert.deepEqual(JSON.parse(await assayClaim("--json")).withheld, [current - 3]);
	assert.match(await assayClaim("--epoch", String(current - 3)), /^ {2}the weights of epoch \d+ are not here/);
	assert.deepEqual((await balances())[2], due[2]);
	await archive.putWeights(current - 3, self, next.leaves);

	await assayClaim();
	assert.deepEqual(
		await balances(),
		PROVIDERS.map((_, n) => due[n]! + share(next, n)),
	);
	const again = JSON.parse(await assayClaim("--json"));
	assert.deepEqual(again.collected, []);
	assert.ok(again.claims.every(({ state }: { state: string }) => state === "was paid"));
	assert.deepEqual(await sentByClaim(), [2, 1, 0, 2, 1, 1, 0, 1, 1]);
});
