// The contract for TDX quotes beside its twin, src/verify/attestation/intel: the same verdict on every minted
// case and every real quote; what each wrong thing is called; random changes; and what it costs in gas under
// the rules of Osaka and of Prague.
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { decodeFunctionData, type Hex } from "viem";
import { attestationsAbi } from "../../src/chain/abi/attestations-abi.ts";
import { attestCall, registerQuoteKey } from "../../src/chain/contracts/attestations.ts";
import { type Contracts, read } from "../../src/chain/contracts/contracts.ts";
import { INTEL_ROOT } from "../../src/chain/contracts/deploy.ts";
import { sendCall } from "../../src/chain/sending/send-call.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { CollateralParts, QuoteParts } from "../../src/protocol/chain/attested-parts.ts";
import { collateralParts, quoteParts, rootParts } from "../../src/verify/attestation/intel/chain-parts.ts";
import { cpuCases } from "../../src/verify/attestation/mint/cases-cpu.test-kit.ts";
import {
	collateralPlan,
	intelRoot,
	mintCollateral,
	mintQuote,
	PCK_SERIAL,
	quotePlan,
	REPORT_DATA,
} from "../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import { mintedSettings } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { VENDOR_ROOTS } from "../../src/verify/attestation/settings.ts";
import type { AttestationVerdict } from "../../src/verify/attestation/verdict.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";
import { judge, realCases, sample, samplesMissing } from "../../tests/attestation/real-cases.test-kit.ts";
import { fc, scaled } from "../../tests/fuzz.test-kit.ts";
import { areVectorsFresh, type WrongCall } from "./attestation-vectors.test-kit.ts";
import { longCollateral, longSerials } from "./attestations/intel-texts.test-kit.ts";
import { openStage, payer, type Stage, storyOf } from "./attestations.test-kit.ts";
import { checkGas } from "./gas.test-kit.ts";

/** Before every moment of every case. */
const START_S = Date.UTC(2024, 0, 1) / 1000;
const NOON_S = Date.UTC(2025, 5, 20, 12) / 1000;
const verify = rememberSignatures(nodeSignatures);
let stage: Stage;
/** Knows all that comes before a registration. */
let prepared: Stage;

before(async () => {
	stage = await openStage(rootParts(intelRoot.der), "Osaka", START_S);
	prepared = await openStage(rootParts(intelRoot.der), "Osaka", START_S);
	await prepared.setTime(NOON_S - 3600);
	const { quote, collateral } = whole();
	for (const data of storyOf(prepared, quote, collateral).slice(0, 6))
		await sendCall(prepared.client, payer, { to: prepared.contracts.addresses.attestations, data });
});

const whole = (): { quote: QuoteParts; collateral: CollateralParts } => {
	const evidence = { quote: mintQuote(quotePlan()), collateral: mintCollateral(collateralPlan()) };
	return { quote: quoteParts(evidence.quote), collateral: collateralParts(evidence.collateral) };
};

/** The names of errors by which the contract says what the verifier says by a code. */
const ERRORS: Readonly<Record<string, readonly string[]>> = {
	ATTEST_FORM: ["FormWrong", "CertificateOther"],
	ATTEST_CHAIN: ["SignatureWrong", "Ended", "NotYet", "CertificateOther", "FormWrong", "AuthorityUnknown"],
	ATTEST_SIGNATURE: ["SignatureWrong"],
	QE_WRONG: ["QeWrong"],
	NONCE_WRONG: ["BindWrong"],
	BINDING_WRONG: ["SetMissing"],
	COLLATERAL_WRONG: ["TextWrong", "SignatureWrong", "FormWrong", "CertificateOther"],
	// A text of SGX cannot be cut into what is due of TDX.
	COLLATERAL_OTHER: ["CollateralOther", "SignatureWrong", "COLLATERAL_WRONG"],
	COLLATERAL_STALE: ["Ended", "NotYet"],
	CERTIFICATE_REVOKED: ["Revoked"],
	// A platform out of date has no key here that could sign for a guest.
	GUEST_DEBUG: ["GuestDebug", "TcbRefused"],
	GUEST_POLICY: ["GuestPolicy"],
	TCB_UNKNOWN: ["TcbUnknown"],
	// It asks the module first.
	TCB_REFUSED: ["TcbRefused", "TcbUnknown"],
	// What it does not know it refuses like what is wrong: it has no third answer.
	ATTEST_VERSION: ["GuestPolicy", "TextWrong", "TcbRefused"],
	COLLATERAL_MISSING: ["TcbUnknown"],
};

