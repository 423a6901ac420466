// Which engine is found where: in a released package, in a checkout, and where the file may not be executed
// as it lies.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { cardsSaid, engineFile, findEngine, hostPlatform, isCheckout, type Platform } from "./builds.ts";

const folder = mkdtempSync(join(tmpdir(), "assay-builds-"));
// Entered by another user as well, in the last test.
chmodSync(folder, 0o755);
after(() => rmSync(folder, { recursive: true, force: true }));

const own = hostPlatform();
const other: Platform = own === "linux-x64" ? "linux-arm64" : "linux-x64";
const prebuilt = (platform: Platform) => `prebuilt/${platform}/assay-engine`;
const built = (platform: Platform) => `build/engine/${platform}/assay-engine`;
let count = 0;

/** A folder like ours with these files; content is the path, mode 0644 unless given. */
function rootWith(files: readonly string[], mode = 0o644): string {
	const root = join(folder, String(count++));
	for (const file of files) {
		const path = join(root, file);
		mkdirSync(dirname(path), { recursive: true });
		writeFileSync(path, file, { mode });
	}
	return root;
}

test("a package gives its prebuilt engine, one for each platform", async () => {
	const root = rootWith([prebuilt(own), prebuilt(other)]);
	assert.equal(isCheckout(root), false);
	for (const platform of [own, other]) {
		const build = await findEngine(platform, { root });
		assert.equal(build.path, join(root, prebuilt(platform)));
		assert.equal(build.bytes, prebuilt(platform).length);
	}
});

test("a package without the engine says so and does not speak of building", async () => {
	const root = rootWith([prebuilt(other)]);
	assert.equal(engineFile(own, root), null);
	await assert.rejects(
		findEngine(own, { root, onBuild: () => assert.fail("nothing can be built here") }),
		(error: Error & { code?: string; hint?: string }) =>
			error.code === "ENGINE_MISSING" && /install assay again/.test(error.hint ?? ""),
	);
});

test("a checkout takes what it built, never a prebuilt one that was left there", async () => {
	const root = rootWith(["engine/build.sh", prebuilt(own), built(own)]);
	assert.equal((await findEngine(own, { root, cards: async () => [] })).path, join(root, built(own)));
	const bare = rootWith(["engine/build.sh", prebuilt(own)]);
	assert.equal(engineFile(own, bare), null);
	await assert.rejects(
		findEngine(own, { root: bare, build: false }),
		(error: Error & { code?: string; hint?: string }) =>
			error.code === "ENGINE_MISSING" && /engine\/build\.sh/.test(error.hint ?? ""),
	);
});

test("a checkout builds what it lacks, once for all who ask, and a failed build is told", async () => {
	const root = rootWith([]);
	mkdirSync(join(root, "engine"), { recursive: true });
	const script = join(root, "engine/build.sh");
	writeFileSync(script, `echo run >>runs; mkdir -p build/engine/$2; echo program >build/engine/$2/assay-engine\n`);
	const builds: Platform[] = [];
	const options = { root, onBuild: (platform: Platform) => builds.push(platform) };
	const found = await Promise.all([findEngine(own, options), findEngine(own, options)]);
	assert.deepEqual(found[0], found[1]);
	assert.deepEqual(builds, [own]);
	assert.equal(readFileSync(join(root, "runs"), "utf8"), "run\n");
	writeFileSync(script, "echo no compiler >&2; exit 69\n");
	await assert.rejects(findEngine(other, { root }), {
		code: "ENGINE_MISSING",
		message: /its build failed: no compiler/,
	});
});

