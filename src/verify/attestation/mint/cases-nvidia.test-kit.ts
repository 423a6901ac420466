// Minted cases of NVIDIA's kinds: each is right in all but one thing, and has the code for that thing.
import { hexToBytes, utf8ToBytes } from "../../../protocol/bytes/bytes.ts";
import { verifyDevice } from "../nvidia/verify-device.ts";
import { verifyManifest } from "../nvidia/verify-manifest.ts";
import { verifyDeviceSet } from "../nvidia/verify-set.ts";
import { base64, keyOf, mintCertificate, octets, seq } from "./der-writer.test-kit.ts";
import {
	BLOCKS,
	blockOf,
	chainOf,
	deviceRoot,
	type GpuPlan,
	gpuPlan,
	type ManifestPlan,
	manifestChain,
	manifestPlan,
	mintDevice,
	mintManifest,
	mintOcsp,
	NONCE,
	type OcspPlan,
	ocspPlan,
	switchPlan,
	versionedPlan,
} from "./mint-nvidia.test-kit.ts";
import { type MintedCase, minted } from "./minted-case.test-kit.ts";

interface Bundle {
	gpu: GpuPlan;
	driver: ManifestPlan[];
	vbios: ManifestPlan[];
	ocsp: OcspPlan[];
	nonce: Uint8Array | null;
	chip: string | null;
	ask: "genuine" | "measured";
}

function bundle(): Bundle {
	const gpu = gpuPlan();
	const chain = chainOf(gpu);
	const ocsp = [1, 2, 3].map((i) => ocspPlan(chain[i]!, chain[i + 1]!));
	return {
		gpu,
		driver: [manifestPlan("driver")],
		vbios: [manifestPlan("vbios")],
		ocsp,
		nonce: NONCE,
		chip: "GH100",
		ask: "measured",
	};
}

/** A whole GPU with manifests and OCSP answers, one thing changed. */
const gpu = (name: string, code: string | null, change: (one: Bundle) => void, at?: string): MintedCase =>
	minted(`gpu: ${name}`, code, at, (settings) => {
		const one = bundle();
		change(one);
		const manifests = [...one.driver, ...one.vbios].map(mintManifest);
		const question = { ask: one.ask, nonce: one.nonce, chip: one.chip, manifests, ocsp: one.ocsp.map(mintOcsp) };
		return verifyDevice(mintDevice(one.gpu), question, settings);
	});

const report = (name: string, code: string, edit: (bytes: Uint8Array) => Uint8Array): MintedCase =>
	gpu(name, code, ({ gpu }) => {
		gpu.editReport = edit;
	});

const at = (index: number, value: number) => (bytes: Uint8Array) => {
	bytes[index] = value;
	return bytes;
};

const manifest = (
	name: string,
	code: string | null,
	change: (plan: ManifestPlan) => void,
	moment?: string,
): MintedCase =>
	minted(`manifest: ${name}`, code, moment, (settings) => {
		const plan = manifestPlan("driver");
		change(plan);
		return verifyManifest(mintManifest(plan), settings);
	});

const edited = (name: string, edit: (xml: string) => string): MintedCase =>
	manifest(name, "RIM_WRONG", (plan) => {
		plan.editXml = edit;
	});