interface Evidence {
	readonly quote: Uint8Array;
	readonly collateral: Uint8Array;
}

/** The parts, or the code by which the reader refuses to cut them. */
function cut({ quote, collateral }: Evidence): { quote: QuoteParts; collateral: CollateralParts } | string {
	try {
		return { quote: quoteParts(quote), collateral: collateralParts(collateral) };
	} catch (error) {
		if (!(error instanceof AssayError)) throw error;
		assert.equal(error.code, "ATTESTATION_UNFIT");
		return (error.cause as AttestationVerdict).code!;
	}
}

interface Ending {
	/** Empty when the quote is attested. */
	readonly error: string;
	/** The call that failed, and its place in the story. */
	readonly call: Hex | null;
	readonly place: number;
}

/** The first error of the whole story. `known`: so many of its calls stand already. */
async function onChain(
	at: Stage,
	evidence: Evidence,
	atMs: number,
	bind: Hex | null,
	known: readonly Hex[] = [],
): Promise<Ending> {
	const nowhere = { call: null, place: -1 };
	const parts = cut(evidence);
	if (typeof parts === "string") return { error: parts, ...nowhere };
	if (parts.quote.authority === null) return { error: "ATTEST_CHAIN", ...nowhere };
	const asked = bind === null ? parts.quote : { ...parts.quote, bind };
	const story = storyOf(at, asked, parts.collateral);
	const isKnown = known.length > 0 && known.every((call, i) => call === story[i]);
	const calls = isKnown ? story.slice(known.length) : story;
	const told = await (isKnown ? prepared : at).tell(Math.floor(atMs / 1000), calls);
	const failed = told.findIndex(({ isDone }) => !isDone);
	if (failed >= 0)
		return { error: told[failed]!.error, call: calls[failed]!, place: story.length - calls.length + failed };
	return { error: told.at(-1)!.word === parts.quote.set ? "" : "another set", ...nowhere };
}

/** Whether the contract says what the verifier says. */
function same(code: string | null, found: string, set: Hex, dueSet: Hex): boolean {
	// Whether a quote names a set is not asked of the verifier by these cases.
	if (code === null) return found === (BigInt(set) === 0n ? "SetMissing" : "");
	// The contract keeps whatever set the quote names; who reads it compares.
	if (code === "BINDING_WRONG" && found === "") return set !== dueSet;
	return found === code || (ERRORS[code] ?? []).includes(found);
}

/** Calls whose gas grows with Intel's texts and lists. */
const LONG_NAMES = ["", "", "", "ListLong", "InformLong", "", "RegisterLong", "WarmLong"];

const hexOf = (bytes: Uint8Array): Hex => `0x${Buffer.from(bytes).toString("hex")}`;

