// What keeps a renter from the rest of the host, beside its user id: a bound on memory and processes (a
// control group), a file system of its own (rental-room.ts), and no way to the addresses at which clouds hand
// out a machine's credentials (rules of routing, by user id). Each needs something of the host; what a host
// cannot do is said, with the reason, to its owner. Needs root. Page: docs/provider.md.
import {
	accessSync,
	constants,
	existsSync,
	mkdirSync,
	readFileSync,
	readlinkSync,
	rmdirSync,
	writeFileSync,
} from "node:fs";
import { join, resolve } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { rentalFailed as failed, type Guards } from "./environment.ts";
import { runProgram } from "./run-program.ts";
import { FIRST_RENTAL_ID, LAST_RENTAL_ID } from "./user-ids.ts";

/**
 * Where clouds answer whoever asks with keys of the machine: AWS, Azure, Google, Oracle, OpenStack and
 * others; Alibaba; Azure's own; AWS, Google and OpenStack by IPv6. Only TCP: some of these addresses are the
 * host's name server too.
 */
const METADATA: readonly (readonly [family: "-4" | "-6", to: string])[] = [
	["-4", "169.254.0.0/16"],
	["-4", "100.100.100.200/32"],
	["-4", "168.63.129.16/32"],
	["-6", "fd00:ec2::254/128"],
	["-6", "fd20:ce::254/128"],
	["-6", "fe80::a9fe:a9fe/128"],
];
/** Before the host's own rules, after the one for its own addresses. */
const RULE_PRIORITY = "77";
const GROUPS = "/sys/fs/cgroup";

/** Looks and tries, and leaves nothing behind. */
export async function lookForGuards(): Promise<Guards> {
	if (process.getuid?.() !== 0) return { memory: "needs root", disk: "needs root", metadata: "needs root" };
	return { memory: whyNoGroup(), disk: await whyNoDisk(), metadata: await whyNoRules() };
}

function whyNoGroup(): string | null {
	const folders = isUnified() ? [GROUPS] : [join(GROUPS, "memory"), join(GROUPS, "pids")];
	// In a container's own tree nothing may be bounded beside what runs there already; the machine's root has
	// no type.
	const mayBound = !isUnified() || !existsSync(join(GROUPS, "cgroup.type")) || hasBounds();
	return folders.every(isWritable) && mayBound ? null : "no control group can be made here";
}

/** Of control groups below the root. */
function hasBounds(root = GROUPS): boolean {
	const given = readFileSync(join(root, "cgroup.subtree_control"), "utf8").trim().split(" ");
	return ["memory", "pids"].every((kind) => given.includes(kind));
}

/**
 * Tries it, with a small file and for itself alone: that there are devices does not mean that one may use
 * them.
 */
const TRY_DISK = `file=$(mktemp) || exit 1
trap 'rm -f "$file"' EXIT
truncate -s 8M "$file" && mkfs.ext4 -q -F "$file" && unshare --mount --ipc mount -o loop "$file" /mnt`;

async function whyNoDisk(): Promise<string | null> {
	if (!existsSync("/dev/loop-control")) return "there are no loop devices";
	if ((await runProgram("mkfs.ext4", ["-V"])).code !== 0) return "there is no mkfs.ext4";
	return (await runProgram("/bin/sh", ["-c", TRY_DISK])).code === 0 ? null : "mounting is not allowed here";
}

/** Tried in a network of nobody's: a kernel may know no such rules, or this process may not set them. */
async function whyNoRules(): Promise<string | null> {
	if ((await runProgram("ip", ["-V"])).code !== 0) return "there is no `ip` (iproute2)";
	const [program, ...args] = ["unshare", "--net", "--", "ip", ...ruleOf(METADATA[0]!, RENTERS)];
	return (await runProgram(program!, args)).code === 0 ? null : "rules of routing cannot be set here";
}

const RENTERS = ["uidrange", `${FIRST_RENTAL_ID}-${LAST_RENTAL_ID}`];
const ruleOf = ([family, to]: (typeof METADATA)[number], whose: readonly string[]) => [
	...[family, "rule", "add", "to", to, ...whose],
	...["ipproto", "tcp", "priority", RULE_PRIORITY, "prohibit"],
];

/**
 * No renter reaches a cloud's metadata from now on, in any rental. The rules stay: they are about renters
 * only.
 */
export const closeMetadata = () => addRules([], RENTERS);