const gpuCases = (): MintedCase[] => [
	gpu("whole", null, () => {}),
	gpu("Blackwell's firmware id", null, ({ gpu }) => {
		gpu.isBlackwell = true;
	}),
	gpu("genuine alone", null, (one) => Object.assign(one, { driver: [], vbios: [], ocsp: [], ask: "genuine" })),
	gpu("no firmware id in the report", null, ({ gpu }) => gpu.opaque.delete(20)),
	report("one byte more", "ATTEST_FORM", (bytes) => Uint8Array.from([...bytes, 0])),
	report("one byte less", "ATTEST_FORM", (bytes) => bytes.subarray(0, -1)),
	report("another request", "ATTEST_VERSION", at(1, 0xe1)),
	report("another slot", "ATTEST_FORM", at(36, 1)),
	report("another response", "ATTEST_FORM", at(38, 0x61)),
	report("fewer blocks announced", "ATTEST_SIGNATURE", at(41, BLOCKS - 1)),
	report("a shorter record", "ATTEST_FORM", at(42, 0)),
	report("a block twice", "ATTEST_SIGNATURE", at(37 + 8 + 55, 1)),
	report("a block without index", "ATTEST_SIGNATURE", at(37 + 8, 0)),
	report("a block of another kind", "ATTEST_SIGNATURE", at(37 + 8 + 1, 2)),
	report("a signed byte changed", "ATTEST_SIGNATURE", at(10, 0x77)),
	report("a measurement changed", "ATTEST_SIGNATURE", (bytes) => at(80, bytes[80]! ^ 1)(bytes)),
	report("the signature changed", "ATTEST_SIGNATURE", (bytes) => at(bytes.length - 1, bytes.at(-1)! ^ 1)(bytes)),
	gpu("signed by another", "ATTEST_SIGNATURE", ({ gpu }) => {
		gpu.signer = keyOf("another");
	}),
	gpu("an opaque field twice", "ATTEST_VERSION", ({ gpu }) => {
		gpu.opaque.set(3 + 0x10000, utf8ToBytes("9"));
	}),
	gpu("no driver", "ATTEST_VERSION", ({ gpu }) => gpu.opaque.delete(3)),
	gpu("no VBIOS", "ATTEST_VERSION", ({ gpu }) => gpu.opaque.delete(6)),
	gpu("a driver that is no text", "ATTEST_VERSION", ({ gpu }) => gpu.opaque.set(3, Uint8Array.of(0x1b, 0x5b))),
	gpu("NVDEC0 in no state", "ATTEST_VERSION", ({ gpu }) => gpu.opaque.set(11, Uint8Array.of(1))),
	gpu("a mode that is not known", "ATTEST_VERSION", ({ gpu }) => gpu.opaque.set(36, Uint8Array.of(9, 0))),
	gpu("four certificates", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.editChain = (chain) => chain.slice(1);
	}),
	gpu("the root twice", "ATTEST_VERSION", ({ gpu }) => {
		gpu.editChain = (chain) => [...chain, chain[4]!];
	}),
	gpu("two swapped", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.editChain = ([a, b, c, d, e]) => [a!, c!, b!, d!, e!];
	}),
	gpu("a root of the same name", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.root = mintCertificate({ CN: "NVIDIA Device Identity CA", key: keyOf("usurper"), isCa: true });
	}),
	gpu("an expired leaf", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.leaf.until = "20250101000000Z";
	}),
	gpu("an expired identity", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.identity.until = "20250101000000Z";
	}),
	gpu("a leaf that is an authority", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.leaf.isCa = true;
	}),
	gpu("an identity that is no authority", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.identity.isCa = false;
	}),
	gpu("an identity that may not sign", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.identity.keyUsage = 0x80;
	}),
	gpu("more authorities than allowed", "ATTEST_CHAIN", ({ gpu }) => {
		gpu.provisioner.pathLength = 0;
	}),
	gpu("a critical extension nobody knows", "ATTEST_VERSION", ({ gpu }) => {
		gpu.leaf.extensions = [{ oid: "1.2.3.4", value: octets(new Uint8Array(1)), isCritical: true }];
	}),
	gpu("an extension twice", "ATTEST_FORM", ({ gpu }) => {
		gpu.leaf.extensions = [{ oid: "2.5.29.19", value: seq() }];
	}),
	gpu("another firmware id in the leaf", "FIRMWARE_ID_WRONG", ({ gpu }) => {
		gpu.certified = blockOf(99);
	}),
	gpu("no firmware id in the leaf", "ATTEST_VERSION", ({ gpu }) => {
		gpu.certified = null;
	}),
	gpu("another chip than claimed", "DEVICE_OTHER", (one) => {
		one.chip = "GB100";
	}),
	gpu("a switch's serial", "DEVICE_OTHER", ({ gpu }) => {
		gpu.identity.serialNumber = "500102030405060708";
	}),
	gpu("a serial of another form", "ATTEST_VERSION", ({ gpu }) => {
		gpu.identity.serialNumber = "1234";
	}),
	gpu("another nonce", "NONCE_WRONG", (one) => {
		one.nonce = new Uint8Array(32);
	}),
	gpu("a nonce of another length", "NONCE_WRONG", (one) => {
		one.nonce = NONCE.subarray(1);
	}),
	...versionedCases(),
	...measurementCases(),
	...ocspCases(),
];

