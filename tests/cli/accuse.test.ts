// Fraud before the chain, by a validator's keeper and by anybody's command line: a real EVM, real evidence of
// toy engines, real receipts. What is proven costs stake once; everything else is refused before it is sent.

import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type Contracts, callOf, read } from "../../src/chain/contracts/contracts.ts";
import { deployContracts } from "../../src/chain/contracts/deploy.ts";
import { approveCall, readAccount, registerCall } from "../../src/chain/contracts/registry.ts";
import { receiptSigner, signReceipt } from "../../src/chain/contracts/slashing.ts";
import { type ChainClient, createChainClient } from "../../src/chain/node/chain-client.ts";
import { type RpcServer, serveRpc } from "../../src/chain/node/serve-rpc.ts";
import { createToyNode, TOY_GENESIS_S, type ToyNode, TREASURER } from "../../src/chain/node/toy-node.test-kit.ts";
import { memoryIntents } from "../../src/chain/sending/publish.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { accountOf, type ChainAccount } from "../../src/chain/sending/sign.ts";
import { runCommand } from "../../src/cli/run-command.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import type { Hex } from "../../src/protocol/chain/hex.ts";
import {
	factsOfGemm,
	parseReceiptFile,
	type ReceiptDomain,
	type ReceiptFile,
	receiptOf,
} from "../../src/protocol/chain/probe-receipt.ts";
import { sha256Of } from "../../src/protocol/hash/tagged-hash.ts";
import type { GemmSpec, StreamSpec } from "../../src/protocol/probe/evidence.ts";
import type { CommittedGemm, StageReceipts } from "../../src/validator/probe/provider-word.ts";
import { createReceiptCollector } from "../../src/validator/receipts/collect-receipts.ts";
import type { FraudNote } from "../../src/validator/receipts/probe-receipts.ts";
import { type Accused, createFraudKeeper } from "../../src/validator/settlement/fraud-keeper.ts";
import { gemmsToCheck } from "../../src/verify/hardware/gemm-fraud.ts";
import { probeToy, type ToyProbe } from "../toy/probe-toy.ts";

const UNIT = 10n ** 18n;
const STAKE = 80n * UNIT;
const scratch = mkdtempSync(join(tmpdir(), "assay-accuse-"));
let node: ToyNode;
let server: RpcServer;
let client: ChainClient;
let contracts: Contracts;
const keyOf = (n: number): Hex => `0x${n.toString(16).padStart(64, "0")}`;
const accuser = accountOf(keyOf(7));

before(async () => {
	node = await createToyNode();
	server = await serveRpc(node.rpc);
	client = await createChainClient(node.rpc, { confirmations: 1, sleep: async () => {} });
	contracts = await deployContracts(client, TREASURER, { genesis: TOY_GENESIS_S, epochSeconds: 3600 });
	await sendCall(client, TREASURER, { to: accuser.address, data: "0x", value: 10n * UNIT });
});
after(async () => {
	await server.close();
	rmSync(scratch, { recursive: true, force: true });
});

async function stakedAccount(n: number, allowances?: readonly []): Promise<ChainAccount> {
	const account = accountOf(keyOf(n));
	await sendCall(client, TREASURER, { to: account.address, data: "0x", value: UNIT });
	await sendCall(client, TREASURER, callOf(contracts, "token", "transfer", account.address, STAKE));
	await sendCall(client, account, approveCall(contracts, STAKE));
	const registration = { role: "provider", signingKey: keyOf(n), keyProof: "0x", endpoint: "", amount: STAKE } as const;
	await sendCall(client, account, registerCall(contracts, { ...registration, ...(allowances && { allowances }) }));
	return account;
}

const GEMM: GemmSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 3,
	keep: 2,
	samples: 8,
};
const PROBE = "5a".repeat(16);

const collectorOf = ({ address }: ChainAccount) =>
	createReceiptCollector({ domain: contracts.addresses, provider: address, signer: address, probeId: PROBE });

