// A rental as a system user of its own: a random name, a home that only it can read, no password, no group
// but its own (and the one that may use the GPUs, where the host has such a group), the customer's key and no
// other. At the end every process of that user is killed, then all that it left behind goes, then the user;
// if the provider is dead, what waits for the end (rental-end.ts) kills the processes and expires the
// account. Needs root. It isolates as far as the host's own permissions do, and bounds memory, disk and the
// network where the host can (rental-guards.ts).
import { randomInt } from "node:crypto";
import { chmodSync, existsSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { AssayError } from "../../protocol/assay-error.ts";
import type { ContainerEnvironmentOptions } from "./container-environment.ts";
import {
	checkName,
	ENVIRONMENT_NAME,
	type EnvironmentMaker,
	rentalFailed as failed,
	type Guards,
} from "./environment.ts";
import { RentalEnd } from "./rental-end.ts";
import { closeMetadata, guarded, makeGroup, removeGroup } from "./rental-guards.ts";
import type { RentalRooms } from "./rental-room.ts";
import { MAX_PROCESSES } from "./rental-sshd.ts";
import { runProgram } from "./run-program.ts";
import { LAST_RENTAL_ID, takeUserId } from "./user-ids.ts";

export interface UserEnvironmentOptions extends Pick<ContainerEnvironmentOptions, "sshd" | "memoryBytes"> {
	readonly rooms: RentalRooms;
	/** What this host can guard, and the name of its control group. */
	readonly guards: Guards;
	readonly groupName: string;
	/** Of all providers on this host: remembers the user ids that were given. */
	readonly rentalsFolder: string;
	/** Of this provider, for it only: its SSH server, and what waits for the ends of rentals. */
	readonly ownFolder: string;
	/** Marks our users in /etc/passwd: another provider's are left alone. Letters, digits and spaces. */
	readonly mark: string;
	/** GPUs of the host; a rental gets all of them or none of this kind. */
	readonly gpus: () => readonly string[];
}

/** Below are the system's own users. Killing by number must never reach them. */
const LEAST_UID = 1000;
/** nobody, and what some systems take for no id. */
const NOBODY = [65_534, 65_535];
/** useradd's exit code when an id has an owner. */
const ID_TAKEN = 4;
const DAY_MS = 86_400_000;
const KILL_MS = 20_000;
const LOCK_TRIES = 100;

interface PasswdEntry {
	readonly name: string;
	readonly uid: number;
	readonly gid: number;
}

export function createUserEnvironments(options: UserEnvironmentOptions): EnvironmentMaker {
	const { sshd, rooms, guards, groupName, mark } = options;
	const end = new RentalEnd(options.ownFolder);

	async function mustFind(name: string): Promise<PasswdEntry> {
		checkName(name);
		const [user] = await passwd(mark, name);
		if (!user || !isOurs(user)) throw failed(`the user ${name} is gone`);
		return user;
	}

	/**
	 * What ends by itself: running processes first, so that nobody gets in whom nothing would throw out again.
	 */
	async function setEnd({ name, uid, gid }: PasswdEntry, publicKey: string, untilMs: number): Promise<void> {
		await end.set(name, untilMs, sshd.keyFileOf(name), { kind: "user", uid, gid });
		await sshd.allow(name, { options: "restrict,pty", publicKey, gid, untilMs });
	}

	/** What the SSH server, and so everybody who logs in, runs under. */
	function under(name: string): readonly string[] {
		const groups = guards.memory === null ? makeGroup(groupName, options.memoryBytes, MAX_PROCESSES) : [];
		const temp = guards.disk === null ? rooms.tempOf(name) : null;
		return guarded(groups, temp, { memoryBytes: options.memoryBytes, ownFolder: options.ownFolder });
	}

	return {
		kind: "user",
		guards,
		port: sshd.port,
		async create({ name, publicKey, devices, untilMs }) {
			checkName(name);
			const gpus = options.gpus();
			if (devices.length > 0 && gpus.some((uuid) => !devices.includes(uuid)))
				throw new AssayError(
					"RENTAL_UNAVAILABLE",
					"without containers only the whole host is rented, not some of its devices",
					{
						hint: "Rent all devices, or one with docker or podman.",
					},
				);
			// One that an earlier rental left would serve with the earlier one's bounds.
			await sshd.stop();
			if (guards.metadata === null) await closeMetadata();
			await rooms.make(name);
			const user = await makeUser(options, name, untilMs);
			chmodSync(rooms.homeOf(name), 0o700);
			closeCrontab(name);
			await setEnd(user, publicKey, untilMs);
			await sshd.start(under(name));
			return { user: name, hostKey: await sshd.hostKey() };
		},
		async setEnd({ name, publicKey, untilMs }) {
			const user = await mustFind(name);
			await withLock("usermod", ["--expiredate", expiryDay(untilMs), name], [0]);
			await setEnd(user, publicKey, untilMs);
		},
		async remove(name) {
			checkName(name);
			// First, so that nobody logs in while the rest goes.
			await sshd.deny(name);
			const [user] = await passwd(mark, name);
			if (user) {
				if (!isOurs(user)) throw failed(`${name} is a user that was not made by us`);
				await killAll(user);
				await removeLeftovers(user);
				// 6: no such user any more.
				await withLock("userdel", [name], [0, 6]);
				// A login that was half way through when its key went.
				await killAll(user);
			}
			await rooms.remove(name, user?.uid ?? null);
			if ((await passwd(mark, name)).length > 0 || rooms.exists(name)) throw failed(`${name} could not be removed`);
			// Last: a provider that is killed in the middle of this leaves somebody who ends it.
			await end.stop(name);
		},
		async health(name) {
			const [user] = await passwd(mark, name);
			if (!user) return { healthy: false, detail: "its user is gone" };
			if (!sshd.isAllowed(name)) return { healthy: false, detail: "its key is gone" };
			await end.keep(name, sshd.keyFileOf(name), { kind: "user", uid: user.uid, gid: user.gid });
			await rooms.keep(name);
			return sshd.health(under(name));
		},
		async list() {
			return (await passwd(mark)).filter(isOurs).map(({ name }) => name);
		},
		async rest() {
			await sshd.stop();
			await removeGroup(groupName);
		},
	};
}

/** With a home in its room, and ids that nobody had before. */
async function makeUser(options: UserEnvironmentOptions, name: string, untilMs: number): Promise<PasswdEntry> {
	const { rooms, rentalsFolder, mark } = options;
	const shell = existsSync("/bin/bash") ? "/bin/bash" : "/bin/sh";
	const groups = deviceGroups();
	const more = groups.length > 0 ? ["--groups", groups.join(",")] : [];
	// `*` is no password, and unlike `!` it does not lock the account, which would keep keys out too.
	const fixed = ["--create-home", "--user-group", "--no-log-init", "--password", "*", "--key", "HOME_MODE=0700"];
	// No ids below its own either: processes under such an id would not be found by the user's number at
	// the end.
	const noIds = ["--key", "SUB_UID_COUNT=0", "--key", "SUB_GID_COUNT=0"];
	const named = ["--home-dir", rooms.homeOf(name), "--shell", shell, "--comment", mark];
	const dated = ["--expiredate", expiryDay(untilMs), name];
	for (;;) {
		const id = String(await takeUserId(rentalsFolder));
		const ids = ["--uid", id, "--key", `GID_MIN=${id}`, "--key", `GID_MAX=${id}`];
		const code = await withLock("useradd", [...fixed, ...noIds, ...ids, ...more, ...named, ...dated], [0, ID_TAKEN]);
		if (code !== ID_TAKEN) break;
	}
	const [user] = await passwd(mark, name);
	if (!user || !isOurs(user)) throw failed(`the user ${name} was not made as it should be`);
	return user;
}

/**
 * The account's last day, for whatever else lets people in (cron, the host's own SSH server): the one after
 * the end.
 */
const expiryDay = (untilMs: number) => new Date(untilMs + DAY_MS).toISOString().slice(0, 10);

/** Users of this provider, or the one of this name. */
async function passwd(mark: string, name?: string): Promise<PasswdEntry[]> {
	const found = await runProgram("getent", ["passwd", ...(name === undefined ? [] : [name])]);
	return found.stdout
		.split("\n")
		.map((line) => line.split(":"))
		.filter((fields) => ENVIRONMENT_NAME.test(fields[0] ?? "") && fields[4] === mark)
		.map(([login, , uid, gid]) => ({ name: login!, uid: Number(uid), gid: Number(gid) }));
}

/** useradd and userdel hold a lock on /etc/passwd; another program may have it for a moment. */
async function withLock(command: string, args: readonly string[], fine: readonly number[]): Promise<number> {
	for (let i = 1; ; i++) {
		const { code, stderr } = await runProgram(command, args);
		if (fine.includes(code)) return code;
		const busy = /lock|currently used/.test(stderr);
		if (!busy || i >= LOCK_TRIES) throw failed(`${command} failed (${code}): ${stderr}`);
		await sleep(50 + randomInt(200));
	}
}

function isOurs({ uid, gid }: PasswdEntry): boolean {
	const isPerson = Number.isSafeInteger(uid) && uid >= LEAST_UID && uid <= LAST_RENTAL_ID && !NOBODY.includes(uid);
	return isPerson && Number.isSafeInteger(gid) && gid > 0;
}

/**
 * A crontab of root's under the renter's name: it has none of its own, and cannot put one in its place. What
 * cron starts would be in no control group and write where it likes.
 */
function closeCrontab(name: string): void {
	for (const folder of ["/var/spool/cron/crontabs", "/var/spool/cron"]) {
		if (!existsSync(folder)) continue;
		writeFileSync(join(folder, name), "", { mode: 0o600 });
		return;
	}
}

/** Groups that may use the GPUs, where not everybody may. Never root's. */
function deviceGroups(): string[] {
	const nodes = readdirSync("/dev").filter((name) => /^nvidia(\d+|ctl|-uvm)$/.test(name));
	const closed = nodes
		.map((name) => statSync(`/dev/${name}`))
		.filter(({ mode, gid }) => (mode & 0o006) !== 0o006 && gid > 0);
	return [...new Set(closed.map(({ gid }) => String(gid)))];
}

/** Process ids with the user anywhere among their four user ids. */
export function processesOf(uid: number): number[] {
	return readdirSync("/proc")
		.filter((name) => /^\d+$/.test(name))
		.map(Number)
		.filter((pid) => {
			try {
				const status = readFileSync(`/proc/${pid}/status`, "utf8");
				if (/^State:\s+[ZX]/m.test(status)) return false; // dead; its parent has not looked yet
				const ids = /^Uid:\s+(.*)$/m.exec(status)?.[1]?.split(/\s+/) ?? [];
				return ids.includes(String(uid));
			} catch {
				return false;
			}
		});
}

/** One signal to all processes of the user, sent as that user: atomic, so no fork outruns it. */
async function killAll(user: PasswdEntry): Promise<void> {
	// The number that follows decides whom the kernel kills: a wrong one could be everybody.
	if (!isOurs(user)) throw failed("refusing to kill the processes of a user that is not ours");
	const { uid, gid } = user;
	for (const until = performance.now() + KILL_MS; processesOf(uid).length > 0; await sleep(20)) {
		if (performance.now() > until) throw failed(`processes of ${user.name} cannot be ended`);
		await runProgram("/bin/sh", ["-c", "kill -9 -1"], { uid, gid });
	}
}

/** What a user can leave outside its home. Files are found by their owner, so links lead nowhere. */
async function removeLeftovers({ name, uid }: PasswdEntry): Promise<void> {
	for (const folder of ["/var/spool/cron/crontabs", "/var/spool/cron", "/var/mail", "/var/lib/systemd/linger"])
		await rm(join(folder, name), { force: true });
	const shared = ["/tmp", "/var/tmp", "/dev/shm", "/dev/mqueue", "/run/lock", "/var/spool/cron"].filter((folder) =>
		existsSync(folder),
	);
	await runProgram("find", [...shared, "-xdev", "-mindepth", "1", "-uid", String(uid), "-delete"], {
		timeoutMs: 120_000,
	});
	await rm(`/run/user/${uid}`, { recursive: true, force: true }).catch(() => {});
	await removeIpc(uid);
}

/** Shared memory, semaphores and queues of System V outlive their maker. */
async function removeIpc(uid: number): Promise<void> {
	for (const [kind, flag, column] of [
		["shm", "-m", 7],
		["sem", "-s", 4],
		["msg", "-q", 7],
	] as const) {
		const table = existsSync(`/proc/sysvipc/${kind}`) ? readFileSync(`/proc/sysvipc/${kind}`, "utf8") : "";
		for (const row of table.trim().split("\n").slice(1)) {
			const fields = row.trim().split(/\s+/);
			if (fields[column] === String(uid)) await runProgram("ipcrm", [flag, fields[1]!]);
		}
	}
}
