// Asks the vendors for files: NVIDIA's manifests and OCSP responder, Intel's PCS v4, AMD's KDS. Bounded in
// bytes, time and number; what cannot be had is told and nothing else changes. What comes is only bytes:
// whether it gets into a bundle its signature decides.
import { askBounded } from "../platform/bounded-fetch.ts";
import { bytesToHex, utf8ToBytes } from "../protocol/bytes/bytes.ts";
import type { Wanted } from "../verify/attestation/collateral/wanted.ts";

export interface Sources {
	readonly rim: string;
	readonly ocsp: string;
	readonly intel: string;
	readonly intelRootList: string;
	readonly amd: string;
	/** Each answer must be whole within this time. */
	readonly withinMs: number;
}

export const VENDOR_SOURCES: Sources = {
	rim: "https://rim.attestation.nvidia.com",
	ocsp: "https://ocsp.ndis.nvidia.com",
	intel: "https://api.trustedservices.intel.com",
	intelRootList: "https://certificates.trustedservices.intel.com/IntelSGXRootCA.der",
	amd: "https://kdsintf.amd.com",
	withinMs: 20_000,
};

const MOST_BYTES = 1024 * 1024;
/** Of one update: eight GPUs and four switches need less than half of it. */
const MOST_ASKED = 128;

export interface Fetched {
	readonly files: readonly { readonly path: string; readonly bytes: Uint8Array }[];
	readonly failed: readonly { readonly url: string; readonly detail: string }[];
}

export async function fetchWanted(wanted: readonly Wanted[], sources: Sources, signal: AbortSignal): Promise<Fetched> {
	const files: { path: string; bytes: Uint8Array }[] = [];
	const failed: { url: string; detail: string }[] = [];
	for (const [i, one] of wanted.entries()) {
		const url = urlOf(one, sources);
		try {
			if (i >= MOST_ASKED) throw new Error(`more than ${MOST_ASKED} files are wanted; call again for the rest`);
			files.push({ path: url, bytes: await fetchOne(one, url, sources, signal) });
		} catch (cause) {
			if (signal.aborted) throw cause;
			failed.push({ url, detail: (cause as Error).message });
		}
	}
	return { files, failed };
}

function urlOf(one: Wanted, { rim, ocsp, intel, amd }: Sources): string {
	switch (one.from) {
		case "rim":
			return `${rim}/v1/rim/${encodeURIComponent(one.name)}`;
		case "ocsp":
			return `${ocsp}/`;
		case "intel":
			return `${intel}/${one.tee}/certification/v4/tcb?fmspc=${one.fmspc}`;
		case "amd":
			return `${amd}/${one.key}/v1/${one.product}/${one.file}`;
	}
}

type Post = { readonly type: string; readonly bytes: Uint8Array };

async function ask(url: string, { withinMs }: Sources, signal: AbortSignal, post?: Post) {
	const answer = await askBounded(new URL(url), { mostBytes: MOST_BYTES, withinMs, signal, post });
	if (answer === null) throw new Error("there is none, or it is larger than 1 MiB");
	return answer;
}

async function fetchOne(one: Wanted, url: string, sources: Sources, signal: AbortSignal): Promise<Uint8Array> {
	if (one.from === "intel") return fetchIntel(one, url, sources, signal);
	const post = one.from === "ocsp" ? { type: "application/ocsp-request", bytes: one.request } : undefined;
	const { body } = await ask(url, sources, signal, post);
	if (one.from !== "rim") return new Uint8Array(body);
	const { rim } = JSON.parse(body.toString()) as { rim?: unknown };
	if (typeof rim !== "string") throw new Error("the answer holds no manifest");
	return new Uint8Array(Buffer.from(rim, "base64"));
}

/**
 * Four answers in the layout of one file. The signed texts are taken as they came: other spaces would be
 * another text.
 */
async function fetchIntel(
	{ tee, ca }: Extract<Wanted, { from: "intel" }>,
	tcbUrl: string,
	sources: Sources,
	signal: AbortSignal,
): Promise<Uint8Array> {
	const { intel, intelRootList } = sources;
	const at = `${intel}/${tee}/certification/v4`;
	const [tcb, qe, list, rootList] = [
		await ask(tcbUrl, sources, signal),
		await ask(`${at}/qe/identity`, sources, signal),
		await ask(`${intel}/sgx/certification/v4/pckcrl?ca=${ca}&encoding=der`, sources, signal),
		await ask(intelRootList, sources, signal),
	];
	const [tcbInfo, identity] = [signedText(tcb.body, "tcbInfo"), signedText(qe.body, "enclaveIdentity")];
	const chain = (headers: Headers, name: string) => decodeURIComponent(headers.get(name) ?? "");
	return utf8ToBytes(
		JSON.stringify({
			pck_crl_issuer_chain: chain(list.headers, "SGX-PCK-CRL-Issuer-Chain"),
			root_ca_crl: bytesToHex(rootList.body),
			pck_crl: bytesToHex(list.body),
			tcb_info_issuer_chain: chain(tcb.headers, "TCB-Info-Issuer-Chain"),
			tcb_info: tcbInfo.text,
			tcb_info_signature: tcbInfo.signature,
			qe_identity_issuer_chain: chain(qe.headers, "SGX-Enclave-Identity-Issuer-Chain"),
			qe_identity: identity.text,
			qe_identity_signature: identity.signature,
		}),
	);
}

function signedText(body: Buffer, name: string): { readonly text: string; readonly signature: string } {
	const head = `{"${name}":`;
	const words = body.toString();
	const tail = /,"signature":"([0-9a-fA-F]{128})"\}\s*$/.exec(words);
	if (!words.startsWith(head) || tail === null) throw new Error(`the answer holds no ${name} with its signature`);
	return { text: words.slice(head.length, tail.index), signature: tail[1]! };
}
