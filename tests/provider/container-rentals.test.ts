// Rentals as containers: the command lines given to docker and podman, by a program that stands in for them
// and writes down what it was told, and the way in, by a real sshd and a real ssh client. Never run against a
// real container engine here (docs/provider.md says so).
import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { chmodSync, existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { userInfo } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { freePort } from "../../src/engine/links/test-sshd.test-kit.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { gpuArguments } from "../../src/provider/rental/container-environment.ts";
import type { EnvironmentMaker } from "../../src/provider/rental/environment.ts";
import { findEnvironments } from "../../src/provider/rental/find-environments.ts";
import { createSshClient, needRoot, type SshClient, type TestKey } from "./ssh-client.test-kit.ts";

const NAME = "assay-00c0ffee";
const isCode = (code: string) => (error: unknown) => error instanceof AssayError && error.code === code;

let client: SshClient;
let customer: TestKey;
let stranger: TestKey;
let fake = "";
let maker: EnvironmentMaker;

/**
 * Writes down its arguments, one a line, and plays the parts that the provider looks at. Its containers are a
 * process with a network of its own.
 */
const FAKE = `#!/bin/sh
here=$(dirname "$0")
{ echo "--"; for a in "$@"; do printf '%s\\n' "$a"; done; } >> "$here/log"
case $1 in
info) [ ! -e "$here/down" ] ;;
run)
	[ ! -e "$here/broken" ] || { echo "no such image" >&2; exit 125; }
	unshare --net sleep 1000 </dev/null >/dev/null 2>&1 &
	echo $! >"$here/pid"
	while [ "$(readlink /proc/$!/ns/net)" = "$(readlink /proc/$$/ns/net)" ]; do sleep 0.01; done
	cp "$here/pid" "$here/shown"
	[ ! -e "$here/elsewhere" ] || echo $PPID >"$here/shown"
	;;
inspect) case $* in *Pid*) cat "$here/shown" ;; *) echo true ;; esac ;;
ps) echo ${NAME}; echo somebody-elses ;;
rm) kill "$(cat "$here/pid")" 2>/dev/null; true ;;
exec) echo "inside $*" ;;
*) exit 1 ;;
esac
`;

const calls = () =>
	readFileSync(join(fake, "log"), "utf8")
		.split("--\n")
		.map((call) => call.split("\n").filter((line) => line !== ""))
		.filter((call) => call.length > 0);

function find(gpus: readonly string[], port: number): Promise<EnvironmentMaker> {
	return findEnvironments({
		want: "container",
		dataFolder: join(client.folder, "data"),
		sshPort: port,
		sshListen: ["127.0.0.1"],
		containerProgram: join(fake, "docker"),
		containerImage: "debian:stable",
		providerKey: "12".repeat(32),
		gpus: () => gpus,
	});
}

before(async () => {
	needRoot();
	client = createSshClient();
	customer = client.makeKey("customer");
	stranger = client.makeKey("stranger");
	fake = join(client.folder, "fake");
	mkdirSync(fake);
	writeFileSync(join(fake, "docker"), FAKE);
	chmodSync(join(fake, "docker"), 0o755);
	maker = await find(["GPU-a", "GPU-b"], await freePort());
});
after(async () => {
	await maker?.rest();
	client?.stop();
});

test("a container is made with few rights, with its GPUs, and entered by the customer only", async () => {
	const { user, hostKey } = await maker.create({
		name: NAME,
		publicKey: customer.line.split(" ").slice(0, 2).join(" "),
		devices: ["GPU-b"],
		untilMs: Date.now() + 3_600_000,
	});
	assert.equal(user, userInfo().username);
	const run = calls().find(([first]) => first === "run")!;
	for (const [option, value] of [
		["--cap-drop", "ALL"],
		["--security-opt", "no-new-privileges"],
		["--name", NAME],
		["--gpus", '"device=GPU-b"'],
		["--label", "assay=1212121212121212"],
	] as const)
		assert.equal(run[run.indexOf(option) + 1], value, option);
	assert.ok(!run.includes("SYS_ADMIN") && !run.includes("NET_RAW") && !run.includes("MKNOD"));
	assert.ok(!run.includes("--privileged") && !run.includes("--volume") && !run.includes("--network"));
	assert.deepEqual(run.slice(-3), ["debian:stable", "sleep", "infinity"]);
	// N19: memory is bounded, and nobody inside reaches a cloud's metadata; what the host itself reaches stays.
	assert.ok(Number(run[run.indexOf("--memory") + 1]) > 0);
	if (maker.guards.metadata === null) {
		const inside = ["--target", readFileSync(join(fake, "pid"), "utf8").trim(), "--net", "ip", "rule"];
		assert.match(execFileSync("nsenter", inside).toString(), /to 169\.254\.0\.0\/16 ipproto tcp prohibit/);
		assert.doesNotMatch(execFileSync("ip", ["rule"]).toString(), /to 169\.254\.0\.0\/16 ipproto tcp prohibit/);
	}

	const access = { host: "127.0.0.1", port: maker.port, user, hostKey };
	const plain = await client.run(access, customer, "nvidia-smi -L");
	assert.equal(plain.stdout.trim(), `inside exec -i ${NAME} /bin/sh -lc nvidia-smi -L`);
	// Whatever is asked for is one argument of the shell inside; out here nothing reads it.
	const evil = "$(touch /tmp/assay-escaped); `id` ' \" ; id #";
	await client.run(access, customer, evil);
	assert.deepEqual(calls().at(-1), ["exec", "-i", NAME, "/bin/sh", "-lc", evil]);
	assert.equal(existsSync("/tmp/assay-escaped"), false);
	const sftp = await client.run(access, customer, "sftp", ["-s"]);
	assert.match(sftp.stdout, /^inside exec/);
	assert.match((await client.run(access, stranger, "id")).stderr, /Permission denied/);
	const forward = await client.run(access, customer, "true", ["-W", "127.0.0.1:22"]);
	assert.notEqual(forward.code, 0);

	assert.deepEqual(await maker.health(NAME), { healthy: true, detail: "" });
	assert.deepEqual(await maker.list(), [NAME]);
	await maker.remove(NAME);
	assert.deepEqual(calls().at(-1), ["rm", "--force", "--volumes", NAME]);
	assert.match((await client.run(access, customer, "id")).stderr, /Permission denied/);
});

test("N14: a container goes at its time with the provider dead, and not before", async () => {
	const publicKey = customer.line.split(" ").slice(0, 2).join(" ");
	const { user, hostKey } = await maker.create({ name: NAME, publicKey, devices: [], untilMs: Date.now() + 60_000 });
	const access = { host: "127.0.0.1", port: maker.port, user, hostKey };
	await maker.setEnd({ name: NAME, publicKey, untilMs: Date.now() + 3_600_000 });
	assert.match((await client.run(access, customer, "id")).stdout, /^inside/, "extended");
	const removals = () => calls().filter(([first]) => first === "rm").length;
	const before = removals();
	// From here on nobody calls the maker: what waits does it alone.
	await maker.setEnd({ name: NAME, publicKey, untilMs: Date.now() + 500 });
	for (let i = 0; removals() === before; i++) {
		assert.ok(i < 3000, "the container outlives its rental");
		await sleep(100);
	}
	assert.deepEqual(calls().at(-1), ["rm", "--force", "--volumes", NAME]);
	assert.match((await client.run(access, customer, "id")).stderr, /Permission denied/);
	await maker.remove(NAME);
});

test("N19: a container engine that answers for another machine has no rules set in this one's network", async (t) => {
	if (maker.guards.metadata !== null) return t.skip(maker.guards.metadata);
	writeFileSync(join(fake, "elsewhere"), "");
	const made = maker.create({ name: NAME, publicKey: "k", devices: [], untilMs: Date.now() + 3_600_000 });
	await assert.rejects(made, isCode("RENTAL_FAILED"));
	rmSync(join(fake, "elsewhere"));
	await maker.remove(NAME);
	assert.doesNotMatch(execFileSync("ip", ["rule"]).toString(), /to 169\.254\.0\.0\/16 ipproto tcp prohibit/);
});

test("a container that is not made is told, and its name may not be anything", async () => {
	writeFileSync(join(fake, "broken"), "");
	await assert.rejects(
		maker.create({ name: NAME, publicKey: "k", devices: [], untilMs: Date.now() + 3_600_000 }),
		isCode("RENTAL_FAILED"),
	);
	for (const name of ["--privileged", "a b", "", `${NAME};id`])
		await assert.rejects(
			maker.create({ name, publicKey: "k", devices: [], untilMs: Date.now() + 3_600_000 }),
			isCode("RENTAL_FAILED"),
		);
});

test("no container engine that answers: told as such", async () => {
	writeFileSync(join(fake, "down"), "");
	await assert.rejects(find([], 2222), isCode("RENTAL_UNAVAILABLE"));
});

test("GPUs in the words of each engine", () => {
	const all = ["GPU-a", "GPU-b"];
	assert.deepEqual(gpuArguments("docker", [], all), ["--gpus", "all"]);
	assert.deepEqual(gpuArguments("docker", all, all), ["--gpus", '"device=GPU-a,GPU-b"']);
	assert.deepEqual(gpuArguments("/usr/bin/podman", [], all), ["--device", "nvidia.com/gpu=all"]);
	assert.deepEqual(gpuArguments("podman", ["GPU-a"], all), ["--device", "nvidia.com/gpu=GPU-a"]);
	assert.deepEqual(gpuArguments("docker", [], []), []);
});

test("neither root nor a container engine: not rentable, with a hint", async () => {
	const getuid = process.getuid;
	process.getuid = () => randomBytes(1)[0]! + 1000;
	try {
		const wanted = {
			dataFolder: "/nonexistent",
			sshPort: 1,
			sshListen: [],
			containerImage: "x",
			providerKey: "00".repeat(32),
		};
		const looking = findEnvironments({ ...wanted, want: "user", gpus: () => [] });
		await assert.rejects(looking, (e) => isCode("RENTAL_UNAVAILABLE")(e) && (e as AssayError).hint !== "");
	} finally {
		if (getuid) process.getuid = getuid;
	}
});
