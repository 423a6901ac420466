// A provider and roll calls, with the real engine over real WebSockets: one answer for all validators that
// computing again confirms, and hostile validators that cost the host no more than their own share.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { clockUs, makeSigner, random, startDoor } from "../../src/engine/agent/agent.test-kit.ts";
import { findEngine, hostPlatform } from "../../src/engine/builds.ts";
import { createEngineClient } from "../../src/engine/client/create-engine-client.ts";
import { runRollAnswer } from "../../src/engine/client/roll-call-run.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { hexToBytes } from "../../src/protocol/bytes/bytes.ts";
import { isSignature } from "../../src/protocol/probe/signer.ts";
import { NO_ACCOUNT, rollAnswerHash, rollLeaf, rollOps } from "../../src/protocol/roll-call/roll-call.ts";
import { createProvider } from "../../src/provider/create-provider.ts";
import type { ProviderEvent } from "../../src/provider/provider-event.ts";
import { openCallBook } from "../../src/provider/roll-call/call-book.ts";
import type { RollChain } from "../../src/provider/roll-call/roll-chain.ts";

const LIMITS = { memoryBytes: 4e9, minutes: 10 };
const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;
const CONTRACT = "ab".repeat(20);
const hashOf = (call: number) => call.toString(16).padStart(64, "0");
/**
 * The last device of the real engine's claim is the disk, the one before it a CPU; a host with a GPU answers
 * with that.
 */
const callOf = (call: number, megaOps = 1000, beta0 = hashOf(call)) => ({
	...{ beta0, chainId: 7, contract: CONTRACT, call, deadlineMs: 90_000 },
	devices: [{ device: 0, megaOps, bytes: 16 << 20 }],
});

let folder = "";
let engine = "";
before(async () => {
	folder = mkdtempSync(join(tmpdir(), "assay-roll-"));
	engine = (await findEngine(hostPlatform())).path;
});
after(() => rmSync(folder, { recursive: true }));

let nextData = 0;
/** A provider and so many validators that it has dialled. */
async function withProvider(
	validators: number,
	run: (
		far: readonly Awaited<ReturnType<Awaited<ReturnType<typeof startDoor>>["next"]>>[],
		host: { readonly key: string; readonly events: readonly ProviderEvent[]; readonly dataFolder: string },
	) => Promise<void>,
	more: { readonly chain?: RollChain; readonly leastBetweenMs?: number } = {},
) {
	const doors = await Promise.all(Array.from({ length: validators }, () => startDoor()));
	const events: ProviderEvent[] = [];
	const dataFolder = join(folder, `data${nextData++}`);
	const opening = createProvider({
		...{ signer: makeSigner(), validators: doors.map(({ url }) => url), trust: [], dataFolder, name: "host" },
		...{
			pricePerHourMicros: 0,
			engine: { command: engine, args: [] },
			env: process.env,
			limits: LIMITS,
			diskBytesPerDay: null,
			rental: null,
		},
		...{ clockUs, nowMs: () => Date.now(), randomBytes: random, retry: { firstMs: 20, capMs: 100 } },
		...{ onEvent: (event) => void events.push(event), rollCalls: { leastBetweenMs: more.leastBetweenMs ?? 0 } },
		chain: more.chain ?? null,
	});
	try {
		const { key } = await opening;
		const far = await Promise.all(doors.map((door) => door.next()));
		await run(far, { key, events, dataFolder });
	} finally {
		await opening.then(
			(provider) => provider.stop(),
			() => {},
		);
		await Promise.all(doors.map((door) => door.stop()));
	}
}

test("all validators get one answer, signed, that anyone with an engine comes to as well", () =>
	withProvider(2, async ([first, second], { key, events }) => {
		const call = callOf(5, 20_000);
		// What the second one asks for is heard before the work begins: the larger counts.
		const [one, two] = await Promise.all([first!.ask("call", call), second!.ask("call", callOf(5, 30_000))]);
		assert.deepEqual(one, two);
		assert.equal(events.filter(({ kind }) => kind === "called").length, 1);
		const [answer] = one.answers;
		assert.ok(answer && one.answers.length === 1);
		assert.ok(rollOps(answer) >= 30_000_000_000n && rollOps(answer) < 36_000_000_000n);
		const host = { key, account: NO_ACCOUNT };
		const beta0 = hexToBytes(call.beta0, 32)!;
		const hash = rollAnswerHash({ chainId: 7, contract: `0x${CONTRACT}`, call: 5 }, beta0, [rollLeaf(host, answer)]);
		assert.ok(isSignature(key, one.signature, hash));
		assert.equal(one.account, null);
		assert.equal(one.accountSignatures, null);

		const link = await first!.openLink({ probe: "0f".repeat(16), limits: LIMITS });
		const client = await createEngineClient(link, { clockUs, readyDeadlineMs: 600_000, randomBytes: random });
		try {
			const { end: _, last: __, ...spec } = answer;
			const again = await runRollAnswer(client, 1, { beta0, host, spec }, { deadlineMs: 600_000 });
			assert.deepEqual(again.answer, answer);
			// Another block, or another host, is other work.
			const other = { beta0, host: { ...host, key: "11".repeat(32) }, spec };
			assert.notEqual((await runRollAnswer(client, 2, other, { deadlineMs: 600_000 })).answer.end, answer.end);
		} finally {
			await client.close();
		}
	}));

