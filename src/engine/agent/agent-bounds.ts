// What one agent connection may cost either end: times, bytes, rates. One table, so that a test can make
// hours of it milliseconds; the values are those of docs/agent-link.md.

export const AGENT_BOUNDS = {
	/** From the first byte to `welcome`. */
	handshakeMs: 10_000,
	pingMs: 15_000,
	/** Nothing whole came for this long: the connection is dead. */
	deadMs: 45_000,
	/** Unsent bytes of one connection: more means that the far side has stopped reading. */
	bufferedBytes: 8 << 20,
	/** Control messages, pings and unasked pongs. */
	controlPerS: 50,
	/** Data messages: a flood of tiny ones costs us more than their sender. An honest end keeps to half. */
	dataPerS: 4000,
	/** For the answer to `open`: an engine that starts beside a busy driver. */
	openMs: 30_000,
	/** For the provider's `close` after ours: it waits for the engine's end. */
	closeMs: 15_000,
	/**
	 * For the answer to `sign`, which takes milliseconds; without one the probe ends. Far above what a busy
	 * host needs.
	 */
	signMs: 30_000,
	/** For the answer to `rent` and its like: a container image may have to be started. */
	rentalMs: 120_000,
	/**
	 * For the answer to `call`: longer than any roll call's own deadline, so that being late costs a host no
	 * more than being late.
	 */
	callMs: 120_000,
	/** For the answer to `job` and `stop`, which only take note. */
	jobMs: 30_000,
	/**
	 * For the answer to `ask`: a window is run again (two minutes at most), or a state is uploaded as far as
	 * that time goes.
	 */
	askMs: 180_000,
};
export type AgentBounds = Readonly<typeof AGENT_BOUNDS>;
