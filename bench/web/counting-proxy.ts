// A plain HTTP proxy before a server, for benches: it counts which pieces of blobs the server took, and can
// be away for a while. What a browser was told is not asked of the browser: it forgets that with the page.
import { createServer, request } from "node:http";
import type { Socket } from "node:net";

export interface CountingProxy {
	readonly url: string;
	/** How often the server said that it has it, by blob and offset. */
	readonly taken: ReadonlyMap<string, number>;
	/** Of pieces, whether they arrived or not. */
	sentBytes(): number;
	/** Every connection is cut, and for so long none is taken. */
	away(ms: number): Promise<void>;
	close(): Promise<void>;
}

const PIECE = /^\/v1\/blobs\/([0-9a-f]{64})\?.*\boffset=(\d+)/;

export async function startCountingProxy(target: string): Promise<CountingProxy> {
	const { hostname, port } = new URL(target);
	const taken = new Map<string, number>();
	const sockets = new Set<Socket>();
	let sent = 0;
	let isAway = false;
	const server = createServer((asked, answer) => {
		const [, root, offset] = PIECE.exec(asked.url ?? "") ?? [];
		const isPiece = root !== undefined && asked.method !== "GET";
		const { url: path, method, headers } = asked;
		const onward = request({ hostname, port, path, method, headers }, (reply) => {
			const isTaken = isPiece && reply.statusCode! < 300;
			const name = `${root} ${offset}`;
			if (isTaken) taken.set(name, (taken.get(name) ?? 0) + 1);
			answer.writeHead(reply.statusCode!, reply.headers);
			reply.pipe(answer);
		});
		onward.on("error", () => answer.destroy());
		// Not before its answer: a piece that is whole at the server is counted, whoever has gone meanwhile.
		asked.on("data", (chunk: Buffer) => {
			if (isPiece) sent += chunk.length;
		});
		asked.on("aborted", () => onward.destroy());
		answer.on("error", () => {});
		asked.pipe(onward);
	});
	server.on("connection", (socket) => {
		if (isAway) return void socket.destroy();
		sockets.add(socket);
		socket.on("close", () => sockets.delete(socket));
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const cut = () => {
		for (const socket of sockets) socket.destroy();
	};
	return {
		url: `http://127.0.0.1:${(server.address() as { readonly port: number }).port}`,
		...{ taken, sentBytes: () => sent },
		async away(ms) {
			isAway = true;
			cut();
			await new Promise((resolve) => setTimeout(resolve, ms));
			isAway = false;
		},
		async close() {
			cut();
			await new Promise((resolve) => server.close(resolve));
		},
	};
}
