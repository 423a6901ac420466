// Evidence with random changes: bytes, lengths, order, DER inside PEM, XML and JSON. However it was changed, the verdict is a verdict, and
// it is valid only if the evidence still means the same. 10,000 changes in `npm test`, 100,000 in the deep tier.
import assert from "node:assert/strict";
import { test } from "node:test";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { bytesToUtf8, utf8ToBytes } from "../../src/protocol/bytes/bytes.ts";
import { mintedRounds } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import { verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { scaled, seed } from "../fuzz.test-kit.ts";
import { judge, realCases, sample, samplesMissing } from "./real-cases.test-kit.ts";

const verify = rememberSignatures(nodeSignatures);

interface Target {
	readonly name: string;
	readonly files: readonly Uint8Array[];
	readonly judge: (files: readonly Uint8Array[]) => AttestationVerdict;
}

/** mulberry32: small, and the same everywhere. */
function randomFrom(start: number): (below: number) => number {
	let state = start >>> 0;
	return (below) => {
		state = (state + 0x6d2b79f5) >>> 0;
		let t = Math.imul(state ^ (state >>> 15), state | 1);
		t ^= t + Math.imul(t ^ (t >>> 7), t | 61);
		return Math.floor((((t ^ (t >>> 14)) >>> 0) / 2 ** 32) * below);
	};
}

type Random = ReturnType<typeof randomFrom>;

function changedBytes(bytes: Uint8Array, random: Random): Uint8Array {
	const copy = Array.from(bytes);
	const at = random(copy.length);
	const count = 1 + random(Math.min(64, copy.length));
	switch (random(8)) {
		case 0:
			copy[at]! ^= 1 << random(8);
			break;
		case 1:
			copy[at] = random(256);
			break;
		case 2:
			copy.splice(at, count);
			break;
		case 3:
			copy.splice(at, 0, ...copy.slice(at, at + count));
			break;
		case 4:
			copy.length = at;
			break;
		case 5:
			copy.push(...Array.from({ length: count }, () => random(2) * random(256)));
			break;
		case 6:
			copy.splice(at, 0, ...copy.splice(random(copy.length), count));
			break;
		default:
			copy[at] = (copy[at]! + 1) & 255;
	}
	return Uint8Array.from(copy);
}

/** One certificate of a text, changed inside its DER. */
function changedPem(text: string, random: Random): string {
	const blocks = [...text.matchAll(/(?<=>|-----\s|-----\\n)[A-Za-z0-9+/=\s]{200,}(?=<|-----)/g)];
	const block = blocks[random(blocks.length)];
	if (block === undefined) return `${text} `;
	const der = changedBytes(new Uint8Array(Buffer.from(block[0], "base64")), random);
	return text.slice(0, block.index) + Buffer.from(der).toString("base64") + text.slice(block.index + block[0].length);
}

/** One word or mark of a text changed, doubled, dropped or moved. */
function changedText(text: string, random: Random): string {
	const words = text.match(/[A-Za-z0-9+/=]+|\s+|./gs) ?? [];
	const [at, other] = [random(words.length), random(words.length)];
	switch (random(6)) {
		case 0:
			words[at] = words[other]!;
			break;
		case 1:
			words.splice(at, 1);
			break;
		case 2:
			words.splice(at, 0, words[other]!);
			break;
		case 3:
			words.splice(at, 0, ["<!--x-->", "&amp;", "<x/>", "\u0000", '"', "{", "<![CDATA[x]]>", "&#120;"][random(8)]!);
			break;
		case 4: {
			const from = Math.min(at, other);
			words.splice(from, 0, ...words.slice(from, from + random(200)));
			break;
		}
		default:
			words[at] = words[at]!.replace(/[0-9a-zA-Z]/, (c) => (c === "0" ? "1" : "0"));
	}
	return words.join("");
}

function changed(bytes: Uint8Array, random: Random): Uint8Array {
	const text = random(3) === 0 ? null : bytesToUtf8(bytes);
	if (text === null || bytes.length > 100_000) return changedBytes(bytes, random);
	return utf8ToBytes(
		random(2) === 0 && /CERTIFICATE|X509/.test(text) ? changedPem(text, random) : changedText(text, random),
	);
}

/** Real evidence where it is at hand: one valid case of every kind and form. */
function realTargets(): Target[] {
	if (samplesMissing) return [];
	const ids = ["gpu-h100-measured", "gpu-gb100-590-0", "switch-measured", "ocsp-brom", "tdx-v4", "sgx-v3", "tdx-v5"];
	const more = [
		"snp-milan-v2",
		"snp-turin",
		"snp-vlek",
		"azure-snp-v1",
		"events-dstack",
		"rim-gpu_driver_gh100_550.144.03",
	];
	const cases = realCases();
	return [...ids, ...more].map((id) => {
		const one = cases.find((row) => row.id === id)!;
		const names = [...new Set(JSON.stringify(one.files).match(/[^"]+\.[a-z]+(?=")/g))];
		return {
			name: id,
			files: names.map(sample),
			judge: (files) => judge(one, verify, (name) => files[names.indexOf(name)]!),
		};
	});
}

const mintedTargets = (): Target[] =>
	mintedRounds(verify).map(({ name, files, settings }) => ({
		name,
		files,
		judge: (given) => verifyFiles(given, { require: null, nonce: null }, settings),
	}));

function attack(targets: readonly Target[], count: number, random: Random): void {
	const whole = targets.map((target) => target.judge(target.files));
	for (const [i, verdict] of whole.entries())
		assert.equal(verdict.status, "valid", `${targets[i]!.name}: ${verdict.detail}`);
	for (let n = 0; n < count; n++) {
		const i = n % targets.length;
		const { name, files, judge } = targets[i]!;
		const which = random(files.length);
		const verdict = judge(files.with(which, changed(files[which]!, random)));
		assert.notEqual(verdict.code, "INTERNAL", `${name}, change ${n} of seed ${seed}: ${verdict.detail}`);
		if (verdict.status === "valid")
			assert.deepEqual(verdict.facts, whole[i]!.facts, `${name}, change ${n} of seed ${seed}`);
	}
}

test("minted evidence is valid only as it was meant", () =>
	attack(mintedTargets(), Math.min(scaled(4000), 40_000), randomFrom(seed)));

test("so is real evidence", { skip: samplesMissing }, () =>
	attack(realTargets(), Math.min(scaled(6000), 60_000), randomFrom(seed + 1)),
);
