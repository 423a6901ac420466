// Every known kind of file says something of itself before it is judged; one that has no part in a judgement
// is refused, not passed over.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../platform/node-signatures.ts";
import { mintedRounds } from "./mint/minted-rounds.test-kit.ts";
import { showFile } from "./show-file.ts";
import { verifyFiles } from "./verify-files.ts";

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

test("a file that would not be looked at is named: it may be collateral whose beginning was changed", () => {
	const rounds = mintedRounds(nodeSignatures);
	const [gpu, tdx, , snp] = rounds;
	const judge = (files: readonly Uint8Array[]) => verifyFiles(files, { require: null, nonce: null }, gpu!.settings);
	for (const { name, files } of rounds) assert.equal(judge(files).status, "valid", name);
	for (const [files, idle] of [
		[[...tdx!.files, gpu!.files[2]!], "file 4 (manifest)"],
		[[...snp!.files, tdx!.files[1]!], "file 4 (Intel collateral)"],
		[[tdx!.files[1]!, ...gpu!.files], "file 1 (Intel collateral)"],
	] as const) {
		const { status, code, detail } = judge(files);
		assert.deepEqual([status, code, detail.startsWith(idle)], ["inconclusive", "ATTEST_FILES", true], detail);
	}
});
