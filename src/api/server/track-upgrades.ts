// Raw HTTP upgrades: only those of the agent link are handed on, and none once the server is closing.
import type { IncomingMessage, Server } from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import type { ApiServerOptions } from "./server-options.ts";

/** The one path that is upgraded: the agent link, docs/agent-link.md. */
const AGENT_PATH = "/agent";

/** The sockets that are open. */
export function trackUpgrades(
	server: Server,
	closing: AbortSignal,
	onUpgrade: ApiServerOptions["onUpgrade"],
): ReadonlySet<Duplex> {
	const upgraded = new Set<Duplex>();
	if (onUpgrade === undefined) return upgraded;
	server.on("upgrade", (request: IncomingMessage, socket: Duplex, head: Buffer) => {
		if (closing.aborted || (request.url ?? "").split("?")[0] !== AGENT_PATH) {
			socket.end(`HTTP/1.1 ${closing.aborted ? 503 : 404} Refused\r\nconnection: close\r\ncontent-length: 0\r\n\r\n`);
			return;
		}
		// Its own pings tell whether anybody is there.
		(socket as Socket).setTimeout(0);
		upgraded.add(socket);
		socket.on("close", () => upgraded.delete(socket));
		onUpgrade(request, socket, head);
	});
	return upgraded;
}
