// What a customer is told before it pays: here that its jobs would keep too much. The rest of a quote is
// tested with real networks (tests/jobs/).
import assert from "node:assert/strict";
import { test } from "node:test";
import { createParams } from "../../../market/params.ts";
import { AssayError } from "../../../protocol/assay-error.ts";
import type { JobSpec } from "../../../protocol/network/job-spec.ts";
import type { JobContext } from "./job-context.ts";
import { askQuote } from "./quote-job.ts";

const MiB = 2 ** 20;
const code = (expected: string) => (error: unknown) => error instanceof AssayError && error.code === expected;
const spec: JobSpec = {
	...{ format: "assay-job", version: 1, title: "a job", kind: "program" },
	...{ program: { root: "a".repeat(64), size: 20 }, seed: "b".repeat(64), segments: 4 },
	...{ given: [{ tensor: 0, root: "c".repeat(64), size: MiB }] },
	...{ metrics: [], previews: [], method: { name: "sampled", count: 2 } },
};

test("L8: a job whose blobs would be too many bytes beside those of its customer's others is not offered", async () => {
	const kept = { bytes: 0 };
	const keptBytes = async (_: string, more: readonly { readonly size: number }[]) =>
		more.reduce((sum, { size }) => sum + size, kept.bytes);
	const open = async () => {
		throw new AssayError("JOB_INPUTS", "looked at");
	};
	const context = {
		...{ store: { jobs: { keptBytes } }, works: { open }, jobChain: null },
		config: { params: createParams({ jobKeptBytes: 3 * MiB }) },
	} as unknown as JobContext;
	const key = "d".repeat(64);
	const opener = { holder: key, address: "127.0.0.1" };
	const ask = { customer: key, opener, spec, mostMicros: null, account: null, salt: "0" };
	kept.bytes = 2 * MiB - 20;
	await assert.rejects(askQuote(context, ask), code("JOB_INPUTS"), "as many as may be: its inputs are looked at");
	kept.bytes += 1;
	await assert.rejects(askQuote(context, ask), code("JOB_QUOTA"));
});
