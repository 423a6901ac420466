// Under which name was this machine asked? ATTACK (DNS rebinding): a foreign page gives its own name our
// loopback address and may then read what this server answers. A browser still says the page's name, which is
// neither an address nor one of ours. On other addresses any name will do: who can give his page's name one
// of those can ask there himself.
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";
import { hostname } from "node:os";

export function isForeignName({ headers: { host }, socket }: Pick<IncomingMessage, "headers" | "socket">): boolean {
	if (host === undefined) return false;
	const name = /^(?:\[([^\]]*)\]|([^:]*))(?::\d*)?$/.exec(host);
	const plain = (name?.[1] ?? name?.[2] ?? host).toLowerCase();
	if (isIP(plain) !== 0 || plain === "localhost" || plain.endsWith(".localhost") || plain === hostname().toLowerCase())
		return false;
	return /^(::ffff:)?127\.|^::1$/.test(socket.localAddress ?? "");
}