test("every minted case of TDX: the contract says what the verifier says", async () => {
	const cases = cpuCases().filter(({ name, evidence }) => name.startsWith("tdx") && evidence !== undefined);
	assert.ok(cases.length >= 60, `${cases.length}`);
	const [bind, dueSet] = [hexOf(REPORT_DATA.subarray(0, 32)), hexOf(REPORT_DATA.subarray(32))];
	const wrong: string[] = [];
	const rows: WrongCall[] = [];
	const { quote, collateral } = whole();
	const right = storyOf(stage, quote, collateral);
	for (const { name, code, at, judge: judged, evidence } of cases) {
		assert.equal(judged(mintedSettings(at, verify)).code, code, name);
		const given = evidence!();
		const atMs = Date.parse(at);
		const found = await onChain(stage, given, atMs, bind, atMs === 1000 * NOON_S ? right.slice(0, 6) : []);
		const parts = cut(given);
		const set = typeof parts === "string" ? dueSet : parts.quote.set;
		if (!same(code, found.error, set, dueSet))
			wrong.push(`${name}: ${code}, the contract: ${found.error || "attested"}`);
		const { error, call, place: prefix } = found;
		const told =
			typeof parts === "string" || call === null ? [] : storyOf(stage, { ...parts.quote, bind }, parts.collateral);
		if (call !== null && told.slice(0, prefix).every((one, i) => one === right[i]))
			rows.push({ what: name, prefix, atS: atMs / 1000, call, error });
	}
	assert.deepEqual(wrong, []);
	assert.ok(areVectorsFresh(stage, NOON_S, rows), "ATTESTATIONS=write node --test contracts/test/attestations.test.ts");
});

test("every real quote of TDX: the contract says what the verifier says", { skip: samplesMissing }, async () => {
	assert.deepEqual(rootParts(sample("roots/intel-sgx-root-ca.der")), INTEL_ROOT);
	assert.equal(VENDOR_ROOTS.intel.length, 1);
	const real = await openStage(INTEL_ROOT, "Osaka", START_S);
	const cases = realCases().filter(
		({ kind, id, files }) => kind === "quote" && id.startsWith("tdx") && "collateral" in files,
	);
	assert.ok(cases.length >= 10, `${cases.length}`);
	const wrong: string[] = [];
	for (const one of cases) {
		const files = one.files as unknown as { quote: string; collateral: string };
		const { code } = judge(one, verify);
		const given = { quote: sample(files.quote), collateral: sample(files.collateral) };
		const { error: found } = await onChain(real, given, Date.parse(one.at!), null);
		const parts = cut(given);
		const set = typeof parts === "string" ? "0x1" : parts.quote.set;
		if (!same(code, found, set, set)) wrong.push(`${one.id}: ${code}, the contract: ${found || "attested"}`);
	}
	assert.deepEqual(wrong, []);
});

const ORDER = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;
const word = (value: bigint): Hex => `0x${value.toString(16).padStart(64, "0")}`;

test("wrong bind, guest, key, time, high s, a byte more: each has its error", async () => {
	const { quote, collateral } = whole();
	const story = storyOf(stage, quote, collateral);
	const attest = (change: Partial<QuoteParts>, bind = quote.bind, guest = quote.guest): Hex =>
		attestCall(stage.contracts, { ...quote, ...change }, bind, guest).data;
	const other = quoteParts(mintQuote({ ...quotePlan(), mrTd: new Uint8Array(48) }));
	const newer = quoteParts(mintQuote({ ...quotePlan(), teeTcbSvn: [13, 1, 6, ...new Array<number>(13).fill(0)] }));
	const high = { ...quote.quote, s: word(ORDER - BigInt(quote.quote.s)) };
	const longer = { ...quote.quote, body: `${quote.quote.body}00` as Hex };
	const rows: [string, Hex, string][] = [
		["another bind", attest({}, word(7n)), "BindWrong"],
		["another guest", attest({}, quote.bind, other.guest), "GuestOther"],
		["a quote of another guest", attest({ quote: other.quote }), "GuestOther"],
		["another key", attest({ key: collateral.signer.key }), "KeyUnknown"],
		["a quote of other SVNs than the key was registered for", attest({ quote: newer.quote }), "KeyUnknown"],
		["high s", attest({ quote: high }), "SignatureHigh"],
		["a byte more", attest({ quote: longer }), "FormWrong"],
		["a byte less", attest({ quote: { ...quote.quote, body: quote.quote.body.slice(0, -2) as Hex } }), "FormWrong"],
		["r of another", attest({ quote: { ...quote.quote, r: other.quote.r } }), "SignatureWrong"],
	];
	const before_ = story.slice(0, -1);
	for (const [name, call, error] of rows)
		assert.equal((await stage.tell(NOON_S, [...before_, call])).at(-1)!.error, error, name);
	const once = await stage.tell(NOON_S, [...story, story.at(-1)!]);
	assert.deepEqual(once.map(({ error }) => error).filter(Boolean), ["AlreadyAttested"]);
	assert.throws(() => quoteParts(mintQuote(quotePlan("sgx"))), { code: "ATTESTATION_UNFIT" });
	// Nothing is known before it is brought, in whatever order.
	for (const missing of [1, 2, 3, 4, 5, 6]) {
		const cut_ = story.filter((_, i) => i !== missing);
		assert.ok(!(await stage.tell(NOON_S, cut_)).at(-1)!.isDone, `without call ${missing}`);
	}
	// Without the root's list no registration holds until anything.
	assert.equal((await stage.tell(NOON_S, story.slice(1)))[5]!.error, "Ended");
});

