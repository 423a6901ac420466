// Whose address an upgrade request comes from when proxies of our own stand before the validator: the nearest
// one in X-Forwarded-For that is not one of them. Headers are only believed of proxies that were named;
// everybody else's address is the socket's.
import type { IncomingMessage } from "node:http";
import { BlockList, isIP } from "node:net";

/** `proxies` as for the API: addresses or networks (10.0.0.0/8). */
export function createAddressOf(proxies: readonly string[]): (request: IncomingMessage) => string {
	const known = new BlockList();
	for (const entry of proxies) {
		const [address = "", prefix] = entry.split("/");
		const family = isIP(address) === 6 ? "ipv6" : "ipv4";
		if (isIP(address) === 0) continue;
		if (prefix === undefined) known.addAddress(address, family);
		else known.addSubnet(address, Number(prefix), family);
	}
	const isProxy = (address: string) => known.check(address, isIP(address) === 6 ? "ipv6" : "ipv4");

	return (request) => {
		let address = plain(request.socket.remoteAddress ?? "");
		const forwarded = String(request.headers["x-forwarded-for"] ?? "").split(",");
		while (isIP(address) !== 0 && isProxy(address)) {
			const before = plain(forwarded.pop()?.trim() ?? "");
			if (isIP(before) === 0) break;
			address = before;
		}
		return address;
	};
}

/** IPv4 as a socket for both families shows it. */
function plain(address: string): string {
	return /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1] ?? address;
}
