// A report's measurements against the vendor's manifests. Entry i of a manifest is block i + 1 of the report;
// entry 4096 + n is a floor for the security version number in opaque field n.
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import { type Hearing, refuse } from "../verdict.ts";
import { type Manifest, OPAQUE_INDEX } from "./manifest.ts";
import type { SpdmReport } from "./spdm-report.ts";

/** What a device must have measured, and the name by which a missing part is told. */
export interface Part {
	readonly name: "driver" | "vbios" | "bios";
	readonly version: string;
	readonly product: string;
}

/** Not measured while the decoder NVDEC0 is off. */
const NVDEC0_INDEX = 35;

interface Fitted {
	readonly compared: number;
	readonly wrong: readonly number[];
	/** Opaque fields below their floor. */
	readonly low: readonly number[];
	/** What could not be compared; null: nothing. */
	readonly unread: string | null;
}

function compare(report: SpdmReport, manifest: Manifest, isNvdec0Off: boolean): Fitted {
	const indices = [...manifest.active.keys()].filter((index) => !(isNvdec0Off && index === NVDEC0_INDEX));
	const wrong = indices.filter((index) => {
		const block = report.blocks.get(index + 1);
		return block === undefined || !manifest.active.get(index)!.includes(bytesToHex(block));
	});
	const floors = [...manifest.floors];
	const low = floors.filter(([type, floor]) => (report.svns.get(type) ?? floor) < floor).map(([type]) => type);
	const missing = floors.find(([type]) => !report.svns.has(type));
	return {
		compared: indices.length + floors.length,
		wrong: wrong.map((index) => index + 1).sort((a, b) => a - b),
		low: low.sort((a, b) => a - b),
		unread: missing === undefined ? manifest.unread : `the report shows no security version number ${missing[0]}`,
	};
}

/** How much speaks against an issue, the worst first. */
const against = ({ wrong, low, unread }: Fitted): number =>
	wrong.length * 2 ** 20 + low.length * 2 + (unread === null ? 0 : 1);

/** Whether the manifest is that of this version of this part. */
export const isOf = (part: Part, { version, product }: Manifest): boolean =>
	version.toUpperCase() === part.version.toUpperCase() && product.toUpperCase() === part.product.toUpperCase();

/** Every manifest must be of one of the parts: others were brought by mistake or to mislead. */
export function checkManifestsFit(parts: readonly Part[], manifests: readonly Manifest[], where: string): void {
	for (const [i, manifest] of manifests.entries())
		if (!parts.some((part) => isOf(part, manifest)))
			refuse("RIM_OTHER", `${where}[${i}]`, `a manifest of ${manifest.product} ${manifest.version}`);
}

/**
 * One id can have several signed issues: any one may fit, whole. Facts: how many were compared, which are
 * wrong or missing.
 */
export function checkMeasurements(
	hearing: Hearing,
	report: SpdmReport,
	parts: readonly Part[],
	manifests: readonly Manifest[],
	isNvdec0Off: boolean,
	where: string,
): void {
	let measurements = 0;
	const used = new Set<number>();
	for (const part of parts) {
		const issues = manifests.filter((one) => isOf(part, one));
		const current = issues.filter(({ isCurrent }) => isCurrent);
		if (issues.length === 0) {
			if (hearing.facts.missing !== "vbios") hearing.facts.missing = part.name;
			hearing.doubtful("COLLATERAL_MISSING", where, `no manifest of ${part.name} ${part.version}`);
			continue;
		}
		if (current.length === 0) {
			hearing.doubtful(
				"COLLATERAL_STALE",
				where,
				`the manifest of ${part.name} ${part.version} does not hold at this time`,
			);
			continue;
		}
		const tried = current.map((manifest) => ({ manifest, ...compare(report, manifest, isNvdec0Off) }));
		const best = tried.reduce((a, b) => (against(b) < against(a) ? b : a));
		if (best.wrong.length > 0) {
			hearing.facts.wrong = best.wrong;
			refuse(
				"MEASUREMENT_WRONG",
				where,
				`blocks ${best.wrong.join(", ")} are not those of ${part.name} ${part.version}`,
			);
		}
		const name = `${part.name} ${part.version}`;
		if (best.low.length > 0)
			refuse("TCB_REFUSED", where, `security version ${best.low.join(", ")} is below the floor that ${name} sets`);
		if (best.unread !== null) hearing.doubtful("ATTEST_VERSION", where, `the manifest of ${name}: ${best.unread}`);
		const floors = [...best.manifest.floors.keys()].map((type) => OPAQUE_INDEX + type);
		for (const index of [...best.manifest.active.keys(), ...floors]) {
			if (used.has(index)) refuse("RIM_WRONG", where, `two manifests measure index ${index}`);
			used.add(index);
		}
		measurements += best.compared;
	}
	hearing.facts.measurements = measurements;
}
