// A port of this machine that leads to another one, as a bad line does: what goes over it can be frozen, cut
// or late, and the port can be shut for a while. Before PostgreSQL, an API or a node.
import { type AddressInfo, connect, createServer, type Socket } from "node:net";
import { Transform } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";

export async function openLine(to: number) {
	const sockets = new Set<Socket>();
	/** When a frozen connection may speak again. */
	const silence = new Map<Socket, Promise<unknown>>();
	let delayMs = 0;
	let thaw = () => {};
	const server = createServer((socket) => {
		const far = connect(to, "127.0.0.1");
		for (const [from, other] of [
			[socket, far],
			[far, socket],
		] as const) {
			sockets.add(from);
			const slow = new Transform({
				async transform(bytes, _, done) {
					await silence.get(from);
					if (delayMs > 0) await sleep(delayMs);
					done(null, bytes);
				},
			});
			from.pipe(slow).pipe(other);
			from.on("error", () => {});
			from.on("close", async () => {
				sockets.delete(from);
				// A frozen line does not tell of its end either.
				await silence.get(from);
				silence.delete(from);
				other.destroy();
			});
		}
	});
	const listen = (port: number) =>
		new Promise<void>((resolve, reject) => {
			server.once("error", reject);
			server.listen(port, "127.0.0.1", () => {
				server.off("error", reject);
				resolve();
			});
		});
	const drop = () => {
		for (const socket of sockets) socket.destroy();
	};
	const end = () =>
		new Promise<void>((resolve) => {
			server.close(() => resolve());
			drop();
		});
	await listen(0);
	const { port } = server.address() as AddressInfo;
	return {
		port,
		/** Connections that are open. */
		open: () => sockets.size / 2,
		/** Those that are open say nothing more, and take whatever they are sent; new ones work. */
		freeze(): void {
			const { promise, resolve } = Promise.withResolvers<void>();
			const before = thaw;
			thaw = () => {
				before();
				resolve();
			};
			for (const socket of sockets) if (!silence.has(socket)) silence.set(socket, promise);
		},
		/** What was held goes on its way. */
		thaw(): void {
			thaw();
			silence.clear();
			thaw = () => {};
		},
		/** Ends those that are open; new ones work. */
		drop,
		/** From now on everything is so much later. */
		delay(ms: number): void {
			delayMs = ms;
		},
		/** Ends those that are open, and takes no new ones for so long. */
		async cut(ms: number): Promise<void> {
			await end();
			await sleep(ms);
			await listen(port);
		},
		close: end,
	};
}
