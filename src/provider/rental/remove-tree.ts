// Deletes what a renter owned, whatever it made of it: mounts in it are taken off first, and neither a mount
// nor a link is ever followed. ATTACK: a file system mounted in a home (FUSE needs no rights) blocked its
// removal, and with it the host; a folder of the owner that was bound into it would have been emptied.
import { existsSync, readFileSync } from "node:fs";
import { rentalFailed as failed } from "./environment.ts";
import { runProgram } from "./run-program.ts";

/** Also folders deeper than any path may be long, which rm can walk. */
const REMOVE_MS = 600_000;

/**
 * A path may hold any byte, an argument of ours only text: it is written in octal, and made bytes again by
 * the shell.
 */
const UNMOUNT = `path=$(printf %bx "$1"); exec umount --lazy --no-canonicalize -- "\${path%x}"`;
const octal = (bytes: string) =>
	bytes.replaceAll(/[^A-Za-z0-9/._-]/g, (one) => `\\0${one.charCodeAt(0).toString(8).padStart(3, "0")}`);

/**
 * At or below the folder, and wherever else the user mounted something; the newest first. One character a
 * byte.
 */
export function mountsOf(folder: string, uid: number | null, mountinfo: string): string[] {
	const found: string[] = [];
	for (const line of mountinfo.split("\n")) {
		const [before, after] = line.split(" - ");
		const point = before
			?.split(" ")[4]
			?.replaceAll(/\\([0-7]{3})/g, (_, digits) => String.fromCharCode(Number.parseInt(digits, 8)));
		if (point === undefined || after === undefined) continue;
		const isUsers = uid !== null && (after.split(" ")[2] ?? "").split(",").includes(`user_id=${uid}`);
		if (point === folder || point.startsWith(`${folder}/`) || isUsers) found.push(point);
	}
	// A mount hides those that were there before it.
	return found.reverse();
}

/**
 * Lazily: whatever still has a file open there does not keep it. Throws AssayError RENTAL_FAILED when one
 * stays.
 */
async function unmountAll(folder: string, uid: number | null): Promise<void> {
	const left = () => mountsOf(folder, uid, readFileSync("/proc/self/mountinfo", "latin1"));
	// Mounts over mounts: each round takes off what is on top.
	for (let round = 0; round < 100 && left().length > 0; round++)
		for (const point of left()) await runProgram("/bin/sh", ["-c", UNMOUNT, "sh", octal(point)]);
	if (left().length > 0) throw failed(`${left()[0]} cannot be unmounted`);
}

/** The folder and all in it, after everything in it was unmounted. Throws AssayError RENTAL_FAILED. */
export async function removeTree(folder: string, uid: number | null): Promise<void> {
	await unmountAll(folder, uid);
	const { code, stderr } = await runProgram("rm", ["-rf", "--one-file-system", "--", folder], { timeoutMs: REMOVE_MS });
	if (code !== 0 || existsSync(folder)) throw failed(`${folder} could not be removed: ${stderr}`);
}
