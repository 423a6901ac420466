// The contracts beside the TypeScript that mirrors them: elements and receipts, roll calls and rentals on
// which both sides must agree, and what each act costs in gas. Not here: epochs (epochs.test.ts), the
// Solidity tests (solidity.test.ts).
import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { after, before, test } from "node:test";
import { callOf, read } from "../../src/chain/contracts/contracts.ts";
import {
	approveEscrowCall,
	closeEscrowCall,
	escrowId,
	extendEscrowCall,
	isRunning,
	openEscrowCall,
	readEscrow,
	withdrawEscrowCall,
} from "../../src/chain/contracts/rental-escrow.ts";
import {
	answerCall,
	commitCall,
	demandCall,
	expireCall,
	isCommitted,
	readCommitted,
	readOpenDemands,
	readRollCallParams,
	signAnswer,
} from "../../src/chain/contracts/roll-call.ts";
import { type ProbeReceipt, signReceipt } from "../../src/chain/contracts/slashing.ts";
import { fromHex, type Hex } from "../../src/protocol/chain/hex.ts";
import { roundLeaf, roundTree } from "../../src/protocol/chain/probe-receipt.ts";
import { answerDigest, answerSigner } from "../../src/protocol/chain/roll-answer.ts";
import { keccakNode, keccakTree } from "../../src/protocol/hash/keccak-tree.ts";
import { leafHash, merkleLevels, merklePath, pathLength, rootFromPath } from "../../src/protocol/hash/merkle.ts";
import { gemmElements } from "../../src/protocol/maths/gemm-element.ts";
import { GEMM_PRECISIONS, type GemmPrecision } from "../../src/protocol/maths/precision.ts";
import { nextSeed } from "../../src/protocol/probe/challenge-seed.ts";
import { isRollCall, rollLeaf, rollSeed } from "../../src/protocol/roll-call/roll-call.ts";
import { checkGas } from "./gas.test-kit.ts";
import { openTestNetwork, type TestNetwork } from "./network.test-kit.ts";

const gas: Record<string, number> = {};

const hex = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;
const random = (text: string): Uint8Array => new Uint8Array(createHash("sha256").update(text).digest());
const salt = (n: number): Hex => hex(random(`salt ${n}`));

let network: TestNetwork;
before(async () => {
	network = await openTestNetwork();
});
after(() => network.close());

test("elements of products are those of the vectors", async () => {
	interface Row {
		readonly precision: GemmPrecision;
		readonly k: number;
		readonly seed: string;
		readonly row: number;
		readonly col: number;
		readonly value: number;
	}
	const file = new URL("../../vectors/gemm-elements.json", import.meta.url);
	const rows = (JSON.parse(readFileSync(file, "utf8")) as Row[]).filter((_, i) => i % 3 === 0);
	const seen = new Set<string>();
	for (const { precision, k, seed, row, col, value } of rows) {
		seen.add(precision);
		assert.equal(await elementOnChain(precision, `0x${seed}`, k, row, col), value);
	}
	assert.deepEqual([...seen].sort(), [...GEMM_PRECISIONS].sort());
	// Long rows, where lanes are fullest, against src/protocol.
	for (const [precision, k] of [
		["int8", 16384],
		["int8", 65536],
		["fp8", 16384],
		["tf32", 16384],
	] as const) {
		const seed = random(`long ${precision} ${k}`);
		const [right] = gemmElements(precision, seed, k, 1000, [999]);
		assert.equal(await elementOnChain(precision, hex(seed), k, 1000, 999), right);
	}
});

function elementOnChain(precision: GemmPrecision, seed: Hex, k: number, row: number, column: number) {
	return read(network.contracts, "slashing", "gemmElement", GEMM_PRECISIONS.indexOf(precision), seed, k, row, column);
}

const paid = (who: Hex) => read(network.contracts, "token", "balanceOf", who);