/** The same for all in a container, by its first process. */
export async function closeMetadataOf(pid: number): Promise<void> {
	const networkOf = (who: number | "self") => readlinkSync(`/proc/${who}/ns/net`);
	// ATTACK: an engine that answers for another machine would have us close the host's own network.
	if (!Number.isSafeInteger(pid) || pid <= 1 || networkOf(pid) === networkOf("self"))
		throw failed("the container has no network of its own");
	await addRules(["nsenter", "--target", `${pid}`, "--net", "--"], []);
}

async function addRules(where: readonly string[], whose: readonly string[]): Promise<void> {
	for (const one of METADATA) {
		if (one[0] === "-6" && !existsSync("/proc/net/if_inet6")) continue;
		const [program, ...args] = [...where, "ip", ...ruleOf(one, whose)];
		const { code, stderr } = await runProgram(program!, args);
		if (code !== 0 && !/exists/i.test(stderr)) throw failed(`ip rule failed (${code}): ${stderr}`);
	}
}

const isUnified = (root = GROUPS) => existsSync(join(root, "cgroup.controllers"));
function isWritable(folder: string): boolean {
	try {
		accessSync(folder, constants.W_OK);
		return existsSync(join(folder, "cgroup.procs"));
	} catch {
		return false;
	}
}

/**
 * A control group with bounds; whoever writes its process id into all of `files` is in it, with what it
 * starts.
 */
export function makeGroup(name: string, memoryBytes: number, processes: number, root = GROUPS): readonly string[] {
	const bounds: readonly (readonly [folder: string, file: string, value: number])[] = isUnified(root)
		? [
				[join(root, name), "memory.max", memoryBytes],
				[join(root, name), "memory.swap.max", 0],
				[join(root, name), "pids.max", processes],
			]
		: [
				[join(root, "memory", name), "memory.limit_in_bytes", memoryBytes],
				[join(root, "pids", name), "pids.max", processes],
			];
	try {
		if (isUnified(root) && !hasBounds(root)) writeFileSync(join(root, "cgroup.subtree_control"), "+memory +pids");
		for (const [folder, file, value] of bounds) {
			mkdirSync(folder, { recursive: true });
			// A host without swap has no file for it.
			if (file !== "memory.swap.max" || existsSync(join(folder, file))) writeFileSync(join(folder, file), `${value}`);
		}
	} catch (error) {
		throw failed(`the control group of the rental was not made: ${(error as Error).message}`);
	}
	return [...new Set(bounds.map(([folder]) => join(folder, "cgroup.procs")))];
}

/**
 * Once nothing is in it; processes that were killed may need a moment. One that stays holds nothing and is
 * used again.
 */
export async function removeGroup(name: string): Promise<void> {
	for (const folder of [GROUPS, join(GROUPS, "memory"), join(GROUPS, "pids")].map((parent) => join(parent, name)))
		for (let i = 0; i < 40 && existsSync(folder); i++) {
			try {
				rmdirSync(folder);
			} catch {
				await sleep(50);
			}
		}
}

/**
 * What is in memory and in no process would be killed by nobody: shared memory is bounded, or goes with its
 * last user.
 */
const WRAPPER = `temp=$1 var_temp=$2 shm=$3 own=$4
shift 4
while [ "$1" != -- ]; do
	echo $$ >"$1" || exit 1
	shift
done
shift
if [ -n "$temp" ]; then
	# The server's own files stay where they are, also when that is below /tmp.
	case $own in
	/tmp/*) inner=$temp\${own#/tmp} ;;
	/var/tmp/*) inner=$var_temp\${own#/var/tmp} ;;
	*) inner= ;;
	esac
	[ -z "$inner" ] || { mkdir -p "$inner" && mount --bind "$own" "$inner"; } || exit 1
	mount --rbind "$temp" /tmp && mount --rbind "$var_temp" /var/tmp || exit 1
	mount -t tmpfs -o "nosuid,nodev,mode=1777,size=$shm" tmpfs /dev/shm || exit 1
	echo 1 >/proc/sys/kernel/shm_rmid_forced
fi
exec "$@"`;

/**
 * The beginning of a command line: what follows runs in these groups, with these folders as /tmp and
 * /var/tmp, half of the memory as /dev/shm, and sees its own folder.
 */
export function guarded(
	groups: readonly string[],
	temp: readonly [string, string] | null,
	{ memoryBytes, ownFolder }: { readonly memoryBytes: number; readonly ownFolder: string },
): readonly string[] {
	const apart = temp === null ? [] : ["unshare", "--mount", "--ipc", "--propagation", "slave", "--"];
	const shm = String(Math.floor(memoryBytes / 2));
	return [...apart, "/bin/sh", "-c", WRAPPER, "sh", ...(temp ?? ["", ""]), shm, resolve(ownFolder), ...groups, "--"];
}