test("registered by a client, attested until the collateral ends, and not after it", async () => {
	const own = await openStage(rootParts(intelRoot.der), "Osaka", START_S);
	await own.setTime(NOON_S);
	const { quote, collateral } = whole();
	const id = await registerQuoteKey(own.contracts, payer, quote, collateral);
	// A second time nothing but the registration is sent.
	assert.equal(await registerQuoteKey(own.contracts, payer, quote, collateral), id);
	const call = attestCall(own.contracts, quote, quote.bind, quote.guest).data;
	const endS = Date.UTC(2025, 6, 1) / 1000;
	assert.equal((await own.tell(endS, [call]))[0]!.word, quote.set);
	assert.equal((await own.tell(endS + 1, [call]))[0]!.error, "KeyEnded");
	const revoking = collateralParts(
		mintCollateral({ ...collateralPlan(), pckCrl: { from: "20250621000000Z", revoked: [33] } }),
	);
	const list = storyOf(own, quote, revoking)[3]!;
	assert.equal((await own.tell(NOON_S + 86_400, [list, call]))[1]!.error, "Revoked");
	const rootList = collateralParts(
		mintCollateral({ ...collateralPlan(), rootCrl: { from: "20250621000000Z", revoked: [32] } }),
	);
	assert.equal((await own.tell(NOON_S + 86_400, [storyOf(own, quote, rootList)[0]!, call]))[1]!.error, "Revoked");
	// An older list takes nothing back.
	const back = [list, storyOf(own, quote, collateral)[3]!, call];
	assert.deepEqual(
		(await own.tell(NOON_S + 86_400, back)).map(({ error }) => error),
		["", "Older", "Revoked"],
	);
});

test("random changes: nothing is taken that says something else", async () => {
	const { quote, collateral } = whole();
	const story = storyOf(stage, quote, collateral);
	const change = fc.tuple(
		fc.nat(story.length - 1),
		fc.constantFrom("bit", "byte", "cut", "more", "swap" as const),
		fc.nat(2 ** 24),
		fc.nat(255),
	);
	const changed = (call: Hex, kind: string, place: number, value: number): Hex => {
		const bytes = Buffer.from(call.slice(10), "hex");
		const where = place % bytes.length;
		if (kind === "bit") bytes[where]! ^= 1 << (value & 7);
		else if (kind === "byte") bytes[where] = value;
		else if (kind === "swap")
			[bytes[where], bytes[(where + 1 + value) % bytes.length]] = [
				bytes[(where + 1 + value) % bytes.length]!,
				bytes[where]!,
			];
		const body =
			kind === "cut" ? bytes.subarray(0, where) : kind === "more" ? Buffer.concat([bytes, Buffer.of(value)]) : bytes;
		return `${call.slice(0, 10)}${body.toString("hex")}` as Hex;
	};
	// Which quotes a registration is for is its sender's to say: their SVNs are in its id (attest asks by it).
	const meaning = (data: Hex): string => {
		const { functionName, args } = decodeFunctionData({ abi: attestationsAbi, data });
		return JSON.stringify([functionName, args], (key, one) =>
			key === "teeTcbSvn" ? null : typeof one === "bigint" ? String(one) : one,
		);
	};
	await fc.assert(
		fc.asyncProperty(fc.array(change, { minLength: 16, maxLength: 16 }), async (changes) => {
			// All of one place in the story together: each is tried before the true one.
			for (const [at, of] of Map.groupBy(changes, ([one]) => one)) {
				const calls = of.map(([, kind, place, value]) => changed(story[at]!, kind, place, value));
				const told = await stage.tell(NOON_S, [...story.slice(0, at), ...calls]);
				for (const [i, call] of calls.entries())
					if (told[at + i]!.isDone) assert.equal(meaning(call), meaning(story[at]!), `call ${at}: ${call}`);
			}
		}),
		{ numRuns: scaled(5) },
	);
});

