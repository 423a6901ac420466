// What one agent connection may cost either end: times, bytes, rates. One table, so that a test can make
// hours of it milliseconds; the defaults are those of docs/agent-link.md.

export interface AgentBounds {
	/** From the first byte to `welcome`. */
	readonly handshakeMs: number;
	readonly pingMs: number;
	/** Nothing whole came for this long: the connection is dead. */
	readonly deadMs: number;
	/** Unsent bytes of one connection: more means that the far side has stopped reading. */
	readonly bufferedBytes: number;
	/** Control messages, pings and unasked pongs. */
	readonly controlPerS: number;
	/**
	 * Data messages: a flood of tiny ones costs us more than their sender. An honest end paces itself at half.
	 */
	readonly dataPerS: number;
	/** For the answer to `open`: an engine that starts beside a busy driver. */
	readonly openMs: number;
	/** For the provider's `close` after ours: it waits for the engine's end. */
	readonly closeMs: number;
	/** For the answer to `sign`; without one the probe goes on and nobody asks again. */
	readonly signMs: number;
	/** For the answer to `rent` and its like: a container image may have to be started. */
	readonly rentalMs: number;
}

export const AGENT_BOUNDS: AgentBounds = {
	handshakeMs: 10_000,
	pingMs: 15_000,
	deadMs: 45_000,
	bufferedBytes: 8 << 20,
	controlPerS: 50,
	dataPerS: 4000,
	openMs: 30_000,
	closeMs: 15_000,
	signMs: 5000,
	rentalMs: 120_000,
};