/** A probe of a toy, its roots signed by this account between commitment and opening, as an agent would. */
async function signedProbe(account: ChainAccount, probe: Partial<ToyProbe> = {}) {
	const collector = collectorOf(account);
	const gemms: CommittedGemm[] = [];
	const { evidence, verdict } = await probeToy({
		stages: [[GEMM]],
		...probe,
		more: { probeId: PROBE, onCommitted: (committed) => void gemms.push(...committed) },
	});
	const signed = gemms.map(async ({ challenge, spec, seed, roots }) => {
		const receipt = receiptOf(account.address, PROBE, factsOfGemm(challenge, spec, seed, roots));
		return { challenge, signature: (await signReceipt(account, contracts.addresses, receipt)).slice(2) };
	});
	collector.onCommitted(gemms, await Promise.all(signed));
	const file = collector.file(bytesToHex(sha256Of(evidence!)));
	assert.deepEqual(file.missing, []);
	assert.deepEqual(parseReceiptFile(JSON.stringify(file)), file);
	return { evidence: evidence!, verdict, file };
}

function keeperOf(held: { evidence: Uint8Array; file: ReceiptFile }, journal = memoryIntents()) {
	const notes = new Map<string, FraudNote>([
		[held.file.evidence, { evidence: held.file.evidence, probeId: PROBE, providerId: "p" }],
	]);
	const told: Accused[] = [];
	const left: string[] = [];
	const make = () =>
		createFraudKeeper({
			contracts,
			account: accuser,
			journal,
			saltSecret: new Uint8Array(32).fill(9),
			receipts: {
				notes: async () => [...notes.values()],
				get: async () => held.file,
				dropNote: async (evidence) => void notes.delete(evidence),
			},
			evidence: async () => held.evidence,
			nowMs: () => 0,
			tell: (accused) => void told.push(accused),
			onLeft: (_, why) => void left.push(why),
		});
	return { make, notes, told, left };
}
const stakeOf = async ({ address }: ChainAccount) => (await readAccount(contracts, address)).stake;

test("a keeper that dies in mid-accusation is followed by one that ends it, once", async () => {
	const account = await stakedAccount(21);
	const held = await signedProbe(account, { cheat: "smaller-k" });
	assert.equal(held.verdict.status === "invalid" && held.verdict.code, "ELEMENT_WRONG");
	const journal = memoryIntents();
	const { make, notes, told, left } = keeperOf(held, journal);
	// The node takes the transaction and the answer is lost: nobody knows.
	const mined = node.sent;
	const rpc = node.rpc;
	const isLost = (method: string) => method === "eth_sendRawTransaction" && node.sent > lostAfter;
	let lostAfter = mined;
	const lossy: ChainClient = await createChainClient(
		async (method, params) => {
			const answer = await rpc(method, params);
			if (isLost(method)) throw new AssayError("CHAIN_UNREACHABLE", "the line died before the answer");
			return answer;
		},
		{ confirmations: 1, sleep: async () => {} },
	);
	const before = await read(contracts, "token", "balanceOf", accuser.address);
	const good = contracts;
	contracts = { ...good, client: lossy };
	await assert.rejects(make().turn(), { code: "CHAIN_UNREACHABLE" });
	assert.deepEqual([notes.size, journal.size(), told.length, node.sent], [1, 1, 0, mined + 1], "announced");
	// It is handed in once more, then the proof.
	lostAfter = mined + 2;
	await assert.rejects(make().turn(), { code: "CHAIN_UNREACHABLE" });
	contracts = good;
	assert.deepEqual([notes.size, journal.size(), told.length, node.sent], [1, 1, 0, mined + 3], "and proven");
	const other = { evidence: "ff".repeat(32), probeId: PROBE, providerId: "p" };
	notes.set(other.evidence, other);
	await make().turn();
	assert.deepEqual([[...notes.keys()], journal.size(), told.length, left], [[other.evidence], 0, 1, []]);
	assert.deepEqual([told[0]!.slashed?.amount, told[0]!.slashed?.toAccuser], [STAKE / 2n, STAKE / 20n]);
	assert.equal(await stakeOf(account), STAKE / 2n);
	assert.equal(await read(contracts, "token", "balanceOf", accuser.address), before + STAKE / 20n);

	await make().turn();
	assert.deepEqual([notes.size, told.length, told[1]?.slashed], [0, 2, null]);

	// The same fraud again: told as what it is, nothing sent, nothing taken.
	const again = keeperOf(held);
	const sent = node.sent;
	await again.make().turn();
	assert.deepEqual([again.notes.size, again.told[0]?.slashed, node.sent], [0, null, sent]);
	assert.equal(await stakeOf(account), STAKE / 2n);
});

