// The CLAIM of engine/FRAMES.md: hostile JSON text in, a Claim of known fields out. Text is made safe for a
// terminal; numbers must be safe and non-negative; what a claim does not know is dropped. Not here: whether
// any of it is true.
import { tooDeepAt } from "../bytes/canonical-json.ts";
import { safeText } from "../bytes/safe-text.ts";
import { claimShape, type HostClaim } from "./evidence.ts";

const MAX_CLAIM_CHARS = 64 * 1024;

export type ClaimResult =
	| { readonly ok: true; readonly claim: HostClaim }
	| { readonly ok: false; readonly code: "CLAIM_BAD"; readonly where: string; readonly detail: string };

const ENGINE = ["version", "arch", "cuda"];
const HOST = ["os", "cpu", "cores", "ramBytes", "ramFreeBytes"];
const DRIVER = ["version", "cuda"];
const DEVICE = [
	...["kind", "name", "uuid", "memoryBytes", "freeBytes", "units", "clockMHz", "compute", "pcieGen", "pcieWidth"],
	...["powerLimitW", "powerDefaultW", "temperatureC", "precisions"],
];
const UNSUPPORTED = ["pciId", "name", "count"];

export function parseClaim(text: string): ClaimResult {
	const bad = (where: string, detail: string): ClaimResult => ({ ok: false, code: "CLAIM_BAD", where, detail });
	if (text.length > MAX_CLAIM_CHARS) return bad("claim", `longer than ${MAX_CLAIM_CHARS} characters`);
	if (tooDeepAt(text) !== null) return bad("claim", "nested too deeply");
	let value: unknown;
	try {
		value = JSON.parse(text);
	} catch {
		return bad("claim", "not JSON");
	}
	const claim = known(value, {
		engine: (engine) => pick(engine, ENGINE),
		host: (host) => pick(host, HOST),
		driver: (driver) => (driver === null ? null : pick(driver, DRIVER)),
		why: safe,
		devices: pickEach(DEVICE),
		unsupported: pickEach(UNSUPPORTED),
		hidden: (hidden) => hidden,
	});
	const fault = claimShape(claim, "claim");
	return fault === null ? { ok: true, claim: claim as unknown as HostClaim } : bad(fault.where, fault.detail);
}

/**
 * Only the named fields, each made by its own function; what is not an object stays as it is, for the shape
 * to refuse.
 */
function known(value: unknown, fields: Readonly<Record<string, (field: unknown) => unknown>>): unknown {
	if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
	const held = value as Readonly<Record<string, unknown>>;
	const kept: Record<string, unknown> = {};
	for (const [name, make] of Object.entries(fields)) if (Object.hasOwn(held, name)) kept[name] = make(held[name]);
	return kept;
}

function pick(value: unknown, names: readonly string[]): unknown {
	return known(value, Object.fromEntries(names.map((name) => [name, safe])));
}

const pickEach = (names: readonly string[]) => (value: unknown) =>
	Array.isArray(value) ? value.map((one) => pick(one, names)) : value;

function safe(value: unknown): unknown {
	return typeof value === "string" ? safeText(value) : value;
}
