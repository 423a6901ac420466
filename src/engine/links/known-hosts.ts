// Reads the fingerprint of a pinned host key from assay's own known-hosts file. ssh writes and enforces that
// file; we only look.
import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";

const LINE = /^(\S+) +([a-z0-9@.-]+) +([A-Za-z0-9+/]+={0,2})(?: .*)?$/;

/** `SHA256:…` as ssh-keygen -l prints it; null when the alias has no key, or several. */
export function fingerprintIn(knownHosts: string, alias: string): string | null {
	const keys = new Set<string>();
	for (const line of knownHosts.split("\n")) {
		const [, names, , key] = LINE.exec(line.trimEnd()) ?? [];
		if (key !== undefined && names?.split(",").includes(alias)) keys.add(key);
	}
	const [only] = keys;
	if (keys.size !== 1 || only === undefined) return null;
	const digest = createHash("sha256").update(Buffer.from(only, "base64")).digest("base64");
	return `SHA256:${digest.replace(/=+$/, "")}`;
}

export async function pinnedHostKey(file: string, alias: string): Promise<string | null> {
	try {
		return fingerprintIn(await readFile(file, "utf8"), alias);
	} catch {
		return null;
	}
}
