// What a stranger may do to a market of jobs without paying for anything: fill its disk with fresh keys, send
// JSON, announce bodies, hold and list many blobs, begin large uploads, have hostile programs quoted. In a
// process of its own, from addresses of its own, as fast as each is let in. Started by startChild and killed
// at the end; what the service answered is counted by status.
import { createHash, randomBytes } from "node:crypto";
import { connect } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { foldPieces, PIECE_BYTES, pieceRoot } from "../../src/platform/blob-tree.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { bytesToHex, concatBytes } from "../../src/protocol/bytes/bytes.ts";
import type { BlobName } from "../../src/protocol/network/job-spec.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { encodeProgram } from "../../src/work/program/encode.ts";
import { answerParent } from "../../tests/network/child-program.ts";
import { MANY_HOLDERS, signerNamed } from "./holder-keys.ts";
import { TO_QUOTE, variant } from "./hostile-programs.ts";
import { headersOf, sendSigned } from "./signed-request.ts";

export interface Target {
	readonly url: string;
	/** The validator's. */
	readonly key: string;
}

type Counts = Record<string, number>;
const counts: Counts = {};
const more = (what: string) => {
	counts[what] = (counts[what] ?? 0) + 1;
};

const ONE = "127.0.40.1";
const freshSigner = () => createNodeSigner(new Uint8Array(randomBytes(32)));

/** So many at once, for ever. */
const always = (count: number, one: (n: number) => Promise<unknown>) =>
	Promise.all(
		Array.from({ length: count }, async (_, n) => {
			for (;;) await one(n);
		}),
	);

/** Waits as it is told to; gives the status. */
async function send(asked: Parameters<typeof sendSigned>[0]): Promise<string> {
	const { status, waitMs } = await sendSigned(asked);
	more(status);
	if (status !== "200") await sleep(Math.max(100, waitMs));
	return status;
}

const nameOf = async (piece: Uint8Array, pieces: number) => {
	const root = await pieceRoot(piece);
	const roots = Array.from({ length: pieces }, () => root);
	return {
		root,
		roots: concatBytes(...roots),
		blob: { root: bytesToHex(foldPieces(roots)), size: pieces * piece.length },
	};
};
const asBytes = async (bytes: Uint8Array) => ({ bytes, name: `${bytesToHex(await pieceRoot(bytes))}-${bytes.length}` });

async function upload(
	target: Target,
	signer: Signer,
	from: string,
	piece: Uint8Array,
	pieces: number,
): Promise<BlobName> {
	const { root, roots, blob } = await nameOf(piece, pieces);
	const path = `/v1/blobs/${blob.root}?size=${blob.size}`;
	if ((await send({ target, signer, from, method: "POST", path, body: await asBytes(roots) })) !== "200") return blob;
	const body = { bytes: piece, name: `${bytesToHex(root)}-${piece.length}` };
	for (let at = 0; at < pieces; at++) {
		const asked = { target, signer, from, method: "PATCH", path: `${path}&offset=${at * piece.length}`, body };
		const status = await send(asked);
		if (status === "429") at -= 1;
		else if (status !== "200") break;
	}
	return blob;
}

const keys = (count: number) =>
	JSON.stringify(Object.fromEntries(Array.from({ length: count }, (_, n) => [(1e5 + n).toString(36), n % 10])));
const zeros = (count: number) => `[${"0,".repeat(count - 1)}0]`;
const objects = (count: number) => `[${"{},".repeat(count - 1)}0]`;

/** Bodies that say nothing: as long as a route takes them, and with as many keys and values as are taken. */
async function json(target: Target, isForged: boolean): Promise<void> {
	const large = [keys(80_000), zeros(450_000), objects(300_000), ...(isForged ? [] : [keys(22_000), zeros(44_000)])];
	const asked = large.flatMap((body) => [
		{ path: "/v1/jobs/quote", body },
		{ path: "/v1/jobs", body },
		{ path: "/v1/providers", body: keys(5000) },
	]);
	let next = 0;
	await always(10, () => {
		const { path, body } = asked[next++ % asked.length]!;
		return send({ target, signer: freshSigner(), from: ONE, method: "POST", path, body, isForged });
	});
}

/** Announces a piece and sends nothing of it, until it is thrown out. */
async function announce(target: Target, n: number, isForged: boolean): Promise<void> {
	const { hostname, port, host } = new URL(target.url);
	const localAddress = `127.0.41.${(n % 74) + 1}`;
	const path = `/v1/blobs/${"ab".repeat(32)}?size=${PIECE_BYTES}&offset=0`;
	const body = { bytes: new Uint8Array(), name: `${"cd".repeat(32)}-${PIECE_BYTES}` };
	const { headers } = headersOf({ target, signer: freshSigner(), method: "PATCH", path, body, isForged });
	const lines = Object.entries({ ...headers, host, "content-length": String(PIECE_BYTES) });
	const socket = connect({ host: hostname, port: Number(port), localAddress });
	socket.on("error", () => {});
	socket.on("data", (text) => more(text.toString("latin1", 9, 12)));
	socket.write(`PATCH ${path} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`);
	await new Promise((resolve) => socket.once("close", resolve));
	more("closed");
	await sleep(200);
}

