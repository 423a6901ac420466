// The end of a rental that needs nobody: a small shell program in a session of its own, started with the
// rental, which waits for the end and carries it out even when every other process of the provider is dead.
// It reads the end from a file that only the provider writes, so extending is a matter of that file. At the
// end it takes the key away, and then either kills all that the renter runs, again and again until nothing is
// left, and expires the account, or removes the container. What is left (the home, the account) the
// provider's next start removes. Not here: new logins, which the SSH server itself refuses after the end
// (rental-sshd.ts). Page: docs/rentals.md.
import { spawn } from "node:child_process";
import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { writeDurably } from "../../platform/durable-file.ts";
import { rentalFailed as failed } from "./environment.ts";
import { runProgram } from "./run-program.ts";

/** What is to be ended: the processes of a system user, or a container. */
export type Ended =
	| { readonly kind: "user"; readonly uid: number; readonly gid: number }
	| { readonly kind: "container"; readonly program: string };

/** So much later than the provider, which does more than this and does it first when it lives. */
const GRACE_S = 3;
const START_MS = 10_000;

/**
 * $1: the environment's name. $2: the file with the end, in seconds since 1970 and since the machine started.
 * $3: the file with the customer's key. $4: "user" or "container". $5: user id, or the container program. $6:
 * group id.
 */
const SCRIPT = `#!/bin/sh
# Ends one rental at its time, whatever became of assay. Written by assay; docs/rentals.md tells of it.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin
export PATH
LC_ALL=C
export LC_ALL
trap '' HUP
# A host out of processes makes a shell give up: then it begins again, in its own place.
trap 'exec /bin/sh "$0" "$@"' EXIT
done_with_it() {
	trap - EXIT
	exit "$1"
}
# Not the one to go when memory is short.
echo -1000 >/proc/$$/oom_score_adj
name=$1 file=$2 key=$3 kind=$4 what=$5 gid=$6
left=1

# A file that is gone or spoilt is an end: nobody knows of a later one. The machine's own clock counts as well,
# so that setting the date back gives no more time.
is_over() {
	end= up=
	read -r end up <"$file" || return 0
	case $end in '' | *[!0-9]*) return 0 ;; esac
	case $up in '' | *[!0-9]*) return 0 ;; esac
	read -r since _ </proc/uptime
	left=$((end - $(date +%s)))
	[ "$left" -le $((up - \${since%%.*})) ] || left=$((up - \${since%%.*}))
	[ "$left" -le 0 ]
}

alive() {
	for status in $(grep -ls "^Uid:.*[[:space:]]$what\\([[:space:]]\\|$\\)" /proc/[0-9]*/status); do
		grep -qs '^State:[[:space:]]*[ZX]' "$status" || return 0
	done
	return 1
}

# The number decides whom the kernel kills: never the system's own users, nor somebody else's account.
is_renter() {
	case $what in '' | *[!0-9]*) return 1 ;; esac
	[ "$what" -ge 1000 ] || return 1
	owner=$(getent passwd "$what" | cut -d: -f1)
	[ -z "$owner" ] || [ "$owner" = "$name" ]
}

while ! is_over 2>/dev/null; do
	# The end may be moved nearer meanwhile.
	[ "$left" -le 2 ] || left=2
	sleep "$left"
done

calm=0
while [ "$calm" -lt 3 ]; do
	rm -f "$key"
	if [ "$kind" = container ]; then
		said=$("$what" rm --force --volumes "$name" 2>&1) && done_with_it 0
		case $said in *"o such container"* | *"no container with name"*) done_with_it 0 ;; esac
	else
		is_renter || done_with_it 1
		usermod --expiredate 1 "$name" 2>/dev/null
		setpriv --reuid "$what" --regid "$gid" --clear-groups /bin/sh -c 'kill -9 -1' 2>/dev/null
		if alive; then calm=0; else calm=$((calm + 1)); fi
	fi
	sleep 1
done
done_with_it 0
`;

export class RentalEnd {
	private readonly folder: string;
	private readonly script: string;

	/** For the provider only. */
	constructor(folder: string) {
		this.folder = folder;
		this.script = join(folder, "end-rental");
	}

	/**
	 * From now on this is the end, and somebody waits for it. Throws AssayError RENTAL_FAILED, FILE_UNWRITABLE.
	 */
	async set(name: string, untilMs: number, keyFile: string, ended: Ended): Promise<void> {
		const leftS = Math.max(0, (untilMs - Date.now()) / 1000);
		const upS = Number(readFileSync("/proc/uptime", "utf8").split(" ")[0]);
		const end = Math.ceil(untilMs / 1000) + GRACE_S;
		await writeDurably(this.fileOf(name), `${end} ${Math.ceil(upS + leftS) + GRACE_S}\n`);
		await this.keep(name, keyFile, ended);
	}

	/** Somebody waits again for the end that was set, if nobody does; if none was set, that is an end. */
	async keep(name: string, keyFile: string, ended: Ended): Promise<void> {
		if (this.waiting(name).length > 0) return;
		mkdirSync(this.folder, { recursive: true, mode: 0o700 });
		writeFileSync(this.script, SCRIPT, { mode: 0o700 });
		chmodSync(this.script, 0o700);
		await this.start(name, keyFile, ended);
		for (const until = performance.now() + START_MS; this.waiting(name).length === 0; await sleep(10))
			if (performance.now() > until) throw failed("nothing waits for the end of the rental");
	}

	/** Nothing is left to be ended. */
	async stop(name: string): Promise<void> {
		for (const pid of this.waiting(name)) {
			try {
				// With what it started: it leads a group of its own.
				process.kill(-pid, "SIGKILL");
			} catch {
				// It has just ended by itself.
			}
		}
		await rm(this.fileOf(name), { force: true });
	}

	private fileOf(name: string): string {
		return join(this.folder, `${name}.end`);
	}

	private async start(name: string, keyFile: string, ended: Ended): Promise<void> {
		const what = ended.kind === "user" ? [String(ended.uid), String(ended.gid)] : [ended.program, ""];
		const args = [this.script, name, this.fileOf(name), keyFile, ended.kind, ...what];
		// Under systemd a service's processes may be killed with it, sessions of their own or not: out of its
		// group.
		if (process.getuid?.() === 0 && existsSync("/run/systemd/system")) {
			const unit = ["--quiet", "--collect", `--unit=assay-end-${name}`, "--", "/bin/sh"];
			if ((await runProgram("systemd-run", [...unit, ...args])).code === 0) return;
		}
		const child = spawn("/bin/sh", args, { detached: true, stdio: "ignore", cwd: "/", env: {} });
		child.once("error", () => {});
		child.unref();
	}

	private waiting(name: string): number[] {
		return waitingFor(name, this.script);
	}
}

/**
 * Who waits for the end of this environment, by command line and owner, which nobody else can have: no file
 * with a number that may be stale. Only the leader of a group counts: a program that it starts has the same
 * line for a moment.
 */
export function waitingFor(name: string, script: string): number[] {
	const line = `/bin/sh\0${script}\0${name}\0`;
	return readdirSync("/proc")
		.filter((entry) => /^\d+$/.test(entry))
		.map(Number)
		.filter((pid) => {
			try {
				if (!readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(line)) return false;
				// After the name in brackets: state, parent, group.
				const [state, , group] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ").at(-1)!.split(" ");
				return (
					state !== "Z" && state !== "X" && Number(group) === pid && statSync(`/proc/${pid}`).uid === process.getuid?.()
				);
			} catch {
				return false;
			}
		});
}
