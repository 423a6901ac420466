// How current is the platform? Levels of Intel's TCB info for the processor, the TDX module and the quoting
// enclave; the worst counts.
import { bytesToHex } from "../../../protocol/bytes/bytes.ts";
import type { JsonFields } from "../json.ts";
import { type Hearing, refuse } from "../verdict.ts";
import type { PlatformTcb } from "./pck.ts";
import type { SgxReport, TdReport } from "./quote.ts";

export interface TcbState {
	readonly status: string;
	readonly advisories: readonly string[];
}

const STATUSES = [
	"UpToDate",
	"SWHardeningNeeded",
	"ConfigurationNeeded",
	"ConfigurationAndSWHardeningNeeded",
	"OutOfDate",
	"OutOfDateConfigurationNeeded",
	"Revoked",
];
const MOST_LEVELS = 256;
const unknown = (where: string, detail: string): never => refuse("TCB_UNKNOWN", where, detail);

const stateOf = (level: JsonFields): TcbState => ({
	status: level.text("tcbStatus"),
	advisories: level.texts("advisoryIDs", 256),
});

const svnsOf = (tcb: JsonFields, name: string): number[] => {
	const svns = tcb.objects(name, 16).map((one) => one.small("svn"));
	return svns.length === 16 ? svns : refuse("COLLATERAL_WRONG", `collateral.tcb_info.${name}`, "not 16 components");
};

/** The first level, from the newest, that the platform reaches in everything. */
export function platformState(tcbInfo: JsonFields, platform: PlatformTcb, td: TdReport | null): TcbState {
	// Intel's rule: with a version of the TDX module in SVN 1, the module has levels of its own and its two
	// bytes do not count here.
	const from = td !== null && td.teeTcbSvn[1]! > 0 ? 2 : 0;
	for (const level of tcbInfo.objects("tcbLevels", MOST_LEVELS)) {
		const tcb = level.object("tcb");
		const isReached =
			svnsOf(tcb, "sgxtcbcomponents").every((svn, i) => platform.components[i]! >= svn) &&
			platform.pceSvn >= tcb.small("pcesvn") &&
			(td === null || svnsOf(tcb, "tdxtcbcomponents").every((svn, i) => i < from || td.teeTcbSvn[i]! >= svn));
		if (isReached) return stateOf(level);
	}
	return unknown("collateral.tcb_info", "no level of the TCB info fits this platform");
}

/** `svn` against levels of an enclave or module, newest first. */
function levelBySvn(identity: JsonFields, svn: number, where: string): TcbState {
	for (const level of identity.objects("tcbLevels", MOST_LEVELS))
		if (svn >= level.object("tcb").small("isvsvn")) return stateOf(level);
	return unknown(where, `no level fits security version ${svn}`);
}

const masked = (bytes: Uint8Array, mask: string): string =>
	bytesToHex(bytes.map((byte, i) => byte & Number.parseInt(mask.slice(2 * i, 2 * i + 2), 16)));

/**
 * The TDX module by itself: its signer, its attributes and, from version 1 on, its own levels. Null: no
 * levels of its own, or the TCB info is older than the module.
 */
export function moduleState(hearing: Hearing, tcbInfo: JsonFields, td: TdReport): TcbState | null {
	const where = "collateral.tcb_info";
	const [svn, version] = [td.teeTcbSvn[0]!, td.teeTcbSvn[1]!];
	const name = `TDX_${bytesToHex(Uint8Array.of(version))}`;
	const identity =
		version === 0
			? tcbInfo.object("tdxModule")
			: (tcbInfo.has("tdxModuleIdentities") ? tcbInfo.objects("tdxModuleIdentities", 64) : []).find(
					(one) => one.text("id").toLowerCase() === name.toLowerCase(),
				);
	if (identity === undefined) {
		hearing.doubtful("COLLATERAL_MISSING", where, `the TCB info at hand does not know the module ${name}`);
		return null;
	}
	if (identity.hex("mrsigner", 48) !== bytesToHex(td.mrSignerSeam))
		return unknown(where, "another signer's TDX module");
	if (masked(td.seamAttributes, identity.hex("attributesMask", 8)) !== identity.hex("attributes", 8))
		return unknown(where, "attributes of the TDX module that are not allowed");
	return version === 0 ? null : levelBySvn(identity, svn, where);
}

/** Is the quoting enclave Intel's? Its level too. */
export function qeState(identity: JsonFields, qe: SgxReport): TcbState {
	const where = "quote.qe";
	const miscMask = identity.hex("miscselectMask", 4);
	const reversed = (bytes: Uint8Array) => Uint8Array.from(bytes).reverse();
	const isIntels =
		masked(reversed(qe.miscSelect), miscMask) === identity.hex("miscselect", 4) &&
		masked(qe.attributes, identity.hex("attributesMask", 16)) === identity.hex("attributes", 16) &&
		bytesToHex(qe.mrSigner) === identity.hex("mrsigner", 32) &&
		qe.productId === identity.small("isvprodid");
	if (!isIntels) refuse("QE_WRONG", where, "the quoting enclave is not the one of Intel's identity");
	return levelBySvn(identity, qe.svn, where);
}

/** The platform's state with that of a part of it. */
export function worse(platform: TcbState, part: TcbState | null): TcbState {
	if (part === null) return platform;
	const advisories = [...new Set([...platform.advisories, ...part.advisories])].sort();
	return { status: worseStatus(platform.status, part.status), advisories };
}

/** Weaknesses add up. A status that is not known stays as it is, beside one that is not refused. */
function worseStatus(platform: string, part: string): string {
	const both = [platform, part].filter((status) => STATUSES.includes(status));
	if (both.includes("Revoked")) return "Revoked";
	const has = (word: string) => both.some((status) => status.includes(word));
	if (has("OutOfDate")) return has("Configuration") ? "OutOfDateConfigurationNeeded" : "OutOfDate";
	const strange = [platform, part].find((status) => !both.includes(status));
	if (strange !== undefined) return strange;
	if (has("Configuration")) return has("Hardening") ? "ConfigurationAndSWHardeningNeeded" : "ConfigurationNeeded";
	return has("Hardening") ? "SWHardeningNeeded" : "UpToDate";
}