/** Roots that fold to a blob of 32 GiB, different ones. */
async function wideRoots(number: number) {
	const root = createHash("sha256").update(`wide ${number}`).digest();
	const roots = Array.from({ length: 32_768 }, () => new Uint8Array(root));
	return { name: bytesToHex(foldPieces(roots)), body: await asBytes(concatBytes(...roots)) };
}

const floods = {
	/** H1: one key after the other, from one address. */
	async freshKeys(target) {
		const piece = randomBytes(PIECE_BYTES);
		await always(4, () => upload(target, freshSigner(), ONE, piece, 64));
	},
	/** H2. */
	unsignedJson: (target) => json(target, true),
	/** H2: the same from who has learned to sign. */
	signedJson: (target) => json(target, false),
	/** M1: half of them rightly signed. */
	async announced(target) {
		await always(520, (n) => announce(target, n, n % 2 === 0));
	},
	/** M3: holders of 10,000 blobs each list them, and begin more. */
	async manyBlobs(target) {
		const piece = randomBytes(1);
		await always(8 * MANY_HOLDERS, async (n) => {
			const [signer, from] = [signerNamed(`many ${n % MANY_HOLDERS}`), `127.0.42.${(n % MANY_HOLDERS) + 1}`];
			const lists = [`limit=1`, `limit=100`, `limit=100&cursor=${"80".repeat(32)}-1`];
			for (const query of lists) await send({ target, signer, from, method: "GET", path: `/v1/blobs?${query}` });
			await upload(target, signer, from, piece, 1);
		});
	},
	/** M5: begins of 32 GiB, a fresh key each, from one address. */
	async wideBegins(target) {
		const wide = await Promise.all(Array.from({ length: 12 }, (_, n) => wideRoots(n)));
		let next = 0;
		await always(8, () => {
			const { name, body } = wide[next++ % wide.length]!;
			const path = `/v1/blobs/${name}?size=${2 ** 35}`;
			return send({ target, signer: freshSigner(), from: ONE, method: "POST", path, body });
		});
	},
} satisfies Record<string, (target: Target) => Promise<unknown>>;

export type FloodName = keyof typeof floods;

export interface QuoteAnswer {
	readonly program: string;
	readonly status: string;
	/** Of a refusal. */
	readonly code: string | null;
	readonly seconds: number;
	readonly totalMicros: number | null;
	readonly referenceMs: number | null;
}

interface ToQuote {
	readonly program: string;
	readonly signer: Signer;
	readonly from: string;
	readonly spec: object;
}
const NOBODY = "0x0000000000000000000000000000000000000001";
let toQuote: readonly ToQuote[] = [];

/** One key and one address each, so that the rate of none of them is in the way. */
async function prepareQuotes(target: Target, count: number, firstNumber: number): Promise<void> {
	const programs = Object.entries(TO_QUOTE).map(([name, build]) => ({ name, program: build() }));
	const made: ToQuote[] = [];
	for (let n = 0; n < count; n++) {
		const { name, program } = programs[n % programs.length]!;
		const bytes = encodeProgram(variant(program, firstNumber + n));
		const [signer, from] = [freshSigner(), `127.0.43.${n + 1}`];
		const blob = await upload(target, signer, from, bytes, 1);
		const spec = {
			...{ format: "assay-job", version: 1, title: "hostile", kind: "program", program: blob, given: [] },
			...{ seed: "ab".repeat(32), segments: 3, metrics: [], previews: [], method: { name: "sampled", count: 4 } },
		};
		made.push({ program: name, signer, from, spec });
	}
	toQuote = made;
}

async function quote(target: Target, { program, signer, from, spec }: ToQuote): Promise<QuoteAnswer> {
	const salt = randomBytes(32).toString("hex");
	const body = JSON.stringify({ spec, mostMicros: null, salt, account: NOBODY });
	const fromMs = performance.now();
	const { status, text } = await sendSigned({ target, signer, from, method: "POST", path: "/v1/jobs/quote", body });
	const seconds = Number(((performance.now() - fromMs) / 1000).toFixed(2));
	const { code = null, totalMicros = null, referenceMs = null } = text.startsWith("{") ? JSON.parse(text) : {};
	return { program, status, code, seconds, totalMicros, referenceMs };
}

answerParent({
	start({ name, target }: { readonly name: FloodName; readonly target: Target }) {
		floods[name](target).catch((error) => console.error(error));
	},
	counts: () => counts,
	prepareQuotes: ({
		target,
		count,
		first,
	}: {
		readonly target: Target;
		readonly count: number;
		readonly first: number;
	}) => prepareQuotes(target, count, first),
	quote: (target: Target) => Promise.all(toQuote.map((one) => quote(target, one))),
});