/** The second layout of opaque data, and those to come. */
const newer = (
	name: string,
	code: string | null,
	plan: GpuPlan,
	change: (one: Bundle) => void = () => {},
): MintedCase =>
	gpu(name, code, (one) => {
		one.gpu = plan;
		change(one);
	});

const versionedCases = (): MintedCase[] => [
	newer("versioned", null, versionedPlan()),
	newer("a later minor version", null, versionedPlan(2, 7)),
	newer("format 3.0", "ATTEST_VERSION", versionedPlan(3, 0)),
	newer("format 1.0", "ATTEST_VERSION", versionedPlan(1, 0)),
	newer("profile 1", "ATTEST_VERSION", versionedPlan(2, 0, 1)),
	newer("padding in use", "ATTEST_VERSION", versionedPlan(2, 0, 0, 1)),
	newer("a field of a kind to come", null, versionedPlan(), ({ gpu }) => {
		gpu.opaque.set(200, new Uint8Array(70));
		gpu.kinds.set(200, 0x9f);
	}),
	newer("a firmware id of a form to come", "ATTEST_VERSION", versionedPlan(), ({ gpu }) => {
		gpu.certified = new Uint8Array(64);
	}),
	newer("a mode to come", "ATTEST_VERSION", versionedPlan(), ({ gpu }) => {
		gpu.opaque.set(36, Uint8Array.of(7, 0));
	}),
	newer("no driver", "ATTEST_VERSION", versionedPlan(), ({ gpu }) => {
		gpu.opaque.delete(3);
	}),
	gpu("the first layout, of version 3", "ATTEST_VERSION", ({ gpu }) => {
		gpu.opaque.set(34, Uint8Array.of(3, 0));
	}),
	gpu("the first layout, of version 1", null, ({ gpu }) => {
		gpu.opaque.set(34, Uint8Array.of(1, 0));
	}),
	gpu("one certificate more than is known", "ATTEST_VERSION", ({ gpu }) => {
		gpu.editChain = ([, identity, ...rest]) => {
			const between = mintCertificate({ CN: "GSP", key: keyOf("between"), isCa: true, issuer: identity! });
			const leaf = mintCertificate({ CN: "GSP FMC", key: keyOf(`${gpu.card} leaf`), issuer: between });
			return [leaf, between, identity!, ...rest];
		};
	}),
	// What can be checked of a format to come is checked.
	newer("format 3.0, signed by another", "ATTEST_SIGNATURE", versionedPlan(3, 0), ({ gpu }) => {
		gpu.signer = keyOf("another");
	}),
	newer("format 3.0, of another root", "ATTEST_CHAIN", versionedPlan(3, 0), ({ gpu }) => {
		gpu.root = mintCertificate({ CN: "NVIDIA Device Identity CA", key: keyOf("usurper"), isCa: true });
	}),
	newer("format 3.0, another nonce", "NONCE_WRONG", versionedPlan(3, 0), (one) => {
		one.nonce = new Uint8Array(32);
	}),
	newer("format 3.0, a switch's serial", "DEVICE_OTHER", versionedPlan(3, 0), ({ gpu }) => {
		gpu.identity.serialNumber = "500102030405060708";
	}),
	newer("format 3.0, revoked", "CERTIFICATE_REVOKED", versionedPlan(3, 0), ({ ocsp }) => {
		ocsp[0]!.state = "revoked";
	}),
	newer("format 3.0, a manifest that nobody signed", "RIM_WRONG", versionedPlan(3, 0), ({ driver }) => {
		driver[0]!.signer = keyOf("another");
	}),
	...floorCases(),
];

