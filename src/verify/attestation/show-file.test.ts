// Every known kind of file says something of itself before it is judged.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { mintedRounds } from "./mint/minted-rounds.test-kit.ts";
import { showFile } from "./show-file.ts";

test("each kind of file shows what it says, measurements of guests among it", () => {
	const files = mintedRounds(nodeSignatures).flatMap((round) => [...round.files]);
	const shown = new Map(files.map((file) => [showFile(file).kind, showFile(file)]));
	for (const [kind, { status, facts }] of shown)
		assert.ok(status === "valid" && Object.keys(facts).length > 0, `${kind}: ${JSON.stringify(facts)}`);
	const kinds = ["Azure evidence", "Intel collateral", "OCSP answer", "SNP report", "certificates", "device report"];
	assert.deepEqual([...shown.keys()].sort(), [...kinds, "event log", "manifest", "quote"]);
	assert.match(String(shown.get("SNP report")?.facts.measurement), /^[0-9a-f]{96}$/);
	assert.deepEqual([shown.get("manifest")?.facts.product, shown.get("manifest")?.facts.measurements], ["GH100", 4]);
});
