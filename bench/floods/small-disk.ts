// The disk of a market's blobs under floods: one of its own, of 6 GiB, that something else may fill, and on
// which holders of as many blobs as one may have lie from the start. It is mounted, so this runs as root.
import { execFileSync } from "node:child_process";
import { linkSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { MANY_HOLDERS, signerNamed } from "./holder-keys.ts";

const GIB = 6;
export const HELD_BLOBS = 10_000;
const SPARE_BYTES = 1 << 20;

/** By hand, as two requests each would: names of one file. */
function holdMany(blobs: string): void {
	mkdirSync(join(blobs, "whole"));
	const first = join(blobs, "whole", `${"0".repeat(64)}-1`);
	writeFileSync(first, "1");
	for (let i = 0; i < MANY_HOLDERS; i++) {
		const folder = join(blobs, "holders", signerNamed(`many ${i}`).key);
		mkdirSync(folder, { recursive: true });
		// The last one is for what is begun under the flood.
		for (let n = 1; n < HELD_BLOBS; n++)
			linkSync(first, join(folder, `${n.toString(16).padStart(8, "0").padEnd(64, "5")}-1`));
	}
}

/** Where a validator's blobs will lie. */
export function mountSmallDisk(folder: string) {
	mkdirSync(folder, { recursive: true });
	execFileSync("mount", ["-t", "tmpfs", "-o", `size=${GIB}g`, "tmpfs", folder]);
	holdMany(folder);
	return {
		gib: GIB,
		/** Something that is no blob of anybody's takes all but a MiB, meanwhile. */
		async fill(act: () => Promise<unknown>): Promise<void> {
			const other = join(folder, "other.bin");
			const left = execFileSync("df", ["--output=avail", "-B1", folder], { encoding: "utf8" }).split("\n")[1];
			execFileSync("fallocate", ["-l", String(Number(left) - SPARE_BYTES), other]);
			try {
				await act();
			} finally {
				rmSync(other);
			}
		},
		/** Before its folder is removed. */
		unmount: () => void execFileSync("umount", ["--lazy", folder]),
	};
}
