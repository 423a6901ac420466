// The embedded chain's first epoch: short, and begun anew for whoever stopped before its windows and came
// back after them; never once something came of it.
import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { makeDataDir } from "../../../tests/validator/toy-agent.test-kit.ts";
import { callOf, read } from "../../chain/contracts/contracts.ts";
import { approveCall, registerCall } from "../../chain/contracts/registry.ts";
import * as board from "../../chain/contracts/scoreboard.ts";
import { sendCall } from "../../chain/sending/send-call.ts";
import { accountOf, type Call, type ChainAccount } from "../../chain/sending/sign.ts";
import { createScoreReport } from "../../market/epochs/score-report.ts";
import type { Explanation } from "../../market/scores/explanation.ts";
import { given, mismatchesOf } from "../../market/scores/recompute.ts";
import { writeDurably } from "../../platform/durable-file.ts";
import { toHex } from "../../protocol/chain/hex.ts";
import { createSigner } from "../../protocol/probe/signer.ts";
import { type ChainHome, chainFolder, contractsPath, ensureStaked, openChainHome, treasurerOf } from "./home.ts";
import { createReportScores, waitsUntil } from "./report-scores.ts";
import { chainDefaults } from "./settings.ts";

const data = makeDataDir();
after(() => data.remove());
let nowS = 1_800_000_000;
const EPOCH_S = 4320;
const settings = { ...chainDefaults, epochSeconds: EPOCH_S, firstEpochSeconds: 60 };
const open = (mayDeploy = true) =>
	openChainHome({
		dataDir: data.path,
		settings,
		mayDeploy,
		nowMs: () => nowS * 1000,
		randomBytes: (size) => new Uint8Array(randomBytes(size)),
	});
const stake = async (home: ChainHome) =>
	ensureStaked(home, createSigner(new Uint8Array(32).fill(5)), "http://127.0.0.1:1", 10_000);
async function register(home: ChainHome, account: ChainAccount): Promise<void> {
	const { contracts } = home;
	const { client } = contracts;
	const treasurer = (await treasurerOf(home))!;
	const amount = 10n * 10n ** 18n;
	await sendCall(client, treasurer, { to: account.address, data: "0x", value: amount });
	await sendCall(client, treasurer, callOf(contracts, "token", "transfer", account.address, amount));
	await sendCall(client, account, approveCall(contracts, amount));
	const key = `0x${"09".repeat(32)}` as const;
	const provider = { role: "provider", signingKey: key, keyProof: "0x", endpoint: "", amount } as const;
	await sendCall(client, account, registerCall(contracts, provider));
}
const salt = `0x${"07".repeat(32)}` as const;

test("the first epoch ends a minute after the deployment, and is given again until something was reported", async () => {
	const bornS = nowS;
	let home = await open();
	const first = home.contracts.addresses;
	const params = await board.readEpochParams(home.contracts);
	assert.deepEqual(
		[board.windowsOf(params, 0).endsAt, params.epochSeconds, params.commitSeconds, params.challengeSeconds],
		[bornS + 60, EPOCH_S, 20, 20],
	);
	await stake(home);
	// Its own provider is nobody else.
	const secret = new Uint8Array(randomBytes(32));
	await writeDurably(join(data.path, "provider", "chain-account.key"), `${Buffer.from(secret).toString("hex")}\n`);
	await register(home, accountOf(toHex(secret)));
	await home.close();

	// Restarted within the commit window, and by a command that only looks: the same contracts.
	nowS = bornS + 79;
	home = await open();
	assert.deepEqual(home.contracts.addresses, first);
	await home.close();
	nowS = bornS + 600;
	home = await open(false);
	assert.deepEqual(home.contracts.addresses, first);
	await home.close();

	// Everything was missed: nobody waits for more than an hour.
	await mkdir(join(home.folder, "epochs", "0"), { recursive: true });
	home = await open();
	const second = home.contracts.addresses;
	assert.notEqual(second.scoreboard, first.scoreboard);
	assert.equal(existsSync(join(home.folder, "epochs")), false);
	const again = await board.readEpochParams(home.contracts);
	// The count goes on where it was.
	const { endsAt, revealsAt, signsAt, signsUntil } = board.windowsOf(again, 1);
	assert.equal(endsAt, nowS + 60);
	await stake(home);

	// Committed, and stopped in the middle of the reveal window.
	const { reportRoot: root } = createScoreReport([]);
	const own = home.account.address;
	nowS = endsAt;
	const commitment = await read(home.contracts, "scoreboard", "commitmentOf", 1n, own, root, salt);
	const send = (call: Call) => sendCall(home.contracts.client, home.account, call);
	await send(callOf(home.contracts, "scoreboard", "commit", 1n, commitment));
	nowS = revealsAt + 1;
	await home.close();
	home = await open();
	assert.deepEqual(home.contracts.addresses, second, "it can still be revealed");
	await send(callOf(home.contracts, "scoreboard", "reveal", 1n, root, salt));
	await home.close();
	nowS = signsAt + 1;
	home = await open();
	assert.deepEqual(home.contracts.addresses, second, "its weights can still be posted");
	await home.close();
	nowS = signsUntil;
	home = await open();
	assert.notEqual(home.contracts.addresses.scoreboard, second.scoreboard, "nothing came of it, and nothing can");
	await home.close();
});

