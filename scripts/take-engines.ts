// The engines of a release: both platforms', each for its own machine, and either both with device code or
// none. Called by scripts/release.ts. Not here: building them (engine/build.sh).
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hasNvcc } from "../src/engine/builds.ts";

/** e_machine of the ELF header. */
export const MACHINES = { "linux-x64": 0x3e, "linux-arm64": 0xb7 } as const;
/** How a fat binary of device code begins, compressed or not. */
const FAT_BINARY = Buffer.from([0x50, 0xed, 0x55, 0xba, 1, 0]);

/** What keeps a release from being made; `exitCode` as in sysexits.h. */
export class ReleaseError extends Error {
	readonly exitCode: number;
	constructor(exitCode: number, message: string) {
		super(message);
		this.exitCode = exitCode;
	}
}

/**
 * Copies `engines`/<platform>/assay-engine into the stage, and says whether they have device code. `isOwn`:
 * they were built just now.
 */
export function takeEngines(engines: string, stage: string, isOwn: boolean): string {
	const withDeviceCode: string[] = [];
	for (const [platform, machine] of Object.entries(MACHINES)) {
		const engine = join(engines, platform, "assay-engine");
		if (!existsSync(engine))
			throw new ReleaseError(
				66,
				`there is no engine for ${platform} in ${engines}; bash engine/build.sh --platform ${platform}`,
			);
		const bytes = readFileSync(engine);
		const isElf = bytes.subarray(0, 6).equals(Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1]));
		if (!isElf || bytes.readUInt16LE(18) !== machine)
			throw new ReleaseError(65, `${engine} is no program for ${platform}`);
		if (bytes.includes(FAT_BINARY)) withDeviceCode.push(platform);
		mkdirSync(join(stage, "prebuilt", platform), { recursive: true });
		writeFileSync(join(stage, "prebuilt", platform, "assay-engine"), bytes, { mode: 0o755 });
	}
	if (withDeviceCode.length === 1)
		throw new ReleaseError(
			65,
			`only the engine for ${withDeviceCode[0]} has GPU code; build both with nvcc or both without`,
		);
	if (isOwn && hasNvcc() && withDeviceCode.length === 0)
		throw new ReleaseError(65, "nvcc is here, and yet there is no GPU code in the engines");
	return withDeviceCode.length === 2 ? "GPU code in both engines" : "NO GPU code: these engines know the CPU only";
}
