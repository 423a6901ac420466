// `assay claim` over an embedded chain that another program runs, on a clock of the test's own: all that an
// account has earned in any number of epochs is paid in one transaction, to its payout address; what was paid
// stays paid; nothing lapses; weights that may still be proven wrong pay nobody.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import { approveCall, registerCall } from "../../src/chain/contracts/registry.ts";
import { claimCall, readClaims } from "../../src/chain/contracts/rewards.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import type { ChainAccount } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import { type SettledEpoch, settleByHand } from "../../src/validator/audit/settle-epoch.test-kit.ts";
import { type ChainHome, openChainHome, treasurerOf } from "../../src/validator/settlement/home.ts";
import { createReportArchive, type ReportArchive } from "../../src/validator/settlement/report-archive.ts";
import { chainDefaults } from "../../src/validator/settlement/settings.ts";

const STAKE = 5000n * 10n ** 18n;
const PROVIDERS: readonly Hex[] = [`0x${"1a".repeat(20)}`, `0x${"2b".repeat(20)}`, `0x${"3c".repeat(20)}`];
const PAYOUT: Hex = `0x${"4d".repeat(20)}`;
const scratch = mkdtempSync(join(tmpdir(), "assay-claim-"));
const data = join(scratch, "data");
let nowS = Math.floor(Date.now() / 1000);
let home: ChainHome;
let treasurer: ChainAccount;
let archive: ReportArchive;
let self: Hex;

before(async () => {
	home = await openChainHome({
		dataDir: data,
		settings: { ...chainDefaults, epochSeconds: 600, windowSeconds: 20 },
		mayDeploy: true,
		nowMs: () => 1000 * nowS,
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
	const { contracts, account } = home;
	const { client } = contracts;
	treasurer = (await treasurerOf(home))!;
	archive = createReportArchive(join(home.folder, "epochs"));
	self = account.address.toLowerCase() as Hex;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: 10n ** 18n });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, STAKE));
	await sendCall(client, account, approveCall(contracts, STAKE));
	const signingKey = `0x${"ab".repeat(32)}` as const;
	const registration = { role: "validator", signingKey, keyProof: "0x", endpoint: "", amount: STAKE } as const;
	await sendCall(client, account, registerCall(contracts, registration));
	// The validator's own rewards go elsewhere.
	await sendCall(client, account, callOf(contracts, "registry", "setPayout", PAYOUT));
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
interface Told {
	readonly epoch: number | null;
	readonly isWithheld: boolean;
	readonly claims: readonly {
		readonly [name in "account" | "to" | "total" | "claimed" | "claimable" | "state"]: string;
	}[];
}
const told = async (...args: string[]) => JSON.parse(await assayClaim("--json", ...args)) as Told;

/** From the epoch's end to posted weights, all providers in it. */
const settle = (epoch: number): Promise<SettledEpoch> =>
	settleByHand(
		{
			contracts: home.contracts,
			account: home.account,
			archive,
			at: (second) => {
				nowS = Math.max(nowS, second);
			},
		},
		epoch,
		PROVIDERS.map((provider, n) => ({
			provider,
			scorePpm: 100_000 * (n + 1) + epoch,
			evidenceSha256: `0x${"00".repeat(32)}`,
		})),
	);
const totalOf = ({ leaves }: SettledEpoch, account: Hex) => leaves.find((leaf) => leaf.account === account)!.total;
const balanceOf = (account: Hex) => read(home.contracts, "token", "balanceOf", account);

test("all of many epochs in one transaction an account; shown first with --dry-run; nothing before weights are final", async () => {
	assert.equal(await assayClaim(), "  nothing to claim\n");
	const first = await settle(0);
	assert.deepEqual(await told(), { epoch: null, claims: [], isWithheld: false }, "posted, and not final");
	nowS = first.finalAt;
	const second = await settle(1);
	const early = await told("--dry-run");
	assert.deepEqual(
		[early.epoch, early.claims.find(({ account }) => account === PROVIDERS[0])!.total],
		[0, String(totalOf(first, PROVIDERS[0]!))],
		"the newest may still be proven wrong: by those before it",
	);
	nowS = second.finalAt;

	const dry = await told("--dry-run");
	assert.deepEqual(
		dry.claims,
		[...PROVIDERS, self].sort().map((account) => ({
			account,
			to: account === self ? PAYOUT : account,
			total: String(totalOf(second, account)),
			claimed: "0",
			claimable: String(totalOf(second, account)),
			state: "can be claimed",
		})),
	);
	assert.deepEqual(await readClaims(home.contracts), []);

	const one = await told("--account", PROVIDERS[1]!);
	assert.deepEqual(
		one.claims.map(({ account, state }) => [account, state]),
		[[PROVIDERS[1], "paid"]],
	);
	assert.equal(await balanceOf(PROVIDERS[1]!), totalOf(second, PROVIDERS[1]!));

	const text = await assayClaim();
	assert.match(text, /already paid/);
	assert.match(text, /paid \S+, by the weights of epoch 1/);
	assert.equal(await balanceOf(PROVIDERS[0]!), totalOf(second, PROVIDERS[0]!));
	assert.equal(await balanceOf(PAYOUT), totalOf(second, self), "a validator earns too, and is paid where it said");
	assert.equal(await balanceOf(self), 0n);
	assert.equal((await readClaims(home.contracts)).length, 4, "one transaction an account");

	const again = await told();
	assert.ok(again.claims.every(({ state, claimable }) => state === "was paid" && claimable === "0"));
	assert.match(await assayClaim(), /nothing to pay/);
});

test("claimed by anybody meanwhile is no failure; a year later it is still there; a false file pays nobody", async () => {
	const third = await settle(2);
	nowS = third.finalAt;
	const { contracts } = home;
	// Anyone may claim for anyone; the account of the leaf is paid.
	const [opening] = third.openAccount(PROVIDERS[0]!);
	await sendCall(contracts.client, treasurer, claimCall(contracts, { weights: third.weights, opening: opening! }));
	assert.equal(await balanceOf(PROVIDERS[0]!), totalOf(third, PROVIDERS[0]!));

	await archive.putRewards(
		2,
		third.id,
		third.leaves.map((leaf) => ({ ...leaf, total: leaf.total + 1n })),
	);
	assert.deepEqual(await told(), { epoch: 2, claims: [], isWithheld: true });
	assert.match(await assayClaim(), /^ {2}the weights of epoch 2 are not here, and no validator serves them/);
	await archive.putRewards(2, third.id, third.leaves);

	nowS += 366 * 86_400;
	const late = await told("--account", PROVIDERS[2]!);
	assert.deepEqual(
		late.claims.map(({ total, claimed, state }) => [BigInt(total) > BigInt(claimed), BigInt(claimed) > 0n, state]),
		[[true, true, "paid"]],
		"nothing lapses",
	);
	assert.equal(await balanceOf(PROVIDERS[2]!), totalOf(third, PROVIDERS[2]!));
});