test("a list as long as Intel's: each of it is revoked, no other, and it goes on", async () => {
	const own = await openStage(rootParts(intelRoot.der), "Osaka", START_S);
	await own.setTime(NOON_S);
	const { quote } = whole();
	const send = async (data: Hex) =>
		(await sendCall(own.client, payer, { to: own.contracts.addresses.attestations, data })).logs.length;
	const logs: number[] = [];
	for (const data of storyOf(own, quote, collateralParts(longCollateral()))) logs.push(await send(data));
	const serials = longSerials().map((serial) => BigInt(hexOf(serial)));
	// Each is told, and the list.
	assert.equal(logs[3], serials.length + 1);
	const isRevoked = (serial: bigint) =>
		read(own.contracts as Contracts, "attestations", "isRevoked", 1, serial) as Promise<boolean>;
	for (const serial of serials) {
		assert.ok(await isRevoked(serial));
		assert.ok(!(await isRevoked(serial ^ (1n << 80n))));
	}
	// One more: only that is told. The key's own: it signs no more, and is not registered again.
	const renewed = storyOf(own, quote, collateralParts(longCollateral([PCK_SERIAL], "250602000000Z")));
	const attest = attestCall(own.contracts, quote, quote.set, quote.guest).data;
	assert.equal((await own.tell(NOON_S, [attest]))[0]!.error, "BindWrong");
	assert.equal(await send(renewed[3]!), 2);
	assert.deepEqual(
		(await own.tell(NOON_S, [attest, renewed[6]!, renewed[3]!])).map(({ error }) => error),
		["Revoked", "Revoked", "Older"],
	);
	assert.ok((await isRevoked(BigInt(PCK_SERIAL))) && (await isRevoked(serials[0]!)));
});

test("gas: warm at most 80,000 under Osaka, 330,000 under Prague; cold at most a million in each call", async () => {
	const gas: Record<string, number> = {};
	const { quote, collateral } = whole();
	const kinds = { "": collateral, Long: collateralParts(longCollateral()) };
	for (const hardfork of ["Osaka", "Prague"] as const)
		for (const [kind, given] of Object.entries(kinds)) {
			const own = await openStage(rootParts(intelRoot.der), hardfork, START_S);
			await own.setTime(NOON_S);
			const names = kind === "" ? ["List", "Certify", "", "", "Inform", "Identify", "Register", "Warm"] : LONG_NAMES;
			for (const [i, data] of storyOf(own, quote, given).entries()) {
				const { gasUsed } = await sendCall(own.client, payer, { to: own.contracts.addresses.attestations, data });
				if (names[i] !== "") gas[`attest${names[i]}${hardfork}`] = Number(gasUsed);
				assert.ok(gasUsed <= 1_000_000n, `${kind} ${hardfork} call ${i}: ${gasUsed}`);
			}
		}
	checkGas("attestations", gas);
	for (const kind of ["Warm", "WarmLong"])
		assert.ok(gas[`attest${kind}Osaka`]! <= 80_000 && gas[`attest${kind}Prague`]! <= 330_000, JSON.stringify(gas));
});
