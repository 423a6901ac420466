// What one holder has on disk and uploads now, counted from its two folders: for its quota, and for its part
// of the room that guests share.
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { isBlob, sizeOfName } from "./blob-name.ts";
import type { Room } from "./guest-room.ts";
import { Upload } from "./upload.ts";

/** Inodes of a blob or an upload, with what its folders take. */
export const FILES = 2;
const ROOTS = /\.roots$/;

export async function countHolder(path: string, holder: string): Promise<Room> {
	const filesIn = (name: string) => readdir(join(path, name, holder)).catch(() => []);
	const held = (await filesIn("holders")).filter(isBlob);
	const begun = (await filesIn("parts")).filter((one) => ROOTS.test(one)).map((one) => one.replace(ROOTS, ""));
	const heldBytes = sum(held.map(sizeOfName));
	const written = await Promise.all(
		begun.map((name) => new Upload(join(path, "parts", holder, name), sizeOfName(name)).written()),
	);
	return {
		bytes: heldBytes + sum(begun.map(sizeOfName)),
		written: heldBytes + sum(written),
		files: FILES * (held.length + begun.length),
	};
}

const sum = (all: readonly number[]): number => all.reduce((one, other) => one + other, 0);
