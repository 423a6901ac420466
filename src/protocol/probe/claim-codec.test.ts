// Hostile claims: wrong kinds, too much, too deep, text that would drive a terminal.
import assert from "node:assert/strict";
import { test } from "node:test";
import { isSafeText, safeText } from "../bytes/safe-text.ts";
import { parseClaim } from "./claim-codec.ts";

const CLAIM = {
	engine: { version: "0.1.0", arch: "x86_64", cuda: true },
	host: { os: "Linux 6.1", cpu: "AMD EPYC", cores: 16, ramBytes: 1, ramFreeBytes: 0 },
	driver: { version: "580.159.04", cuda: "13.0" },
	why: "",
	devices: [
		{
			...{ kind: "gpu", name: "NVIDIA H200", uuid: "GPU-1", memoryBytes: 150_754_820_096, freeBytes: 1, units: 132 },
			...{ clockMHz: 1980, compute: "9.0", pcieGen: 5, pcieWidth: 16, powerLimitW: 700, powerDefaultW: 700 },
			...{ temperatureC: 30, precisions: ["int8", "fp32"] },
		},
	],
};

const CARD = { pciId: "1002:74a1", name: "", count: 1 };

// biome-ignore lint/suspicious/noExplicitAny: tests spoil a claim at will
function changed(change: (claim: any) => void): string {
	const claim = structuredClone(CLAIM);
	change(claim);
	return JSON.stringify(claim);
}

test("a claim is read as it is; what it does not know is dropped", () => {
	assert.deepEqual(parseClaim(JSON.stringify(CLAIM, null, 2)), { ok: true, claim: CLAIM });
	assert.deepEqual(parseClaim(changed((c) => Object.assign(c, { more: 1 }))), {
		ok: true,
		claim: CLAIM,
	});
	assert.deepEqual(parseClaim(changed((c) => Object.assign(c.devices[0], { more: 1 }))), { ok: true, claim: CLAIM });
	assert.ok(parseClaim(changed((c) => Object.assign(c, { driver: null, devices: [] }))).ok);
	const other = { unsupported: [{ pciId: "1002:74a1", name: "MI300X", count: 8 }], hidden: ["/proc", "/sys"] };
	assert.deepEqual(parseClaim(changed((c) => Object.assign(c, other))), { ok: true, claim: { ...CLAIM, ...other } });
	const disk = parseClaim(changed((c) => c.devices.push({ ...c.devices[0], kind: "disk", precisions: [] })));
	assert.ok(disk.ok && disk.claim.devices[1]?.kind === "disk");
});

test("missing, mistyped and oversized fields are refused, with the place", () => {
	const wrong: [string, string][] = [
		["claim", "nonsense"],
		["claim", "[]"],
		["claim", "null"],
		["claim.engine", "{}"],
		["claim.engine", changed((c) => Object.assign(c, { engine: [] }))],
		["claim.engine.cuda", changed((c) => Object.assign(c.engine, { cuda: "yes" }))],
		["claim.host.cores", changed((c) => Object.assign(c.host, { cores: -1 }))],
		["claim.host.ramBytes", changed((c) => Object.assign(c.host, { ramBytes: 1.5 }))],
		["claim.host.ramBytes", changed((c) => Object.assign(c.host, { ramBytes: 2 ** 53 }))],
		["claim.host.ramBytes", changed((c) => Object.assign(c.host, { ramBytes: "1" }))],
		["claim.host.cpu", changed((c) => Object.assign(c.host, { cpu: "x".repeat(257) }))],
		["claim.driver", changed((c) => Object.assign(c, { driver: "none" }))],
		["claim.why", changed((c) => Object.assign(c, { why: null }))],
		["claim.devices", changed((c) => Object.assign(c, { devices: {} }))],
		["claim.devices", changed((c) => Object.assign(c, { devices: Array(65).fill(CLAIM.devices[0]) }))],
		["claim.devices[0]", changed((c) => Object.assign(c, { devices: [1] }))],
		["claim.devices[0].kind", changed((c) => Object.assign(c.devices[0], { kind: "tpu" }))],
		["claim.devices[0].precisions[1]", changed((c) => Object.assign(c.devices[0], { precisions: ["int8", "int4"] }))],
		["claim.devices[0].precisions", changed((c) => Object.assign(c.devices[0], { precisions: ["int8", "int8"] }))],
		["claim.unsupported", changed((c) => Object.assign(c, { unsupported: {} }))],
		["claim.unsupported", changed((c) => Object.assign(c, { unsupported: Array(9).fill(CARD) }))],
		["claim.unsupported[0]", changed((c) => Object.assign(c, { unsupported: [1] }))],
		["claim.unsupported[0].pciId", changed((c) => Object.assign(c, { unsupported: [{ ...CARD, pciId: "74a1" }] }))],
		["claim.unsupported[0].count", changed((c) => Object.assign(c, { unsupported: [{ ...CARD, count: 0 }] }))],
		["claim.unsupported[0].name", changed((c) => Object.assign(c, { unsupported: [{ ...CARD, name: null }] }))],
		["claim.hidden[0]", changed((c) => Object.assign(c, { hidden: ["/etc"] }))],
		["claim", `${" ".repeat(65536)}{}`],
		["claim", "[".repeat(30_000)],
	];
	for (const [where, text] of wrong) {
		const result = parseClaim(text);
		assert.ok(!result.ok, text.slice(0, 80));
		assert.equal(result.where, where, text.slice(0, 80));
	}
});

test("nothing in a claim reaches a terminal as anything but text", () => {
	const evil = "\u001b[31m\u009b1m\u0000\r\n\u202eabc\u2066\u200b\ufeff\ud800 \u{e0041}ok é 漢 😀";
	const result = parseClaim(changed((c) => Object.assign(c.devices[0], { name: evil })));
	assert.ok(result.ok);
	assert.equal(result.claim.devices[0]!.name, "�[31m�1m����abc���� �ok é 漢 😀");
	assert.equal(isSafeText(evil), false);
	assert.equal(safeText("NVIDIA H200 – 141 GB"), "NVIDIA H200 – 141 GB");
});
