// Writes a small file of the provider's data folder: whole or not at all, on the disk before it counts, for its owner only.
import { open, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { AssayError } from "../protocol/assay-error.ts";

/** Whole or not at all, readable by its owner only. Throws AssayError FILE_UNWRITABLE. */
export async function writeDurably(path: string, text: string): Promise<void> {
	const draft = `${path}.new`;
	try {
		const file = await open(draft, "w", 0o600);
		try {
			await file.writeFile(text);
			await file.sync();
		} finally {
			await file.close();
		}
		await rename(draft, path);
		// The new name is durable only when its folder is.
		const folder = await open(dirname(path), "r");
		await folder.sync().finally(() => folder.close());
	} catch (cause) {
		throw new AssayError("FILE_UNWRITABLE", `cannot write ${path}`, {
			hint: "The provider's data folder must be yours and have room.",
			cause,
		});
	}
}