test("nobody is accused who did right, signed nothing, signed for another chain, is a stranger or allows nothing", async () => {
	const account = await stakedAccount(22, []);
	const stranger = await signedProbe(accountOf(keyOf(27)), { cheat: "unchained-rounds" });
	const sent = node.sent;
	const honest = await signedProbe(account);
	assert.equal(honest.verdict.status, "valid");
	const cheat = await signedProbe(account, { cheat: "unchained-rounds" });
	assert.equal(cheat.verdict.status, "invalid");
	const { receipts } = cheat.file;
	for (const [held, why] of [
		[honest, /no wrong element/],
		[{ ...cheat, file: { ...cheat.file, receipts: [] } }, /no wrong element has a receipt/],
		[{ ...cheat, file: { ...cheat.file, receipts: honest.file.receipts } }, /no wrong element has a receipt/],
		[{ ...cheat, file: { ...cheat.file, chainId: 1 } }, /another chain/],
		[{ ...cheat, file: { ...cheat.file, provider: accuser.address.toLowerCase() as Hex } }, /SignatureInvalid/],
		[
			{
				...cheat,
				file: {
					...cheat.file,
					receipts: receipts.map((one) => ({ ...one, signature: honest.file.receipts[0]!.signature })),
				},
			},
			/SignatureInvalid/,
		],
		[stranger, /SignatureInvalid/],
		[cheat, /NothingToSlash/],
	] as const) {
		const { make, notes, told, left } = keeperOf(held);
		await make().turn();
		assert.deepEqual([notes.size, told.length, left.length], [0, 0, 1], String(why));
		assert.match(left[0]!, why);
	}
	assert.equal(node.sent, sent);
});

test("wrong elements are found in every kind of file, each by a path of its round", async () => {
	const account = accountOf(keyOf(23));
	const of = async (probe: Partial<ToyProbe>) => {
		const { evidence, verdict } = await signedProbe(account, probe);
		return { verdict, found: [...gemmsToCheck(evidence)].flatMap(({ find }) => find() ?? []) };
	};
	const three = await of({ cheat: "unchained-rounds" });
	// The first round is right: its seed is the challenge's own.
	const { round, roundPath } = three.found[0]!.fraud;
	assert.ok(three.found.length === 1 && round > 0);
	assert.equal(roundPath.length, round === 2 ? 1 : 2);
	const sustained = await of({ cheat: "smaller-k", stages: [[{ ...GEMM, rounds: 0 }]], stopAfterMs: 1 });
	assert.equal(sustained.found.length, 1);
	assert.ok(sustained.found[0]!.facts.rounds >= 1);
	const stream: StreamSpec = { kind: "stream", device: 0, of: 0, newest: 0, passes: 64, samples: 64 };
	const below = await of({ cheat: "skipped-rows", stages: [[{ ...GEMM, k: 1024, rounds: 2, samples: 1 }], [stream]] });
	assert.ok(
		below.verdict.status === "invalid" && below.verdict.where.startsWith("challenges[1]"),
		below.verdict.status,
	);
	assert.equal(below.found[0]?.facts.challenge, 0);
	// Lies that the chain cannot recompute.
	assert.deepEqual((await of({ cheat: "wrong-leaf" })).found, []);
	assert.deepEqual((await of({})).found, []);
	assert.deepEqual([...gemmsToCheck(new Uint8Array(100))], []);
});