test("a validator calls once in a while, and a block has one hash", () =>
	withProvider(
		2,
		async ([tyrant, honest]) => {
			await tyrant!.ask("call", callOf(5));
			await tyrant!.ask("call", callOf(5));
			await assert.rejects(tyrant!.ask("call", callOf(6)), isCode("ROLL_CALL_TOO_OFTEN"));
			await assert.rejects(tyrant!.ask("call", callOf(5, 1000, hashOf(99))), isCode("ROLL_CALL_TOO_OFTEN"));
			assert.equal((await honest!.ask("call", callOf(6))).answers.length, 1);
		},
		// Longer than any machine takes for the two.
		{ leastBetweenMs: 3_600_000 },
	));

test("who asks for more than the host can do makes it late for nobody", () =>
	withProvider(2, async ([tyrant, honest]) => {
		// From now on the host knows its own speed.
		await honest!.ask("call", callOf(1, 5000));
		const [much, enough] = await Promise.all([
			tyrant!.ask("call", { ...callOf(2, 1e12), deadlineMs: 2000 }),
			honest!.ask("call", { ...callOf(2, 20), deadlineMs: 2000 }),
		]);
		assert.deepEqual(much, enough);
		// The slowest machine does so little in the time.
		assert.ok(rollOps(much.answers[0]!) >= 20_000_000n);
		// Far from what was asked for; 2 s of any CPU of today are less than this.
		assert.ok(rollOps(much.answers[0]!) < 10n ** 14n);
	}));

test("no room, no such device and an engine in use are refused, and the next call is answered", () =>
	withProvider(1, async ([far], { events }) => {
		const wanted = { device: 0, megaOps: 1, bytes: 2 ** 45 };
		await assert.rejects(far!.ask("call", { ...callOf(1), devices: [wanted] }), isCode("ROLL_CALL_FAILED"));
		await assert.rejects(
			far!.ask("call", { ...callOf(2), devices: [{ ...wanted, device: 60 }] }),
			isCode("ROLL_CALL_FAILED"),
		);
		const link = await far!.openLink({ probe: "0f".repeat(16), limits: LIMITS });
		await assert.rejects(far!.ask("call", callOf(3)), isCode("PROVIDER_BUSY"));
		await link.close();
		assert.equal((await far!.ask("call", callOf(4))).answers.length, 1);
		assert.deepEqual(
			events.flatMap((event) => (event.kind === "refused" ? [event.code] : [])),
			["ROLL_CALL_FAILED", "ROLL_CALL_FAILED", "PROVIDER_BUSY"],
		);
	}));

test("a provider that follows the chain works for blocks alone, and keeps what its account signed", () => {
	const account = `0x${"cd".repeat(20)}`;
	const chain: RollChain = {
		...{ account, chainId: 7, contract: `0x${CONTRACT}`, demands: async () => [] },
		async mustBeCall({ call }, beta0) {
			if (beta0[31] !== call) throw new AssayError("ROLL_CALL_NO_BLOCK", "no such block");
		},
		sign: async () => "ee".repeat(65),
	};
	return withProvider(
		1,
		async ([far], { events, dataFolder }) => {
			await assert.rejects(far!.ask("call", callOf(4, 1000, hashOf(5))), isCode("ROLL_CALL_NO_BLOCK"));
			const { answers, ...signed } = await far!.ask("call", callOf(5));
			assert.equal(signed.account, account.slice(2));
			assert.deepEqual(signed.accountSignatures, ["ee".repeat(65)]);
			assert.equal(events.filter(({ kind }) => kind === "called").length, 1);
			const book = openCallBook(join(dataFolder, "roll-calls"), () => Date.now());
			const id = { chainId: 7, contract: `0x${CONTRACT}`, call: 5 };
			assert.deepEqual((await book.find(id, hashOf(5)))?.answers, answers);
			assert.equal(await book.find(id, hashOf(4)), null);
			// What nobody can demand any more is forgotten.
			const later = openCallBook(join(dataFolder, "roll-calls"), () => Date.now() + 7 * 86_400_000);
			await later.keep({
				...id,
				call: 6,
				beta0: hashOf(6),
				account,
				answers: [],
				roots: [],
				atMs: Date.now() + 7 * 86_400_000,
			});
			assert.equal(await later.find(id, hashOf(5)), null);
		},
		{ chain },
	);
});