test("a leaf of src/protocol's tree: right elements are no fraud, a wrong one is", async () => {
	const { contracts, provider, validators, send } = network;
	const spec = { precision: "fp16", m: 2, n: 1024, k: 128 } as const;
	const seed = random("small product");
	const leaves = Array.from({ length: 4 }, (_, l) => {
		const columns = Array.from({ length: 512 }, (_, c) => 512 * (l % 2) + c);
		const elements = gemmElements(spec.precision, seed, spec.k, Math.floor(l / 2), columns);
		return new Uint8Array(Uint16Array.from(elements).buffer);
	});
	leaves[3]![2 * 100] = leaves[3]![2 * 100]! ^ 1;
	const levels = merkleLevels(leaves.map(leafHash));
	const root = levels.at(-1)![0]!;
	const receipt: ProbeReceipt = {
		provider: provider.address,
		probeId: hex(random("probe")),
		challenge: 0,
		precision: GEMM_PRECISIONS.indexOf(spec.precision),
		m: spec.m,
		n: spec.n,
		k: spec.k,
		rounds: 1,
		tree: hex(roundTree(seed, [root]).root),
	};
	const signature = await signReceipt(provider, contracts.addresses, receipt);
	const accuse = (leaf: number, column: number) =>
		send(
			validators[1]!,
			callOf(
				contracts,
				"slashing",
				"proveGemm",
				receipt,
				signature,
				{
					round: 0,
					seed: hex(seed),
					root: hex(root),
					roundPath: [],
					leaf,
					column,
					leafBytes: hex(leaves[leaf]!),
					path: merklePath(levels, leaf).map(hex),
				},
				salt(0),
			),
		);
	await assert.rejects(accuse(3, 101), /ElementRight/);
	await assert.rejects(accuse(0, 0), /ElementRight/);
	await accuse(3, 100);
	await assert.rejects(accuse(3, 100), /AlreadyPunished|NothingToSlash/);
});

test("one element of a 16384³ product is proven wrong in less than 3 M gas", async () => {
	const { contracts, provider, validators, send } = network;
	// Nonsense that was signed, twice: a leaf of random bytes, siblings that are anything; an early round of
	// many.
	const n = 16384;
	const count = n * (n / 512);
	const [round, rounds] = [17, 4096];
	for (const [name, precision] of [
		["proveGemmInt8", "int8"],
		["proveGemmFp16", "fp16"],
	] as const) {
		const seed = random(`large ${precision}`);
		const leaf = 345_678;
		const siblings = (of: string, length: number) => Array.from({ length }, (_, i) => random(`${of} ${i}`));
		const path = siblings("sibling", pathLength(leaf, count));
		const leafBytes = new Uint8Array(Buffer.concat(siblings("bytes", 32)));
		const root = rootFromPath(leafHash(leafBytes), leaf, count, path)!;
		const roundPath = siblings("round", pathLength(round, rounds));
		const receipt: ProbeReceipt = {
			provider: provider.address,
			probeId: hex(random(name)),
			challenge: 1,
			precision: GEMM_PRECISIONS.indexOf(precision),
			m: n,
			n,
			k: n,
			rounds,
			tree: hex(rootFromPath(roundLeaf(seed, root), round, rounds, roundPath, keccakNode)!),
		};
		const signature = await signReceipt(provider, contracts.addresses, receipt);
		const words = { seed: hex(seed), root: hex(root), roundPath: roundPath.map(hex), leafBytes: hex(leafBytes) };
		const fraud = { ...words, round, leaf, column: 77, path: path.map(hex) };
		const call = callOf(contracts, "slashing", "proveGemm", receipt, signature, fraud, salt(0));
		gas[name] = await send(validators[1]!, call);
	}
});

/** Sends something, so that there is a block, until its hash calls or does not. */
async function blockThat(calls: boolean): Promise<number> {
	const { contracts, validators, send } = network;
	for (;;) {
		await send(validators[1]!, { to: validators[1]!.address, data: "0x" });
		const { number, hash } = await contracts.client.viem.getBlock();
		const isCall = isRollCall(fromHex(hash, 32), 2);
		assert.equal(await read(contracts, "rollCall", "isRollCall", hash), isCall);
		if (isCall === calls) return Number(number);
	}
}

