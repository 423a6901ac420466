// The contract IntelReader beside plain-reader.test-kit.ts, which reads one byte after another: on Intel's
// own texts, on minted ones, on texts that somebody made to mislead a reader, and on random changes of all of
// them the same bytes come back, read or refused, the place of the fault among them. What the contract and
// the verifier both read says the same.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { encodeAbiParameters, encodeFunctionData, type Hex, parseAbi, toHex } from "viem";
import { RpcRefusal } from "../../../src/chain/node/rpc.ts";
import { AssayError } from "../../../src/protocol/assay-error.ts";
import { bytesToUtf8, utf8ToBytes } from "../../../src/protocol/bytes/bytes.ts";
import { collateralParts, rootParts } from "../../../src/verify/attestation/intel/chain-parts.ts";
import { collateralPlan, intelRoot, mintCollateral } from "../../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import { realCases, sample, samplesMissing } from "../../../tests/attestation/real-cases.test-kit.ts";
import { fc, scaled } from "../../../tests/fuzz.test-kit.ts";
import { openStage, type Stage } from "../attestations.test-kit.ts";
import { longCollateral } from "./intel-texts.test-kit.ts";
import { areReaderVectorsFresh, misleading, NUMBERS, patched } from "./misleading-texts.test-kit.ts";
import { plainRead, READ_TYPES } from "./plain-reader.test-kit.ts";

type What = keyof typeof READ_TYPES;
type Texts = Record<What, string>;

const ABI = parseAbi([
	"function READER() view returns (address)",
	"function tcbInfo(bytes)",
	"function qeIdentity(bytes)",
]);
const FIELDS: Record<What, string> = { tcbInfo: "tcb_info", qeIdentity: "qe_identity" };
let stage: Stage;
let reader: string;

before(async () => {
	stage = await openStage(rootParts(intelRoot.der), "Osaka", Date.UTC(2025, 5, 1) / 1000);
	const data = encodeFunctionData({ abi: ABI, functionName: "READER" });
	const word = (await stage.rpc("eth_call", [
		{ to: stage.contracts.addresses.attestations, data },
		"latest",
	])) as string;
	reader = `0x${word.slice(-40)}`;
});

/** What the contract returns, or how it refuses. */
async function chainRead(what: What, bytes: Uint8Array): Promise<Hex> {
	const data = encodeFunctionData({ abi: ABI, functionName: what, args: [toHex(bytes)] });
	try {
		return (await stage.rpc("eth_call", [{ to: reader, data }, "latest"])) as Hex;
	} catch (error) {
		if (!(error instanceof RpcRefusal)) throw error;
		const { data: found } = error as { data: { data?: Hex } | Hex };
		return typeof found === "string" ? found : found.data!;
	}
}

const collaterals = (): Uint8Array[] => {
	const minted = [mintCollateral(collateralPlan()), longCollateral()];
	if (samplesMissing !== false) return minted;
	const named = realCases().flatMap(({ id, files }) =>
		id.startsWith("tdx") && "collateral" in files ? [String(files.collateral)] : [],
	);
	return [...minted, ...[...new Set(named)].map(sample)];
};
const textsOf = (collateral: Uint8Array): Texts => {
	const { tcb_info: tcbInfo, qe_identity: qeIdentity } = JSON.parse(bytesToUtf8(collateral)!);
	return { tcbInfo, qeIdentity };
};

/** As the verifier's side cuts it for the chain, encoded; null: it refuses. */
function verifierRead(what: What, text: string): Hex | null {
	const whole = mintCollateral({ ...collateralPlan(), edit: (fields) => ({ ...fields, [FIELDS[what]]: text }) });
	try {
		const { readInfo, readIdentity } = collateralParts(whole);
		const read = what === "tcbInfo" ? readInfo : readIdentity;
		// What is no date becomes zero there, and the verifier refuses it; the contract does not look at what
		// stands between the numbers.
		return read.from > 0n && read.until > 0n ? encodeAbiParameters([READ_TYPES[what]], [read]) : null;
	} catch (error) {
		// A number that is too large for its place, or hex of another length.
		if (
			error instanceof AssayError ||
			(error as Error).name.includes("Integer") ||
			(error as Error).name.includes("Abi")
		)
			return null;
		throw error;
	}
}

