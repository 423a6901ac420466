// Where the engine's program for a platform lies, and how it comes to be there: prebuilt in the released
// package; in a checkout taken from build/engine/, and built when it is absent or has no code for the cards
// that it is to run on. Not a build system: engine/build.sh is, and it alone knows what is up to date.
import { execFile, spawn } from "node:child_process";
import { randomUUID } from "node:crypto";
import { constants, existsSync, readFileSync } from "node:fs";
import { access, chmod, copyFile, mkdir, rename, rm, stat } from "node:fs/promises";
import { homedir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { AssayError } from "../protocol/assay-error.ts";
import { printable } from "./client/printable.ts";
import { sha256OfFile } from "./links/create-local-link.ts";

export type Platform = "linux-x64" | "linux-arm64";

export interface EngineBuild {
	readonly platform: Platform;
	readonly path: string;
	readonly sha256: string;
	readonly bytes: number;
}

/**
 * Without a word from the compilers. A build for the CPU alone takes a minute on 2 cores, one with device
 * code for every card some minutes; one file of it half a minute, on a busy machine much longer.
 */
const SILENCE_MS = 15 * 60_000;
/** A compute capability as nvidia-smi prints it: "9.0". A card that did not say is `unknown`. */
const CARD = /^\d{1,2}\.\d$/;
const UNKNOWN = "unknown";
/** Device code for all of them. */
export const EVERY_CARD: readonly string[] = ["all"];

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

/**
 * The package's own folder: the first one upwards whose package.json is ours, so that a packed CLI finds it
 * as well.
 */
export function packageRoot(from = dirname(fileURLToPath(import.meta.url))): string {
	for (let at = from; ; at = dirname(at)) {
		const file = join(at, "package.json");
		if (existsSync(file) && (JSON.parse(readFileSync(file, "utf8")) as { name?: string }).name === "assay") return at;
		if (dirname(at) === at) {
			throw new AssayError("ENGINE_MISSING", "assay's own folder was not found", { hint: "Install assay again." });
		}
	}
}

/** Whether the engine can be built here: a checkout has its sources, the released package has not. */
export function isCheckout(root = packageRoot()): boolean {
	return existsSync(join(root, "engine", "build.sh"));
}

/**
 * Where the engine lies now, or null. A checkout never uses a prebuilt one: it could only be older than the
 * sources beside it.
 */
export function engineFile(platform: Platform, root = packageRoot()): string | null {
	const prebuilt = join(root, "prebuilt", platform, "assay-engine");
	if (!isCheckout(root) && existsSync(prebuilt)) return prebuilt;
	const built = builtPath(root, platform);
	return existsSync(built) ? built : null;
}

function builtPath(root: string, platform: Platform): string {
	return join(root, "build", "engine", platform, "assay-engine");
}

export interface FindEngineOptions {
	/** Default: the package's own folder. */
	readonly root?: string;
	/** Called when a build starts, which takes a while: for these cards, or for the CPU alone. */
	readonly onBuild?: (platform: Platform, cards: readonly string[]) => void;
	/** What the compiler is at: so many of so many files. */
	readonly onProgress?: (done: number, of: number) => void;
	/**
	 * NVIDIA cards where the engine will run, by compute capability. Asked only when device code can be built
	 * and is not there for every card. Default: those of this machine, for this machine's platform.
	 */
	readonly cards?: () => Promise<readonly string[]>;
	/** False: never build, only look. */
	readonly build?: boolean;
	/**
	 * Where a copy goes that may be executed, when the package's own file may not. Default: `assay` in the
	 * user's cache folder.
	 */
	readonly cacheFolder?: string;
}

const building = new Map<string, Promise<void>>();

/**
 * Throws AssayError ENGINE_MISSING when there is none and none can be built, or when it cannot be made
 * executable here.
 */
export async function findEngine(platform: Platform, o: FindEngineOptions = {}): Promise<EngineBuild> {
	const root = o.root ?? packageRoot();
	const lying = engineFile(platform, root);
	const cards = o.build === false ? [] : await uncoveredCards(root, platform, o);
	const path = lying !== null && cards.length === 0 ? lying : await builtEngine(root, platform, cards, o);
	const [{ size }, sha256] = await Promise.all([stat(path), sha256OfFile(path)]);
	const found = { platform, path, sha256, bytes: size };
	// An engine for another kind of machine is only ever uploaded; the far side gives it its mode.
	const runsHere = platform === `${process.platform}-${process.arch}`;
	return runsHere ? { ...found, path: await makeExecutable(found, o.cacheFolder ?? userCacheFolder()) } : found;
}

const isInstalled = (program: string) =>
	(process.env.PATH ?? "").split(delimiter).some((folder) => existsSync(join(folder, program)));

export const hasNvcc = (): boolean =>
	process.env.NVCC !== undefined || isInstalled("nvcc") || existsSync("/usr/local/cuda/bin/nvcc");

/** As engine/build.sh does it. */
const canBuildDeviceCode = (): boolean => hasNvcc() && isInstalled("cmake") && isInstalled("ninja");

/** What nvidia-smi printed, here or on another host; untrusted. */
export function cardsSaid(text: string): readonly string[] {
	const words = text.split(/\s+/).filter((word) => word !== "");
	return [...new Set(words.map((word) => (CARD.test(word) ? word : UNKNOWN)))].slice(0, 8);
}

/** NVIDIA's cards of this machine. */
function cardsHere(): Promise<readonly string[]> {
	const { promise, resolve } = Promise.withResolvers<readonly string[]>();
	const args = ["--query-gpu=compute_cap", "--format=csv,noheader"];
	execFile("nvidia-smi", args, { timeout: 30_000 }, (error, stdout) => {
		const isThere = ["/dev/nvidia0", "/dev/dxg", "/dev/nvmap"].some(existsSync);
		resolve(error === null ? cardsSaid(stdout) : isThere ? [UNKNOWN] : []);
	});
	return promise;
}

/** Cards that the engine there has no code for, while it can be compiled here. */
async function uncoveredCards(root: string, platform: Platform, o: FindEngineOptions): Promise<readonly string[]> {
	if (!isCheckout(root) || !canBuildDeviceCode()) return [];
	const file = join(dirname(builtPath(root, platform)), "cards");
	const covered = existsSync(file) ? readFileSync(file, "utf8").trim().split(" ") : [];
	if (covered.includes("all")) return [];
	const isOwn = platform === `${process.platform}-${process.arch}`;
	const wanted = await (o.cards ?? (isOwn ? cardsHere : async () => []))();
	return wanted.filter((card) => !covered.includes(card));
}

async function builtEngine(
	root: string,
	platform: Platform,
	cards: readonly string[],
	o: FindEngineOptions,
): Promise<string> {
	if (!isCheckout(root)) throw missing(root, platform, "it is not in the package");
	if (o.build === false) throw missing(root, platform, "it was not built");
	const path = builtPath(root, platform);
	// Links opened at the same time share one build.
	let build = building.get(path);
	if (!build) {
		o.onBuild?.(platform, cards);
		build = buildEngine(root, platform, cards, o).finally(() => building.delete(path));
		building.set(path, build);
	}
	await build;
	if (!existsSync(path)) throw missing(root, platform, "the build left no program");
	return path;
}

function buildEngine(
	root: string,
	platform: Platform,
	cards: readonly string[],
	{ onProgress }: FindEngineOptions,
): Promise<void> {
	const script = join(root, "engine", "build.sh");
	const args = [script, "--platform", platform, "--cards", cards.join(" ")];
	return new Promise((resolve, reject) => {
		const child = spawn("bash", args, { cwd: root, stdio: ["ignore", "ignore", "pipe"] });
		const silence = setTimeout(() => child.kill(), SILENCE_MS);
		let tail = "";
		createInterface({ input: child.stderr }).on("line", (line) => {
			silence.refresh();
			tail = `${tail}\n${line}`.slice(-500);
			const [, done, of] = /^\[(\d+)\/(\d+)\]/.exec(line) ?? [];
			if (done !== undefined) onProgress?.(Number(done), Number(of));
		});
		const fail = (why: string, cause?: Error) => reject(missing(root, platform, `its build failed: ${why}`, cause));
		child.once("error", (error) => fail(error.message, error));
		child.once("close", (code) => {
			clearTimeout(silence);
			if (code === 0) resolve();
			else fail(code === null ? "it stood still and was stopped" : printable(tail.trim(), 500));
		});
	});
}

/** XDG says that relative paths there are to be ignored. */
function userCacheFolder(): string {
	const cache = process.env.XDG_CACHE_HOME;
	return join(cache?.startsWith("/") ? cache : join(homedir(), ".cache"), "assay");
}

const isExecutable = (path: string) =>
	access(path, constants.X_OK).then(
		() => true,
		() => false,
	);

/**
 * A path of the same bytes that may be executed. Unpacking can lose the file's mode, and the package may
 * belong to somebody else: then a copy of our own is used, under the name of its hash. A copy whose bytes are
 * others is replaced, never run.
 */
async function makeExecutable(build: EngineBuild, cacheFolder: string): Promise<string> {
	if (await isExecutable(build.path)) return build.path;
	try {
		await chmod(build.path, 0o755);
		return build.path;
	} catch {
		// Not ours, or on a read-only disk.
	}
	const copy = join(cacheFolder, `engine-${build.sha256}`);
	const draft = `${copy}.${randomUUID()}`;
	try {
		if ((await isExecutable(copy)) && (await sha256OfFile(copy)) === build.sha256) return copy;
		await mkdir(cacheFolder, { recursive: true, mode: 0o700 });
		await copyFile(build.path, draft);
		await chmod(draft, 0o700);
		await rename(draft, copy);
		return copy;
	} catch (cause) {
		await rm(draft, { force: true }).catch(() => {});
		throw new AssayError(
			"ENGINE_MISSING",
			`the engine ${build.path} is not executable, and no copy of it can be made`,
			{
				hint: `Run \`chmod +x\` on it as its owner, or make ${cacheFolder} writable (XDG_CACHE_HOME names another place).`,
				cause,
			},
		);
	}
}

function missing(root: string, platform: Platform, why: string, cause?: unknown): AssayError {
	return new AssayError("ENGINE_MISSING", `no engine for ${platform}: ${why}`, {
		hint: isCheckout(root)
			? `Run \`bash engine/build.sh --platform ${platform}\`; \`assay doctor\` names the compilers that it needs.`
			: "The package is incomplete: install assay again.",
		...(cause === undefined ? {} : { cause }),
	});
}
