// One simulated provider: its own key, its own WebSocket through the real dialAgent, a toy engine behind that
// speaks real frames, honest or not. Many of them live in one process; each costs its connection and little
// more while nobody probes it. Not here: processes (provider-process.ts).
import { createHash, randomBytes } from "node:crypto";
import { PassThrough } from "node:stream";
import { setTimeout as sleep } from "node:timers/promises";
import type { AgentBounds } from "../../src/engine/agent/agent-bounds.ts";
import type { JobsOffer } from "../../src/engine/agent/agent-messages.ts";
import { type AgentHandlers, dialAgent, parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import type { Link, LinkEnd } from "../../src/engine/links/link.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import type { Semaphore } from "../../src/platform/semaphore.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { CHEATS } from "../toy/cheats.ts";
import { type Cheat, ToyEngine, WireEnded } from "../toy/toy-engine.ts";
import { claimOf, type SimulatedKind } from "./simulated-kinds.ts";
import { PACE_MS, toyClockUs } from "./toy-network-plan.ts";

/** The same provider in every run and every process. */
export function simulatedSigner(number: number): Signer {
	return createNodeSigner(new Uint8Array(createHash("sha256").update(`simulated provider ${number}`).digest()));
}

/** A pipe holds so much; a flood gets no further than that. */
const PIPE_BYTES = 4 << 20;

/** Honest engines never answer within one tick of the toys' clock; see toy-network-plan.ts. */
function paced(cheat: Cheat): Cheat {
	return {
		...cheat,
		async request(toy, id, request) {
			if (["gemm", "fma", "stream", "copy"].includes(request.kind)) await sleep(PACE_MS);
			return (await cheat.request?.(toy, id, request)) ?? false;
		},
	};
}

/** A toy engine on this event loop, behind a link. */
export function openToyEngine(kind: SimulatedKind, providerKey: string, onEnd: () => void): Link {
	const input = new PassThrough();
	const output = new PassThrough();
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	let isOver = false;
	const close = async () => {
		if (isOver) return;
		isOver = true;
		input.end();
		output.end();
		onEnd();
		resolve({ code: 0, signal: null, stderrTail: "" });
	};
	const write = (bytes: Uint8Array) => {
		if (isOver) throw new WireEnded("nobody listens any more");
		if (output.writableLength < PIPE_BYTES) output.write(bytes);
	};
	const cheat = kind.isHonest ? {} : CHEATS[kind.name]!;
	const toy = new ToyEngine(claimOf(kind.host, providerKey), paced(cheat), { write, hangUp: () => void close() });
	toy.serve(input).catch((error: unknown) => {
		if (!(error instanceof WireEnded)) throw error;
	});
	return { kind: "local", input, output, engineSha256: null, hostKey: null, handshakeUs: null, closed, close };
}

export interface SimulatedProviderOptions {
	readonly number: number;
	readonly kind: SimulatedKind;
	/** Of the validator process to dial. */
	readonly url: string;
	/** Who computes now: toys share one event loop, and what one computes would be another's lateness. */
	readonly turn: Semaphore;
	/** So that a thousand do not dial in one moment. */
	readonly dialling: Semaphore;
	readonly signal: AbortSignal;
	readonly bounds?: Partial<AgentBounds>;
	readonly onConnected?: () => void;
	readonly onProbe?: () => void;
	/** Takes jobs, with handlers of its own for them; else none. */
	readonly jobs?: { readonly offer: JobsOffer; readonly handlers: Partial<AgentHandlers> };
}

const FIRST_PAUSE_MS = 100;
const MAX_PAUSE_MS = 2000;

/** Dials, serves, dials again, until stopped. */
export async function runSimulatedProvider(o: SimulatedProviderOptions): Promise<void> {
	const signer = simulatedSigner(o.number);
	let pauseMs = FIRST_PAUSE_MS;
	while (!o.signal.aborted) {
		const done = await o.dialling.acquire();
		try {
			if (o.signal.aborted) return;
			const connection = await dialAgent({
				url: parseValidatorUrl(o.url),
				signer,
				trust: () => {},
				claim: () => claimOf(o.kind.host, signer.key),
				offer: {
					name: `toy ${o.number}`,
					pricePerHourMicros: 1_000_000,
					rentable: false,
					ssh: null,
					jobs: o.jobs?.offer ?? null,
				},
				handlers: {
					...o.jobs?.handlers,
					async open() {
						const giveBack = o.kind.outOfTurn ? () => {} : await o.turn.acquire();
						o.onProbe?.();
						return openToyEngine(o.kind, signer.key, giveBack);
					},
				},
				clockUs: () => performance.now() * 1000,
				engineClockUs: toyClockUs,
				randomBytes: (size) => new Uint8Array(randomBytes(size)),
				signal: o.signal,
				...(o.bounds && { bounds: o.bounds }),
			});
			done();
			pauseMs = FIRST_PAUSE_MS;
			o.onConnected?.();
			await connection.closed;
		} catch (error) {
			if (!(error instanceof AssayError)) throw error;
		} finally {
			done();
		}
		await sleep(pauseMs * (0.5 + Math.random()), undefined, { signal: o.signal }).catch(() => {});
		pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS);
	}
}
