// Roll calls from drand: a relay of our own over HTTP, with rounds signed by our own key.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, test } from "node:test";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { signedRound, TOY_DRAND } from "../../protocol/roll-call/drand.test-kit.ts";
import { rollRandomness, roundAtS } from "../../protocol/roll-call/roll-file.ts";
import { checkDrand } from "../../verify/roll-call/check-drand.ts";
import { createDrandBeacon } from "./drand-beacon.ts";

/** What the relay says of a round; null: 404. */
let relay = (round: number): string | null => JSON.stringify(signedRound(round));
const server = createServer((request, response) => {
	const said = relay(Number(/^\/net\/public\/(\d+)$/.exec(request.url ?? "")?.[1]));
	response.writeHead(said === null ? 404 : 200).end(said ?? "");
});
before(() => new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve)));
after(() => server.close());

const isCode = (code: string) => (error: unknown) => (error as { code?: string }).code === code;
const WINDOW = { every: 1, windowSeconds: 10 };

function open({ every, windowSeconds } = WINDOW) {
	const at = { nowMs: 1000 * roundAtS(TOY_DRAND, 100) };
	const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/net/`;
	const clock = { nowMs: () => at.nowMs, clockUs: () => 7 };
	return { at, beacon: createDrandBeacon({ url, network: TOY_DRAND, ...clock }, { every, windowSeconds }) };
}

test("a round calls when its time has come, once, and the places come from the first round past the window", async () => {
	const { at, beacon } = open();
	const called = (await beacon.look())!;
	assert.deepEqual([called.call, called.atS, called.seenAtUs], [100, roundAtS(TOY_DRAND, 100), 7]);
	assert.equal(await beacon.look(), null, "the same round does not call twice");
	at.nowMs += 11_999;
	assert.equal(await beacon.drawn(called), null, "round 104 has not come");
	at.nowMs += 1;
	const drawn = (await beacon.drawn(called))!;
	assert.equal(drawn.block.number, 104, "10 s later, rounds every 3 s");
	assert.equal(checkDrand(drawn.stated, [TOY_DRAND]), null, "a stranger finds both signatures right");
	const { beta0, beta2 } = rollRandomness(drawn.stated);
	assert.deepEqual([bytesToHex(beta0), bytesToHex(beta2)], [bytesToHex(called.beta0), drawn.block.hash]);
	const committed = (atS: number) => ({ number: 1, hash: "", atS });
	assert.equal(beacon.isLate(committed(drawn.block.atS - 1), drawn), false);
	assert.equal(beacon.isLate(committed(drawn.block.atS), drawn), true);
	assert.equal(await beacon.stands(called), true);
});

test("a round that was not seen as it came calls nobody, nor does one whose value does not", async () => {
	const late = open();
	// The relay gives the newest round only when it is old.
	late.at.nowMs += 2999;
	assert.notEqual(await late.beacon.look(), null);
	const slow = open();
	relay = (round) => {
		slow.at.nowMs += 6000;
		return JSON.stringify(signedRound(round));
	};
	assert.equal(await slow.beacon.look(), null);
	relay = (round) => JSON.stringify(signedRound(round));
	assert.equal(await open({ ...WINDOW, every: 1e9 }).beacon.look(), null);
});

test("a relay can withhold a round, but not make one up", async () => {
	const { at, beacon } = open();
	relay = () => null;
	assert.equal(await beacon.look(), null);
	for (const said of [
		"",
		"{}",
		"[]",
		JSON.stringify(signedRound(99)),
		JSON.stringify({ signature: "00".repeat(48) }),
	]) {
		relay = () => said;
		await assert.rejects(beacon.look(), isCode("DRAND_WRONG"), said);
	}
	relay = (round) => JSON.stringify(signedRound(round));
	assert.equal((await beacon.look())!.call, 100, "and a right one counts as soon as it is there");
	at.nowMs += 12_000;
	relay = () => JSON.stringify(signedRound(1));
	await assert.rejects(beacon.drawn({ call: 100, atS: roundAtS(TOY_DRAND, 100) } as never), isCode("DRAND_WRONG"));
});

test("a network of drand without a relay is a setting that is missing", () => {
	const none = { url: null, network: TOY_DRAND, nowMs: () => 0, clockUs: () => 0 };
	assert.throws(() => createDrandBeacon(none, WINDOW), isCode("CONFIG_BAD"));
});