test("GPU code is built when a card asks for it, for that card, and never twice", async (t) => {
	const root = rootWith(["engine/build.sh", built(own), built(other)]);
	const script = `echo "$*" >>runs; echo "[7/17] a file" >&2; echo "\${4}" >build/engine/$2/cards\n`;
	writeFileSync(join(root, "engine/build.sh"), script);
	const { NVCC } = process.env;
	process.env.NVCC = "nvcc";
	t.after(() => {
		if (NVCC === undefined) delete process.env.NVCC;
		else process.env.NVCC = NVCC;
	});
	const told: unknown[] = [];
	const find = (cards: readonly string[], platform = own) =>
		findEngine(platform, {
			root,
			cards: async () => cards,
			onBuild: (...what) => told.push(what),
			onProgress: (...how) => told.push(how),
		});
	const runs = () =>
		existsSync(join(root, "runs")) ? readFileSync(join(root, "runs"), "utf8").trim().split("\n") : [];
	await find([]);
	assert.deepEqual([runs(), told], [[], []], "a host without a card gets what is there");
	await find(["9.0"]);
	assert.deepEqual(told, [
		[own, ["9.0"]],
		[7, 17],
	]);
	await find(["9.0"]);
	await find(["9.0", "9.0"]);
	assert.deepEqual(runs(), [`--platform ${own} --cards 9.0`]);
	await find(["8.6"], other);
	writeFileSync(join(root, `build/engine/${own}/cards`), "all\n");
	await findEngine(own, { root, cards: () => assert.fail("nothing can be missing") });
	assert.deepEqual(runs()[1], `--platform ${other} --cards 8.6`);
	assert.equal(runs().length, 2);
});

test("what a host says of its cards is a few numbers and nothing else", () => {
	assert.deepEqual(cardsSaid("9.0\n9.0\n12.1\n"), ["9.0", "12.1"]);
	assert.deepEqual(cardsSaid(""), []);
	assert.deepEqual(cardsSaid("$(reboot) 9.0; 900.1"), ["unknown"]);
});

test("a mode that was lost is mended for the engine that runs here, and only for that one", async () => {
	const root = rootWith([prebuilt(own), prebuilt(other)]);
	await findEngine(own, { root });
	await findEngine(other, { root });
	assert.equal(statSync(join(root, prebuilt(own))).mode & 0o777, 0o755);
	assert.equal(statSync(join(root, prebuilt(other))).mode & 0o777, 0o644);
});

// Only root can become somebody who may not change the file's mode.
const isRoot = process.getuid?.() === 0;
test("somebody else's file is copied to the cache; a spoilt copy is replaced; no cache, no engine", {
	skip: !isRoot,
}, () => {
	const root = rootWith([prebuilt(own)]);
	const cacheFolder = join(folder, "cache");
	mkdirSync(cacheFolder, { mode: 0o777 });
	chmodSync(cacheFolder, 0o777);
	const asNobody = (cache: string) => {
		const program = `
			const { findEngine } = await import(${JSON.stringify(new URL("./builds.ts", import.meta.url).href)});
			process.setgroups([]); process.setgid(65534); process.setuid(65534);
			const [root, platform, cacheFolder] = process.argv.slice(1);
			const answer = await findEngine(platform, { root, cacheFolder }).catch(({ code, hint }) => ({ code, hint }));
			console.log(JSON.stringify(answer));`;
		const args = ["--input-type=module", "-e", program, root, own, cache];
		const run = spawnSync(process.execPath, args, { encoding: "utf8", timeout: 300_000 });
		assert.equal(run.status, 0, run.stderr);
		return JSON.parse(run.stdout) as { path?: string; sha256?: string; code?: string; hint?: string };
	};
	const { path, sha256 } = asNobody(cacheFolder);
	assert.equal(path, join(cacheFolder, `engine-${sha256}`));
	assert.equal(readFileSync(path, "utf8"), prebuilt(own));
	assert.equal(statSync(path).mode & 0o777, 0o700);
	writeFileSync(path, "something else");
	assert.equal(asNobody(cacheFolder).path, path);
	assert.equal(readFileSync(path, "utf8"), prebuilt(own));

	chmodSync(cacheFolder, 0o755);
	rmSync(path);
	const refused = asNobody(cacheFolder);
	assert.equal(refused.code, "ENGINE_MISSING");
	assert.match(refused.hint ?? "", /chmod \+x/);
	assert.equal(existsSync(path), false);
});