test("a signature that only libraries take is none", async () => {
	const account = accountOf(keyOf(24));
	const receipt = receiptOf(account.address, PROBE, factsOfGemm(0, GEMM, new Uint8Array(32), [new Uint8Array(32)]));
	const signature = await signReceipt(account, contracts.addresses, receipt);
	const signerOf = (domain: ReceiptDomain, of: typeof receipt, by: string) => receiptSigner(domain, of, by as Hex);
	const { addresses } = contracts;
	const own = account.address.toLowerCase();
	assert.equal(signerOf(addresses, receipt, signature), own);
	const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n;
	const flipped = (order - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, "0");
	const v = Number.parseInt(signature.slice(130), 16);
	const tail = (value: number) => value.toString(16).padStart(2, "0");
	for (const other of [
		`${signature.slice(0, 66)}${flipped}${tail(55 - v)}`,
		`${signature.slice(0, 130)}${tail(v - 27)}`,
		`${signature.slice(0, 130)}${tail(55 - v)}`,
		signature.toUpperCase().replace("0X", "0x"),
		`0x${"00".repeat(65)}`,
		"0x",
	])
		assert.notEqual(signerOf(addresses, receipt, other), own, other);
	for (const field of ["challenge", "precision", "m", "n", "k", "rounds"] as const)
		assert.notEqual(signerOf(addresses, { ...receipt, [field]: receipt[field] + 1 }, signature), own, field);
	for (const field of ["provider", "probeId", "tree"] as const) {
		const changed = { ...receipt, [field]: receipt[field].replace(/.$/, (last) => (last === "0" ? "1" : "0")) };
		assert.notEqual(signerOf(addresses, changed, signature), own, field);
	}
	assert.notEqual(signerOf({ ...addresses, chainId: 1 }, receipt, signature), own);
	assert.notEqual(signerOf({ ...addresses, slashing: addresses.registry }, receipt, signature), own);
});

test("whatever a provider answers, what it did not sign for is missing, and why is written down", async () => {
	const account = accountOf(keyOf(24));
	const committed = [0, 1].map((challenge) => ({
		challenge,
		spec: GEMM,
		seed: new Uint8Array(32).fill(challenge),
		roots: [new Uint8Array(32)],
	}));
	const signed = async (of: number, as = of) => {
		const { spec, seed, roots } = committed[of]!;
		const receipt = receiptOf(account.address, PROBE, factsOfGemm(of, spec, seed, roots));
		return { challenge: as, signature: (await signReceipt(account, contracts.addresses, receipt)).slice(2) };
	};
	const [first, second] = [await signed(0), await signed(1)];
	const junk = { challenge: 0, signature: "11".repeat(65) };
	const all = (why: string) => [0, 1].map((challenge) => ({ challenge, why }));
	const outcomes: readonly (readonly [StageReceipts | null, readonly number[], object[]])[] = [
		[[second, first], [0, 1], []],
		[[first], [0], [{ challenge: 1, why: "refused" }]],
		[[junk, first, second], [1], [{ challenge: 0, why: "wrong" }]],
		[[await signed(1, 0), await signed(0, 1)], [], all("wrong")],
		[[{ ...first, challenge: 7 }], [], all("refused")],
		[null, [], all("silent")],
	];
	for (const [answer, right, missing] of outcomes) {
		const collector = collectorOf(account);
		collector.onCommitted(committed, answer);
		const file = collector.file("00".repeat(32));
		assert.deepEqual([file.receipts.map(({ challenge }) => challenge), file.missing], [right, missing]);
	}
	// Another account's word for the same facts.
	const other = collectorOf(accuser);
	other.onCommitted(committed, [first, second]);
	assert.deepEqual(other.file("00".repeat(32)).missing, all("wrong"));
	// M2: one root that did not come here, in any round, is another tree.
	const swapped = committed.map((one) => ({ ...one, roots: [...one.roots, new Uint8Array(32).fill(1)] }));
	const lied = collectorOf(account);
	lied.onCommitted(swapped, [first, second]);
	assert.deepEqual(lied.file("00".repeat(32)).missing, all("wrong"));
});

