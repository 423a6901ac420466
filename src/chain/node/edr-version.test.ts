// Which version of the EVM made an embedded chain: a chain of an earlier one is read when the same blocks
// come out, and else refused by that version's name, with nothing cut. An upgrade of @nomicfoundation/edr
// that changes blocks fails here first.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { crc32 } from "node:zlib";
import { edrVersion } from "./edr-provider.ts";
import { openEmbeddedChain, repairEmbeddedChain } from "./embedded-chain.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-edr-"));
after(() => rmSync(scratch, { recursive: true, force: true }));

const GENESIS = {
	hardfork: "Osaka",
	chainId: 7373,
	timestamp: 1_800_000_000,
	treasurer: "0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a",
};
/** Made by EDR 0.20.0: a payment, a contract that stores and logs, an empty block. */
const BLOCKS = [
	'{"t":1800000005,"x":["0x02f869821ccd8080847735940083030d40941563915e194d8cfba1943570603f7606a31155080580c001a0cec16e3c8bbbe996839e05f2a3b158585eb2195dd532732dcf48122da5689f8ba07dbfab1d40723a05848b3a4873f09e9782664b5ecedd8728810e665cf27b75da"],"h":"0x0b150643c9d33169671f68ac48d481f4df19cb9523557d5aaf39ad61e782be6f"} 90258917',
	'{"t":1800000010,"x":["0x02f869821ccd0180847735940083030d40808094602a600055602a60005260206000a060016000f3c001a051b2fa2cfc3d3875a2b19ddbb7353f7c1830b18c20c3f051f04d831be6fa8765a047b7aa67874e16e99f8aad33668051bfcbf647836a32108eeab0869eeee53bb5"],"h":"0x9dde8fb890cd1f2601cd9266c3978ff27eec6be01cbe7ee864abbb6c71469cd5"} 45cdfcde',
	'{"t":1800000070,"h":"0xa601c715b5a5113178df2e6df966999680a27de8039b519b413d9bbb8ed3db36"} 3218b733',
];
/** As if another version had made the second block otherwise. */
const OTHERWISE = [BLOCKS[0]!, summed(BLOCKS[2]!.slice(0, -9).replace("1800000070", "1800000010"))];

function summed(line: string): string {
	return `${line} ${crc32(line).toString(16).padStart(8, "0")}`;
}

function chainOf(name: string, edr: string | undefined, blocks: readonly string[], hardfork = "Osaka"): string {
	const folder = join(scratch, name);
	mkdirSync(folder);
	writeFileSync(join(folder, "genesis.json"), JSON.stringify({ ...GENESIS, edr, hardfork }));
	writeFileSync(join(folder, "blocks.jsonl"), `${blocks.join("\n")}\n`);
	return folder;
}
const genesisOf = (folder: string) => JSON.parse(readFileSync(join(folder, "genesis.json"), "utf8"));
const nowMs = () => 1_800_000_071_000;
const open = (folder: string) => openEmbeddedChain({ folder, genesis: { ...GENESIS, hardfork: "Osaka" }, nowMs });

test("a new chain's genesis.json names the version that makes it, the one that is pinned", async () => {
	const folder = join(scratch, "new");
	await (await open(folder)).close();
	assert.deepEqual(genesisOf(folder), { ...GENESIS, edr: edrVersion() });
	const { dependencies } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8"));
	assert.equal(edrVersion(), dependencies["@nomicfoundation/edr"]);
});

test("the blocks of EDR 0.20.0 come out again, and whoever goes on with them is named from then on", async () => {
	const folder = chainOf("before", "0.19.0", BLOCKS);
	const chain = await open(folder);
	assert.equal(await chain.rpc("eth_getTransactionCount", [GENESIS.treasurer, "latest"]), "0x2");
	await chain.close();
	assert.equal(genesisOf(folder).edr, edrVersion());
});

test("blocks that this version makes otherwise: refused with the name of the one that made them, nothing is cut", async () => {
	const folder = chainOf("otherwise", "0.19.0", OTHERWISE);
	const before = readFileSync(join(folder, "blocks.jsonl"), "utf8");
	const message = new RegExp(`version 0\\.19\\.0 .* version ${edrVersion().replaceAll(".", "\\.")} .*: block 2 `);
	const refused = {
		code: "CHAIN_EVM_OTHER",
		message,
		hint: /install @nomicfoundation\/edr@0\.19\.0 .* move .*otherwise/,
	};
	await assert.rejects(open(folder), refused);
	await assert.rejects(repairEmbeddedChain(folder, nowMs()), refused);
	assert.equal(readFileSync(join(folder, "blocks.jsonl"), "utf8"), before);
	assert.equal(genesisOf(folder).edr, "0.19.0");
	// Rules that this version has no longer (0.21.0 spells Osaka otherwise).
	const gone = chainOf("gone", "0.19.0", BLOCKS, "Nagano");
	for (const use of [open, (folder: string) => repairEmbeddedChain(folder, nowMs())])
		await assert.rejects(use(gone), { code: "CHAIN_EVM_OTHER", message: /version 0\.19\.0 .*Nagano/ });
	// The same blocks under this version's own name are a damaged journal.
	const own = chainOf("own", edrVersion(), OTHERWISE);
	await assert.rejects(open(own), { code: "CHAIN_JOURNAL" });
	assert.equal((await repairEmbeddedChain(own, nowMs())).kept, 1);
});

test("a chain of before versions were named is refused with what to do, and nothing in it is changed", async () => {
	const folder = chainOf("nameless", undefined, BLOCKS);
	const refused = { code: "CHAIN_EVM_OTHER", hint: /^Move the folder `chain` away/ };
	await assert.rejects(open(folder), refused);
	await assert.rejects(repairEmbeddedChain(folder, nowMs()), refused);
	assert.equal(readFileSync(join(folder, "blocks.jsonl"), "utf8"), `${BLOCKS.join("\n")}\n`);
	assert.equal(genesisOf(folder).edr, undefined);
});
