// Readers of bundles, of the files that may get into one, and of handfuls of files: one wrong thing each.
import { utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { createSigner } from "../../../protocol/probe/signer.ts";
import { encodeBundle, readBundle } from "../collateral/bundle.ts";
import { readItem } from "../collateral/read-item.ts";
import { readSdkJson } from "../nvidia/sdk-json.ts";
import { verifyFiles } from "../verify-files.ts";
import {
	algorithmOf,
	bits,
	derSignature,
	integer,
	keyOf,
	mintCrl,
	moment,
	octets,
	oid,
	seq,
	tlv,
} from "./der-writer.test-kit.ts";
import { arkOf } from "./mint-amd.test-kit.ts";
import { type GpuPlan, gpuPlan, manifestPlan, mintDevice, mintManifest } from "./mint-nvidia.test-kit.ts";
import { type MintedCase, minted } from "./minted-case.test-kit.ts";
import { mintedRounds } from "./minted-rounds.test-kit.ts";
import { readers } from "./reader-case.test-kit.ts";

const signer = createSigner(new Uint8Array(32).fill(7));
const bundle = (): Uint8Array => encodeBundle([], 1, signer);

/** An answer about so many certificates, by nobody. */
function answerAbout(count: number): Uint8Array {
	const key = keyOf("nobody");
	const at = moment("20250620000000Z");
	const hash = octets(new Uint8Array(20));
	const single = seq(seq(seq(oid("1.3.14.3.2.26")), hash, hash, integer(1)), tlv(0x80), at);
	const data = seq(tlv(0xa2, hash), at, seq(...new Array(count).fill(single)));
	const basic = seq(data, algorithmOf(key), bits(derSignature(key, data)));
	return seq(tlv(0x0a, Uint8Array.of(0)), tlv(0xa0, seq(oid("1.3.6.1.5.5.7.48.1.1"), octets(basic))));
}

const item = (name: string, code: string, file: () => Uint8Array): MintedCase =>
	minted(`item: ${name}`, code, undefined, (settings) => readItem(file(), [], settings).verdict);

const bundleCases = readers("bundle", "COLLATERAL_WRONG", {
	cut: () => readBundle(bundle().subarray(0, -1), "bundle"),
	"of another maker": () => readBundle(bundle().with(-10, 0x2e), "bundle"),
});

const row = (evidence: unknown, certificate: unknown) => JSON.stringify([{ evidence, certificate }]);
const listed = (text: string) => () => readSdkJson(utf8ToBytes(text), "list");

const listCases = readers("devices", "ATTEST_FORM", {
	"no list": listed("{}"),
	"a list of none": listed("[]"),
	"a list of 33": listed(JSON.stringify(new Array(33).fill({ evidence: "AA==", certificate: "AA==" }))),
	"no report": listed(row("*", "AA==")),
	"no certificates": listed(row("AA==", 1)),
});

/** The minted files of a kind, changed. */
const files = (name: string, code: string, change: (all: Record<string, readonly Uint8Array[]>) => Uint8Array[]) =>
	minted(`files: ${name}`, code, undefined, (settings) => {
		const all = Object.fromEntries(mintedRounds(settings.verify).map((one) => [one.name, one.files]));
		return verifyFiles(change(all), { require: null, nonce: null }, settings);
	});

/** The minted card and another beside it, and manifests of both. */
function twoCards(gpu: readonly Uint8Array[], change: (plan: GpuPlan) => unknown = () => {}): Uint8Array[] {
	const plan = { ...gpuPlan(), card: "card 1", pdi: "1112131415161718" };
	change(plan);
	const other = mintDevice(plan);
	return [gpu[0]!, other.report, gpu[1]!, other.chain, gpu[2]!, gpu[3]!];
}

const fileCases = [
	files("one of no kind", "ATTEST_FILES", ({ snp }) => [...snp!, new Uint8Array(99)]),
	files("two things to judge", "ATTEST_FILES", ({ snp, tdx }) => [...snp!, ...tdx!]),
	files("two of one kind", "ATTEST_FILES", ({ snp }) => [snp![0]!, ...snp!]),
	files("one that nobody looks at", "ATTEST_FILES", ({ tdx, gpu }) => [...tdx!, gpu![2]!]),
	files("a round: an answer about none of its devices", "COLLATERAL_WRONG", ({ gpu }) => [
		...twoCards(gpu!),
		answerAbout(1),
	]),
	files("a round: a manifest of none of its devices", "RIM_OTHER", ({ gpu }) => [
		...twoCards(gpu!),
		mintManifest({ ...manifestPlan("driver"), version: "1.0" }),
	]),
	files("a round: the second card is measured otherwise", "MEASUREMENT_WRONG", ({ gpu }) =>
		twoCards(gpu!, (plan) => plan.blocks.splice(1, 1, new Uint8Array(48))),
	),
	files("a round: one manifest is missing", "COLLATERAL_MISSING", ({ gpu }) => twoCards(gpu!).slice(0, -1)),
	files("a report without a chain", "ATTEST_CHAIN", ({ gpu }) => [gpu![0]!, ...gpu!]),
];

export const collateralReaders = (): MintedCase[] => [
	...bundleCases,
	...listCases,
	...fileCases,
	minted("bundle: judged by one that is cut", "COLLATERAL_WRONG", undefined, (settings) => {
		const [gpu] = mintedRounds(settings.verify);
		return verifyFiles([...gpu!.files, bundle().subarray(0, -1)], { require: null, nonce: null }, settings);
	}),
	item("an answer about nothing", "COLLATERAL_WRONG", () => answerAbout(0)),
	item("an answer about two", "COLLATERAL_WRONG", () => answerAbout(2)),
	item("an answer of an issuer that is not there", "COLLATERAL_OTHER", () => {
		const [gpu] = mintedRounds(() => true);
		return gpu!.files.at(-1)!;
	}),
	item("a list of an issuer that is not there", "COLLATERAL_OTHER", () => mintCrl({ issuer: arkOf("Milan") })),
];
