// What another validator has opened, over real HTTP: an honest one's openings stand under our own commitment;
// whatever a hostile one gives is refused here or by verify, and never more than a bounded part of it is
// read.
import assert from "node:assert/strict";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, test } from "node:test";
import { bytesToHex, hexToBytes } from "../../protocol/bytes/bytes.ts";
import { sha256Of } from "../../protocol/hash/tagged-hash.ts";
import { decodeRollCallFile, rollRandomness } from "../../protocol/roll-call/roll-file.ts";
import {
	answerCall,
	BEACON,
	block,
	CALLED,
	CHAIN,
	COMMITTED,
	fileOf,
	HOST,
	label,
	SPEC,
	type ToyOptions,
	toyCall,
	toyFacts,
	VALIDATOR,
} from "../../verify/roll-call/toy-roll-call.test-kit.ts";
import { verifyRollCall } from "../../verify/roll-call/verify-roll-call.ts";
import type { TreeEntry } from "./committed-tree.ts";
import type { OpenedCall } from "./open-host.ts";
import { createPeerOpenings } from "./peer-openings.ts";

const PEER = `0x${"55".repeat(20)}`;
const { beta0, beta2 } = rollRandomness(BEACON);
const ours = answerCall(CHAIN, CALLED.number, beta0);
const AT = { chain: CHAIN, beacon: BEACON, committed: COMMITTED, validator: VALIDATOR };
const facts = toyFacts(fileOf(ours, AT));
const { signature, leaves, ...host } = ours.host;
const entry: TreeEntry = {
	...{ providerId: HOST.key, first: 1, host, leaves: leaves.map((leaf) => hexToBytes(leaf, 32)!) },
	reply: {
		...{ account: host.account, signature, accountSignatures: null },
		answers: [{ ...SPEC, end: ours.worked.end, last: ours.worked.last }],
	},
};
const call: OpenedCall = {
	...{ beta0, beta2, tree: { proofOf: () => ours.tree } },
	stated: { chain: CHAIN, call: CALLED.number, beacon: BEACON, committed: COMMITTED, validator: VALIDATOR },
};
/** As another validator has it: its own tree, its own commitment. */
const theirs = (options: ToyOptions = {}) =>
	toyCall({
		validator: PEER,
		others: [hexToBytes(label("other"), 32)!],
		committed: block(CALLED.number + 1),
		...options,
	}).file;
const listed = [{ device: 0, sha256: "ab".repeat(32), bytes: 1 }];

let answer: (path: string, response: ServerResponse) => void = () => {};
const asked: string[] = [];
const server = createServer((request, response) => {
	asked.push(request.url ?? "");
	answer(request.url ?? "", response);
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => server.close());
beforeEach(() => void asked.splice(0));
const url = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const peers = () => createPeerOpenings(async () => url(), new AbortController().signal);
const gives = (body: Uint8Array | string, status = 200) => {
	answer = (_, response) => response.writeHead(status).end(body);
};

test("openings of another validator stand under our own commitment, and verify like our own", async () => {
	const file = theirs();
	assert.equal(verifyRollCall(file, facts).status, "invalid", "their commitment is not one that this node knows");
	gives(file);
	const made = (await peers().fetch(PEER, listed, call, entry))!;
	assert.deepEqual(asked, [`/v1/evidence/${"ab".repeat(32)}`]);
	assert.deepEqual(
		made.map(({ device }) => device),
		[0],
	);
	const verdict = verifyRollCall(made[0]!.file, facts, { host: HOST.key });
	assert.equal(verdict.status, "valid", JSON.stringify(verdict));
	assert.equal(verdict.status === "valid" && verdict.validator, VALIDATOR);
	assert.equal(bytesToHex(sha256Of(made[0]!.file)), bytesToHex(sha256Of(fileOf(ours, AT).file)), "byte for byte");
});

test("a hostile validator's file never counts: of another host, call, size or draw, spoilt, or no file at all", async () => {
	const flip = (bytes: Uint8Array, round: number) => {
		if (round === 2) bytes.fill(7);
	};
	const other = theirs({ beacon: { ...BEACON, drawn: block(CALLED.number + 6) } as typeof BEACON });
	const cases: Readonly<Record<string, readonly [Uint8Array, string]>> = {
		"another host": [theirs({ signer: { ...HOST, key: "ab".repeat(32) } }), "CALL_DEVICE_OTHER"],
		"other sizes": [theirs({ spec: { ...SPEC, keep: 2 } }), "CALL_DEVICE_OTHER"],
		"spoilt work": [theirs({ spoil: flip }), "CALL_DEVICE_OTHER"],
		"other places": [other, "OPENING_PLACE"],
	};
	for (const [name, [file, code]] of Object.entries(cases)) {
		assert.ok(decodeRollCallFile(file).ok, name);
		gives(file);
		const [made] = (await peers().fetch(PEER, listed, call, entry))!;
		const verdict = verifyRollCall(made!.file, facts, { host: HOST.key });
		assert.deepEqual([verdict.status, "code" in verdict && verdict.code], ["invalid", code], name);
	}
	for (const body of ["", "no file", theirs().subarray(0, -1)]) {
		gives(body);
		await assert.rejects(peers().fetch(PEER, listed, call, entry), /no file of a roll call/);
	}
});

test("what a validator does not give is withheld and no more; nothing endless is read", async () => {
	gives("", 404);
	assert.equal(await peers().fetch(PEER, listed, call, entry), null);
	assert.equal((await peers().list(PEER, 7, new Set([HOST.key]))).size, 0);
	assert.equal(await peers().fetch(PEER, [], call, entry), null, "it lists another device");
	gives("", 503);
	await assert.rejects(peers().fetch(PEER, listed, call, entry), /busy/);
	answer = (_, response) => response.writeHead(302, { location: "/elsewhere" }).end();
	await assert.rejects(peers().list(PEER, 7, new Set()), "a redirect could lead to an address that only we reach");
	gives(new Uint8Array((256 << 10) + 1));
	assert.equal(await peers().fetch(PEER, listed, call, entry), null, "longer than a file can be");
	const nowhere = createPeerOpenings(async () => "ftp://x", new AbortController().signal);
	await assert.rejects(nowhere.list(PEER, 7, new Set()), /no address/);
});

test("a list is taken for what it says of hosts that are wanted; the rest, and what is none, is passed over", async () => {
	const sha256 = "cd".repeat(32);
	const file = { device: 0, sha256, bytes: 5 };
	const rows = [
		{ providerId: HOST.key, files: [file, { device: "0", sha256 }, { device: 1, sha256: "../../x" }, null] },
		{ providerId: "not wanted", files: [file] },
		{ providerId: 7, files: [file] },
		{ providerId: HOST.key },
		null,
	];
	gives(JSON.stringify({ rows, cursor: null }));
	assert.deepEqual([...(await peers().list(PEER, 7, new Set([HOST.key])))], [[HOST.key, [file]]]);
	assert.deepEqual(asked, ["/v1/roll-calls/7/answers?state=answered&limit=200"]);
	for (const body of ["", "[]", "{}", "null", JSON.stringify({ rows: {} })]) {
		gives(body);
		await assert.rejects(peers().list(PEER, 7, new Set()), body);
	}
	// ATTACK: pages without end.
	asked.splice(0);
	gives(JSON.stringify({ rows: [], cursor: "again&x=1" }));
	assert.equal((await peers().list(PEER, 7, new Set())).size, 0);
	assert.equal(asked.length, 128);
	assert.match(asked[1]!, /&cursor=again%26x%3D1$/);
});