test("a validator commits to all answers of a roll call, once, and others read it", async () => {
	const { contracts, validators, send } = network;
	const [, validator] = validators;
	const { viem } = contracts.client;
	const root = random("root of answers");
	const commit = (from: typeof validator, call: number) =>
		send(from!, commitCall(contracts, { call, root, count: 10_000 }));
	await assert.rejects(commit(validator, await blockThat(false)), /NoCall/);
	const call = await blockThat(true);
	await assert.rejects(commit(network.provider, call), /NotValidator/);
	await assert.rejects(commit(validator, call + 1000), /BlockUnknown/);
	const b1 = Number(await viem.getBlockNumber()) + 1;
	gas.rollCallCommit = await commit(validator, call);
	await assert.rejects(commit(validator, call), /AlreadyCommitted/);
	assert.equal(await isCommitted(contracts, validator!.address, call), true);
	assert.equal(await isCommitted(contracts, network.provider.address, call), false);
	const found = await readCommitted(contracts, { from: b1, to: b1 });
	const { hash, transactions } = await viem.getBlock({ blockNumber: BigInt(b1) });
	const committed = { validator: validator!.address.toLowerCase(), call, root: hex(root), count: 10_000 };
	assert.deepEqual(found, [{ ...committed, blockNumber: b1, blockHash: hash, transaction: transactions[0] }]);
	assert.deepEqual(await readCommitted(contracts, { from: b1, to: b1 }, { call: call + 1 }), []);
	assert.deepEqual(await readCommitted(contracts, { from: 0, to: b1 - 1 }), []);
	assert.equal((await readRollCallParams(contracts)).every, 2);
});

test("an opening is demanded, given in time or withheld; the deposit pays for the largest answer", async () => {
	const { contracts, provider, validators, send, wait } = network;
	const [, validator, demander] = validators;
	const slashable = () => read(contracts, "registry", "slashableOf", provider.address);
	for (const [name, rounds, k] of [
		["answerOpening", 1, 128],
		["answerOpeningLargest", 1024, 65536],
		["withheld", 2, 128],
	] as const) {
		const call = await blockThat(true);
		const { hash } = await contracts.client.viem.getBlock({ blockNumber: BigInt(call) });
		const beta0 = fromHex(hash, 32);
		const host = { key: "5e".repeat(32), account: provider.address.toLowerCase() as Hex };
		const spec = { device: 3, m: 16384, n: 16384, k, rounds, keep: rounds };
		// The demanded round is the last: all others lead to its seed.
		const roots = Array.from({ length: rounds - 1 }, (_, i) => random(`round ${i}`));
		const seed = roots.reduce(nextSeed, rollSeed(beta0, host, spec));
		const place = { round: rounds - 1, leaf: 345_678, column: 77 };
		const elements = gemmElements("int8", seed, k, place.leaf >> 5, [512 * (place.leaf % 32) + place.column]);
		const leaf = new Uint8Array(Buffer.concat(Array.from({ length: 32 }, (_, i) => random(`bytes ${i}`))));
		new DataView(leaf.buffer).setUint16(2 * place.column, elements[0]!, true);
		const count = spec.m * (spec.n / 512);
		const path = Array.from({ length: pathLength(place.leaf, count) }, (_, i) => random(`sibling ${i}`));
		roots.push(rootFromPath(leafHash(leaf), place.leaf, count, path)!);
		const end = nextSeed(seed, roots.at(-1)!);
		const answer = { ...spec, end: hex(end).slice(2), last: hex(random("last")).slice(2) };
		const own = rollLeaf(host, answer);
		const tree = keccakTree([random("another's"), own, random("a third's")]);

		const id = { chainId: contracts.addresses.chainId, contract: contracts.addresses.rollCall.toLowerCase(), call };
		const signature = await signAnswer(provider, { ...id, beta0, leaf: own });
		assert.equal(answerSigner({ ...id, beta0, leaf: own }, signature), host.account);
		assert.notEqual(answerSigner({ ...id, beta0: random("fork"), leaf: own }, signature), host.account);
		assert.equal(
			await read(contracts, "rollCall", "answerDigest", BigInt(call), hash, hex(own)),
			hex(answerDigest({ ...id, beta0, leaf: own })),
		);
		await send(validator!, commitCall(contracts, { call, root: tree.root, count: 3 }));
		const blockNumber = await contracts.client.viem.getBlockNumber();
		const commitment = {
			validator: validator!.address,
			call: BigInt(call),
			root: hex(tree.root),
			count: 3,
			beta: hash,
			blockNumber,
		};
		const words = {
			providerKey: `0x${host.key}`,
			account: host.account,
			end: hex(end),
			last: hex(random("last")),
		} as const;
		const proof = { leaf: { ...spec, ...words }, index: 1, path: tree.path(1).map(hex), signature };
		const demanded = await send(demander!, await demandCall(contracts, commitment, proof, place));
		const [demand, ...others] = await readOpenDemands(contracts, provider.address);
		assert.deepEqual(others, []);
		if (name === "withheld") {
			const before = await slashable();
			await assert.rejects(send(demander!, expireCall(contracts, demand!)), /StillAnswerable/);
			wait(86_401);
			gas.demandExpire = await send(demander!, expireCall(contracts, demand!));
			assert.equal(await slashable(), before - before / 10n);
		} else {
			gas.demandOpening = Math.max(gas.demandOpening ?? 0, demanded);
			await assert.rejects(
				send(validator!, answerCall(contracts, demand!, { roots, leaf: leaf.toReversed(), path })),
				/RootMismatch/,
			);
			gas[name] = await send(validator!, answerCall(contracts, demand!, { roots, leaf, path }));
			// What the least deposit counts with: were it less, demands would be a way to make others pay.
			assert.ok(gas[name] <= 400_000 + 1500 * rounds + 90 * k, `${name}: ${gas[name]}`);
		}
		assert.deepEqual(await readOpenDemands(contracts, provider.address), []);
	}
	assert.ok((await read(contracts, "rollCall", "owedTo", provider.address)) > 0n);
	await send(provider, callOf(contracts, "rollCall", "withdraw", provider.address));
});

