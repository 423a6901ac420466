// A host whose GPUs and CPU attest under roots of our own: a toy NVML library, built here, and a folder that
// plays the kernel's configfs-tsm. The engine is the real one.
import { execFile } from "node:child_process";
import { chmod, mkdir, mkdtemp, readdir, readFile, rename, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { bytesToHex, concatBytes, hexToBytes, u32, utf8ToBytes } from "../../../src/protocol/bytes/bytes.ts";
import { createSigner } from "../../../src/protocol/probe/signer.ts";
import { type CollateralItem, encodeBundle } from "../../../src/verify/attestation/collateral/bundle.ts";
import { intelId, manifestId } from "../../../src/verify/attestation/collateral/read-item.ts";
import type { GuestRule } from "../../../src/verify/attestation/guest-rules.ts";
import { keyOf, pem } from "../../../src/verify/attestation/mint/der-writer.test-kit.ts";
import {
	collateralPlan,
	mintCollateral,
	mintQuote,
	quotePlan,
} from "../../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import {
	chainOf,
	type GpuPlan,
	gpuPlan,
	manifestPlan,
	mintManifest,
	reportBody,
	switchPlan,
	versionedPlan,
} from "../../../src/verify/attestation/mint/mint-nvidia.test-kit.ts";

const SOURCE = fileURLToPath(new URL("./toy-nvml.cpp", import.meta.url));
const FLAGS = ["-std=c++20", "-O1", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"];

export interface ToyCard {
	readonly card: string;
	readonly pdi: string;
	/** What NVML answers instead of a report; of a switch its mode. */
	readonly answer?: number;
	/** PDIs of the switches or GPUs that it names. */
	readonly links?: readonly string[];
	/** Major version of its opaque data; without it, the first layout, which has no header. */
	readonly format?: number;
}

export const toyCard = (number: number): ToyCard => ({
	card: `toy card ${number}`,
	pdi: `${(number + 1).toString(16).padStart(2, "0")}aabbccddeeff00`,
});

/** In protected PCIe mode. */
export const toySwitch = (number: number, links: readonly string[]): ToyCard => ({
	...{ card: `toy switch ${number}`, pdi: `${(number + 1).toString(16).padStart(2, "0")}bbccddeeff0011`, answer: 1 },
	links,
});

function planOf(kind: GpuPlan["kind"], { card, pdi, links, format }: ToyCard): GpuPlan {
	const base = kind === "switch" ? switchPlan() : format === undefined ? gpuPlan() : versionedPlan(format);
	const plan: GpuPlan = { ...base, card, pdi };
	const ids = (links ?? []).map((one) => hexToBytes(one)!);
	if (kind === "switch") plan.opaque.set(22, hexToBytes(pdi)!).set(26, concatBytes(...ids));
	else if (links !== undefined)
		plan.opaque.set(36, Uint8Array.of(2, 0)).set(22, concatBytes(...ids.map((id) => id.reverse())));
	return plan;
}

function entryOf(kind: GpuPlan["kind"], device: ToyCard): Uint8Array {
	const { card, answer = 0 } = device;
	const plan = planOf(kind, device);
	const sized = (bytes: Uint8Array) => concatBytes(u32(bytes.length), bytes);
	const chain = utf8ToBytes(pem(...chainOf(plan)));
	return concatBytes(u32(answer), sized(reportBody(plan)), sized(chain), keyOf(`${card} leaf`).secret);
}

/** The guest that its CPU measures. */
export const TOY_GUEST: GuestRule = {
	...{ name: "the toy's guest", tee: "tdx", measurement: bytesToHex(quotePlan().mrTd) },
	registers: quotePlan().rtmr.map(bytesToHex),
};

/** The vendors' files that its cards and its CPU are measured by. */
export function toyItems(): CollateralItem[] {
	const entry = { rank: 0, fetchedAtS: 1, validFromS: 0, validUntilS: 4_000_000_000, source: "the mint" };
	const manifests = (["driver", "vbios"] as const).map((part) => {
		const plan = { ...manifestPlan(part), until: "20991231235959Z" };
		const id = manifestId(plan.product, plan.version);
		return { kind: "manifest" as const, id, ...entry, bytes: mintManifest(plan) };
	});
	const list = { until: "20991231235959Z" };
	const plan = { ...collateralPlan(), until: "2099-12-31T00:00:00Z", rootCrl: list, pckCrl: list };
	const id = intelId(plan.tee, plan.fmspc);
	return [...manifests, { kind: "Intel collateral", id, ...entry, bytes: mintCollateral(plan) }];
}

export const mintedBundle = (): Uint8Array => encodeBundle(toyItems(), 1, createSigner(new Uint8Array(32).fill(18)));

export interface ToyHost {
	/** For the engine's environment: where its NVML is found. */
	readonly env: Readonly<Record<string, string>>;
	/** For its arguments. */
	readonly tsm: string;
	/** Other cards and switches from the next engine on. */
	setCards(cards: readonly ToyCard[], switches?: readonly ToyCard[]): Promise<void>;
	/** Every entry of the toy kernel is answered until this is called. */
	close(): Promise<void>;
}

/** Throws when there is no g++, as the engine's own build does. */
export async function createToyHost(cards: readonly ToyCard[]): Promise<ToyHost> {
	const folder = await mkdtemp(join(tmpdir(), "assay-toy-host-"));
	// An engine that is started as root becomes another user.
	await chmod(folder, 0o755);
	const tsm = join(folder, "tsm");
	await mkdir(tsm);
	await promisify(execFile)("g++", [...FLAGS, SOURCE, "-o", join(folder, "libnvidia-ml.so.1")]);
	const nscq = join(folder, "libnvidia-nscq.so.2");
	const setCards = async (these: readonly ToyCard[], switches: readonly ToyCard[] = []) => {
		const all = (kind: GpuPlan["kind"], of: readonly ToyCard[]) =>
			concatBytes(u32(of.length), ...of.map((one) => entryOf(kind, one)));
		await writeFile(join(folder, "toy-nvml.bin"), all("gpu", these));
		await writeFile(join(folder, "toy-nscq.bin"), all("switch", switches));
		await rm(nscq, { force: true });
		if (switches.length > 0) await symlink("libnvidia-ml.so.1", nscq);
	};
	await setCards(cards);
	let isOpen = true;
	const kernel = playKernel(tsm, () => isOpen);
	return {
		env: { LD_LIBRARY_PATH: folder },
		tsm,
		setCards,
		async close() {
			isOpen = false;
			await kernel;
			await rm(folder, { recursive: true, force: true });
		},
	};
}

/** Answers each entry once its 64 bytes are there; what is removed meanwhile is nobody's. */
async function playKernel(tsm: string, isOpen: () => boolean): Promise<void> {
	const answered = new Set<string>();
	while (isOpen()) {
		for (const name of await readdir(tsm)) {
			const entry = join(tsm, name);
			const data = answered.has(name) ? null : await readFile(join(entry, "inblob")).catch(() => null);
			if (data?.length !== 64) continue;
			answered.add(name);
			await writeFile(join(entry, "provider"), "tdx_guest\n");
			await writeFile(join(entry, "generation"), "1\n");
			await writeFile(join(entry, "outblob.new"), mintQuote({ ...quotePlan(), reportData: new Uint8Array(data) }));
			await rename(join(entry, "outblob.new"), join(entry, "outblob"));
		}
		await new Promise((resolve) => setTimeout(resolve, 20));
	}
}