test("assay accuse: proves, tells what was taken, and says why not", async () => {
	const account = await stakedAccount(25);
	const cheat = await signedProbe(account, { cheat: "smaller-k" });
	const honest = await signedProbe(account);
	const put = (name: string, content: string | Uint8Array) => {
		writeFileSync(join(scratch, name), content);
		return name;
	};
	const addresses = put("contracts.json", JSON.stringify(contracts.addresses));
	const key = put("key", keyOf(7).slice(2));
	const assay = async (evidence: string, receipts: string, ...more: string[]) => {
		const said = { out: "", err: "" };
		const stream = (name: "out" | "err") =>
			({ isTTY: false, write: (text: string) => (said[name] += text) }) as unknown as NodeJS.WriteStream;
		const chain = ["--rpc", server.url, "--contracts", addresses, "--key-file", key, "--data", join(scratch, "data")];
		const args = ["accuse", evidence, "--receipts", receipts, ...chain, ...more];
		const io = { env: { ASSAY_HOME: scratch }, cwd: scratch, interrupted: new AbortController().signal };
		const code = await runCommand(args, { ...io, out: stream("out"), err: stream("err") });
		return { code, ...said };
	};
	const bad = put("bad.assay", cheat.evidence);
	const good = put("good.assay", honest.evidence);
	const receipts = put("bad.json", JSON.stringify(cheat.file));
	for (const [name, run, code, error] of [
		["honest", assay(good, put("good.json", JSON.stringify(honest.file))), 69, /FRAUD_NONE/],
		["unsigned", assay(bad, put("none.json", JSON.stringify({ ...cheat.file, receipts: [] }))), 69, /FRAUD_UNSIGNED/],
		["other evidence", assay(good, receipts), 66, /RECEIPTS_BAD/],
		["garbage", assay(bad, put("garbage.json", "{}")), 66, /RECEIPTS_BAD/],
		["other chain", assay(bad, put("far.json", JSON.stringify({ ...cheat.file, chainId: 5 }))), 66, /RECEIPTS_BAD/],
		[
			"somebody else's name",
			assay(bad, put("forged.json", JSON.stringify({ ...cheat.file, provider: accuser.address.toLowerCase() }))),
			66,
			/RECEIPTS_BAD/,
		],
		["no file", assay(bad, "nowhere.json"), 66, /FILE_UNREADABLE/],
		["no server", assay(bad, "http://127.0.0.1:1/x"), 66, /FILE_UNREADABLE/],
	] as const) {
		const done = await run;
		assert.deepEqual([done.code, error.test(done.err)], [code, true], `${name}: ${done.err}`);
	}
	assert.equal(await stakeOf(account), STAKE);
	const dry = await assay(bad, receipts, "--dry-run");
	assert.deepEqual([dry.code, /the contract would accept this proof/.test(dry.out)], [0, true], dry.err);
	assert.equal(await stakeOf(account), STAKE);
	const proven = await assay(bad, receipts);
	assert.equal(proven.code, 0, proven.err);
	assert.match(proven.out, /ELEMENT_WRONG[\s\S]*should be \d+\n[\s\S]*loses 40 tokens: 4 to 0x/);
	assert.equal(await stakeOf(account), STAKE / 2n);
	const again = await assay(bad, receipts, "--json");
	assert.deepEqual([again.code, JSON.parse(again.out).error.code], [69, "FRAUD_PUNISHED"]);
	const stranger = await signedProbe(accountOf(keyOf(27)), { cheat: "smaller-k" });
	const strange = await assay(put("far.assay", stranger.evidence), put("far.json", JSON.stringify(stranger.file)));
	assert.deepEqual([strange.code, /FRAUD_NO_STAKE/.test(strange.err)], [69, true], strange.err);
	const poor = await signedProbe(await stakedAccount(26, []), { cheat: "smaller-k" });
	const none = await assay(put("poor.assay", poor.evidence), put("poor.json", JSON.stringify(poor.file)));
	assert.deepEqual([none.code, /FRAUD_NO_STAKE/.test(none.err)], [69, true], none.err);
});
