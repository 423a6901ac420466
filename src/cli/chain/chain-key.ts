// A private key that its user has already, for commands that spend from it: a file by --key-file, or ASSAY_CHAIN_KEY. Never an argument: arguments are seen by everyone
// on the machine.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import type { ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { CliIo } from "../command.ts";

export const keyOptions = {
	options: { "key-file": { type: "string" } },
	help: `  --key-file FILE   deploy, send: pay from this private key, 64 hex digits in a file (or ASSAY_CHAIN_KEY), and not from the data folder's account`,
} as const;

/** Null: none was named. */
export async function readKeyOption(
	command: string,
	values: { readonly "key-file"?: string | undefined },
	io: CliIo,
): Promise<ChainAccount | null> {
	const path = values["key-file"];
	const named = path === undefined ? "ASSAY_CHAIN_KEY" : path;
	const text = path === undefined ? io.env.ASSAY_CHAIN_KEY : await readKeyFile(resolve(io.cwd, path));
	if (text === undefined || text === "") return null;
	const digits = text.trim().replace(/^0x/i, "");
	const { accountOf } = await import("../../chain/sending/sign.ts");
	try {
		if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw new RangeError("not 64 hex digits");
		return accountOf(`0x${digits.toLowerCase()}`);
	} catch {
		// Whatever it was stays out of the message: it may be most of a key.
		throw new AssayError("KEY_UNUSABLE", `${named} does not hold a private key of 64 hex digits`, {
			hint: `See: assay ${command} --help`,
		});
	}
}

async function readKeyFile(path: string): Promise<string> {
	try {
		return await readFile(path, "utf8");
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `the key file ${path} cannot be read`, {
			hint: "Check its name and mode.",
			cause,
		});
	}
}
