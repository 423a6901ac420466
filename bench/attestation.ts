// What judging attestation costs: CPU time of one core in Node, milliseconds in the dashboard's worker in a
// real Chromium and with noble alone, and the bytes that it adds to the dashboard. Over real samples, which
// lie beside the checkout (../shared, or ASSAY_SHARED). Prints JSON; asserts nothing. Run: node
// bench/attestation.ts [runs]
import { readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { build, type Plugin } from "esbuild";
import { buildWeb } from "../scripts/build-web.ts";
import { nodeSignatures } from "../src/platform/node-signatures.ts";
import { manifestId } from "../src/verify/attestation/collateral/read-item.ts";
import {
	chainOf,
	gpuPlan,
	manifestPlan,
	mintDevice,
	mintManifest,
	mintOcsp,
	NONCE,
	ocspPlan,
} from "../src/verify/attestation/mint/mint-nvidia.test-kit.ts";
import { type RoundEvidence, verifyRound } from "../src/verify/attestation/verify-round.ts";
import { nobleSignatures, rememberSignatures } from "../src/verify/attestation/x509/signature.ts";
import { judge, realCases, sample, samplesMissing } from "../tests/attestation/real-cases.test-kit.ts";
import { startBrowser } from "../tests/web/browser.test-kit.ts";

if (samplesMissing !== false) throw new Error(samplesMissing);
const runs = Number(process.argv[2] ?? 25);
const root = fileURLToPath(new URL("..", import.meta.url));

/** Case, how it is called, and how many GPUs it has. */
const KINDS = [
	["gpu-h100-full", "an H100 with two manifests and three OCSP answers", 1],
	["set-h200", "eight H200 and four switches, genuine", 8],
	["tdx-v4", "a TDX quote with collateral", 0],
	["snp-turin", "an SNP report (Turin)", 0],
] as const;

const spread = (ms: readonly number[]) => {
	const sorted = [...ms].sort((a, b) => a - b);
	const at = (share: number) => Math.round(10 * (sorted[Math.floor((sorted.length - 1) * share)] ?? 0)) / 10;
	return { least: at(0), median: at(0.5), most: at(1), runs: sorted.length };
};

const cases = realCases();
const caseOf = (id: string) => cases.find((one) => one.id === id)!;

/** CPU time: others on the machine do not count. Nothing is remembered from before. */
function cpuMs(id: string, verify: typeof nodeSignatures, count: number) {
	const one = caseOf(id);
	return spread(
		Array.from({ length: count }, () => {
			const before = process.cpuUsage();
			judge(one, rememberSignatures(verify));
			const { user, system } = process.cpuUsage(before);
			return (user + system) / 1000;
		}),
	);
}

/**
 * A host of eight cards as a validator judges it: reports, chains, two manifests that all cards share and an
 * OCSP answer for each of their certificates. Minted, as no such host's files are at hand; the manifests are
 * as long as NVIDIA's.
 */
function eightCards(): { readonly round: RoundEvidence; readonly bytes: number } {
	const plans = Array.from({ length: 8 }, (_, i) => ({ ...gpuPlan(), card: `card ${i}`, pdi: `0${i}02030405060708` }));
	const more = Array.from(
		{ length: 80 },
		(_, i) =>
			`<ns0:Resource type="Measurement" index="${100 + i}" active="False" alternatives="1" h:Hash0="${"0".repeat(96)}" size="48"/>`,
	);
	const editUnsigned = (xml: string) => xml.replace("</ns0:Payload>", `\n${more.join("\n")}</ns0:Payload>`);
	const manifests = (["driver", "vbios"] as const).map((part) => {
		const plan = { ...manifestPlan(part), editUnsigned };
		return { kind: "manifest" as const, id: manifestId(plan.product, plan.version), bytes: mintManifest(plan) };
	});
	// Of each card its own certificate; the two above it are the same for all.
	const certified = plans.flatMap((plan, card) =>
		(card === 0 ? [1, 2, 3] : [1]).map((i) => [chainOf(plan), i] as const),
	);
	const ocsp = certified.map(([chain, i], n) => ({
		...{ kind: "OCSP answer" as const, id: String(n), bytes: mintOcsp(ocspPlan(chain[i]!, chain[i + 1]!)) },
	}));
	const round = { devices: plans.map(mintDevice), guest: null, collateral: [...manifests, ...ocsp] };
	return { round, bytes: manifests[0]!.bytes.length };
}

/** Nothing is remembered from one to the next. */
function eightCardsMs(count: number) {
	const { round, bytes } = eightCards();
	const question = { bind: NONCE, atMs: Date.parse("2025-06-20T12:00:00Z"), verify: nodeSignatures, guests: null };
	const times = Array.from({ length: count }, () => {
		const before = process.cpuUsage();
		const { fault, shown, reasons } = verifyRound(round, question);
		const { user, system } = process.cpuUsage(before);
		if (fault !== null || shown !== "measured" || reasons.some(({ code }) => code === "REVOCATION_UNASKED"))
			throw new Error(JSON.stringify({ fault, shown, reasons }));
		return (user + system) / 1000;
	});
	return { ...spread(times), manifestBytes: bytes, ocspAnswers: round.collateral.length - 2 };
}

/** The worker's bytes without attestation: the modules by which it comes in are empty. */
const withoutAttestation: Plugin = {
	name: "without-attestation",
	setup({ onLoad }) {
		const empty = (filter: RegExp, contents: string) => onLoad({ filter }, () => ({ contents, loader: "ts" }));
		empty(
			/web\/verify\/(judge-attestation|platform-signatures)\.ts$/,
			"export const judgeQuickly = null, platformSignatures = null;",
		);
		empty(
			/checks\/check-attestations\.ts$/,
			"export const judgeAttestations = () => null, attestationFindings = () => [];",
		);
		empty(/x509\/signature\.ts$/, "export const nobleSignatures = null;");
	},
};

const gzBytes = async (plugins: Plugin[]) => {
	const { outputFiles } = await build({
		...{ absWorkingDir: root, bundle: true, minify: true, format: "esm", write: false, legalComments: "none", plugins },
		...{ target: ["es2022", "chrome111", "firefox115", "safari16.4"], entryPoints: ["web/verify/verifier-worker.ts"] },
	});
	return gzipSync(outputFiles[0]!.contents, { level: 9 }).length;
};

const { files, firstView, firstSources } = await buildWeb();
const name = [...files.keys()].find((one) => /^verifier-worker-.*\.js$/.test(one))!;
const server = createServer((request, response) => {
	const isWorker = request.url === `/${name}`;
	response.setHeader("content-type", isWorker ? "text/javascript" : "text/html");
	response.end(isWorker ? files.get(name) : "<!doctype html><title>bench</title>");
});
await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

/**
 * As the page asks: the files of a case, from the question to the answer; a worker of its own each time.
 * Beside it the CPU time of all of Chromium's processes, less what it takes to start such workers and ask
 * them about nothing: on a busy machine only that is the browser's own.
 */
async function inChromium() {
	const browser = await startBrowser({ keepsFiles: true });
	try {
		const page = await browser.open(`${url}/`);
		const given = filesOf("gpu-h100-full").map((file) => Buffer.from(file).toString("base64"));
		const ask = async (isAsked: boolean) => {
			const before = childrensCpuMs();
			const about = [`${url}/${name}`, given, Date.parse(caseOf("gpu-h100-full").at!), runs, isAsked] as const;
			const times = await page.evaluate(askWorkers, about);
			return { times, cpuMs: childrensCpuMs() - before };
		};
		await ask(true);
		const [nothing, all] = [await ask(false), await ask(true)];
		const cpu = Math.round((10 * (all.cpuMs - nothing.cpuMs)) / runs) / 10;
		return { "from question to answer": spread(all.times), "CPU time, mean": cpu };
	} finally {
		await browser.close();
	}
}

/** In the page. */
async function askWorkers([worker, given, atMs, count, isAsked]: readonly [
	...[string, readonly string[], number, number, boolean],
]): Promise<number[]> {
	const bytes = given.map((text) => Uint8Array.from(atob(text), (one) => one.charCodeAt(0)));
	const found: number[] = [];
	for (let i = 0; i < count; i++) {
		const own = new Worker(worker, { type: "module" });
		const ask = (files: readonly Uint8Array[]) =>
			new Promise<{ judged: { verdict: { level: string } } }>((resolve, reject) => {
				own.onmessage = ({ data }) => resolve(data);
				own.onerror = (event) => reject(new Error(event.message));
				own.postMessage({ attestation: { files, nonce: null, atMs } });
			});
		// Loaded before the clock starts.
		await ask([new Uint8Array(3)]);
		const began = performance.now();
		const { judged } = isAsked ? await ask(bytes) : { judged: null };
		found.push(performance.now() - began);
		own.terminate();
		if (judged !== null && judged.verdict.level !== "measured") throw new Error(JSON.stringify(judged.verdict));
	}
	return found;
}

/** Of all processes below this one, which are the browser's; Linux alone. */
function childrensCpuMs(): number {
	const parts = readdirSync("/proc")
		.filter((entry) => /^\d+$/.test(entry))
		.flatMap((id) => {
			try {
				const [, rest = ""] = /^\d+ \(.*\) (.*)$/s.exec(readFileSync(`/proc/${id}/stat`, "utf8")) ?? [];
				const fields = rest.split(" ");
				return [{ id: Number(id), parent: Number(fields[1]), ticks: Number(fields[11]) + Number(fields[12]) }];
			} catch {
				return [];
			}
		});
	const below = new Set([process.pid]);
	for (let size = 0; size < below.size; ) {
		size = below.size;
		for (const { id, parent } of parts) if (below.has(parent)) below.add(id);
	}
	const ticks = parts.filter(({ id }) => id !== process.pid && below.has(id)).reduce((sum, one) => sum + one.ticks, 0);
	return 10 * ticks;
}

function filesOf(id: string): Uint8Array[] {
	const named: Uint8Array[] = [];
	judge(
		caseOf(id),
		() => true,
		(file) => {
			named.push(sample(file));
			return sample(file);
		},
	);
	return named;
}

const [whole, without] = [await gzBytes([]), await gzBytes([withoutAttestation])];
const result = {
	what: "judging attestation: CPU time of one core in Node, time from question to answer in Chromium's worker, bytes that it adds to the dashboard",
	command: `node bench/attestation.ts ${runs}`,
	date: new Date().toISOString().slice(0, 10),
	machine: `${cpus().length} cores, ${cpus()[0]?.model ?? process.arch}, ${process.arch}, Node ${process.versions.node}`,
	"CPU ms, Node's signatures": Object.fromEntries(KINDS.map(([id, words]) => [words, cpuMs(id, nodeSignatures, runs)])),
	"CPU ms, eight GPUs with two manifests and ten OCSP answers, minted": eightCardsMs(runs),
	"CPU ms a GPU, noble alone": cpuMs("gpu-h100-full", nobleSignatures, Math.min(runs, 9)),
	"ms a GPU in Chromium": await inChromium(),
	"gzipped bytes of the verifier's worker": { whole, without, added: whole - without },
	"sources of attestation in the first view": firstSources.filter((one) => one.startsWith("src/verify/attestation/")),
	"files of the first view": firstView.length,
};
server.close();
console.log(JSON.stringify(result, null, "\t"));
