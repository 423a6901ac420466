// Parts of the network's commands, each alone: what strangers' words may do to a terminal or to ssh, whom a
// name means, who gets the token, who holds a data folder. The commands as a whole are in
// network-cli.test.ts.
import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import type { ApiClient } from "../../src/api/create-client.ts";
import type { ProviderSummary, Rental, Score } from "../../src/api/types.ts";
import { openApi, parseApiUrl } from "../../src/cli/api-connection.ts";
import type { CliIo } from "../../src/cli/command.ts";
import { parseSpan } from "../../src/cli/commands/rent.ts";
import { accessSettings } from "../../src/cli/commands/validate.ts";
import { makeDataDir } from "../../src/cli/data-folder.ts";
import { findProvider } from "../../src/cli/find-by-name.ts";
import { plain } from "../../src/cli/print/paint.ts";
import { scoreLine, scoreTree } from "../../src/cli/print/score-lines.ts";
import { formatAgo, left, right, shown, table } from "../../src/cli/print/table.ts";
import { accessLines, readPublicKey } from "../../src/cli/rental-access.ts";
import { readRunningUp, takeUpFile } from "../../src/cli/up/up-file.ts";
import { createValidatorConfig } from "../../src/validator/validator-config.ts";

const scratch = mkdtempSync(join(tmpdir(), "assay-parts-"));
after(() => rmSync(scratch, { recursive: true, force: true }));
let folders = 0;
const freshFolder = () => {
	const folder = join(scratch, String(folders++));
	mkdirSync(folder);
	return folder;
};
const ioWith = (env: Record<string, string>): CliIo => ({
	out: process.stdout,
	err: process.stderr,
	env: { HOME: scratch, ...env },
	cwd: scratch,
	interrupted: new AbortController().signal,
});

const hostile = "nice\u001b[2J\u001b]0;owned\u0007\u202egnp\n\rname";

test("what a provider calls itself moves no cursor and breaks no line", () => {
	const clean = shown(hostile, 100);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	assert.doesNotMatch(clean, /[\u0000-\u001f\u007f-\u009f\u202e]/);
	assert.match(clean, /nice.*name/);
	assert.ok(shown("x".repeat(500), 24).length <= 25);
	const lines = table([left("name", (name: string) => shown(name))], [hostile, "other"], plain).split("\n");
	assert.equal(lines.length, 3);
});

test("tables and times", () => {
	const rows = [
		{ a: "x", b: 1 },
		{ a: "longer", b: 22 },
	];
	const text = table(
		[left<(typeof rows)[number]>("a", ({ a }) => a), right<(typeof rows)[number]>("n", ({ b }) => String(b))],
		rows,
		plain,
	);
	assert.equal(text, "  a        n\n  x        1\n  longer  22");
	assert.equal(formatAgo(null, 0), "–");
	assert.equal(formatAgo(1000, 61_000), "60 s ago");
	assert.equal(formatAgo(7_200_000 + 5, 5), "in 2 h");
	assert.equal(parseSpan("90m"), 90 * 60_000);
	assert.equal(parseSpan("1.5h"), 90 * 60_000);
	for (const bad of [undefined, "", "90", "-1h", "1w", "1h "]) assert.throws(() => parseSpan(bad), { code: "USAGE" });
});

const explained = (name: string): Score => {
	const evidence = "ab".repeat(32);
	const leaf = { name, value: 5, unit: "op/s", rule: "given", from: [evidence] };
	const many = Array.from({ length: 20 }, () => leaf);
	const root = {
		name: "score",
		value: 250_000,
		unit: "ppm",
		rule: "product",
		from: [{ name: "gpu", value: 500_000, unit: "ppm", rule: "sum", from: many }],
	};
	const terms = {
		version: 1,
		providerId: "00".repeat(32),
		mode: "holistic",
		evidence,
		scorePpm: 250_000,
		why: "",
		root,
	};
	return { providerId: terms.providerId, atMs: 0, scorePpm: 250_000, mode: "holistic", terms };
};

test("a score is told in one line and as a tree down to its evidence, whatever a validator calls its terms", () => {
	assert.equal(scoreLine(explained("a")), "0.250000 = gpu 0.500000");
	const tree = scoreTree(explained(hostile), plain);
	assert.equal(tree.length, 1 + 1 + 12 + 1);
	assert.match(tree[2]!, /from evidence abababababab…/);
	assert.match(tree.at(-1)!, /8 more/);
	// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
	for (const line of tree) assert.doesNotMatch(line, /[\u0000-\u001f\u202e]/);
});

function rental(access: Partial<NonNullable<Rental["access"]>>): Rental {
	const whole = { host: "10.0.0.1", port: 2222, user: "assay-1", hostKey: `ssh-ed25519 ${"A".repeat(60)}`, ...access };
	return { id: "ab".repeat(16), state: "active", untilMs: 0, access: whole } as Rental;
}

