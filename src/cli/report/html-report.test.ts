// The page of an evidence file: everything it must say is in it, and nothing of a hostile file is more than
// text.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { decodeEvidence } from "../../protocol/probe/evidence-codec.ts";
import { verifyEvidence } from "../../verify/hardware/verify.ts";
import { htmlReport } from "./html-report.ts";
import { svgBadge } from "./svg-badge.ts";

function judged(path: string) {
	const file = readFileSync(new URL(`../../../vectors/${path}`, import.meta.url));
	const decoded = decodeEvidence(file);
	assert.ok(decoded.ok);
	return { file, evidence: decoded.evidence, verdict: verifyEvidence(file) };
}
const { file, evidence, verdict } = judged("h200.assay");
const facts = { file: "h200.assay", fileBytes: file.length, sha256: "ab".repeat(32), atMs: 0 };

test("a page says verdict, card, figures, curve, signer and how to check it, and needs nothing else", () => {
	const page = htmlReport({ evidence, verdict, ...facts });
	const { verifier } = evidence.envelope.body.probe;
	for (const word of [">VALID<", "H200", "matrix fp16", "of data sheet", verifier, facts.sha256])
		assert.ok(page.includes(word), word);
	assert.ok(page.includes(`npx assay verify h200.assay --signer ${verifier}`));
	assert.doesNotMatch(page, /<polyline/);
	const { file: _, ...lasting } = judged("devices/four-cpus.assay");
	assert.match(htmlReport({ ...lasting, ...facts }), /<polyline/);
	assert.doesNotMatch(page, /<script|src=|href=|@import|url\(/i);
	assert.match(page, /Content-Security-Policy" content="default-src 'none'/);
});

test("an invalid file gets no figure on its page, but its code and what it means", () => {
	const invalid = { status: "invalid", code: "SIGNATURE_BAD", where: "<b>", detail: "x" } as const;
	const page = htmlReport({ evidence, verdict: invalid, ...facts });
	assert.match(page, /class="invalid">INVALID/);
	assert.match(page, /SIGNATURE_BAD/);
	assert.doesNotMatch(page, /matrix fp16|<polyline|<b>/);
});

test("words of a host stay words, also in the command that people paste", () => {
	const hostile = '"><script>alert(1)</script><img onerror=x>';
	const { body } = evidence.envelope;
	const devices = body.claim.devices.map((device) => ({ ...device, name: hostile }));
	const changed = { ...body, claim: { ...body.claim, devices }, probe: { ...body.probe, target: hostile } };
	const page = htmlReport({
		...{ evidence: { ...evidence, envelope: { ...evidence.envelope, body: changed } }, verdict },
		...{ ...facts, file: "$(id).assay" },
	});
	assert.doesNotMatch(page, /<script|<img/);
	assert.ok(page.includes("npx assay verify FILE "));
	assert.doesNotMatch(svgBadge("valid", hostile), /<script|<img/);
	assert.ok(svgBadge("valid", "x".repeat(500)).length < 1200);
});
