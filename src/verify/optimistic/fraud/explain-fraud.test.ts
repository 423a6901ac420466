// The story of a fraud file: for every kind the way, and arithmetic that ends with the right number; of a
// file that proves nothing there is none.
import assert from "node:assert/strict";
import { test } from "node:test";
import { explainFraud } from "./explain-fraud.ts";
import { fraudSamples } from "./fraud-samples.test-kit.ts";
import { tamperedFrauds } from "./fraud-tampers.test-kit.ts";
import { verifyFraud } from "./judge-fraud.ts";

const samples = await fraudSamples();

test("every kind has its way, from the large to the small, and workings that lead to the right number", () => {
	for (const [name, file] of samples) {
		const story = explainFraud(file);
		assert.ok(story !== null, name);
		const { verdict, way, working } = story;
		assert.deepEqual(verdict, verifyFraud(file));
		assert.equal(way[0]?.name, "segment");
		assert.equal(way[0].at, verdict.segment);
		const at = (stop: string) => way.find((one) => one.name === stop)?.at ?? null;
		if (!name.includes("filling")) assert.equal(at("element"), verdict.element, name);
		assert.equal(at("operator"), verdict.op, name);
		for (const { at: place, of, first } of way)
			assert.ok(of === null || (place >= 0 && place - first < of), `${name}: ${place} of ${of}`);
		if (verdict.kind !== "element") {
			assert.equal(working, null);
			continue;
		}
		assert.ok(working !== null);
		if (working.kind === "sum") assert.equal(working.terms.at(-1)!.running, verdict.right, name);
		else if (working.kind === "leaf")
			assert.equal(working.around.find(({ index }) => index === working.at)?.value, verdict.said, name);
		else if (working.wrong !== null) assert.equal(working.lines[working.wrong]!.value, verdict.said, name);
		else if (verdict.shows === "start") assert.ok(working.carried.includes(verdict.said!), name);
		else if (verdict.shows === "end") assert.equal(working.lines.at(-1)!.value, verdict.right, name);
		else
			assert.ok(
				working.lines.some(({ value }) => value === verdict.right),
				name,
			);
	}
	const operators = new Set([...samples.values()].map((file) => explainFraud(file)!.verdict.operator));
	for (const one of ["matmul", "map", "reduce", "scatter_add"]) assert.ok(operators.has(one), one);
});

test("a file that proves nothing has no story, and no change of one makes the teller throw", () => {
	for (const file of [samples.get("element chunk")!, samples.get("element turn")!, samples.get("wire state")!])
		for (const { file: changed } of tamperedFrauds(file))
			assert.equal(explainFraud(changed) === null, verifyFraud(changed).status !== "valid");
	assert.equal(explainFraud(new Uint8Array()), null);
});
