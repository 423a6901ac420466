// Durable files: the order of the calls that make them durable, what is left when any one of them fails, and
// drafts.
import assert from "node:assert/strict";
import * as nodeFs from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { Readable } from "node:stream";
import { after, test } from "node:test";
import {
	createDurably,
	type DurableOptions,
	makeFolder,
	readIfPresent,
	removeDrafts,
	writeDurably,
} from "./durable-file.ts";

const scratch = await nodeFs.mkdtemp(join(tmpdir(), "assay-durable-"));
after(() => nodeFs.rm(scratch, { recursive: true }));
let folders = 0;
async function freshFolder(): Promise<string> {
	const folder = join(scratch, `f${++folders}`);
	await nodeFs.mkdir(folder);
	return folder;
}

/**
 * The real file system, with a list of what was asked of it; the call that `failAt` counts to fails instead.
 */
function traced(failAt = Number.POSITIVE_INFINITY): { calls: string[]; fs: NonNullable<DurableOptions["fs"]> } {
	const calls: string[] = [];
	const name = (path: unknown) => basename(String(path)).replace(/\.[0-9a-f]{16}\.draft$/, ".draft");
	const call = <T>(text: string, run: () => Promise<T>): Promise<T> => {
		calls.push(text);
		return calls.length === failAt ? Promise.reject(new Error("no space left")) : run();
	};
	const fs = {
		rename: (from: string, to: string) => call(`rename ${name(from)} ${name(to)}`, () => nodeFs.rename(from, to)),
		link: (from: string, to: string) => call(`link ${name(from)} ${name(to)}`, () => nodeFs.link(from, to)),
		rm: nodeFs.rm,
		async open(path: string, flags: string, mode?: number) {
			const file = await call(`open ${name(path)}`, () => nodeFs.open(path, flags, mode));
			return {
				writeFile: (content: string) => call(`write ${name(path)}`, () => file.writeFile(content)),
				sync: () => call(`sync ${name(path)}`, () => file.sync()),
				close: () => file.close(),
			};
		},
	};
	return { calls, fs: fs as unknown as NonNullable<DurableOptions["fs"]> };
}

const expected = (verb: string, folder: string) => [
	"open a.json.draft",
	"write a.json.draft",
	"sync a.json.draft",
	`${verb} a.json.draft a.json`,
	`open ${basename(folder)}`,
	`sync ${basename(folder)}`,
];

test("a file is synced before it gets its name, and its folder after that", async () => {
	for (const [verb, put] of [
		["rename", writeDurably],
		["link", createDurably],
	] as const) {
		const folder = await freshFolder();
		const { calls, fs } = traced();
		await put(join(folder, "a.json"), "new", { fs });
		assert.deepEqual(calls, expected(verb, folder));
		assert.deepEqual(await nodeFs.readdir(folder), ["a.json"]);
		assert.equal(await nodeFs.readFile(join(folder, "a.json"), "utf8"), "new");
	}
});

test("whichever call fails, the old file or the new one is there, whole, and no draft", async () => {
	for (let failAt = 1; failAt <= 6; failAt++) {
		const folder = await freshFolder();
		const path = join(folder, "a.json");
		await nodeFs.writeFile(path, "old");
		const { calls, fs } = traced(failAt);
		await assert.rejects(writeDurably(path, "new", { fs }), { code: "FILE_UNWRITABLE", message: /no space left/ });
		assert.equal(calls.length, failAt);
		assert.equal(await nodeFs.readFile(path, "utf8"), failAt <= 4 ? "old" : "new");
		assert.deepEqual(await nodeFs.readdir(folder), ["a.json"]);
	}
});

test("of many writers at once one has the last word, of many creators one creates", async () => {
	const folder = await freshFolder();
	const texts = Array.from({ length: 16 }, (_, i) => String(i).repeat(10_000));
	await Promise.all(texts.map((text) => writeDurably(join(folder, "written"), text)));
	assert.ok(texts.includes(await nodeFs.readFile(join(folder, "written"), "utf8")));
	const created = await Promise.all(texts.map((text) => createDurably(join(folder, "created"), text)));
	assert.equal(created.filter(Boolean).length, 1);
	assert.equal(await nodeFs.readFile(join(folder, "created"), "utf8"), texts[created.indexOf(true)]);
	assert.deepEqual((await nodeFs.readdir(folder)).sort(), ["created", "written"]);
});

test("folders are made with the file, for whoever may read it, and streams are taken", async () => {
	const folder = await freshFolder();
	const mode = async (...path: string[]) => (await nodeFs.stat(join(folder, ...path))).mode & 0o777;
	await writeDurably(join(folder, "own", "x", "a"), Readable.from(["one ", "two"]));
	assert.equal(String(await readIfPresent(join(folder, "own", "x", "a"))), "one two");
	assert.deepEqual([await mode("own"), await mode("own", "x"), await mode("own", "x", "a")], [0o700, 0o700, 0o600]);
	await writeDurably(join(folder, "all", "a"), "x", { mode: 0o644 });
	assert.deepEqual([await mode("all"), await mode("all", "a")], [0o755, 0o644]);
	await assert.rejects(writeDurably(join(folder, "all", "a", "b"), "x"), { code: "FILE_UNWRITABLE" });
	await assert.rejects(makeFolder("/proc/assay/folder"));
	assert.equal(await readIfPresent(join(folder, "none")), null);
	await assert.rejects(readIfPresent(folder), { code: "FILE_UNREADABLE" });
});

test("drafts of killed writers are cleared away, those of writers at work are not", async () => {
	const folder = await freshFolder();
	const drafts = await freshFolder();
	const failing = Readable.from(
		(async function* () {
			yield "half";
			const [draft] = await nodeFs.readdir(drafts);
			await nodeFs.copyFile(join(drafts, draft!), join(drafts, `left.${draft}`));
			throw new Error("cut short");
		})(),
	);
	await assert.rejects(writeDurably(join(folder, "a"), failing, { drafts }), /cut short/);
	assert.deepEqual(await nodeFs.readdir(folder), []);
	const [left, ...others] = await nodeFs.readdir(drafts);
	assert.deepEqual(others, []);
	await nodeFs.writeFile(join(drafts, "kept"), "not a draft");
	await removeDrafts(drafts);
	assert.deepEqual(await nodeFs.readdir(drafts), ["kept", left]);
	const longAgo = new Date(Date.now() - 7_200_000);
	for (const name of ["kept", left!]) await nodeFs.utimes(join(drafts, name), longAgo, longAgo);
	await removeDrafts(drafts);
	assert.deepEqual(await nodeFs.readdir(drafts), ["kept"]);
	await removeDrafts(join(folder, "none"));
});
