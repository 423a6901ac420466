// An engine that takes a training run and then says nothing is hung up on at the deadline, and the answer
// says so.
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Ending } from "../../engine/client/engine-answers.ts";
import type { WorkSession } from "../../engine/client/work-session.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { beforeDeadline, runTraining } from "./run-training.ts";

test("silence after the program ends at the deadline, and is recorded as silence", async () => {
	const spec = { kind: "train", device: 0, layers: 1, width: 16, heads: 2, context: 8, batch: 1 } as const;
	const ending: Ending = { end: "silent", code: "LINK_CLOSED", detail: "the verifier closed the link" };
	const { promise, reject } = Promise.withResolvers<void>();
	const hangUp = () => reject(new AssayError("LINK_CLOSED", ending.detail, { cause: ending }));
	const silent = { write: async () => {}, run: () => promise } as unknown as WorkSession;
	const options = { clockUs: () => 1, onSeed: () => assert.fail("not told"), onRoot: () => assert.fail("no root") };
	const { answer, held } = await beforeDeadline(50, hangUp, () =>
		runTraining(async () => silent, { ...spec, rounds: 2, draws: 1, samples: 1 }, new Uint8Array(32), options),
	);
	assert.deepEqual([answer.end, answer.code, answer.roots, held], ["silent", "LINK_CLOSED", [], null]);
});

test("what ends in time is not hung up on", async () => {
	assert.equal(
		await beforeDeadline(
			60_000,
			() => assert.fail("hung up"),
			async () => 7,
		),
		7,
	);
});
