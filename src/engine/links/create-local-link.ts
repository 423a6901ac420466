// A link to an engine that runs on this machine: a child process with its own process group and a small
// environment. Which file to run is the caller's choice (builds.ts knows ours).
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { pipeline } from "node:stream/promises";
import { AssayError } from "../../protocol/assay-error.ts";
import { createChildLink, passedEnv, spawnDetached } from "./child-link.ts";
import type { Link } from "./link.ts";

export interface LocalLinkOptions {
	/** The engine's file. */
	readonly command: string;
	readonly args?: readonly string[];
	/** Where the allowed variables are taken from. */
	readonly env: Readonly<Record<string, string | undefined>>;
	/** Between the end of stdin, SIGTERM and SIGKILL when closing. */
	readonly graceMs?: number;
	/** The engine's process, also the number of its group: for whoever watches what it takes. */
	readonly onSpawn?: (pid: number) => void;
}

/** What GPU drivers and a container's device choice need; the engine sees nothing else of our environment. */
const PASSED = [
	"PATH",
	"HOME",
	"TMPDIR",
	"LD_LIBRARY_PATH",
	"CUDA_VISIBLE_DEVICES",
	"CUDA_DEVICE_ORDER",
	"NVIDIA_VISIBLE_DEVICES",
];

export async function sha256OfFile(path: string): Promise<string> {
	const hash = createHash("sha256");
	// Engines are large: by the megabyte it takes half of the time.
	await pipeline(createReadStream(path, { highWaterMark: 2 ** 20 }), hash);
	return hash.digest("hex");
}

/** Throws AssayError ENGINE_NOT_STARTED. */
export async function createLocalLink(options: LocalLinkOptions): Promise<Link> {
	const { command, args = [], graceMs } = options;
	try {
		const engineSha256 = await sha256OfFile(command);
		const child = await spawnDetached(command, args, passedEnv(options.env, PASSED));
		options.onSpawn?.(child.pid!);
		return createChildLink(child, { kind: "local", engineSha256, hostKey: null, handshakeUs: null, graceMs });
	} catch (cause) {
		throw new AssayError("ENGINE_NOT_STARTED", `the engine ${command} does not start: ${(cause as Error).message}`, {
			hint: "`assay doctor` says what is missing; in a checkout `bash engine/build.sh` builds it.",
			cause,
		});
	}
}
