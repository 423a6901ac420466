// Orders as people type them, and what is refused with the word that was meant.
import assert from "node:assert/strict";
import { test } from "node:test";
import { parseOptions } from "../options.ts";
import { orderOf, orderOptions } from "./order-options.ts";

const orderFrom = (...args: string[]) => orderOf(parseOptions(orderOptions, args).values);

test("an order: so many of a model, each with at least …", () => {
	assert.equal(orderFrom(), null);
	assert.deepEqual(orderFrom("--expect", "8xH100")?.profiles.length, 3);
	for (const typed of ["8xH200", "8 x h200", "8×NVIDIA H200"]) {
		const order = orderFrom("--expect", typed);
		assert.deepEqual([order?.count, order?.profiles], [8, ["H200"]], typed);
	}
	assert.equal(orderFrom("--expect", "H200")?.count, 1);
	assert.deepEqual(orderFrom("--expect", "2xGPU")?.model, null);
	for (const typed of ["600T", "600", "600 TFLOPS", "0.6P", "600000GFLOPS"])
		assert.equal(orderFrom("--min-fp16", typed)?.least[0]?.value, 600e12, typed);
	for (const typed of ["75GiB", "75", "75Gi"])
		assert.equal(orderFrom("--min-memory", typed)?.least[0]?.value, 75 * 2 ** 30, typed);
	assert.equal(orderFrom("--min-memory", "80GB")?.least[0]?.value, 80e9);
	assert.equal(orderFrom("--min-bandwidth", "3TB/s")?.least[0]?.value, 3e12);
});

test("what cannot be read is refused, with what was probably meant", () => {
	for (const args of [
		["--min-fp16", "fast"],
		["--min-fp16", "600GiB"],
		["--min-memory", "75 parsecs"],
		["--min-memory", "-1"],
		["--expect", "0xH100"],
		["--expect", "65xH100"],
	])
		assert.throws(() => orderFrom(...args), { code: "USAGE" }, args.join(" "));
	assert.throws(
		() => orderFrom("--expect", "8xH1000"),
		(error: Error & { code: string; hint: string }) => {
			assert.equal(error.code, "CARD_NAME_UNKNOWN");
			assert.match(error.hint, /docs\/profiles\.md/);
			return true;
		},
	);
	for (const typed of ["8xMI300X", "8xAMD", "2x Gaudi 3", "arc b580"])
		assert.throws(
			() => orderFrom("--expect", typed),
			(error: Error & { code: string }) =>
				error.code === "CARD_UNSUPPORTED" && /not supported yet; only NVIDIA cards/.test(error.message),
			typed,
		);
	assert.throws(
		() => orderFrom("--expect", "8xH1O0"),
		(error: Error & { hint: string }) => /Did you mean 'H100'/.test(error.hint),
	);
});