async function mustAgree(what: What, bytes: Uint8Array): Promise<boolean> {
	const due = plainRead(what, bytes);
	const text = JSON.stringify(bytesToUtf8(bytes) ?? toHex(bytes));
	assert.equal(await chainRead(what, bytes), due, text);
	const isRead = due.length > 2 + 2 * 68;
	const asText = isRead ? bytesToUtf8(bytes) : null;
	const read = asText === null ? null : verifierRead(what, asText);
	if (read !== null && !isAmbiguous(asText!)) assert.equal(read, due, text);
	return isRead;
}

/**
 * Of a member that is there twice the verifier takes the last, the contract (where it takes any) the first:
 * Intel writes none.
 */
const isAmbiguous = (text: string): boolean => /"svn":\d+[^}]*"svn":|"(id|tcbLevels)":[^}]*"\1":/.test(text);

test("Intel's texts and minted ones are read alike by all", async () => {
	for (const collateral of collaterals())
		for (const [what, text] of Object.entries(textsOf(collateral)) as [What, string][]) {
			// A quote of TDX may come with a text of SGX, which the contract refuses.
			const isOfTdx = /^{"id":"TD/.test(text);
			assert.equal(await mustAgree(what, utf8ToBytes(text)), isOfTdx, text);
			if (isOfTdx) assert.equal(verifierRead(what, text), plainRead(what, utf8ToBytes(text)), text);
		}
});

test("what somebody wrote to mislead a reader is refused, or read, as it was", async () => {
	// Every eighth of them in `npm test`.
	const step = Math.max(1, Math.round(8 / scaled(1)));
	let count = 0;
	for (const [what, text] of Object.entries(textsOf(mintCollateral(collateralPlan()))) as [What, string][])
		for (const change of misleading(text))
			if (count++ % step === 0) await mustAgree(what, patched(utf8ToBytes(text), change));
	assert.ok(count > 1500, `${count}`);
	assert.ok(areReaderVectorsFresh(), "ATTESTATIONS=write node --test contracts/test/attestations/readers.test.ts");
});

const change = fc.tuple(
	fc.constantFrom("byte", "letter", "cut", "drop", "twice", "swap", "number", "move" as const),
	fc.nat(2 ** 24),
	fc.nat(2 ** 24),
);
const LETTERS = utf8ToBytes('{}[]":,\\0123456789afAFgZT \0');

function changed(bytes: Uint8Array, [kind, a, b]: readonly [string, number, number]): Uint8Array {
	if (bytes.length === 0) return bytes;
	const at = a % bytes.length;
	const until = Math.min(bytes.length, at + 1 + (b % 40));
	const [head, part, tail] = [bytes.subarray(0, at), bytes.subarray(at, until), bytes.subarray(until)];
	const letter = LETTERS.subarray(b % LETTERS.length, (b % LETTERS.length) + 1);
	if (kind === "byte") return Uint8Array.from(bytes, (byte, i) => (i === at ? b & 255 : byte));
	if (kind === "letter") return Buffer.concat([head, letter, bytes.subarray(b & 64 ? at : at + 1)]);
	if (kind === "cut") return head;
	if (kind === "drop") return Buffer.concat([head, tail]);
	if (kind === "twice") return Buffer.concat([head, part, part, tail]);
	if (kind === "swap") return Buffer.concat([tail.subarray(0, 5), head, part, tail.subarray(5)]);
	const text = Buffer.from(bytes).toString("latin1");
	if (kind === "number")
		return Buffer.from(text.slice(0, at) + text.slice(at).replace(/\d+/, NUMBERS[b % NUMBERS.length]!), "latin1");
	// A member to another place: from one comma to another one.
	const commas = [...text.matchAll(/,/g)].map(({ index }) => index);
	if (commas.length < 3) return bytes;
	const [x, y, z] = [a, b, a ^ b].map((one) => commas[one % commas.length]!).sort((p, q) => p - q);
	return Buffer.from(text.slice(0, x) + text.slice(y, z) + text.slice(x, y) + text.slice(z!), "latin1");
}

test("random changes are refused at the same place, or read alike", async () => {
	const texts = collaterals().map(textsOf);
	const [runs, counts] = [scaled(300), { read: 0, refused: 0 }];
	await fc.assert(
		fc.asyncProperty(
			fc.nat(texts.length - 1),
			fc.constantFrom("tcbInfo", "qeIdentity" as const),
			fc.array(change, { minLength: 1, maxLength: 3 }),
			async (which, what, changes) => {
				const isRead = await mustAgree(what, changes.reduce(changed, utf8ToBytes(texts[which]![what])));
				counts[isRead ? "read" : "refused"]++;
			},
		),
		{ numRuns: runs },
	);
	assert.ok(counts.refused > runs / 3 && counts.read > 0, JSON.stringify(counts));
});