test("a rental is deposited, extended, closed and paid to the second", async () => {
	const { contracts, provider, validators, send, wait } = network;
	const customer = validators[1]!;
	const saltOf = salt(99);
	const id = escrowId(customer.address, saltOf);
	assert.equal(await read(contracts, "rentalEscrow", "idOf", customer.address, saltOf), id);
	assert.equal(await readEscrow(contracts, id), null);
	const terms = { provider: provider.address, perSecond: 10n ** 12n, seconds: 3600 };
	await assert.rejects(send(customer, openEscrowCall(contracts, saltOf, terms)), /refuses/);
	await send(network.treasurer, callOf(contracts, "token", "transfer", customer.address, 4600n * terms.perSecond));
	await send(customer, approveEscrowCall(contracts, 4600n * terms.perSecond));
	const before = await paid(customer.address);
	gas.rentalOpen = await send(customer, openEscrowCall(contracts, saltOf, terms));
	gas.rentalExtend = await send(customer, extendEscrowCall(contracts, id, 1000));
	assert.equal(before - (await paid(customer.address)), 4600n * terms.perSecond);
	const escrow = (await readEscrow(contracts, id))!;
	const { customer: by, provider: to, perSecond, burnedPerSecond, isClosed } = escrow;
	assert.deepEqual(
		[by, to],
		[customer, provider].map(({ address }) => address.toLowerCase()),
	);
	assert.deepEqual([perSecond, burnedPerSecond, isClosed], [10n ** 12n, 10n ** 11n, false]);
	assert.equal(escrow.endsAt - escrow.startedAt, 4600);
	wait(600);
	await assert.rejects(send(validators[0]!, closeEscrowCall(contracts, id)), /NotParty/);
	gas.rentalClose = await send(customer, closeEscrowCall(contracts, id));
	const closed = (await readEscrow(contracts, id))!;
	const used = BigInt(closed.endsAt - closed.startedAt);
	assert.ok(closed.isClosed && used >= 600n && used < 620n, `${used}`);
	for (const time of [closed.startedAt - 1, closed.startedAt, closed.endsAt - 1, closed.endsAt])
		assert.equal(await read(contracts, "rentalEscrow", "isRunning", id, BigInt(time)), isRunning(closed, time));
	await send(customer, withdrawEscrowCall(contracts, customer.address));
	assert.equal(before - (await paid(customer.address)), used * terms.perSecond);
	const had = await paid(provider.address);
	gas.rentalWithdraw = await send(provider, withdrawEscrowCall(contracts, provider.address));
	assert.equal((await paid(provider.address)) - had, used * (perSecond - burnedPerSecond));
	assert.equal(await paid(contracts.addresses.rentalEscrow), 0n);
});

test("gas is what contracts/gas.json says, and within its limits", () => {
	checkGas("others", gas);
	// Two slots more than where owner and signer were one: whose signer it is, and whether it still is.
	assert.ok(gas.rollCallCommit! <= 60_000);
	assert.ok(gas.proveGemmInt8! < 3_000_000 && gas.proveGemmFp16! < 3_000_000);
});
