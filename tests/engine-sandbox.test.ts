// What the engine may do to its host. Audit N5: it ran as root without any sandbox, and reads what hostile
// validators send. The program tries it itself (--sandbox-check), and the kernel says what it holds of it.
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { before, test } from "node:test";
import { findEngine, hostPlatform } from "../src/engine/builds.ts";
import { createEngineClient } from "../src/engine/client/create-engine-client.ts";
import { createLocalLink } from "../src/engine/links/create-local-link.ts";

let engine = "";
before(async () => {
	engine = (await findEngine(hostPlatform())).path;
});

interface SandboxCheck {
	readonly user: number;
	readonly noRights: boolean;
	readonly landlock: number;
	readonly seccomp: boolean;
	readonly missing: string;
	readonly reads: Readonly<Record<string, boolean>>;
	readonly writes: Readonly<Record<string, boolean>>;
	readonly sockets: Readonly<Record<string, boolean>>;
	readonly signals: boolean;
	readonly forks: boolean;
	readonly runs: boolean;
}

function check(...args: string[]): SandboxCheck {
	const { status, stdout, stderr } = spawnSync(engine, [...args, "--sandbox-check"], { encoding: "utf8" });
	assert.equal(status, 0, stderr);
	return JSON.parse(stdout) as SandboxCheck;
}

test("N5: the engine opens no file of its host, writes none, talks to nobody and starts nothing", (t) => {
	const found = check();
	assert.equal(found.noRights, true);
	if (process.getuid?.() === 0 && !found.missing.includes("stays root")) assert.notEqual(found.user, 0);
	if (found.landlock > 0) {
		assert.deepEqual(found.reads, {
			...{ "/etc/passwd": false, "/etc/shadow": false, "/": false },
			...{ "/proc/meminfo": true, "/usr": true },
		});
		assert.deepEqual(found.writes, { "/tmp": false, ".": false });
	} else t.diagnostic("this kernel has no Landlock: files were not looked at");
	if (found.seccomp) {
		assert.deepEqual(found.sockets, { inet: false, inet6: false, netlink: false });
		assert.deepEqual([found.signals, found.forks, found.runs], [false, false, false]);
	} else t.diagnostic("this kernel filters no calls: they were not looked at");
	if (found.landlock > 0 && found.seccomp && found.user !== 0) assert.equal(found.missing, "");
});

test("without the sandbox all of that works: the check would see it", () => {
	const found = check("--no-sandbox");
	assert.deepEqual([found.reads["/etc/passwd"], found.reads["/"], found.writes["/tmp"]], [true, true, true]);
	assert.deepEqual([found.signals, found.forks, found.runs], [true, true, true]);
	assert.equal(found.sockets.inet, true);
});

test("N5: every thread of a running engine has neither rights nor a way to get them, and it answers all the same", async () => {
	let pid = 0;
	const link = await createLocalLink({
		...{ command: engine, args: ["--threads", "2"], env: process.env },
		onSpawn: (started) => {
			pid = started;
		},
	});
	const client = await createEngineClient(link, {
		clockUs: () => performance.now() * 1000,
		readyDeadlineMs: 600_000,
		randomBytes: (size) => new Uint8Array(size),
	});
	try {
		const claim = await client.hello({ deadlineMs: 600_000 });
		assert.deepEqual(
			claim.devices.map(({ kind }) => kind).filter((kind) => kind !== "gpu"),
			["cpu", "disk"],
		);
		const filtered = check().seccomp ? "2" : "0";
		const threads = readdirSync(`/proc/${pid}/task`);
		assert.ok(threads.length > 1);
		for (const thread of threads) {
			const status = readFileSync(`/proc/${pid}/task/${thread}/status`, "utf8");
			const of = (name: string) => new RegExp(`^${name}:\\s+(\\S+)`, "m").exec(status)?.[1];
			for (const set of ["CapInh", "CapPrm", "CapEff", "CapAmb"]) assert.equal(BigInt(`0x${of(set)}`), 0n, set);
			assert.deepEqual([of("NoNewPrivs"), of("Seccomp")], ["1", filtered]);
		}
	} finally {
		await client.close();
	}
});
