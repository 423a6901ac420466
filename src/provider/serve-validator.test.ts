// How soon a provider dials again: the clock and the connections are the test's own.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../protocol/assay-error.ts";
import { serveValidator } from "./serve-validator.ts";

test("after a connection that was good pauses stay short while its validator is away, and grow only after minutes", async () => {
	const stopping = new AbortController();
	let nowMs = 0;
	let dials = 0;
	const pauses: number[] = [];
	await serveValidator({
		url: "ws://127.0.0.1:1/agent",
		async dial() {
			dials += 1;
			if (dials > 1) throw new AssayError("VALIDATOR_UNREACHABLE", "away");
			const closed = Promise.resolve({ closeCode: 1006, code: "AGENT_CLOSED", detail: "cut" });
			return { validatorKey: "ab", closed } as never;
		},
		onConnection() {
			nowMs += 6000;
		},
		onEvent(event) {
			if (!("retryMs" in event)) return;
			pauses.push(event.retryMs);
			if (pauses.length === 10) nowMs += 400_000;
			if (pauses.length === 11) stopping.abort();
		},
		retry: { firstMs: 1, capMs: 60_000, goodMs: 5000, soonMs: 4, soonForMs: 300_000 },
		random: () => 0.999,
		nowMs: () => nowMs,
		signal: stopping.signal,
	});
	assert.deepEqual([pauses.slice(0, 10), dials], [[1, 2, 4, 4, 4, 4, 4, 4, 4, 4], 11]);
	assert.ok(pauses[10]! > 500, "nobody dials a validator for ever that is gone");
});
