// `assay attest collect`: one round of reports from a host, each part in a file of its own that `attest
// verify` takes.
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { collectRound } from "../engine/client/collect-round.ts";
import { createEngineClient } from "../engine/client/create-engine-client.ts";
import type { Link } from "../engine/links/link.ts";
import { realEnvironment } from "../platform/environment.ts";
import { AssayError } from "../protocol/assay-error.ts";
import { bytesToHex } from "../protocol/bytes/bytes.ts";
import { writeNamedFile } from "./evidence-file.ts";

const READY_MS = 60_000;

export interface Collected {
	/** Hex: what the devices signed. */
	readonly nonce: string;
	/** Reports, each followed by its chain; then the quote. */
	readonly files: readonly string[];
	/** Why there is no more. */
	readonly says: readonly string[];
}

/** Throws AssayError. */
export async function collectFrom(link: Link, nonce: Uint8Array, folder: string): Promise<Collected> {
	const { clockUs, randomBytes } = realEnvironment();
	const client = await createEngineClient(link, { clockUs, randomBytes, readyDeadlineMs: READY_MS });
	try {
		const { gpus, switches, cpu, says } = await collectRound(client, nonce);
		const named: [string, Uint8Array][] = [
			...gpus.map((one) => ["gpu", one] as const),
			...switches.map((one) => ["switch", one] as const),
		].flatMap(([kind, { device, report, chain }]) => [
			[`${kind}-${device}.report.bin`, report],
			[`${kind}-${device}.chain.pem`, chain],
		]);
		if (cpu !== null) named.push(["quote.bin", cpu.quote]);
		if (cpu?.certificates != null) named.push(["quote.certificates.bin", cpu.certificates]);
		if (named.length > 0) makeFolder(folder);
		const files = named.map(([name, bytes]) => {
			const path = join(folder, name);
			writeNamedFile(path, bytes, "--out DIR");
			return path;
		});
		return { nonce: bytesToHex(nonce), files, says };
	} finally {
		await client.close();
	}
}

function makeFolder(folder: string): void {
	try {
		mkdirSync(folder, { recursive: true });
	} catch (cause) {
		const hint = "Choose another folder with --out DIR.";
		throw new AssayError("FILE_UNWRITABLE", `cannot make ${folder}: ${(cause as Error).message}`, { hint, cause });
	}
}