const floorCases = (): MintedCase[] => [
	newer("at its floor", null, versionedPlan(), ({ driver }) => driver[0]!.floors.set(37, "5")),
	newer("below its floor", "TCB_REFUSED", versionedPlan(), ({ driver }) => driver[0]!.floors.set(37, "6")),
	newer("below a floor of 64 bits", "TCB_REFUSED", versionedPlan(), ({ vbios }) =>
		vbios[0]!.floors.set(37, "18446744073709551615"),
	),
	newer("a floor for what it does not show", "ATTEST_VERSION", versionedPlan(), ({ driver }) =>
		driver[0]!.floors.set(40, "1"),
	),
	newer("a floor for another kind of value", "ATTEST_VERSION", versionedPlan(), ({ driver, gpu }) => {
		driver[0]!.floors.set(37, "1");
		gpu.kinds.set(37, 0x86);
	}),
	newer("a floor for a number of nine bytes", "ATTEST_VERSION", versionedPlan(), ({ driver, gpu }) => {
		driver[0]!.floors.set(37, "1");
		gpu.opaque.set(37, new Uint8Array(9).fill(1));
	}),
	gpu("a floor, and the first layout", "ATTEST_VERSION", ({ driver }) => driver[0]!.floors.set(37, "1")),
	newer("two manifests with a floor of one field", "RIM_WRONG", versionedPlan(), ({ driver, vbios }) => {
		driver[0]!.floors.set(37, "5");
		vbios[0]!.floors.set(37, "5");
	}),
	newer("at its floor, and measured otherwise", "MEASUREMENT_WRONG", versionedPlan(), ({ driver, gpu }) => {
		driver[0]!.floors.set(37, "5");
		gpu.blocks[9] = new Uint8Array(48);
	}),
	newer("two issues, the second without a higher floor", null, versionedPlan(), (one) => {
		const higher = manifestPlan("vbios");
		higher.floors.set(37, "6");
		one.vbios.unshift(higher);
	}),
	gpu("an entry to come", "ATTEST_VERSION", ({ driver }) => {
		driver[0]!.entries = '<ns0:Resource type="Range" index="70"/>';
	}),
	gpu("an entry to come, and measured otherwise", "MEASUREMENT_WRONG", ({ driver, gpu }) => {
		driver[0]!.entries = '<ns0:Resource type="Range" index="70"/>';
		gpu.blocks[9] = new Uint8Array(48);
	}),
	gpu("two issues, the second without an entry to come", null, (one) => {
		const later = manifestPlan("driver");
		later.entries = '<ns0:Resource type="Range" index="70"/>';
		one.driver.unshift(later);
	}),
	gpu("an entry to come that is not active", null, ({ driver }) => {
		driver[0]!.entries = '<ns0:Resource type="Measurement" index="4200" active="False" size="4"/>';
	}),
];

const measurementCases = (): MintedCase[] => [
	gpu("no driver manifest", "COLLATERAL_MISSING", (one) => {
		one.driver = [];
	}),
	gpu("no VBIOS manifest", "COLLATERAL_MISSING", (one) => {
		one.vbios = [];
	}),
	gpu("a driver manifest of another version", "RIM_OTHER", ({ driver }) => {
		driver[0]!.version = "570.10.02";
	}),
	gpu("a manifest of another product", "RIM_OTHER", ({ vbios }) => {
		vbios[0]!.product = "GB100";
	}),
	gpu("an expired manifest", "COLLATERAL_STALE", ({ driver }) => {
		driver[0]!.until = "20250101000000Z";
	}),
	gpu("a driver measurement that is not there", "MEASUREMENT_WRONG", ({ driver }) => {
		driver[0]!.active.set(200, ["00".repeat(48)]);
	}),
	gpu("another value", "MEASUREMENT_WRONG", ({ vbios }) => {
		vbios[0]!.active.set(2, ["00".repeat(48)]);
	}),
	gpu("the second of two values", null, ({ vbios }) => {
		vbios[0]!.active.set(2, ["00".repeat(48), [...vbios[0]!.active.get(2)!][0]!]);
	}),
	gpu("two issues, the second fits", null, (one) => {
		const other = manifestPlan("vbios");
		other.active.set(2, ["00".repeat(48)]);
		one.vbios.unshift(other);
	}),
	gpu("two issues, neither whole", "MEASUREMENT_WRONG", (one) => {
		const other = manifestPlan("vbios");
		other.active.set(2, ["00".repeat(48)]);
		one.vbios[0]!.active.set(1, ["00".repeat(48)]);
		one.vbios.unshift(other);
	}),
	gpu("driver and VBIOS measure one index", "RIM_WRONG", ({ vbios, driver }) => {
		vbios[0]!.active.set(9, driver[0]!.active.get(9)!);
	}),
	gpu("NVDEC0 off and 35 wrong", null, ({ driver }) => {
		driver[0]!.active.set(35, ["00".repeat(48)]);
	}),
	gpu("NVDEC0 on and 35 wrong", "MEASUREMENT_WRONG", ({ driver, gpu }) => {
		driver[0]!.active.set(35, ["00".repeat(48)]);
		gpu.opaque.set(11, Uint8Array.of(0xaa));
	}),
];