test("contracts on which somebody else has registered are kept, whatever was missed", async () => {
	const other = makeDataDir();
	const o = {
		dataDir: other.path,
		settings,
		mayDeploy: true,
		nowMs: () => nowS * 1000,
		randomBytes: (size: number) => new Uint8Array(randomBytes(size)),
	};
	try {
		let home = await openChainHome(o);
		const { addresses } = home.contracts;
		await register(home, (await treasurerOf(home))!);
		await home.close();
		nowS += 600;
		home = await openChainHome(o);
		assert.deepEqual(home.contracts.addresses, addresses);
		await home.close();
	} finally {
		await other.remove();
	}
});

test("a validator waits for the chain while a command has it, and shares it with another validator", async () => {
	const command = await open(false);
	assert.equal(command.isHost, true);
	const starting = open();
	// Longer than it waits for a validator, which would keep the chain.
	await sleep(6500);
	await command.close();
	const first = await starting;
	assert.equal(first.isHost, true);
	const second = await open();
	assert.equal(second.isHost, false);
	await second.close();
	await first.close();
});

test("contracts of an earlier version are refused, with what to do", async () => {
	const old = makeDataDir();
	const options = {
		dataDir: old.path,
		settings,
		mayDeploy: true,
		nowMs: () => nowS * 1000,
		randomBytes: (size: number) => new Uint8Array(randomBytes(size)),
	};
	try {
		await (await openChainHome(options)).close();
		const path = contractsPath(chainFolder(old.path), false);
		const { rollCall, rentalEscrow, ...before } = JSON.parse(readFileSync(path, "utf8"));
		writeFileSync(path, JSON.stringify(before));
		const refused = { code: "CHAIN_MISSING", hint: /Move the folder `chain`/ };
		await assert.rejects(openChainHome(options), refused);
		writeFileSync(path, JSON.stringify({ ...before, rollCall }));
		await assert.rejects(openChainHome(options), refused);
		writeFileSync(path, JSON.stringify({ ...before, rollCall, rentalEscrow }));
		await (await openChainHome(options)).close();
	} finally {
		await old.remove();
	}
});

test("H6: a report waits for the first score until a quarter of the window is left, and for nothing once there is one; no score is higher than its stake stands for", async () => {
	const params = { genesis: 0, epochSeconds: 1000, commitSeconds: 20, revealSeconds: 20, signSeconds: 20 };
	assert.equal(waitsUntil(params, 0), 1015);
	assert.equal(waitsUntil({ ...params, commitSeconds: 432 }, 1), 2324);
	assert.ok(waitsUntil({ ...params, commitSeconds: 1 }, 0) < 1000, "a window that is too short is not waited in");
	let scorePpm = 0;
	let seconds = 1000;
	let standing: "there" | "left" | "never came" = "there";
	const providerId = "a1".repeat(32);
	let mostPpm = 1_000_000;
	let reasons: readonly Explanation[] = [];
	const explained = () => ({ evidence: null, providerId, scorePpm, why: "", root: given("score", "ppm", scorePpm) });
	const scores = createReportScores({
		store: {
			scores: {
				all: async () => [{ providerId, scorePpm }],
				list: async () => ({ rows: [{ providerId, scorePpm, terms: explained() }], cursor: null }),
			},
		} as never,
		book: {
			refresh: async () => {},
			accountOf: () => (standing === "there" ? "0x00000000000000000000000000000000000000a1" : null),
			isKnown: () => standing !== "never came",
			limitOf: () => ({ mostPpm, why: mostPpm === 1_000_000 ? null : "its stake stands for no higher score" }),
		},
		keptAccountOf: () => accountOf(`0x${"09".repeat(32)}`),
		archive: {
			async putReasons(_, entries) {
				const all: Explanation[] = [];
				for await (const [account, reason] of entries) if (account) all.push(reason);
				reasons = all;
			},
		},
		params,
		maxAgeMs: 1_000_000,
		nowMs: () => seconds * 1000,
	});
	assert.equal(await scores(0), null);
	seconds = 1014;
	assert.equal(await scores(0), null);
	scorePpm = 7;
	assert.deepEqual(
		(await scores(0))?.map((leaf) => leaf.scorePpm),
		[7],
	);
	scorePpm = 0;
	seconds = 1015;
	assert.deepEqual(
		(await scores(0))?.map((leaf) => leaf.scorePpm),
		[0],
		"a late report is still a report",
	);

	// H6: a cheat would lose less than it gains if its score could be higher than its stake stands for.
	scorePpm = 900_000;
	mostPpm = 400_000;
	assert.deepEqual(
		(await scores(0))?.map((leaf) => leaf.scorePpm),
		[400_000],
	);
	assert.deepEqual([reasons[0]!.scorePpm, mismatchesOf(reasons[0]!)], [400_000, []], "the reasons say so too");
	mostPpm = 0;
	assert.equal((await scores(0))?.[0]?.scorePpm, 0);
	assert.match(reasons[0]!.why, /stake/);
	mostPpm = 900_000;
	assert.equal((await scores(0))?.[0]?.scorePpm, 900_000);
	scorePpm = 0;

	standing = "left";
	assert.deepEqual(await scores(0), [], "who left is left out");
	standing = "never came";
	assert.equal((await scores(0))?.length, 1, "an account is kept for it");
});
