// What keeps a renter from the rest of the host, for real: a mount in its home, too much memory, too much
// disk, the address of a cloud's metadata. Needs root; what this host cannot guard is skipped, with the
// reason.
import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { randomBytes } from "node:crypto";
import {
	existsSync,
	mkdirSync,
	mkdtempSync,
	readdirSync,
	readFileSync,
	rmSync,
	statSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import type { RentedAccess } from "../../src/engine/agent/agent-calls.ts";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import type { EnvironmentMaker } from "../../src/provider/rental/environment.ts";
import { findEnvironments } from "../../src/provider/rental/find-environments.ts";
import { mountsOf } from "../../src/provider/rental/remove-tree.ts";
import { lookForGuards, makeGroup } from "../../src/provider/rental/rental-guards.ts";
import { createRentalRooms } from "../../src/provider/rental/rental-room.ts";
import { createSshClient, needRoot, type SshClient, type TestKey } from "./ssh-client.test-kit.ts";

const MIB = 2 ** 20;
const guards = await lookForGuards();
const skipped = (why: string | null) => ({ skip: why === null ? false : `this host cannot guard it: ${why}` });

let client: SshClient;
let customer: TestKey;
let maker: EnvironmentMaker;
let rentals = "";
const made: string[] = [];

before(async () => {
	needRoot();
	client = createSshClient();
	execFileSync("chmod", ["755", client.folder]);
	customer = client.makeKey("customer");
	rentals = join(client.folder, "rentals");
	maker = await findEnvironments({ ...optionsOf(), sshPort: await freePort() });
});
function optionsOf() {
	return {
		want: "user" as const,
		dataFolder: join(client.folder, "data"),
		rentalsFolder: rentals,
		sshListen: ["127.0.0.1"],
		containerImage: "",
		providerKey: randomBytes(32).toString("hex"),
		gpus: () => [],
		memoryBytes: 256 * MIB,
		diskBytes: 128 * MIB,
	};
}
afterEach(async () => {
	for (const name of made.splice(0)) await maker.remove(name);
	await maker.rest();
});
after(() => client?.stop());

async function rent(): Promise<RentedAccess & { readonly home: string }> {
	const name = `assay-${randomBytes(4).toString("hex")}`;
	made.push(name);
	const publicKey = customer.line.split(" ").slice(0, 2).join(" ");
	const access = await maker.create({ name, publicKey, devices: [], untilMs: Date.now() + 3_600_000 });
	const home = execFileSync("getent", ["passwd", name]).toString().split(":")[5]!;
	return { host: "127.0.0.1", port: maker.port, ...access, home };
}
const at = (access: RentedAccess, command: string) => client.run(access, customer, command);
const homesLeft = () =>
	readdirSync(rentals)
		.filter((name) => name !== "last-user-id")
		.flatMap((name) => readdirSync(join(rentals, name, "homes")));

test(
	"N19: mounts in a renter's home neither block its removal nor lose what is theirs",
	skipped(guards.disk),
	async () => {
		const outside = join(client.folder, "outside");
		mkdirSync(outside);
		writeFileSync(join(outside, "kept"), "the owner's");
		const access = await rent();
		const tree = [
			`ln -s ${outside} ~/link`,
			// Deeper than any path may be long.
			"cd ~ && i=0 && while [ $i -lt 300 ]; do mkdir -p aaaaaaaaaaaaaaaaaaaa && cd aaaaaaaaaaaaaaaaaaaa || exit 1; i=$((i + 1)); done",
			"mkdir ~/a ~/bound ~/'b c' && mkdir \"$(printf '/%s/n\\nl\\377' ~)\" && touch ~/a/f && echo made",
		].join("\n");
		assert.match((await at(access, tree)).stdout, /made/);
		// What fusermount would let it do in the host's own tree, and what an owner may have bound there.
		const mount = (...args: string[]) => execFileSync("mount", args);
		mount("-t", "tmpfs", "none", join(access.home, "a"));
		writeFileSync(join(access.home, "a", "open"), "");
		const holder = spawn("sleep", ["1000"], { cwd: join(access.home, "a"), stdio: "ignore" });
		mount("-t", "tmpfs", "none", join(access.home, "b c"));
		mount("-t", "tmpfs", "none", join(access.home, "b c"));
		execFileSync("sh", ["-c", `mount -t tmpfs none "$(printf '%s/n\\nl\\377' '${access.home}')"`]);
		mount("--bind", outside, join(access.home, "bound"));
		try {
			await maker.remove(made.pop()!);
		} finally {
			holder.kill("SIGKILL");
		}
		assert.deepEqual(homesLeft(), []);
		assert.equal(readFileSync(join(outside, "kept"), "utf8"), "the owner's");
		assert.doesNotMatch(readFileSync("/proc/self/mountinfo", "latin1"), new RegExp(access.user));
	},
);

test("N19: the same where a home has no file system of its own", skipped(guards.disk), async () => {
	const folder = join(client.folder, "plain");
	const outside = join(client.folder, "beside");
	mkdirSync(outside);
	writeFileSync(join(outside, "kept"), "");
	const rooms = createRentalRooms({ folder, bytes: null, isBounded: false });
	await rooms.make("assay-00000001");
	const inside = join(rooms.tempOf("assay-00000001")[0], "x");
	mkdirSync(inside);
	execFileSync("mount", ["--bind", outside, inside]);
	await rooms.remove("assay-00000001", null);
	assert.deepEqual([readdirSync(folder), readdirSync(outside)], [[], ["kept"]]);
});

test("mounts are found below a folder, by their owner, and nowhere else", () => {
	const lines = [
		"22 1 254:0 / / rw shared:1 - ext4 /dev/vda rw",
		"30 22 0:40 / /homes/a rw - tmpfs none rw",
		"31 30 0:41 / /homes/a/x\\040y rw master:2 - fuse.x x rw,user_id=7,group_id=7",
		"32 22 0:42 / /homes/ab rw - tmpfs none rw",
		"33 22 0:43 / /mnt/far rw - fuse.x x rw,user_id=65536,group_id=1",
		"34 22 0:44 / /mnt/other rw - fuse.x x rw,user_id=655,group_id=65536",
	].join("\n");
	assert.deepEqual(mountsOf("/homes/a", null, lines), ["/homes/a/x y", "/homes/a"]);
	assert.deepEqual(mountsOf("/homes/a", 65_536, lines), ["/mnt/far", "/homes/a/x y", "/homes/a"]);
	assert.deepEqual(mountsOf("/homes", null, ""), []);
});

test(
	"N19: a renter has so much disk and no more, in its home and in what it has for /tmp",
	skipped(guards.disk),
	async () => {
		const access = await rent();
		const write = (path: string, mib: number) =>
			at(access, `head -c ${mib}M /dev/zero > ${path} 2>/tmp/why; cat /tmp/why; stat -c %s ${path}; rm -f ${path}`);
		for (const path of ["~/f", "/tmp/f", "/var/tmp/f"]) {
			assert.equal((await write(path, 20)).stdout.trim(), String(20 * MIB), "the twin");
			const much = await write(path, 300);
			assert.match(much.stdout, /No space left/, path);
		}
		// The host's own /tmp is another one.
		const mark = `/tmp/assay-of-the-renter-${access.user}`;
		assert.equal((await at(access, `touch ${mark} && ls ${mark}`)).stdout.trim(), mark);
		assert.equal(existsSync(mark), false);
		// Nothing with another's rights comes out of it.
		const options = execFileSync("findmnt", ["-no", "OPTIONS", "--target", access.home]).toString();
		assert.match(options, /nosuid/);
		assert.match(options, /nodev/);
		assert.equal((await at(access, "sudo -n mount -o remount,suid ~")).code === 0, false);
	},
);

test(
	"a provider whose data folder is below /tmp serves as well, and shows nothing of it",
	skipped(guards.disk),
	async () => {
		const data = mkdtempSync("/tmp/assay-data-");
		const below = await findEnvironments({ ...optionsOf(), dataFolder: data, sshPort: await freePort() });
		const name = `assay-${randomBytes(4).toString("hex")}`;
		try {
			const publicKey = customer.line.split(" ").slice(0, 2).join(" ");
			const access = await below.create({ name, publicKey, devices: [], untilMs: Date.now() + 3_600_000 });
			const said = await at(
				{ host: "127.0.0.1", port: below.port, ...access },
				`echo in; cat ${data}/rental/*; rmdir ${data}`,
			);
			assert.equal(said.stdout, "in\n");
			assert.deepEqual(await below.health(name), { healthy: true, detail: "" });
		} finally {
			await below.remove(name);
			await below.rest();
			rmSync(data, { recursive: true });
		}
	},
);

test("N19: a renter has so much memory and no more, and the host goes on", skipped(guards.memory), async () => {
	const access = await rent();
	const hold = (mib: number) => at(access, `head -c ${mib}M /dev/zero | tail -c ${mib}M | wc -c`);
	assert.equal((await hold(50)).stdout.trim(), String(50 * MIB), "the twin");
	assert.notEqual((await hold(600)).stdout.trim(), String(600 * MIB));
	// What stays in memory without a process would lock the renter out for good: bounded, or gone with its last
	// user.
	const shm = await at(
		access,
		"head -c 600M /dev/zero > /dev/shm/f; ipcmk -M 200000000 >/dev/null; ipcs -m | grep -c 200000000",
	);
	assert.match(shm.stderr, /No space left/);
	assert.equal(shm.stdout.trim(), "0");
	assert.equal((await hold(50)).stdout.trim(), String(50 * MIB));
	assert.equal((await at(access, "echo still")).stdout.trim(), "still");
});

test("N19: a renter does not reach a cloud's metadata; the host does", skipped(guards.metadata), async () => {
	// A machine behind a cable of its own, at an address of that range that no cloud uses.
	const [space, here, there] = ["", "h", "t"].map((end) => `as${process.pid}${end}`) as [string, string, string];
	const ip = (...args: string[]) => execFileSync("ip", args, { stdio: "pipe" });
	ip("netns", "add", space);
	const address = "169.254.213.77";
	const server = `require("node:net").createServer((s) => s.end("secret\\n")).listen(80, () => console.log("up"))`;
	let answering: ReturnType<typeof spawn> | undefined;
	try {
		ip("link", "add", here, "type", "veth", "peer", "name", there, "netns", space);
		ip("addr", "add", "169.254.213.76/31", "dev", here);
		ip("link", "set", here, "up");
		ip("-n", space, "addr", "add", `${address}/31`, "dev", there);
		ip("-n", space, "link", "set", there, "up");
		answering = spawn("ip", ["netns", "exec", space, process.execPath, "-e", server], {
			stdio: ["ignore", "pipe", "inherit"],
		});
		await new Promise((resolve) => answering!.stdout!.once("data", resolve));
		const ask = `timeout 5 bash -c 'exec 3<>/dev/tcp/${address}/80 && cat <&3'`;
		assert.equal(execFileSync("sh", ["-c", ask]).toString(), "secret\n", "the host itself");
		const access = await rent();
		const asked = await at(access, ask);
		assert.notEqual(asked.code, 0);
		assert.doesNotMatch(asked.stdout, /secret/);
		assert.match(asked.stderr, /Permission denied|No route|unreachable/i);
		assert.equal(execFileSync("sh", ["-c", ask]).toString(), "secret\n", "and still");
		// Twice is no fault: the rules are there already.
		await maker.remove(made.pop()!);
		await rent();
	} finally {
		answering?.kill("SIGKILL");
		ip("netns", "del", space);
	}
});

test("N19: a renter has no crontab, whose programs no bound would hold", async () => {
	const folder = "/var/spool/cron/crontabs";
	const access = await rent();
	if (!existsSync(folder)) return assert.ok(!existsSync(join("/var/spool/cron", access.user)));
	assert.equal(statSync(join(folder, access.user)).uid, 0);
	await maker.remove(made.pop()!);
	assert.equal(existsSync(join(folder, access.user)), false);
});

test("what a host cannot guard is said: root without the rights to mount and to set rules", () => {
	const look = `import("${new URL("../../src/provider/rental/rental-guards.ts", import.meta.url)}")
		.then(async ({ lookForGuards }) => console.log(JSON.stringify(await lookForGuards())))`;
	const seen = (...less: string[]) => {
		const out = execFileSync("setpriv", [...less, "--", process.execPath, "--input-type=module", "-e", look]);
		return JSON.parse(out.toString()) as typeof guards;
	};
	const { disk, metadata } = seen("--bounding-set=-sys_admin,-net_admin", "--inh-caps=-all");
	assert.deepEqual([disk !== null, metadata !== null], [true, true]);
});

test("control groups of version 2: bounds are switched on for groups below the root, and written", () => {
	const root = join(client.folder, "cgroup");
	mkdirSync(root);
	writeFileSync(join(root, "cgroup.controllers"), "cpu memory pids\n");
	writeFileSync(join(root, "cgroup.subtree_control"), "cpu\n");
	assert.deepEqual(makeGroup("one", 1000, 7, root), [join(root, "one/cgroup.procs")]);
	const read = (name: string) => readFileSync(join(root, name), "utf8");
	assert.deepEqual([read("one/memory.max"), read("one/pids.max")], ["1000", "7"]);
	assert.equal(read("cgroup.subtree_control"), "+memory +pids");
	// Where they are on already, nothing is written: a container's own tree would refuse it.
	writeFileSync(join(root, "cgroup.subtree_control"), "cpu memory pids\n");
	makeGroup("two", 1000, 7, root);
	assert.equal(read("cgroup.subtree_control"), "cpu memory pids\n");
});
