// Fetching vendors' files for evidence, against a toy of their services: what was minted is asked for by the
// vendors' names, gets in by its signature, is not asked for again within a day, and gives the verdict that
// the files themselves give. And hostile services.
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { loadBundle } from "../../src/cli/attest-collateral.ts";
import type { Sources } from "../../src/cli/attest-sources.ts";
import { updateFromVendors } from "../../src/cli/attest-update.ts";
import { readBounded } from "../../src/platform/bounded-fetch.ts";
import { nodeSignatures } from "../../src/platform/node-signatures.ts";
import { mintCrl, pem } from "../../src/verify/attestation/mint/der-writer.test-kit.ts";
import { arkOf, askOf } from "../../src/verify/attestation/mint/mint-amd.test-kit.ts";
import { collateralPlan, mintCollateral } from "../../src/verify/attestation/mint/mint-intel.test-kit.ts";
import {
	chainOf,
	gpuPlan,
	manifestChain,
	manifestPlan,
	mintManifest,
	mintOcsp,
	ocspPlan,
} from "../../src/verify/attestation/mint/mint-nvidia.test-kit.ts";
import { mintedRounds, mintedSettings } from "../../src/verify/attestation/mint/minted-rounds.test-kit.ts";
import { verifyFiles } from "../../src/verify/attestation/verify-files.ts";
import { rememberSignatures } from "../../src/verify/attestation/x509/signature.ts";

const verify = rememberSignatures(nodeSignatures);
const settings = mintedSettings("2025-06-20T12:00:00Z", verify);
const scratch = mkdtempSync(join(tmpdir(), "assay-update-"));
const never = new AbortController().signal;
const asked: string[] = [];

/** The toy answers about whichever minted certificate the request names last: its serial number. */
function answerTo(request: Buffer): Uint8Array {
	const device = chainOf(gpuPlan());
	const chains = [device.slice(1), manifestChain(manifestPlan("driver"))];
	for (const chain of chains)
		for (const [i, certificate] of chain.slice(0, -1).entries())
			if (request.at(-1) === certificate.serial) return mintOcsp(ocspPlan(certificate, chain[i + 1]!));
	throw new Error("no such certificate");
}

const intel = (): Record<string, string> => JSON.parse(Buffer.from(mintCollateral(collateralPlan())).toString());

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
	const { url = "" } = request;
	asked.push(url);
	const fields = intel();
	const chained = (name: string, key: string, body: string | Buffer) =>
		response.setHeader(name, encodeURIComponent(fields[key]!)).end(body);
	const manifest = (part: "driver" | "vbios") =>
		response.end(JSON.stringify({ id: part, rim: Buffer.from(mintManifest(manifestPlan(part))).toString("base64") }));
	switch (url) {
		case "/v1/rim/NV_GPU_DRIVER_GH100_570.10.01":
			return void manifest("driver");
		case "/v1/rim/NV_GPU_VBIOS_G520_0200_882_9600740001":
			return void manifest("vbios");
		case "/ocsp/":
			assert.equal(request.headers["content-type"], "application/ocsp-request");
			return void response.end(answerTo((await readBounded(request, 1000))!));
		case "/tdx/certification/v4/tcb?fmspc=00906ed50000": {
			const body = `{"tcbInfo":${fields.tcb_info},"signature":"${fields.tcb_info_signature}"}`;
			return void chained("TCB-Info-Issuer-Chain", "tcb_info_issuer_chain", body);
		}
		case "/tdx/certification/v4/qe/identity": {
			const body = `{"enclaveIdentity":${fields.qe_identity},"signature":"${fields.qe_identity_signature}"}`;
			return void chained("SGX-Enclave-Identity-Issuer-Chain", "qe_identity_issuer_chain", body);
		}
		case "/sgx/certification/v4/pckcrl?ca=platform&encoding=der":
			return void chained("SGX-PCK-CRL-Issuer-Chain", "pck_crl_issuer_chain", Buffer.from(fields.pck_crl!, "hex"));
		case "/root.der":
			return void response.end(Buffer.from(fields.root_ca_crl!, "hex"));
		case "/vcek/v1/Turin/cert_chain":
			return void response.end(pem(askOf("Turin"), arkOf("Turin")));
		case "/vcek/v1/Turin/crl":
			return void response.end(mintCrl({ issuer: arkOf("Turin") }));
		default:
			response.writeHead(404).end();
	}
}

