// The lists of precisions are written once in TypeScript: whoever adds one finds no second list that lacks
// it. Records by precision are complete by their types. Not looked at: vectors/, which is a second
// implementation and imports nothing of ours.
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { FLOAT_GEMM_PRECISIONS, FMA_PRECISIONS, PRECISION_NUMBER, PRECISIONS } from "./precision.ts";

const root = fileURLToPath(new URL("../../..", import.meta.url));
const HERE = /^src\/protocol\/maths\/precision(\.test)?\.ts$/;

/** Lists, unions and texts of a source that name all scalar precisions, or all matrix precisions but one. */
function listsIn(source: string): string[] {
	const name = `["'\`]?\\b(?:${PRECISIONS.join("|")})\\b["'\`]?`;
	const lists = source.match(new RegExp(`${name}(?:[\\s,|]+(?:\\d )?${name})+`, "g")) ?? [];
	return lists.filter((list) => {
		const has = (one: string) => new RegExp(`\\b${one}\\b`).test(list);
		return FMA_PRECISIONS.every(has) || FLOAT_GEMM_PRECISIONS.every(has);
	});
}

test("numbers on the wire are places in the list", () => {
	assert.deepEqual([PRECISION_NUMBER.int8, PRECISION_NUMBER.tf32, PRECISION_NUMBER.int32], [0, 4, 7]);
	assert.equal(Object.keys(PRECISION_NUMBER).length, PRECISIONS.length);
});

test("no list of precisions is written out again", () => {
	for (const list of [
		'["fp8", "fp16", "bf16", "tf32"]',
		'"fp32" | "int32" | "fp64"',
		"0 int8, 1 fp8, 2 fp16, 3 bf16, 4 tf32",
		'[\n\t"fp32",\n\t"fp64",\n\t"int32",\n]',
	])
		assert.equal(listsIn(list).length, 1, list);
	assert.deepEqual(listsIn('["fp32", "fp64"], ["fp16", "bf16"], { fp32: 1, fp64: 2, int32: 3 }'), []);
	const files = execFileSync("git", ["ls-files", "*.ts", "*.tsx", "*.mjs"], { cwd: root, encoding: "utf8" });
	const found = files
		.trim()
		.split("\n")
		.filter((file) => !file.startsWith("vectors/") && !HERE.test(file))
		.flatMap((file) => listsIn(readFileSync(`${root}/${file}`, "utf8")).map((list) => `${file}: ${list}`));
	assert.deepEqual(found, []);
});