const ocspCases = (): MintedCase[] => [
	gpu("revoked", "CERTIFICATE_REVOKED", ({ ocsp }) => {
		ocsp[0]!.state = "revoked";
	}),
	gpu("unknown to the responder", "COLLATERAL_MISSING", ({ ocsp }) => {
		ocsp[1]!.state = "unknown";
	}),
	gpu("an answer of last week", "COLLATERAL_STALE", ({ ocsp }) =>
		Object.assign(ocsp[0]!, { from: "20250612000000Z", until: "20250613000000Z" }),
	),
	gpu("an answer that holds too long", "COLLATERAL_STALE", ({ ocsp }) =>
		Object.assign(ocsp[0]!, { from: "20250612000000Z", until: "20260613000000Z" }),
	),
	gpu("an answer of next month", "COLLATERAL_STALE", ({ ocsp }) =>
		Object.assign(ocsp[0]!, { from: "20250720000000Z", until: "20250721000000Z" }),
	),
	gpu("an answer about nobody", "COLLATERAL_WRONG", ({ ocsp }) => {
		ocsp[0]!.certificate = { ...ocsp[0]!.certificate, serial: 4711 };
	}),
	gpu("a responder of another issuer", "COLLATERAL_WRONG", ({ ocsp }) => {
		ocsp[0]!.delegate = { issuer: deviceRoot };
	}),
	gpu("a responder for another purpose", "COLLATERAL_WRONG", ({ ocsp }) => {
		ocsp[0]!.delegate = { purposes: "1.3.6.1.5.5.7.3.1" };
	}),
	gpu("an expired responder", "COLLATERAL_STALE", ({ ocsp }) => {
		ocsp[0]!.delegate = { until: "20250101000000Z" };
	}),
	gpu("the issuer answers itself", null, ({ ocsp }) => {
		ocsp[0]!.delegate = null;
	}),
	gpu("an answer signed by another", "COLLATERAL_WRONG", ({ ocsp }) => {
		ocsp[0]!.signer = keyOf("another");
	}),
	gpu("no answer at all", "COLLATERAL_MISSING", ({ ocsp }) => {
		ocsp[0]!.status = 6;
	}),
	gpu("an answer with a nonce", null, ({ ocsp }) => {
		ocsp[0]!.nonce = NONCE;
	}),
	gpu("the manifest's signer revoked", "CERTIFICATE_REVOKED", ({ ocsp, driver }) => {
		const [leaf, authority] = manifestChain(driver[0]!);
		ocsp.push({ ...ocspPlan(leaf!, authority!), state: "revoked" });
	}),
];

const ATTRIBUTE = 'colloquialVersion="570.10.01"';

