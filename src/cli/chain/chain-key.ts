// A private key that the user already has, for commands that spend from it: a file by --key-file, or
// ASSAY_CHAIN_KEY. Never an argument: everyone on the machine can see arguments.
import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { accountOf, type ChainAccount } from "../../chain/sending/sign.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import type { CliIo } from "../command.ts";

/** Null: none was named. */
export async function readKeyOption(
	values: { readonly "key-file"?: string | undefined },
	io: CliIo,
): Promise<ChainAccount | null> {
	const path = values["key-file"];
	if (path !== undefined) return readKeyFile(path, io);
	const { ASSAY_CHAIN_KEY = "" } = io.env;
	return ASSAY_CHAIN_KEY === "" ? null : parsed(ASSAY_CHAIN_KEY, "ASSAY_CHAIN_KEY");
}

/** Throws KEY_UNUSABLE or FILE_UNREADABLE. */
export const readKeyFile = async (path: string, io: CliIo): Promise<ChainAccount> =>
	parsed(await readText(resolve(io.cwd, path)), path);

function parsed(found: string, named: string): ChainAccount {
	const digits = found.trim().replace(/^0x/i, "");
	try {
		if (!/^[0-9a-fA-F]{64}$/.test(digits)) throw new RangeError("not 64 hex digits");
		return accountOf(`0x${digits.toLowerCase()}`);
	} catch {
		// The content stays out of the message: it may be most of a key.
		throw new AssayError("KEY_UNUSABLE", `${named} does not hold a private key of 64 hex digits`, {
			hint: "Put the key alone into the file, with or without 0x.",
		});
	}
}

async function readText(path: string): Promise<string> {
	try {
		return await readFile(path, "utf8");
	} catch (cause) {
		throw new AssayError("FILE_UNREADABLE", `the key file ${path} cannot be read`, {
			hint: "Check its name and mode.",
			cause,
		});
	}
}
