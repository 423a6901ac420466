// Which kind of environment this host can make: a container where docker or podman answers, else a system
// user where the provider is root and OpenSSH's server is there, else none, with the reason.
import { existsSync } from "node:fs";
import { totalmem, userInfo } from "node:os";
import { join } from "node:path";
import { AssayError } from "../../protocol/assay-error.ts";
import { answersAsContainerEngine, createContainerEnvironments } from "./container-environment.ts";
import type { EnvironmentMaker } from "./environment.ts";
import { lookForGuards } from "./rental-guards.ts";
import { createRentalRooms } from "./rental-room.ts";
import { RentalSshd, SSHD } from "./rental-sshd.ts";
import { runProgram } from "./run-program.ts";
import { createUserEnvironments } from "./user-environment.ts";

export interface FindEnvironmentsOptions {
	readonly want: "auto" | "container" | "user";
	/** Of the provider; must be readable by its owner only. */
	readonly dataFolder: string;
	/** For users' homes and keys; every folder above must be root's (sshd). Default /var/lib/assay-rentals. */
	readonly rentalsFolder?: string;
	readonly sshPort: number;
	readonly sshListen: readonly string[];
	/** Docker's or podman's program, when not found by name. */
	readonly containerProgram?: string;
	readonly containerImage: string;
	/** Tells this provider's environments from another's on the same host. */
	readonly providerKey: string;
	readonly gpus: () => readonly string[];
	/** What a renter may use; default nine tenths of the memory, four fifths of the free space. */
	readonly memoryBytes?: number | undefined;
	readonly diskBytes?: number | undefined;
}

const MARK_CHARS = 16;
const MEMORY_SHARE = 0.9;

/** Throws AssayError RENTAL_UNAVAILABLE. */
export async function findEnvironments(options: FindEnvironmentsOptions): Promise<EnvironmentMaker> {
	const { want, sshPort, sshListen, containerProgram, containerImage, gpus } = options;
	const mark = options.providerKey.slice(0, MARK_CHARS);
	const folder = join(options.dataFolder, "rental");
	const none = (message: string, hint: string) => new AssayError("RENTAL_UNAVAILABLE", message, { hint });
	if (!existsSync(SSHD))
		throw none("there is no OpenSSH server on this host", "On Debian or Ubuntu: apt-get install openssh-server.");
	const ssh = { folder, port: sshPort, listen: sshListen };
	const guards = await lookForGuards();
	const memoryBytes = Math.floor(options.memoryBytes ?? MEMORY_SHARE * totalmem());
	if (want !== "user") {
		const programs = containerProgram === undefined ? ["docker", "podman"] : [containerProgram];
		for (const program of programs) {
			if (!(await answersAsContainerEngine(program))) continue;
			const sshd = new RentalSshd({
				...ssh,
				keysFolder: join(folder, "keys"),
				allowUsers: userInfo().username,
				permitRootLogin: "prohibit-password",
			});
			const made = { sshd, program, image: containerImage, folder, mark, gpus };
			return createContainerEnvironments({ ...made, memoryBytes, whyNoRules: guards.metadata });
		}
		if (want === "container")
			throw none("neither docker nor podman answers on this host", "Start its service, or use --rental user as root.");
	}
	if (process.getuid?.() !== 0)
		throw none(
			"environments for rentals need docker, podman or root",
			"Run the provider as root, or let its user use docker or podman.",
		);
	if ((await runProgram("useradd", ["--help"])).code !== 0)
		throw none("there is no useradd on this host", "On Debian or Ubuntu: apt-get install passwd.");
	const rentalsFolder = options.rentalsFolder ?? "/var/lib/assay-rentals";
	const rentals = join(rentalsFolder, mark);
	const sshd = new RentalSshd({
		...ssh,
		keysFolder: join(rentals, "keys"),
		allowUsers: "assay-????????",
		permitRootLogin: "no",
	});
	return createUserEnvironments({
		sshd,
		rooms: createRentalRooms({
			folder: join(rentals, "homes"),
			bytes: options.diskBytes ?? null,
			isBounded: guards.disk === null,
		}),
		guards,
		groupName: `assay-rental-${mark}`,
		memoryBytes,
		rentalsFolder,
		ownFolder: folder,
		mark: `assay rental ${mark}`,
		gpus,
	});
}
