// Raw HTTP upgrades: only those of the agent link are handed on, and none once the server is closing.
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { Guests } from "./guests.ts";
import { isForeignName } from "./host-name.ts";
import type { ApiServerOptions } from "./server-options.ts";

/** The one path that is upgraded: the agent link, docs/agent-link.md. */
const AGENT_PATH = "/agent";

/** The sockets that are open. */
export function trackUpgrades(
	server: Server,
	closing: AbortSignal,
	{ onUpgrade, trustProxy }: Pick<ApiServerOptions, "onUpgrade" | "trustProxy">,
	guests: Pick<Guests, "release">,
): ReadonlySet<Duplex> {
	const upgraded = new Set<Duplex>();
	const whyRefused = (request: IncomingMessage): number | null => {
		if (closing.aborted) return 503;
		if ((request.url ?? "").split("?")[0] !== AGENT_PATH) return 404;
		// ATTACK: any page may open a WebSocket to anywhere, and its browser says so. Agents are no browsers.
		return request.headers.origin !== undefined || (trustProxy === undefined && isForeignName(request)) ? 403 : null;
	};
	if (onUpgrade === undefined) return upgraded;
	server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		const refused = whyRefused(request);
		if (refused !== null) {
			socket.end(`HTTP/1.1 ${refused} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
			return;
		}
		guests.release(socket);
		// Its own pings tell whether anybody is there.
		(socket as Socket).setTimeout(0);
		upgraded.add(socket);
		socket.on("close", () => upgraded.delete(socket));
		onUpgrade(request, socket, head);
	});
	return upgraded;
}
