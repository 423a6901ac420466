// From a rental to a shell: the customer's public key, the connection string, and the system's own ssh. Host,
// user and key come from a provider by way of a validator: nothing of them reaches a command line before it
// has the shape of what it should be.
import { spawn } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { join, resolve } from "node:path";
import type { Rental } from "../api/types.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { RentalAccess } from "../protocol/network/rental.ts";
import { customerFolder } from "./api-connection.ts";
import type { CliIo } from "./command.ts";
import type { Paint } from "./print/paint.ts";
import { formatAgo, shortId, shown } from "./print/table.ts";

const KEY_NAMES = ["id_ed25519", "id_ecdsa", "id_rsa"] as const;

export interface SshKey {
	/** The public half, absolute. */
	readonly file: string;
	readonly publicKey: string;
	/** The private half beside it; undefined: not there, an agent may have it. */
	readonly identityFile: string | undefined;
}

/**
 * Throws FILE_UNREADABLE. Of the line only kind and key are sent: the comment often names a person and a
 * host.
 */
export function readPublicKey(path: string | undefined, io: CliIo): SshKey {
	const folder = join(io.env.HOME || homedir(), ".ssh");
	const file =
		path === undefined
			? KEY_NAMES.map((name) => join(folder, `${name}.pub`)).find((one) => existsSync(one))
			: resolve(io.cwd, path);
	if (file === undefined)
		throw new AssayError("FILE_UNREADABLE", `there is no SSH public key in ${folder}`, {
			hint: "Create one with ssh-keygen -t ed25519, or give one with --ssh-key FILE.pub.",
		});
	let text: string;
	try {
		text = readFileSync(file, "utf8");
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `cannot read ${file}`, {
			hint: "Give a public key with --ssh-key FILE.pub.",
			cause,
		});
	}
	const found = /^(ssh-[a-z0-9-]+|ecdsa-[a-z0-9-]+) ([A-Za-z0-9+/=]+)/.exec(text);
	if (found === null)
		throw new AssayError("PUBLIC_KEY_BAD", `${file} is not an SSH public key`, {
			hint: "Give --ssh-key the .pub file, not the private key.",
		});
	const secret = file.replace(/\.pub$/, "");
	return {
		file,
		publicKey: `${found[1]} ${found[2]}`,
		identityFile: secret !== file && existsSync(secret) ? secret : undefined,
	};
}

const keptFolder = (io: CliIo): string => join(customerFolder(io.env), "rentals");
const keptPath = (id: string, io: CliIo): string => join(keptFolder(io), `${id}.key-file`);

/**
 * Remembers with which key a rental was begun, for `assay rent ssh`: the machine lets no other in. If it
 * cannot be written, the rental goes on all the same.
 */
export function keepKey({ id }: Pick<Rental, "id">, { file }: SshKey, io: CliIo): void {
	try {
		mkdirSync(keptFolder(io), { recursive: true, mode: 0o700 });
		writeFileSync(keptPath(id, io), `${file}\n`, { mode: 0o600 });
	} catch {
		io.err.write(`  the key could not be remembered: name it with --ssh-key ${file} when you log in\n`);
	}
}

function keptKey(id: string, io: CliIo): string | undefined {
	const path = keptPath(id, io);
	return existsSync(path) ? readFileSync(path, "utf8").trim() : undefined;
}

const HOST = /^[A-Za-z0-9:][A-Za-z0-9.:-]{0,252}$/;
const USER = /^[A-Za-z_][A-Za-z0-9_.-]{0,63}$/;
const HOST_KEY = /^(ssh-[a-z0-9-]+|ecdsa-[a-z0-9-]+) [A-Za-z0-9+/]{20,2000}={0,2}$/;

/** Throws RENTAL_STATE when there is nothing to log in to, API_REPLY_BAD when it is no address. */
function accessOf({ id, state, access }: Rental): RentalAccess {
	if (access === null || state !== "active")
		throw new AssayError("RENTAL_STATE", `rental ${shortId(id)} is ${state}: there is nothing to log in to`, {
			hint: "See: assay rent list",
		});
	const hostKey = access.hostKey.split(" ").slice(0, 2).join(" ");
	if (!HOST.test(access.host) || !USER.test(access.user) || !HOST_KEY.test(hostKey))
		throw new AssayError(
			"API_REPLY_BAD",
			`rental ${shortId(id)} has an invalid address: ${shown(`${access.user}@${access.host}`)}`,
			{
				hint: "Release it: the provider or the validator sent an invalid address.",
			},
		);
	return { ...access, hostKey };
}

export function accessLines(rental: Rental, identityFile: string | undefined, paint: Paint): string[] {
	if (rental.state !== "active" || rental.access === null) return [];
	const { host, port, user, hostKey } = accessOf(rental);
	return [
		"",
		`  ${paint.strong(`ssh -p ${port}${identityFile === undefined ? "" : ` -i ${identityFile}`} ${user}@${host}`)}`,
		paint.dim(`  host key ${hostKey}`),
		paint.dim(
			`  or, with the host key checked: assay rent ssh ${shortId(rental.id)}; it ends ${formatAgo(rental.untilMs, Date.now())}`,
		),
	];
}

/** Runs the system's ssh on our terminal, with its exit code. */
export async function runSsh(
	rental: Rental,
	command: readonly string[],
	sshKey: string | undefined,
	io: CliIo,
): Promise<number> {
	const { host, port, user, hostKey } = accessOf(rental);
	const { identityFile } = readPublicKey(sshKey ?? keptKey(rental.id, io), io);
	// A file and an alias of its own: nothing is added to the customer's known hosts.
	const folder = keptFolder(io);
	const alias = `assay-rental-${rental.id}`;
	const knownHosts = join(folder, `${rental.id}.known_hosts`);
	try {
		mkdirSync(folder, { recursive: true, mode: 0o700 });
		writeFileSync(knownHosts, `${alias} ${hostKey}\n`, { mode: 0o600 });
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot write ${knownHosts}`, {
			hint: "Set ASSAY_HOME to a folder that you may write to.",
			cause,
		});
	}
	const quoted = `"${knownHosts.replaceAll('"', "")}"`;
	const args = [
		"-p",
		String(port),
		"-o",
		`UserKnownHostsFile=${quoted}`,
		"-o",
		`HostKeyAlias=${alias}`,
		"-o",
		"StrictHostKeyChecking=yes",
	];
	// Neither the agent nor X11 belongs on a stranger's machine.
	args.push("-o", "ForwardAgent=no", "-o", "ForwardX11=no");
	if (identityFile !== undefined) args.push("-i", identityFile, "-o", "IdentitiesOnly=yes");
	const child = spawn("ssh", [...args, "-l", user, "--", host, ...command], { stdio: "inherit" });
	return await new Promise((end, reject) => {
		child.once("error", (cause) =>
			reject(
				new AssayError("SSH_MISSING", "there is no ssh program on this machine", {
					hint: "Install OpenSSH's client.",
					cause,
				}),
			),
		);
		child.once("exit", (code, signal) => end(code ?? (signal === "SIGINT" ? 130 : 255)));
	});
}
