// Reads the JSON of a CLAIM frame (engine/FRAMES.md). The host wrote it, so every field is bounded here: lengths, safe
// integers, known words, nothing a terminal would obey. Unknown fields are dropped. Whether a claim is true is for verify/.
import { AssayError } from "../protocol/assay-error.ts";
import type { Claim, DeviceClaim, Precision } from "../protocol/evidence.ts";

/** Twice the largest machine on sale (16 GPUs in one host) and room to spare. */
const MAX_DEVICES = 64;
const MAX_TEXT_CHARS = 256;
const PRECISIONS: readonly Precision[] = ["int8", "fp8", "fp16", "bf16", "tf32", "fp32", "fp64", "int32"];
const UNSAFE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

type Fields = Record<string, unknown>;

function bad(where: string, what: string): AssayError {
	return new AssayError("CLAIM_BAD", `the engine's claim is not well formed: ${where} ${what}`, {
		hint: "The engine on the host is not ours or is broken; run the probe again with a fresh upload.",
	});
}

function object(value: unknown, where: string): Fields {
	if (typeof value !== "object" || value === null || Array.isArray(value)) throw bad(where, "is no object");
	return value as Fields;
}

function text(from: Fields, key: string, where: string): string {
	const value = from[key];
	if (typeof value !== "string") throw bad(`${where}.${key}`, "is no text");
	if (value.length > MAX_TEXT_CHARS) throw bad(`${where}.${key}`, "is too long");
	if (UNSAFE.test(value)) throw bad(`${where}.${key}`, "holds control characters");
	return value;
}

function count(from: Fields, key: string, where: string): number {
	const value = from[key];
	if (typeof value !== "number" || !Number.isSafeInteger(value) || value < 0 || Object.is(value, -0)) {
		throw bad(`${where}.${key}`, "is no whole number");
	}
	return value;
}

function precisions(value: unknown, where: string): Precision[] {
	if (!Array.isArray(value)) throw bad(where, "is no list");
	if (value.some((word) => !PRECISIONS.includes(word))) throw bad(where, "holds an unknown precision");
	if (new Set(value).size !== value.length) throw bad(where, "names a precision twice");
	return value as Precision[];
}

function device(value: unknown, index: number): DeviceClaim {
	const where = `devices[${index}]`;
	const from = object(value, where);
	const kind = from.kind;
	if (kind !== "gpu" && kind !== "cpu") throw bad(`${where}.kind`, "is neither gpu nor cpu");
	return {
		kind,
		name: text(from, "name", where),
		uuid: text(from, "uuid", where),
		memoryBytes: count(from, "memoryBytes", where),
		freeBytes: count(from, "freeBytes", where),
		units: count(from, "units", where),
		clockMHz: count(from, "clockMHz", where),
		compute: text(from, "compute", where),
		pcieGen: count(from, "pcieGen", where),
		pcieWidth: count(from, "pcieWidth", where),
		powerLimitW: count(from, "powerLimitW", where),
		powerDefaultW: count(from, "powerDefaultW", where),
		temperatureC: count(from, "temperatureC", where),
		precisions: precisions(from.precisions, `${where}.precisions`),
	};
}

/** Throws AssayError CLAIM_BAD. */
export function parseClaim(json: string): Claim {
	let parsed: unknown;
	try {
		parsed = JSON.parse(json);
	} catch (cause) {
		throw new AssayError("CLAIM_BAD", "the engine's claim is no JSON", { cause });
	}
	const claim = object(parsed, "the claim");
	const engine = object(claim.engine, "engine");
	const host = object(claim.host, "host");
	const driver = claim.driver === null ? null : object(claim.driver, "driver");
	if (!Array.isArray(claim.devices)) throw bad("devices", "is no list");
	if (claim.devices.length < 1 || claim.devices.length > MAX_DEVICES) {
		throw bad("devices", `has ${claim.devices.length} entries, not 1 to ${MAX_DEVICES}`);
	}
	if (typeof engine.cuda !== "boolean") throw bad("engine.cuda", "is neither true nor false");
	return {
		engine: { version: text(engine, "version", "engine"), arch: text(engine, "arch", "engine"), cuda: engine.cuda },
		host: {
			os: text(host, "os", "host"),
			cpu: text(host, "cpu", "host"),
			cores: count(host, "cores", "host"),
			ramBytes: count(host, "ramBytes", "host"),
			ramFreeBytes: count(host, "ramFreeBytes", "host"),
		},
		driver: driver && { version: text(driver, "version", "driver"), cuda: text(driver, "cuda", "driver") },
		why: text(claim, "why", "claim"),
		devices: claim.devices.map(device),
	};
}
