// Whose address a request or an agent's link comes from when proxies of our own stand before the validator:
// the nearest one in X-Forwarded-For that is not one of them. Headers are only believed of proxies that were
// named; everybody else's address is the socket's.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

export interface Proxies {
	/** Of a socket: one of ours, on which many clients come. */
	isProxy(address: string | undefined): boolean;
	addressOf(request: IncomingMessage): string;
}

/** Addresses or networks (10.0.0.0/8). */
export function createProxies(proxies: readonly string[]): Proxies {
	const known = new BlockList();
	for (const entry of proxies) {
		const [address = "", prefix] = entry.split("/");
		const family = isIP(address) === 6 ? "ipv6" : "ipv4";
		if (isIP(address) === 0) continue;
		if (prefix === undefined) known.addAddress(address, family);
		else known.addSubnet(address, Number(prefix), family);
	}
	const isKnown = (address: string) =>
		isIP(address) !== 0 && known.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

	return {
		isProxy: (address = "") => proxies.length > 0 && isKnown(plain(address)),
		addressOf(request) {
			let address = plain(request.socket.remoteAddress ?? "");
			if (proxies.length === 0) return address;
			const forwarded = String(request.headers["x-forwarded-for"] ?? "").split(",");
			while (isKnown(address)) {
				const before = plain(forwarded.pop()?.trim() ?? "");
				if (isIP(before) === 0) break;
				address = before;
			}
			return address;
		},
	};
}

/** IPv4 as a socket for both families shows it. */
function plain(address: string): string {
	return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