test("an address that is none reaches neither a screen to copy from nor ssh", () => {
	assert.match(accessLines(rental({}), undefined, plain)[1]!, /^ {2}ssh -p 2222 assay-1@10\.0\.0\.1$/);
	const bad: Partial<NonNullable<Rental["access"]>>[] = [
		{ host: "-oProxyCommand=id" },
		{ host: "a b" },
		{ host: "x;id" },
		{ user: "-l" },
		{ user: "root;id" },
		{ user: "a\nb" },
		{ hostKey: "ssh-ed25519 AAAA\n* ssh-rsa BBBB" },
		{ hostKey: "* ssh-ed25519" },
	];
	for (const access of bad)
		assert.throws(
			() => accessLines(rental(access), undefined, plain),
			{ code: "API_REPLY_BAD" },
			JSON.stringify(access),
		);
});

test("of a public key only kind and key are sent; a private one is never read as one", () => {
	const folder = freshFolder();
	const file = join(folder, "id.pub");
	writeFileSync(file, `ssh-ed25519 ${"A".repeat(60)} somebody@somewhere\n`);
	const io = ioWith({});
	const publicKey = `ssh-ed25519 ${"A".repeat(60)}`;
	assert.deepEqual(readPublicKey(file, io), { file, publicKey, identityFile: undefined });
	writeFileSync(join(folder, "id"), "-----BEGIN OPENSSH PRIVATE KEY-----\n");
	assert.equal(readPublicKey(file, io).identityFile, join(folder, "id"));
	assert.throws(() => readPublicKey(join(folder, "id"), io), { code: "PUBLIC_KEY_BAD" });
	assert.throws(() => readPublicKey(undefined, io), { code: "FILE_UNREADABLE" });
});

test("whom a name means: one whole name, else one beginning; several are named, none is said so", async () => {
	const one = (id: string, name: string, state = "active") =>
		({ id: id.padEnd(64, "0"), name, state }) as ProviderSummary;
	const all = [
		one("aa11", "alpha"),
		one("aa22", "beta"),
		one("bb", "aa"),
		one("cc", "gone", "removed"),
		one("dd", "twin"),
		one("ee", "twin"),
		one("ff", "beta", "removed"),
	];
	const client = {
		async *rows(_: string, { query }: { query: { q: string } }) {
			yield* all.filter(({ id, name }) => id.startsWith(query.q) || name.includes(query.q));
		},
	} as unknown as ApiClient;
	const found = async (text: string) => (await findProvider(client, text)).id.slice(0, 4).replace(/0+$/, "");
	assert.equal(await found("aa1"), "aa11");
	assert.equal(await found("alpha"), "aa11");
	assert.equal(await found("aa"), "bb");
	assert.equal(await found("beta"), "aa22");
	assert.equal(await found("gone"), "cc");
	await assert.rejects(findProvider(client, "twin"), { code: "ID_AMBIGUOUS" });
	await assert.rejects(findProvider(client, "a"), (error: Error) => /aa11.*aa22/.test(error.message));
	await assert.rejects(findProvider(client, "alp"), { code: "PROVIDER_UNKNOWN" });
});

test("one data folder, one network: of several that start at once one gets it; what the dead left is taken", async () => {
	const folder = freshFolder();
	const tries = await Promise.allSettled([1, 2, 3, 4].map(() => takeUpFile(folder, 1)));
	// In one process all have the same name; from the second on it is found alive.
	assert.equal(tries.filter(({ status }) => status === "fulfilled").length, 1);
	const hold = (
		tries.find(({ status }) => status === "fulfilled") as PromiseFulfilledResult<Awaited<ReturnType<typeof takeUpFile>>>
	).value;
	await assert.rejects(takeUpFile(folder, 2), { code: "UP_RUNNING" });
	await hold.publish({ url: "http://127.0.0.1:5", key: "k", providers: 3, isLiar: true });
	const { url, providers, isLiar, dataDir } = (await readRunningUp(folder))!;
	assert.deepEqual(
		{ url, providers, isLiar, dataDir },
		{ ...{ url: "http://127.0.0.1:5", providers: 3, isLiar: true }, dataDir: folder },
	);
	await assert.rejects(takeUpFile(folder, 2), /http:\/\/127\.0\.0\.1:5/);
	// A copy of the folder is another network, which does not run.
	const copy = freshFolder();
	cpSync(folder, copy, { recursive: true });
	assert.equal(await readRunningUp(copy), null);
	await (await takeUpFile(copy, 3)).release();
	await hold.release();
	assert.equal(await readRunningUp(folder), null);

	const path = join(folder, "up.json");
	const dead = spawn(process.execPath, ["-e", ""]);
	await new Promise((resolve) => dead.once("close", resolve));
	for (const left of [
		"",
		"{",
		"[]",
		'{"pid":"1"}',
		`{"pid":${dead.pid},"startTicks":"7","url":"http://x"}`,
		`{"pid":${process.pid},"startTicks":"7"}`,
	]) {
		writeFileSync(path, left);
		assert.equal(await readRunningUp(folder), null, left);
		await (await takeUpFile(folder, 3)).release();
	}
	const file = join(freshFolder(), "file");
	writeFileSync(file, "");
	await assert.rejects(takeUpFile(file, 1), { code: "FILE_UNWRITABLE" });
});

