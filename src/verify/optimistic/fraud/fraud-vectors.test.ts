// Fraud files of vectors/work-fraud.json, which were written a second time from the pages alone: each
// convicts, with its place and numbers, and its honest twin shows nothing.
import assert from "node:assert/strict";
import { test } from "node:test";
import { vectorRows } from "../../../protocol/vectors.test-kit.ts";
import { verifyFraud } from "./judge-fraud.ts";

type Row = Record<"name" | "code" | "kind" | "shows" | "said" | "right" | "file", string> &
	Record<"segment" | "step" | "op" | "element", number>;

test("fraud files from the pages alone are judged as the vectors say", () => {
	const rows = vectorRows<Row>("work-fraud");
	assert.ok(rows.length >= 40);
	for (const row of rows) {
		const verdict = verifyFraud(new Uint8Array(Buffer.from(row.file, "base64")));
		if (row.code !== "") {
			assert.ok(verdict.status === "invalid", row.name);
			assert.equal(verdict.code, row.code, `${row.name}: ${verdict.detail}`);
			continue;
		}
		assert.ok(verdict.status === "valid", `${row.name}: ${JSON.stringify(verdict)}`);
		const { kind, shows, segment, said, right } = verdict;
		const [step, op, element] = [verdict.step ?? -1, verdict.op ?? -1, verdict.element ?? -1];
		const { name: _, code: __, file: ___, ...told } = row;
		assert.deepEqual({ kind, shows, segment, step, op, element, said, right }, told, row.name);
	}
});
