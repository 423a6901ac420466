// Which devices of a host work at jobs.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../protocol/assay-error.ts";
import { devicesOf } from "./provide-jobs.ts";

const claimOf = (...kinds: readonly string[]) => ({ devices: kinds.map((kind) => ({ kind })) }) as never;

test("every GPU works, or every CPU of a host without one, unless the owner names others; no disk does", () => {
	const mixed = claimOf("gpu", "gpu", "cpu", "disk");
	assert.deepEqual(devicesOf(undefined, mixed), [0, 1]);
	assert.deepEqual(devicesOf(undefined, claimOf("cpu", "cpu", "cpu", "disk")), [0, 1, 2]);
	assert.deepEqual(devicesOf(["2", "0", "2"], mixed), [0, 2]);
	const isUsage = (error: unknown) => error instanceof AssayError && error.code === "USAGE";
	for (const wrong of ["3", "4"])
		assert.throws(
			() => devicesOf(["0", wrong], mixed),
			(error) => isUsage(error) && /0 gpu, 1 gpu, 2 cpu, 3 disk/.test(`${error}`),
		);
	assert.throws(() => devicesOf(undefined, claimOf("disk")), isUsage);
});
