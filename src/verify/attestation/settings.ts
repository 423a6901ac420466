// What every judgement is told: the roots that are trusted, the moment, the policy, and how signatures are
// checked. No flag and no setting of a program adds roots; tests bring their own, and every verdict under
// them says SIMULATED_ROOTS.

import type { GuestRule } from "./guest-rules.ts";
import type { Memory } from "./memory.ts";
import type { Hearing } from "./verdict.ts";
import type { VerifySignature } from "./x509/signature.ts";

export type AmdProduct = "Milan" | "Genoa" | "Turin";

/** SHA-256 of the DER of each trust anchor, in hex. */
export interface Roots {
	readonly nvidiaDevice: readonly string[];
	readonly nvidiaManifest: readonly string[];
	readonly intel: readonly string[];
	readonly amd: Readonly<Record<AmdProduct, readonly string[]>>;
}

export const VENDOR_ROOTS: Roots = {
	// NVIDIA Device Identity CA; a second one of the same name was published later.
	nvidiaDevice: [
		"102bf659d5419614c9d8e6aecebc80454eb26b1df6a769ac720b9a690b167b48",
		"8805700fd307db6801f9a8a7a91acbf72e513cdf8ed16e0bfeaf62318037ad96",
	],
	// NVIDIA CoRIM signing Root CA
	nvidiaManifest: ["12977b5115acb0381179279fffeb5a8c4d264971ebb32298023a465fa41df5d1"],
	// Intel SGX Root CA
	intel: ["44a0196b2b99f889b8e149e95b807a350e7424964399e885a7cbb8ccfab674d3"],
	// ARK of each product
	amd: {
		Milan: ["69d063b45344d26a2e94e1f4210de49ef555308287d4c174445c95639a540bcd"],
		Genoa: ["4c6598d19c18719c5dfd4a7d335f674e5bfe1d8f800cea2cf270c10d103db2f1"],
		Turin: ["1f084161a44bb6d93778a904877d4819cafa5d05ef4193b2ded9dd9c73dd3f6a"],
	},
};

/**
 * Of the mint that tests and simulated hosts use. Everybody can sign under them, so they show nothing: a
 * verdict under them says SIMULATED_ROOTS and has level none. Known here so that such evidence is told from
 * false evidence.
 */
export const MINT_ROOTS: Roots = {
	nvidiaDevice: ["47afb356a94d783522d727b779bae80edcbbe9b2b59703d9365b0fe295cb76a1"],
	nvidiaManifest: ["52a458bd3ccff1a8677b6f07cf045345ee396ec69ef4d9d83d5ebaa66647a4e6"],
	intel: ["45c9e6fc84de7739cb887801713b3ec6482919e53ff8e8e29c83f0f0c765d047"],
	amd: {
		Milan: ["5bfcec3fde3033c1ea000a520f5f4a644f26fca1da5c369d2395d1dbb52d384d"],
		Genoa: ["00607d94d7fb06135b7c198d0abc7b5863cbc7eb93e7d24e538ec8ad01277a35"],
		Turin: ["d81abcebfc4c0b63dad5acbf15d4a04371e6a60cd228721d9801a86a451d1274"],
	},
};

/** refuse: invalid. tell: valid with a finding. */
type TcbAnswer = "accept" | "tell" | "refuse";

export interface AttestationPolicy {
	readonly tcb: Readonly<Record<string, TcbAnswer>>;
	/** Null: any guest. */
	readonly guests: readonly GuestRule[] | null;
	/** The lowest firmware without a finding FIRMWARE_OLD; null: any. */
	readonly oldestDriver: string | null;
	/** The highest privilege level (VMPL) from which an SNP report may come. */
	readonly highestVmpl: number;
	/** An OCSP answer holds so long, whatever it says itself. */
	readonly ocspHoldsMs: number;
	/** Collateral may be younger than the moment by so much: it is fetched after the report. */
	readonly leadMs: number;
}

const DAY_MS = 86_400_000;

export const DEFAULT_POLICY: AttestationPolicy = {
	tcb: {
		UpToDate: "accept",
		SWHardeningNeeded: "tell",
		ConfigurationNeeded: "tell",
		ConfigurationAndSWHardeningNeeded: "tell",
		OutOfDate: "refuse",
		OutOfDateConfigurationNeeded: "refuse",
		Revoked: "refuse",
	},
	guests: null,
	oldestDriver: null,
	highestVmpl: 3,
	ocspHoldsMs: DAY_MS,
	leadMs: DAY_MS,
};

export interface AttestationSettings {
	readonly roots: Roots;
	readonly atMs: number;
	readonly policy: AttestationPolicy;
	readonly verify: VerifySignature;
	/** Of this judgement; absent: everything is read each time. */
	readonly memory?: Memory;
}

/** `read`, once for each `of` where the judgement remembers. */
export const readOnce = <T>(
	{ memory }: Pick<AttestationSettings, "memory">,
	...[kind, of, read]: Parameters<typeof Memory.prototype.once<T>>
): T => (memory === undefined ? read() : memory.once(kind, of, read));

/** Says so when roots other than the vendors' were trusted. */
export function tellSimulated(hearing: Hearing, roots: readonly string[], vendors: readonly string[]): void {
	if (roots.some((root) => !vendors.includes(root)))
		hearing.find(
			"SIMULATED_ROOTS",
			"roots other than the vendors' are trusted here: this is no evidence of any hardware",
		);
}
