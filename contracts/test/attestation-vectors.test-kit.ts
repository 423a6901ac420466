// What contracts/test/attestations/*.t.sol read, contracts/vectors/attestations.json: a right story, the
// minted cases that are wrong in one call of it (with the contract's error, which attestations.test.ts
// compares with the verifier's code), and what comes later: renewed collateral, a second platform,
// revocations, odd certificates.
//   ATTESTATIONS=write node --test contracts/test/attestations.test.ts
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { encodeFunctionData, type Hex, toFunctionSelector } from "viem";
import { attestationsAbi } from "../../src/chain/abi/attestations-abi.ts";
import { bytesToHex } from "../../src/protocol/bytes/bytes.ts";
import { collateralParts, quoteParts, rootParts } from "../../src/verify/attestation/intel/chain-parts.ts";
import {
	type CertificatePlan,
	keyOf,
	type MintKey,
	mintCertificate,
} from "../../src/verify/attestation/mint/der-writer.test-kit.ts";
import {
	type CollateralPlan,
	collateralPlan,
	intelRoot,
	mintCollateral,
	mintQuote,
	quotePlan,
} from "../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import { type Stage, storyOf } from "./attestations.test-kit.ts";

/** A call that is wrong after `prefix` right ones. */
export interface WrongCall {
	readonly what: string;
	readonly prefix: number;
	readonly atS: number;
	readonly call: Hex;
	readonly error: string;
}

const FILE = new URL("../vectors/attestations.json", import.meta.url);

const partsOf = (quote: Uint8Array, plan: CollateralPlan) =>
	[quoteParts(quote), collateralParts(mintCollateral(plan))] as const;

/** The second platform has a PCK certificate and an attestation key of its own. */
const first = (): Uint8Array => mintQuote(quotePlan());
const second = (): Uint8Array =>
	mintQuote({ ...quotePlan(), pck: { serial: 34 }, attestationKey: keyOf("second attestation", "p256") });

function lateCalls(stage: Stage): Hex[] {
	const plan = collateralPlan();
	const list = { from: "20250625000000Z", until: "20250725000000Z" };
	const renewed: CollateralPlan = {
		...plan,
		...{ from: "2025-06-25T00:00:00Z", until: "2025-07-25T00:00:00Z" },
		rootCrl: list,
		pckCrl: { ...list, revoked: [34] },
	};
	const revoked = { ...plan, rootCrl: { from: "20250705000000Z", until: "20250805000000Z", revoked: [32] } };
	const old = [first(), second()].map((quote) => storyOf(stage, ...partsOf(quote, plan)));
	const [one, two] = [first(), second()].map((quote) => storyOf(stage, ...partsOf(quote, renewed)));
	const last = storyOf(stage, ...partsOf(first(), revoked));
	return [old[0]![6]!, old[1]![6]!, one![0]!, one![3]!, one![4]!, one![5]!, one![6]!, two![6]!, last[0]!];
}

/**
 * Certificates of the root's that are neither an issuer's nor the signer's: each in a call that is refused as
 * CertificateOther.
 */
function oddCertificates(): Hex[] {
	const [key, issuer] = [keyOf("odd", "p256"), { name: intelRoot.name, key: intelRoot.key }];
	const odd = (plan: Partial<CertificatePlan>): Hex => {
		const made = mintCertificate({ CN: "Mint Odd", serial: 77, key, issuer, ...plan });
		const { authority } = quoteParts(mintQuote({ ...quotePlan(), editChain: ([pck, , root]) => [pck!, made, root!] }));
		return encodeFunctionData({ abi: attestationsAbi, functionName: "certify", args: [authority!.signed] });
	};
	// No authority, and of another name; one that may sign lists alone; the signer's name on an authority that
	// signs lists alone.
	const lists = { isCa: true, keyUsage: 0x02 };
	return [odd({}), odd(lists), odd({ ...lists, CN: "Intel SGX TCB Signing" })];
}

const selectorOf = (name: string): number => {
	const error = attestationsAbi.find((one) => one.type === "error" && one.name === name);
	if (error?.type !== "error") throw new Error(`the contract has no error ${name}`);
	return Number(toFunctionSelector(`${name}(${error.inputs.map(({ type }) => type).join(",")})`));
};

/** Whether the file is what these cases make; writes it where that is asked for. */
export function areVectorsFresh(stage: Stage, noonS: number, rows: readonly WrongCall[]): boolean {
	const root = rootParts(intelRoot.der);
	const keysOf = (quote: Uint8Array, { secret }: MintKey): Hex[] => {
		const { key, id } = quoteParts(quote);
		return [key.x, key.y, `0x${bytesToHex(secret).padStart(64, "0")}`, id];
	};
	const list = {
		what: rows.map(({ what }) => what),
		base: storyOf(stage, ...partsOf(first(), collateralPlan())),
		prefix: [8, ...rows.map(({ prefix }) => prefix)],
		times: [noonS, ...rows.map(({ atS }) => atS)],
		calls: rows.map(({ call }) => call),
		wanted: rows.map(({ error }) => selectorOf(error)),
		late: lateCalls(stage),
		odd: oddCertificates(),
		// When registrations end, before and after the renewal.
		ends: [Date.UTC(2025, 6, 1) / 1000, Date.UTC(2025, 6, 25) / 1000],
		quotes: [first(), second()].map((quote) => quoteParts(quote).quote.body),
		keys: [
			...[root.key.x, root.key.y],
			...keysOf(first(), keyOf("attestation", "p256")),
			...keysOf(second(), keyOf("second attestation", "p256")),
		],
	};
	// The first row is the right call of the end once more, so that every list has the same length.
	const first_ = { calls: list.base[7]!, wanted: selectorOf("AlreadyAttested"), what: "the same once more" };
	const made = {
		...list,
		what: [first_.what, ...list.what],
		calls: [first_.calls, ...list.calls],
		wanted: [first_.wanted, ...list.wanted],
	};
	const text = `${JSON.stringify(made, null, "\t")}\n`;
	if (process.env.ATTESTATIONS === "write") writeFileSync(FILE, text);
	return existsSync(FILE) && readFileSync(FILE, "utf8") === text;
}