test("a data folder is made with those above it, by two at once too; where none can be made, that is said at once", async () => {
	const top = freshFolder();
	const path = join(top, "a", "b", "c");
	await Promise.all([makeDataDir(path), makeDataDir(path)]);
	assert.equal(statSync(path).mode & 0o777, 0o700);
	await makeDataDir(path);
	writeFileSync(join(top, "file"), "");
	// In /proc no folder can be made, and nothing says why.
	for (const wrong of ["/proc/x", "/proc/x/y", join(top, "file"), join(top, "file", "x")])
		await assert.rejects(makeDataDir(wrong), { code: "FILE_UNWRITABLE" }, wrong);
});

test("the local network's token goes to the local network and to nobody else", async () => {
	const seen: (string | undefined)[] = [];
	const server = createServer((request, response) => {
		seen.push(request.headers.authorization);
		response.writeHead(404, { "content-type": "application/problem+json" });
		response.end(
			JSON.stringify({
				type: "x",
				title: "x",
				status: 404,
				code: "PROVIDER_UNKNOWN",
				detail: "none",
				hint: "",
				requestId: "1",
			}),
		);
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const { port } = server.address() as AddressInfo;
	const [url, other] = [`http://127.0.0.1:${port}`, `http://localhost:${port}`];
	const data = freshFolder();
	writeFileSync(join(data, "admin.token"), "assay_secret\n");
	const hold = await takeUpFile(data, 1);
	await hold.publish({ url, key: "00".repeat(32), providers: 1, isLiar: false });
	try {
		const ask = async (values: { api?: string; data?: string }, env: Record<string, string> = {}) => {
			const api = await openApi(values, ioWith(env));
			await assert.rejects(
				api.ask((client) => client.getProvider({ params: { id: "0".repeat(64) } })),
				{ code: "PROVIDER_UNKNOWN" },
			);
			return seen.at(-1);
		};
		assert.equal(await ask({ data }), "Bearer assay_secret");
		assert.equal(await ask({ data, api: `${url}/` }), "Bearer assay_secret");
		assert.equal(await ask({ data, api: other }), undefined);
		assert.equal(await ask({ data }, { ASSAY_API: other }), undefined);
		assert.equal(await ask({ data, api: other }, { ASSAY_TOKEN: "assay_mine" }), "Bearer assay_mine");
	} finally {
		await hold.release();
		server.closeAllConnections();
		server.close();
	}
	await assert.rejects(openApi({ data }, ioWith({})), { code: "API_UNREACHABLE" });
	for (const bad of ["", "x", "ftp://x", "http://u@h", "http://h?x", "file:///etc/passwd"])
		assert.throws(() => parseApiUrl(bad), { code: "USAGE" });
	assert.equal(parseApiUrl("https://h:1/"), "https://h:1");
});

test("verifying a file loads no web server, no database driver, no schemas", () => {
	const hooks =
		'import{registerHooks}from"node:module";registerHooks({load(u,c,n){process.stderr.write(u+"\\n");return n(u,c)}})';
	const program = (name: string) => fileURLToPath(new URL(name, import.meta.url));
	const loaded = (...args: string[]) => {
		const run = spawnSync(
			process.execPath,
			["--import", `data:text/javascript,${encodeURIComponent(hooks)}`, program("../../src/cli/main.ts"), ...args],
			// Without what packs packages for tests (scripts/pack-packages.ts): their own files are looked for
			// here.
			{ encoding: "utf8", env: { ...process.env, NODE_OPTIONS: "" } },
		);
		return [...new Set([...run.stderr.matchAll(/\/node_modules\/((?:@[^/]+\/)?[^/]+)\//g)].map((m) => m[1]))].sort();
	};
	assert.deepEqual(loaded("verify", program("../../vectors/h200.assay")), [
		"@noble/curves",
		"@noble/hashes",
		"smol-toml",
	]);
	assert.deepEqual(loaded("rent", "steal").includes("zod"), false);
	// And the way of looking sees what is loaded.
	assert.ok(loaded("providers", "--api", "http://127.0.0.1:1").includes("zod"));
});

test("who is believed and who may rent are options of a validator; without them nobody, and any key", () => {
	const of = (values: Parameters<typeof accessSettings>[0]) => {
		const { api, openCustomers } = createValidatorConfig({ dataDir: "/data", ...accessSettings(values) });
		return [api.trustProxy, openCustomers];
	};
	assert.deepEqual(of({ "trust-proxy": ["10.0.0.0/8"], "customer-tokens": true }), [["10.0.0.0/8"], false]);
	assert.deepEqual(of({ "trust-proxy": undefined, "customer-tokens": false }), [null, true]);
});
