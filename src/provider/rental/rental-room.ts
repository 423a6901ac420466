// Where a renter may write, and how much: a file system of a fixed size in a file, mounted for the rental,
// with its home and with folders that take the place of /tmp and /var/tmp for whoever logs in. Where the host
// cannot mount one, a plain folder without a bound. Needs root. Not here: memory and network
// (rental-guards.ts).
import {
	chmodSync,
	existsSync,
	mkdirSync,
	readFileSync,
	rmSync,
	statfsSync,
	truncateSync,
	writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { rentalFailed as failed } from "./environment.ts";
import { mountsOf, removeTree } from "./remove-tree.ts";
import { runProgram } from "./run-program.ts";

export interface RentalRooms {
	readonly homeOf: (name: string) => string;
	/** What stands in for /tmp and /var/tmp. */
	readonly tempOf: (name: string) => readonly [tmp: string, varTmp: string];
	/** Throws AssayError RENTAL_FAILED. */
	make(name: string): Promise<void>;
	/** There again after a restart of the machine. */
	keep(name: string): Promise<void>;
	exists(name: string): boolean;
	remove(name: string, uid: number | null): Promise<void>;
}

/** Of the space that is free when a rental begins: the rest is the host's. */
const SHARE = 0.8;
const LEAST_BYTES = 64 * 2 ** 20;

export function createRentalRooms(options: {
	readonly folder: string;
	/** Null: four fifths of what is free. */
	readonly bytes: number | null;
	/** False: the host cannot mount a file system from a file. */
	readonly isBounded: boolean;
}): RentalRooms {
	const { folder, isBounded } = options;
	const roomOf = (name: string) => join(folder, name);
	const imageOf = (name: string) => join(folder, `${name}.img`);
	const isMounted = (name: string) =>
		mountsOf(roomOf(name), null, readFileSync("/proc/self/mountinfo", "latin1")).includes(roomOf(name));

	async function mustRun(program: string, args: readonly string[]): Promise<void> {
		const { code, stderr } = await runProgram(program, args, { timeoutMs: 120_000 });
		if (code !== 0) throw failed(`${program} failed (${code}): ${stderr}`);
	}
	// Neither device files nor programs with others' rights come out of a renter's file system.
	const mount = (name: string) => mustRun("mount", ["-o", "loop,nodev,nosuid,discard", imageOf(name), roomOf(name)]);

	return {
		homeOf: (name) => join(roomOf(name), "home"),
		tempOf: (name) => [join(roomOf(name), "tmp"), join(roomOf(name), "var-tmp")],
		async make(name) {
			mkdirSync(folder, { recursive: true, mode: 0o711 });
			mkdirSync(roomOf(name), { mode: 0o711 });
			if (isBounded) {
				const { bavail, bsize } = statfsSync(folder);
				const bytes = Math.floor(Math.min(options.bytes ?? Number.POSITIVE_INFINITY, SHARE * bavail * bsize));
				if (bytes < LEAST_BYTES) throw failed("there is too little free disk space for a rental");
				writeFileSync(imageOf(name), "", { mode: 0o600, flag: "wx" });
				truncateSync(imageOf(name), bytes);
				await mustRun("mkfs.ext4", ["-q", "-F", "-m", "0", "-J", "size=16", "-E", "nodiscard", imageOf(name)]);
				await mount(name);
			}
			chmodSync(roomOf(name), 0o711);
			for (const temp of this.tempOf(name)) {
				mkdirSync(temp);
				chmodSync(temp, 0o1777);
			}
		},
		async keep(name) {
			if (existsSync(imageOf(name)) && !isMounted(name)) await mount(name);
		},
		exists: (name) => existsSync(roomOf(name)) || existsSync(imageOf(name)),
		async remove(name, uid) {
			await removeTree(roomOf(name), uid);
			rmSync(imageOf(name), { force: true });
		},
	};
}