const server = createServer((request, response) => {
	answer(request, response).catch(() => response.writeHead(500).end());
});
const hostile = createServer((request, response) => {
	// Manifests never end; everything else is words.
	if (!request.url!.includes("rim")) return void response.end("these are not the bytes that you want");
	const more = () => !response.destroyed && response.write("x".repeat(100_000), () => setImmediate(more));
	more();
});
before(async () => {
	for (const one of [server, hostile]) {
		one.listen(0, "127.0.0.1");
		await new Promise((resolve) => one.once("listening", resolve));
	}
});
after(() => {
	for (const one of [server, hostile]) {
		one.closeAllConnections();
		one.close();
	}
	rmSync(scratch, { recursive: true, force: true });
});
/** Slow machines have time: nothing here is about speed. */
const withinMs = 300_000;
const sourcesAt = (one: typeof server): Sources => {
	const at = `http://127.0.0.1:${(one.address() as AddressInfo).port}`;
	return { rim: at, ocsp: `${at}/ocsp`, intel: at, intelRootList: `${at}/root.der`, amd: at, withinMs };
};

/** The evidence of a round alone. */
const bare = (name: string): readonly Uint8Array[] => {
	const { files } = mintedRounds(verify).find((one) => one.name === name)!;
	return name === "tdx" ? [files[0]!, files[2]!] : files.slice(0, 2);
};
const ask = { require: null, nonce: null };

test("what evidence needs is fetched, kept, and not asked for again", async () => {
	const folder = join(scratch, "whole");
	for (const [name, count] of [
		["gpu", 2 + 3 + 2],
		["tdx", 1],
		["snp", 2],
	] as const) {
		const evidence = bare(name);
		const first = await updateFromVendors(folder, evidence, settings, sourcesAt(server), never);
		assert.deepEqual([first.asked, first.counts.new, first.failed, first.refused], [count, count, [], []], name);
		const requests = asked.length;
		const second = await updateFromVendors(folder, evidence, settings, sourcesAt(server), never);
		assert.deepEqual([second.asked, second.atHand, asked.length], [0, count, requests], name);
		const bundle = (await loadBundle(folder))!;
		const verdict = verifyFiles([...evidence, bundle], ask, settings);
		assert.equal(verdict.status, "valid", `${name}: ${verdict.detail}`);
		const codes = verdict.findings.map(({ code }) => code);
		assert.ok(!codes.includes("REVOCATION_UNASKED"), `${name}: ${codes.join(", ")}`);
	}
	const { facts } = verifyFiles([...bare("gpu"), (await loadBundle(folder))!], ask, settings);
	assert.ok((facts.measurements as number) > 0 && facts.ocsp === 5, JSON.stringify(facts));
	// A day later OCSP answers and what was fetched long ago are asked for again, and nothing is older than
	// what is at hand.
	const later = { ...settings, atMs: settings.atMs + 2 * 86_400_000 };
	const again = await updateFromVendors(folder, bare("gpu"), later, sourcesAt(server), never);
	assert.deepEqual([again.asked, again.counts.same, again.counts.new], [7, 7, 0]);
});

test("hostile services, and none at all, change nothing", async () => {
	const folder = join(scratch, "hostile");
	const evidence = [bare("gpu"), bare("snp")];
	for (const files of evidence) {
		const result = await updateFromVendors(folder, files, settings, sourcesAt(hostile), never);
		assert.equal(result.items, 0);
		assert.equal(result.failed.length + result.counts.refused + result.counts["passed over"], result.asked);
	}
	const gone = {
		rim: "http://127.0.0.1:9",
		ocsp: "http://127.0.0.1:9",
		intel: "",
		intelRootList: "",
		amd: "",
		withinMs,
	};
	const none = await updateFromVendors(folder, bare("gpu"), settings, gone, never);
	assert.deepEqual([none.items, none.failed.length], [0, none.asked]);
	assert.equal(await loadBundle(folder), null);
});
