// Uploads of blobs to a real `assay validate`: a large file over connections that are cut, a wrong byte, slow
// uploaders beside a quick one.
//   bash scripts/node.sh bench/uploads.ts [--gib 2] [--cuts 20] [--slow 50] [--rounds 6]
// Exit code 1 when the file does not arrive whole, a wrong byte passes, or the slow ones delay the others by
// more than a tenth. Results: bench/results/network-uploads-….json.
import { createHash, randomBytes, randomInt } from "node:crypto";
import { createReadStream, mkdtempSync, rmSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { downloadBlob, nameBlob, uploadBlob } from "../src/api/blob-transfer.ts";
import { createApiClient } from "../src/api/create-client.ts";
import { PIECE_BYTES } from "../src/platform/blob-tree.ts";
import { createNodeSigner } from "../src/platform/node-ed25519.ts";
import { concatBytes } from "../src/protocol/bytes/bytes.ts";
import { startCuttingProxy } from "../tests/api/cutting-proxy.ts";
import { startChild } from "../tests/network/child-program.ts";
import { type Service, startService } from "./floods/service.ts";
import { quantile, writeNetworkResult } from "./network-result.ts";

const { values } = parseArgs({
	options: {
		gib: { type: "string", default: "2" },
		cuts: { type: "string", default: "20" },
		slow: { type: "string", default: "50" },
		rounds: { type: "string", default: "6" },
	},
});
const SIZE = Math.round(Number(values.gib) * 2 ** 30);
const CUTS = Number(values.cuts);
const SLOW = Number(values.slow);
const ROUND_MS = 8000;
const QUICK_BYTES = 32 * PIECE_BYTES;

const signer = createNodeSigner(randomBytes(32));
const clientOf = ({ key }: Service, url: string) => createApiClient({ baseUrl: url, signer, audience: key });
const seconds = (fromMs: number) => Number(((performance.now() - fromMs) / 1000).toFixed(2));
const MBPerS = (bytes: number, s: number) => Number((bytes / 1e6 / s).toFixed(1));

async function makeFile(path: string, size: number): Promise<void> {
	const file = await open(path, "w");
	for (let at = 0; at < size; at += PIECE_BYTES) await file.write(randomBytes(Math.min(PIECE_BYTES, size - at)));
	await file.close();
}
async function sha256(path: string): Promise<string> {
	const hash = createHash("sha256");
	for await (const chunk of createReadStream(path)) hash.update(chunk);
	return hash.digest("hex");
}

/** There and back. */
async function cutUpload(service: Service, folder: string) {
	const [path, back] = [join(folder, "file"), join(folder, "back")];
	await makeFile(path, SIZE);
	// Each connection is cut somewhere in its share of the file.
	const share = Math.floor(SIZE / (CUTS + 1));
	const proxy = await startCuttingProxy(
		service.url,
		Array.from({ length: CUTS }, () => randomInt(1, share)),
	);
	const fromMs = performance.now();
	const { blob } = await nameBlob({ path });
	const hashedS = seconds(fromMs);
	await uploadBlob(clientOf(service, proxy.url), { path });
	const uploadS = seconds(fromMs) - 2 * hashedS;
	const cuts = proxy.cuts();
	await proxy.close();
	const fetchedMs = performance.now();
	await downloadBlob(clientOf(service, service.url), blob, back);
	const downloadS = seconds(fetchedMs);
	const isWhole = (await sha256(path)) === (await sha256(back));
	return {
		...{ gib: SIZE / 2 ** 30, cuts, isWhole, hashMBPerS: MBPerS(SIZE, hashedS) },
		...{ uploadMBPerS: MBPerS(SIZE, uploadS), downloadMBPerS: MBPerS(SIZE, downloadS) },
	};
}

/** The last byte of the fourth piece is another one than its root says. */
async function wrongByte(service: Service) {
	const bytes = randomBytes(5 * PIECE_BYTES);
	const { blob, roots } = await nameBlob({ bytes });
	const client = clientOf(service, service.url);
	const at = { params: { root: blob.root }, query: { size: blob.size } };
	await client.beginBlob({ ...at, body: concatBytes(...roots) });
	const piece = (i: number) => bytes.subarray(i * PIECE_BYTES, (i + 1) * PIECE_BYTES);
	const put = (i: number, body: Uint8Array) =>
		client.putBlob({ ...at, query: { ...at.query, offset: i * PIECE_BYTES }, body });
	for (let i = 0; i < 3; i++) await put(i, piece(i));
	const wrong = Uint8Array.from(piece(3));
	wrong[PIECE_BYTES - 1]! ^= 1;
	const fromMs = performance.now();
	const code = await put(3, wrong).then(
		() => "taken",
		(error) => error.code as string,
	);
	const ms = Math.round(performance.now() - fromMs);
	await put(3, piece(3));
	await put(4, piece(4));
	return { code, ms, isTakenRightAfterwards: (await client.listBlobs({})).rows.some(({ root }) => root === blob.root) };
}

/** What a quick uploader and a reader get in a while. */
async function watch(service: Service) {
	const client = clientOf(service, service.url);
	const untilMs = performance.now() + ROUND_MS;
	const reads: number[] = [];
	const pieces: number[] = [];
	const upload = async () => {
		while (performance.now() < untilMs) {
			const bytes = randomBytes(QUICK_BYTES);
			const { blob, roots } = await nameBlob({ bytes });
			const at = { params: { root: blob.root }, query: { size: blob.size } };
			await client.beginBlob({ ...at, body: concatBytes(...roots) });
			for (let offset = 0; offset < blob.size; offset += PIECE_BYTES) {
				const fromMs = performance.now();
				await client.putBlob({
					...{ ...at, query: { ...at.query, offset }, body: bytes.subarray(offset, offset + PIECE_BYTES) },
				});
				pieces.push(performance.now() - fromMs);
			}
			await client.releaseBlob(at);
		}
	};
	const read = async () => {
		while (performance.now() < untilMs) {
			const fromMs = performance.now();
			await client.listProviders({});
			reads.push(performance.now() - fromMs);
			await new Promise((resolve) => setTimeout(resolve, 20));
		}
	};
	await Promise.all([upload(), read()]);
	return { pieces, reads };
}

/** In turns, so that whatever else the machine does meets both. */
async function besideSlowOnes(service: Service) {
	const alone = { pieces: [] as number[], reads: [] as number[] };
	const beside = { pieces: [] as number[], reads: [] as number[] };
	let acknowledged = 0;
	for (let round = 0; round < 2 * Number(values.rounds); round++) {
		const isSlow = round % 4 === 1 || round % 4 === 2;
		const child = isSlow ? startChild(import.meta.resolve("./uploads/slow-uploader.ts")) : null;
		await child?.ask("start", { target: { url: service.url, key: service.key }, count: SLOW });
		await new Promise((resolve) => setTimeout(resolve, 3000));
		const seen = await watch(service);
		const into = isSlow ? beside : alone;
		into.pieces.push(...seen.pieces);
		into.reads.push(...seen.reads);
		if (child === null) continue;
		acknowledged += await child.ask<number>("stop");
		child.kill("SIGTERM");
		await child.ended;
	}
	const told = ({ pieces, reads }: typeof alone) => ({
		...{ pieces: pieces.length, pieceP50Ms: quantile(pieces, 0.5), pieceP95Ms: quantile(pieces, 0.95) },
		...{ reads: reads.length, readP50Ms: quantile(reads, 0.5), readP95Ms: quantile(reads, 0.95) },
	});
	const ratio = (of: "pieces" | "reads") => Number((quantile(beside[of], 0.5)! / quantile(alone[of], 0.5)!).toFixed(3));
	return {
		...{ slowUploaders: SLOW, slowPiecesAcknowledged: acknowledged, alone: told(alone), beside: told(beside) },
		...{ pieceRatio: ratio("pieces"), readRatio: ratio("reads") },
	};
}

const folder = mkdtempSync(join(tmpdir(), "assay-uploads-"));
const service = await startService(join(folder, "data"), { arguments: ["--api-only"] });
try {
	const cut = await cutUpload(service, folder);
	console.log(JSON.stringify(cut));
	const wrong = await wrongByte(service);
	console.log(JSON.stringify(wrong));
	const slow = await besideSlowOnes(service);
	console.log(JSON.stringify(slow));
	const memoryMiB = service.memoryMiB();
	const isRight = cut.isWhole && cut.cuts >= CUTS && wrong.code === "BLOB_WRONG" && wrong.isTakenRightAfterwards;
	const isQuick = slow.pieceRatio <= 1.1 && slow.readRatio <= 1.1;
	console.log(`memory ${memoryMiB} MiB, ${writeNetworkResult("uploads", { cut, wrong, slow, memoryMiB })}`);
	process.exitCode = isRight && isQuick ? 0 : 1;
} finally {
	await service.stop();
	rmSync(folder, { recursive: true, force: true });
}
