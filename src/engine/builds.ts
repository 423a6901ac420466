// Where the engine's program for a platform lies, and how it comes to be there: taken from build/engine/, built when absent.
// Not a build system: engine/build.sh is, and it alone knows what is up to date.
import { execFile } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { AssayError } from "../protocol/assay-error.ts";
import { sha256OfFile } from "./create-local-link.ts";
import { printable } from "./printable.ts";

export type Platform = "linux-x64" | "linux-arm64";

export interface EngineBuild {
	readonly platform: Platform;
	readonly path: string;
	readonly sha256: string;
	readonly bytes: number;
}

/** A CPU-only build takes some 20 s on 2 cores; one with device code for every card some minutes. */
const BUILD_DEADLINE_MS = 15 * 60_000;

/** What `uname -sm` prints, or null for a platform there is no engine for. */
export function unameToPlatform(system: string, machine: string): Platform | null {
	if (system !== "Linux") return null;
	if (machine === "x86_64" || machine === "amd64") return "linux-x64";
	if (machine === "aarch64" || machine === "arm64") return "linux-arm64";
	return null;
}

/** The platform of this machine; throws AssayError PLATFORM_UNSUPPORTED. */
export function hostPlatform(): Platform {
	if (process.platform === "linux" && (process.arch === "x64" || process.arch === "arm64"))
		return `linux-${process.arch}`;
	throw new AssayError("PLATFORM_UNSUPPORTED", `there is no engine for ${process.platform}-${process.arch}`, {
		hint: "Probe a Linux host from here instead: `assay probe ssh://user@host`.",
	});
}

/** The package's own folder: the first one upwards whose package.json is ours, so that a packed CLI finds it as well. */
export function packageRoot(from = dirname(fileURLToPath(import.meta.url))): string {
	for (let at = from; ; at = dirname(at)) {
		const file = join(at, "package.json");
		if (existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: string }).name === "assay") return at;
		if (dirname(at) === at) {
			throw new AssayError("ENGINE_MISSING", "assay's own folder was not found", { hint: "Install assay again." });
		}
	}
}

export interface FindEngineOptions {
	/** Default: the package's own folder. */
	readonly root?: string;
	/** Called when a build starts, which takes a while. */
	readonly onBuild?: (platform: Platform) => void;
	/** False: never build, only look. */
	readonly build?: boolean;
}

const building = new Map<string, Promise<void>>();

/** Throws AssayError ENGINE_MISSING when there is none and none can be built. */
export async function findEngine(platform: Platform, o: FindEngineOptions = {}): Promise<EngineBuild> {
	const root = o.root ?? packageRoot();
	const path = join(root, "build", "engine", platform, "assay-engine");
	if (!existsSync(path)) {
		if (o.build === false) throw missing(platform, "it was not built");
		// Links opened at the same time share one build.
		let build = building.get(path);
		if (!build) {
			o.onBuild?.(platform);
			build = buildEngine(root, platform).finally(() => building.delete(path));
			building.set(path, build);
		}
		await build;
		if (!existsSync(path)) throw missing(platform, "the build left no program");
	}
	const { size } = await stat(path);
	return { platform, path, sha256: await sha256OfFile(path), bytes: size };
}

function buildEngine(root: string, platform: Platform): Promise<void> {
	const script = join(root, "engine", "build.sh");
	if (!existsSync(script)) return Promise.reject(missing(platform, "and its sources are not here"));
	return new Promise((resolve, reject) => {
		const options = { cwd: root, timeout: BUILD_DEADLINE_MS, maxBuffer: 16 << 20 };
		execFile("bash", [script, "--platform", platform], options, (error, _stdout, stderr) => {
			if (error) reject(missing(platform, `its build failed: ${printable(stderr.slice(-500), 500)}`, error));
			else resolve();
		});
	});
}

function missing(platform: Platform, why: string, cause?: unknown): AssayError {
	return new AssayError("ENGINE_MISSING", `no engine for ${platform}: ${why}`, {
		hint: `Run \`bash engine/build.sh --platform ${platform}\`; \`assay doctor\` names the compilers that it needs.`,
		...(cause === undefined ? {} : { cause }),
	});
}
