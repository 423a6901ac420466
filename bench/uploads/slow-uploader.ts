// Customers with slow lines: each from an address and with a key of its own, one piece after the other at 40
// KB a second, rightly signed. Runs in a process of its own, asked by messages.
import { createHash, randomBytes } from "node:crypto";
import { connect, type Socket } from "node:net";
import { createApiClient } from "../../src/api/create-client.ts";
import { signRequest } from "../../src/api/request-signature.ts";
import { foldPieces, PIECE_BYTES, pieceRoot } from "../../src/platform/blob-tree.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { bytesToHex, concatBytes } from "../../src/protocol/bytes/bytes.ts";
import { answerParent } from "../../tests/network/child-program.ts";

const PIECES = 64;
const CHUNK_BYTES = 10_000;
const CHUNK_EVERY_MS = 250;

interface Target {
	readonly url: string;
	readonly key: string;
}

let isOn = false;
let acknowledged = 0;
const sockets = new Set<Socket>();

/** One piece; resolves when it was acknowledged or cut. */
function sendSlowly(target: Target, from: string, head: string, body: Uint8Array): Promise<boolean> {
	return new Promise((resolve) => {
		const { hostname, port } = new URL(target.url);
		const socket = connect({ host: hostname, port: Number(port), localAddress: from });
		sockets.add(socket);
		let at = 0;
		const timer = setInterval(() => {
			if (!isOn) socket.destroy();
			else if (at < body.length) socket.write(body.subarray(at, at + CHUNK_BYTES));
			at += CHUNK_BYTES;
		}, CHUNK_EVERY_MS);
		const end = (isRight: boolean) => {
			clearInterval(timer);
			sockets.delete(socket);
			socket.destroy();
			resolve(isRight);
		};
		socket.write(head);
		socket.on("data", (text) => end(String(text).startsWith("HTTP/1.1 200")));
		socket.on("error", () => end(false)).on("close", () => end(false));
	});
}

async function upload(target: Target, i: number): Promise<void> {
	const signer = createNodeSigner(createHash("sha256").update(`slow ${i} ${process.pid}`).digest());
	const bytes = randomBytes(PIECE_BYTES);
	const root = await pieceRoot(bytes);
	const roots = Array.from({ length: PIECES }, () => root);
	const name = bytesToHex(foldPieces(roots));
	const size = PIECES * PIECE_BYTES;
	const client = createApiClient({ baseUrl: target.url, signer, audience: target.key });
	let { offset } = await client.beginBlob({ params: { root: name }, query: { size }, body: concatBytes(...roots) });
	const bodyName = `${bytesToHex(root)}-${bytes.length}`;
	while (isOn && offset < size) {
		const path = `/v1/blobs/${name}?size=${size}&offset=${offset}`;
		const parts = { audience: target.key, method: "PATCH", path, bodyName, timeMs: Date.now() };
		const headers = {
			...{ host: new URL(target.url).host, "content-type": "application/octet-stream" },
			...{ "content-length": String(bytes.length), connection: "close" },
			...signRequest({ ...parts, nonce: randomBytes(16).toString("hex") }, signer),
		};
		const lines = Object.entries(headers).map(([key, value]) => `${key}: ${value}\r\n`);
		const isRight = await sendSlowly(
			target,
			`127.0.1.${i + 1}`,
			`PATCH ${path} HTTP/1.1\r\n${lines.join("")}\r\n`,
			bytes,
		);
		if (!isRight) continue;
		acknowledged += 1;
		offset += PIECE_BYTES;
	}
}

answerParent({
	start({ target, count }: { target: Target; count: number }) {
		isOn = true;
		for (let i = 0; i < count; i++) void upload(target, i).catch((error) => console.error(error));
	},
	stop() {
		isOn = false;
		for (const socket of sockets) socket.destroy();
		return acknowledged;
	},
});
