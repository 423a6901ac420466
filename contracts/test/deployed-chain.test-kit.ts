// The chain of a test network as a copy of one that was set up before, by the same code: to deploy the
// contracts and register the accounts takes half a second of a core, and a second of waiting, for each file
// of tests. What is copied are the genesis and the journal of blocks, into a folder of the test's own. The
// chain makes these blocks again and compares their hashes (src/chain/node/replay-journal.ts), and no test
// sees what another has done. How contracts are deployed is tested where no copy is used: src/cli and tests/.
import { createHash, randomBytes } from "node:crypto";
import { globSync } from "node:fs";
import { copyFile, mkdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { ContractAddresses } from "../../src/chain/contracts/contracts.ts";

const ROOT = fileURLToPath(new URL("../../", import.meta.url));
const MODELS = join(ROOT, "build/test-chains");
/** What decides which blocks are made: the contracts' bytecode, who sends it, and the EVM's version. */
const MAKERS = ["src/chain/**/*.ts", "contracts/test/{network,deployed-chain}.test-kit.ts", "package-lock.json"];
const COPIED = ["genesis.json", "blocks.jsonl"];
const ADDRESSES = "addresses.json";

let sources: Promise<Buffer> | null = null;

async function hashOfSources(): Promise<Buffer> {
	const hash = createHash("sha256");
	for (const path of globSync(MAKERS, { cwd: ROOT }).sort())
		if (!path.endsWith(".test.ts")) hash.update(`${path}\n`).update(await readFile(join(ROOT, path)));
	return hash.digest();
}

/** Made beside and renamed into place: of several at once one is kept. */
async function makeModel(model: string, deploy: (folder: string) => Promise<ContractAddresses>): Promise<void> {
	const draft = `${model}-${randomBytes(6).toString("hex")}`;
	try {
		await mkdir(draft, { recursive: true });
		await writeFile(join(draft, ADDRESSES), JSON.stringify(await deploy(draft)));
		await rename(draft, model);
	} catch (cause) {
		if ((await readAddresses(model)) === null) throw cause;
	} finally {
		await rm(draft, { recursive: true, force: true });
	}
}

const readAddresses = (model: string): Promise<ContractAddresses | null> =>
	readFile(join(model, ADDRESSES), "utf8").then(
		(text) => JSON.parse(text) as ContractAddresses,
		() => null,
	);

/**
 * Puts the chain that `deploy` makes in an empty folder into `folder`, and says where its contracts are.
 * `given`: all that `deploy` depends on beside its code.
 */
export async function copyDeployed(
	folder: string,
	given: unknown,
	deploy: (folder: string) => Promise<ContractAddresses>,
): Promise<ContractAddresses> {
	sources ??= hashOfSources();
	const words = JSON.stringify(given, (_, value) => (typeof value === "bigint" ? `${value}` : value));
	const key = createHash("sha256")
		.update(await sources)
		.update(words)
		.digest("hex");
	const model = join(MODELS, key.slice(0, 16));
	if ((await readAddresses(model)) === null) await makeModel(model, deploy);
	for (const name of COPIED) await copyFile(join(model, name), join(folder, name));
	return (await readAddresses(model))!;
}
