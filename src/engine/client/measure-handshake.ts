// The TCP handshake time to a host: the floor for any echo from it. A finding, never a proof: anything may
// answer at that address.
import { lookup } from "node:dns/promises";
import { connect } from "node:net";

/** The first may wait for ARP or a cold route; more would look like an attack to the host. */
const ATTEMPTS = 2;

/** Microseconds, the best of two; null when the host cannot be reached directly. Never throws. */
export async function measureHandshakeUs(
	host: string,
	port: number,
	timeoutMs: number,
	clockUs: () => number,
): Promise<number | null> {
	let best: number | null = null;
	try {
		// The name is looked up first: a resolver's time is not the host's.
		const { address } = await lookup(host);
		for (let i = 0; i < ATTEMPTS; i++) {
			const us = await once(address, port, timeoutMs, clockUs);
			best = Math.min(best ?? us, us);
		}
	} catch {
		return best;
	}
	return best;
}

function once(address: string, port: number, timeoutMs: number, clockUs: () => number): Promise<number> {
	return new Promise((resolve, reject) => {
		const begunUs = clockUs();
		const socket = connect({ host: address, port });
		socket.setTimeout(timeoutMs, () => socket.destroy(new Error("timed out")));
		socket.once("connect", () => {
			resolve(clockUs() - begunUs);
			socket.destroy();
		});
		socket.once("error", reject);
	});
}
