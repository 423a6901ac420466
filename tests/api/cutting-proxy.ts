// A proxy that cuts connections: after so many bytes of each, as told, in the middle of whatever they are.
import { createServer, connect as dial, type Socket } from "node:net";

/** `cutAfter`: bytes that the next connections may send on, one number each; then none is cut. */
export async function startCuttingProxy(target: string, cutAfter: number[]) {
	const { hostname, port } = new URL(target);
	const sockets = new Set<Socket>();
	let cuts = 0;
	const server = createServer((socket) => {
		const onward = dial(Number(port), hostname);
		const ends = [socket, onward];
		const close = () => {
			for (const one of ends) one.destroy();
		};
		for (const one of ends) {
			sockets.add(one);
			one.on("error", close).on("close", () => {
				sockets.delete(one);
				close();
			});
		}
		let left = cutAfter.shift() ?? Number.POSITIVE_INFINITY;
		socket.on("data", (chunk) => {
			if (chunk.length < left) {
				left -= chunk.length;
				if (!onward.write(chunk)) {
					socket.pause();
					onward.once("drain", () => socket.resume());
				}
				return;
			}
			cuts += 1;
			// The last bytes still go on, so that pieces are cut in the middle.
			onward.write(chunk.subarray(0, left), close);
		});
		onward.on("data", (chunk) => {
			if (!socket.write(chunk)) {
				onward.pause();
				socket.once("drain", () => onward.resume());
			}
		});
	});
	await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
	const bound = server.address() as { port: number };
	const close = async () => {
		for (const socket of sockets) socket.destroy();
		await new Promise((resolve) => server.close(resolve));
	};
	return { url: `http://127.0.0.1:${bound.port}`, cuts: () => cuts, close };
}