const manifestCases = (): MintedCase[] => [
	manifest("whole", null, () => {}),
	manifest("expired", "COLLATERAL_STALE", () => {}, "2028-01-01T00:00:00Z"),
	manifest("another root", "RIM_WRONG", (plan) => {
		plan.root = mintCertificate({ CN: "Mint CoRIM Root", key: keyOf("usurper"), isCa: true });
	}),
	manifest("signed by another", "RIM_WRONG", (plan) => {
		plan.signer = keyOf("another");
	}),
	manifest("a reference elsewhere", "RIM_WRONG", (plan) => {
		plan.editInfo = (info) => info.replace('URI=""', 'URI="#x"');
	}),
	manifest("another canonical form", "ATTEST_VERSION", (plan) => {
		plan.editInfo = (info) => info.replace("2006/12/xml-c14n11", "TR/2001/REC-xml-c14n-20010315");
	}),
	manifest("another digest", "ATTEST_VERSION", (plan) => {
		plan.editInfo = (info) => info.replace("xmldsig-more#sha384", "xmlenc#sha256");
	}),
	manifest("one transform", "RIM_WRONG", (plan) => {
		plan.editInfo = (info) => info.replace(/<ds:Transform [^>]*enveloped-signature"\/>/, "");
	}),
	manifest("no version", "RIM_WRONG", (plan) => {
		plan.editUnsigned = (xml) => xml.replace(ATTRIBUTE, "");
	}),
	manifest("two Metas", "RIM_WRONG", (plan) => {
		plan.editUnsigned = (xml) =>
			xml.replace("<ns0:Payload>", '<ns0:Meta colloquialVersion="1" product="GH100"/><ns0:Payload>');
	}),
	manifest("an index twice", "RIM_WRONG", (plan) => {
		plan.editUnsigned = (xml) => xml.replace('index="9"', 'index="8"');
	}),
	manifest("an active that is neither", "RIM_WRONG", (plan) => {
		plan.editUnsigned = (xml) => xml.replace('active="True"', 'active="true"');
	}),
	manifest("values that were not announced", "RIM_WRONG", (plan) => {
		plan.editUnsigned = (xml) => xml.replace('alternatives="1"', 'alternatives="2"');
	}),
	manifest("a value that is no hash", "RIM_WRONG", (plan) => {
		plan.active.set(8, ["xyz"]);
	}),
	manifest("nothing active", "RIM_WRONG", (plan) => {
		plan.editUnsigned = (xml) => xml.replaceAll('active="True"', 'active="False"');
	}),
	manifest("another namespace", "ATTEST_VERSION", (plan) => {
		plan.editUnsigned = (xml) => xml.replaceAll("iso/19770/-2/2015", "iso/19770/-2/2016");
	}),
	manifest("escaped characters", null, (plan) => {
		plan.meta = ' note="a &amp; b &#x9; &lt; &quot;"';
	}),
	edited("changed after signing", (xml) => xml.replace(ATTRIBUTE, 'colloquialVersion="570.10.02"')),
	edited("a comment", (xml) => xml.replace("<ns0:Payload>", "<!-- hello --><ns0:Payload>")),
	edited("a document type", (xml) => `<!DOCTYPE x [<!ENTITY a "b">]>${xml}`),
	edited("a processing instruction", (xml) => xml.replace("<ns0:Payload>", "<?x y?><ns0:Payload>")),
	edited("CDATA", (xml) => xml.replace("<ns0:Payload>", "<![CDATA[x]]><ns0:Payload>")),
	edited("an entity", (xml) => xml.replace('name="mint"', 'name="&mint;"')),
	edited("an attribute of xml", (xml) => xml.replace('name="mint"', 'name="mint" xml:lang="en"')),
	edited("a second signature", (xml) => xml.replace(/(<ds:Signature [\s\S]*<\/ds:Signature>)/, "$1$1")),
	edited(
		"wrapped",
		(xml) =>
			`<SoftwareIdentity xmlns="http://standards.iso.org/iso/19770/-2/2015/schema.xsd">${xml}</SoftwareIdentity>`,
	),
	edited("no signature", (xml) => xml.replace(/<ds:Signature [\s\S]*<\/ds:Signature>/, "")),
	edited("an attribute twice", (xml) => xml.replace('name="mint"', 'name="mint" name="mint"')),
	edited("something after the end", (xml) => `${xml}<x/>`),
	edited("an undeclared prefix", (xml) => xml.replace("<ns0:Meta", "<ns9:Meta")),
	edited("deep nesting", (xml) => xml.replace("<ns0:Payload>", `${"<a>".repeat(64)}${"</a>".repeat(64)}<ns0:Payload>`)),
	edited("a certificate that is not base64", (xml) => xml.replace("<ds:X509Certificate>", "<ds:X509Certificate>*")),
	edited("a signature of zeros", (xml) =>
		xml.replace(/<ds:SignatureValue>[^<]*/, `<ds:SignatureValue>${base64(new Uint8Array(96))}`),
	),
];

const round = (name: string, code: string | null, change: (plans: GpuPlan[]) => GpuPlan[], nonce = NONCE): MintedCase =>
	minted(`round: ${name}`, code, undefined, (settings) => {
		const plans = [0, 1].map((i) => {
			const plan = gpuPlan();
			Object.assign(plan, { card: `card ${i}`, pdi: `010203040506070${i}` });
			plan.opaque.set(22, hexToBytes("a1a2a3a4a5a6a7a8")!.reverse());
			return plan;
		});
		const hub = switchPlan();
		hub.opaque.set(26, hexToBytes(`${plans[0]!.pdi}${plans[1]!.pdi}${"ff".repeat(48)}`)!);
		return verifyDeviceSet(() => change([...plans, hub]).map(mintDevice), nonce, settings);
	});

const inFormat3 = (plan: GpuPlan): GpuPlan => ({ ...plan, header: versionedPlan(3).header });
const ofSpdm12 = (plan: GpuPlan): GpuPlan => ({ ...plan, editReport: at(0, 0x12) });

const roundCases = (): MintedCase[] => [
	round("whole", null, (plans) => plans),
	round("a card missing", "TOPOLOGY_WRONG", ([, b, hub]) => [b!, hub!]),
	round("another switch", "TOPOLOGY_WRONG", ([a, b, hub]) => {
		hub!.pdi = "b1a2a3a4a5a6a7a8";
		hub!.opaque.set(22, hexToBytes(hub!.pdi)!);
		return [a!, b!, hub!];
	}),
	round("a card without links", "TOPOLOGY_WRONG", ([a, b, hub]) => {
		a!.opaque.delete(22);
		return [a!, b!, hub!];
	}),
	round("a switch that names another", "DEVICE_OTHER", ([a, b, hub]) => {
		hub!.opaque.set(22, new Uint8Array(8).fill(1));
		return [a!, b!, hub!];
	}),
	round("a card twice", "DEVICE_REPEATED", ([a]) => [a!, a!]),
	round("two rounds", "NONCE_WRONG", ([a, b]) => [a!, { ...b!, nonce: new Uint8Array(32) }]),
	round("another nonce", "NONCE_WRONG", ([a]) => [a!], new Uint8Array(32)),
	round("nobody", "ATTEST_FORM", () => []),
	round("one in format 3.0", "ATTEST_VERSION", ([a, b, hub]) => [inFormat3(a!), b!, hub!]),
	round("one in format 3.0, signed by another", "ATTEST_SIGNATURE", ([a, b, hub]) => [
		...[{ ...inFormat3(a!), signer: keyOf("another") }, b!, hub!],
	]),
	round("one in format 3.0, of another round", "NONCE_WRONG", ([a, b, hub]) => [
		...[{ ...inFormat3(a!), nonce: new Uint8Array(32) }, b!, hub!],
	]),
	round("one in format 3.0, twice", "DEVICE_REPEATED", ([a]) => [inFormat3(a!), a!]),
	round("one in format 3.0, and a switch that does not name it", "TOPOLOGY_WRONG", ([a, , hub]) => [
		...[inFormat3(a!), hub!],
	]),
	round("one of SPDM 1.2", "ATTEST_VERSION", ([a, b]) => [ofSpdm12(a!), b!]),
	round("one of SPDM 1.2, and one that another signed", "ATTEST_SIGNATURE", ([a, b]) => [
		...[ofSpdm12(a!), { ...b!, signer: keyOf("another") }],
	]),
	round("one of SPDM 1.2, of another root", "ATTEST_CHAIN", ([a]) => [
		{ ...ofSpdm12(a!), root: mintCertificate({ CN: "NVIDIA Device Identity CA", key: keyOf("usurper"), isCa: true }) },
	]),
];

const switchCases = (): MintedCase[] => [
	minted("switch: whole", null, undefined, (settings) =>
		verifyDevice(
			mintDevice(switchPlan()),
			{ ask: "measured", nonce: NONCE, chip: null, manifests: [mintManifest(manifestPlan("bios"))], ocsp: [] },
			settings,
		),
	),
	minted("switch: no BIOS", "ATTEST_VERSION", undefined, (settings) => {
		const plan = switchPlan();
		plan.opaque.delete(6);
		return verifyDevice(
			mintDevice(plan),
			{ ask: "genuine", nonce: null, chip: null, manifests: [], ocsp: [] },
			settings,
		);
	}),
	minted("switch: shown as a GPU", "DEVICE_OTHER", undefined, (settings) =>
		verifyDevice(
			{ ...mintDevice(switchPlan()), kind: "gpu" },
			{ ask: "genuine", nonce: null, chip: null, manifests: [], ocsp: [] },
			settings,
		),
	),
];

export const nvidiaCases = (): MintedCase[] => [...gpuCases(), ...manifestCases(), ...roundCases(), ...switchCases()];
