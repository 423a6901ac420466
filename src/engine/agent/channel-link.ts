// The validator's link over one channel of an agent connection: a duplex byte stream to an engine on the
// provider's host (../link.ts). Backpressure both ways: what we write waits for the socket, what nobody reads
// here stops the socket. The end of the channel is the end of the engine, as far as the provider can be
// believed; a provider that does not confirm it in time loses its connection.
import { Readable, Writable } from "node:stream";
import { isInTime } from "../../platform/abortable.ts";
import type { Link, LinkEnd } from "../links/link.ts";
import { MAX_DATA_BYTES } from "./agent-messages.ts";
import type { AgentSocket } from "./agent-socket.ts";

/** Unread bytes at which the socket is paused. Answers are read at once unless this process is busy. */
const UNREAD_BYTES = 1 << 20;

export interface ChannelLink {
	readonly link: Link;
	/** Late data, of a channel that we have closed, is not given here. */
	onData(bytes: Uint8Array): void;
	/** The provider closed the channel, or the connection is gone. */
	onEnd(why: string): void;
	/** We have said `close`, or it is over: nothing may be asked any more. */
	isClosing(): boolean;
}

export interface ChannelFacts {
	readonly channel: number;
	readonly engineSha256: string | null;
	readonly providerKey: string;
	readonly handshakeUs: number | null;
	readonly closeMs: number;
	/** Tells the provider, once, unless the channel is gone already. */
	sendClose(): void;
	readonly countersigner: NonNullable<Link["countersigner"]>;
}

export function createChannelLink(socket: AgentSocket, facts: ChannelFacts): ChannelLink {
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	let paused = false;
	let isOver = false;
	const resume = () => {
		if (paused) socket.resume();
		paused = false;
	};
	const output = new Readable({
		highWaterMark: UNREAD_BYTES,
		read: resume,
		destroy(error, done) {
			resume();
			done(error);
		},
	});
	const input = new Writable({
		highWaterMark: MAX_DATA_BYTES,
		write(chunk: Uint8Array, _encoding, done) {
			socket.sendData(facts.channel, chunk, () => isOver, done);
		},
		// The end of an engine's input is its end (FRAMES.md).
		final(done) {
			void link.close();
			done();
		},
	});
	let closing: Promise<void> | undefined;
	async function end(): Promise<void> {
		output.resume();
		if (!isOver) facts.sendClose();
		if (!(await isInTime(closed, facts.closeMs))) {
			socket.fail("AGENT_SILENT", "the provider did not confirm that its engine is gone");
			await socket.closed;
		}
	}
	const link: Link = {
		kind: "agent",
		input,
		output,
		engineSha256: facts.engineSha256,
		hostKey: `ed25519:${facts.providerKey}`,
		handshakeUs: facts.handshakeUs,
		countersigner: facts.countersigner,
		closed,
		close: () => {
			closing ??= end();
			return closing;
		},
		isClosing: () => closing !== undefined,
	};
	return {
		link,
		isClosing: () => isOver || closing !== undefined,
		onData(bytes) {
			if (isOver || output.destroyed || output.push(bytes) || paused) return;
			paused = true;
			socket.pause();
		},
		onEnd(why) {
			if (isOver) return;
			isOver = true;
			resume();
			if (!output.destroyed) output.push(null);
			resolve({ code: null, signal: null, stderrTail: why });
		},
	};
}
