// For tests and simulations of validators: they run on an embedded server with tiny plans, and toy providers
// that dial in over a real WebSocket with a toy engine behind. Real frames, real verdicts; only the sizes are
// toys.

import { mkdtempSync } from "node:fs";
import { rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { createApiClient } from "../../src/api/create-client.ts";
import type { JobsOffer } from "../../src/engine/agent/agent-messages.ts";
import type { AgentHandlers } from "../../src/engine/agent/dial-agent.ts";
import { dialAgent, parseValidatorUrl } from "../../src/engine/agent/dial-agent.ts";
import type { Link, LinkEnd } from "../../src/engine/links/link.ts";
import { type Environment, realEnvironment } from "../../src/platform/environment.ts";
import { createNodeSigner } from "../../src/platform/node-ed25519.ts";
import { AssayError } from "../../src/protocol/assay-error.ts";
import type { ChallengeSpec, HostClaim } from "../../src/protocol/probe/evidence.ts";
import type { Signer } from "../../src/protocol/probe/signer.ts";
import { serverFolder } from "../../src/store/open-store.ts";
import { copyCluster } from "../../src/store/postgres/cluster.test-kit.ts";
import { createValidator, type DoorSettings, type RunningValidator } from "../../src/validator/create-validator.ts";
import type { ValidatorSettings } from "../../src/validator/validator-config.ts";
import type { Plan } from "../../src/verify/hardware/plan/probe-plan.ts";
import { CHEATS } from "../toy/cheats.ts";
import { fixedPlan } from "../toy/fixed-plan.ts";
import { toyClaim } from "../toy/toy-claim.ts";
import { type Cheat, ToyEngine } from "../toy/toy-engine.ts";

/**
 * One GPU (device 0) and two stages with the names of those that must overlap in simultaneous probes. The
 * second is no stream: whether toys that share one event loop read their memory in time would be a matter of
 * luck. tests/ has what streams prove.
 */
const fill: ChallengeSpec = {
	kind: "gemm",
	device: 0,
	precision: "int8",
	m: 128,
	n: 512,
	k: 128,
	rounds: 2,
	keep: 2,
	samples: 4,
};
const lanes: ChallengeSpec = {
	kind: "fma",
	device: 0,
	precision: "fp32",
	lanes: 512,
	steps: 512,
	rounds: 1,
	samples: 2,
};

/**
 * Longer than any machine needs, however busy: who is to be found silent has a validator with deadlines of
 * its own.
 */
const PATIENT_MS = 600_000;
const TOY_PLAN: Plan = fixedPlan([
	{ act: "stage", name: "gpu fill", specs: [fill], deadlineMs: PATIENT_MS, hold: true },
	{ act: "stage", name: "gpu stream", specs: [lanes], deadlineMs: PATIENT_MS, hold: true },
]);
const PATIENT = { readyMs: PATIENT_MS, helloMs: PATIENT_MS, pingMs: PATIENT_MS, openMs: PATIENT_MS };
/** Of the agent link, at both ends. */
const BOUNDS = { handshakeMs: PATIENT_MS, deadMs: PATIENT_MS, openMs: PATIENT_MS };

/** Thirty-two bytes in the shape of a host key. */
const HOST_KEY = "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIAABAgMEBQYHCAkKCwwNDg8QERITFBUWFxgZGhscHR4f";

const signers = new Map<number, Signer>();
export function signerOf(n: number): Signer {
	const signer = signers.get(n) ?? createNodeSigner(new Uint8Array(32).fill(n));
	signers.set(n, signer);
	return signer;
}

export function toyClaimOf(uuid: string, more: Partial<HostClaim> = {}): HostClaim {
	const claim = toyClaim(1, 0);
	return { ...claim, devices: claim.devices.map((device) => ({ ...device, uuid })), ...more };
}

/** A toy on this event loop. */
export function createToyLink(claim: HostClaim, cheat: Cheat = {}, onClosed: () => void = () => {}): Link {
	const input = new PassThrough();
	const output = new PassThrough();
	const { promise: closed, resolve } = Promise.withResolvers<LinkEnd>();
	const close = async () => {
		input.end();
		output.end();
		onClosed();
		resolve({ code: 0, signal: null, stderrTail: "" });
	};
	const write = (bytes: Uint8Array) => void (output.writableEnded || output.write(bytes));
	const toy = new ToyEngine(claim, cheat, { write, hangUp: close });
	void toy.serve(input);
	return { kind: "local", input, output, engineSha256: null, hostKey: null, handshakeUs: null, closed, close };
}

export interface ToyAgentOptions {
	readonly url: string;
	readonly signer: Signer;
	readonly claim?: HostClaim;
	/** A name of tests/toy/cheats, or a strategy. */
	readonly cheat?: string | Cheat;
	readonly name?: string;
	readonly rentable?: boolean;
	readonly jobs?: JobsOffer;
	readonly openLink?: AgentHandlers["open"];
	readonly handlers?: Partial<AgentHandlers>;
}

export async function startToyAgent(o: ToyAgentOptions) {
	const claim = o.claim ?? toyClaimOf(`GPU-${o.signer.key.slice(0, 8)}`);
	const cheat = typeof o.cheat === "string" ? CHEATS[o.cheat]! : (o.cheat ?? {});
	const rented = new Set<string>();
	const handlers: AgentHandlers = {
		open: o.openLink ?? (async () => createToyLink(claim, cheat)),
		async rent({ rental }) {
			if (o.rentable !== true) throw new AssayError("RENTAL_UNAVAILABLE", "a toy has nothing to rent");
			rented.add(rental);
			return { ssh: { host: "127.0.0.1", port: 2222, user: "renter", hostKey: HOST_KEY } };
		},
		async extend() {},
		async unrent({ rental }) {
			rented.delete(rental);
		},
		check: async ({ rental }) => ({ healthy: rented.has(rental), detail: "" }),
		...o.handlers,
	};
	const env = realEnvironment();
	const connection = await dialAgent({
		url: parseValidatorUrl(o.url),
		signer: o.signer,
		trust: () => {},
		claim: () => claim,
		offer: {
			name: o.name ?? "toy",
			pricePerHourMicros: 3_600_000,
			rentable: o.rentable ?? false,
			ssh: o.rentable ? { host: "127.0.0.1", port: 2222 } : null,
			jobs: o.jobs ?? null,
		},
		handlers,
		clockUs: env.clockUs,
		randomBytes: env.randomBytes,
		bounds: BOUNDS,
	});
	return { connection, rented, close: () => connection.close(), id: o.signer.key };
}

export function makeDataDir(): { readonly path: string; remove(): Promise<void> } {
	const path = mkdtempSync(join(tmpdir(), "assay-validator-"));
	return { path, remove: () => rm(path, { recursive: true, force: true }) };
}

export interface ToyValidator extends RunningValidator {
	readonly stop: () => Promise<void>;
	readonly client: ReturnType<typeof createApiClient>;
}

export async function startToyValidator(
	settings: ValidatorSettings,
	surroundings: Partial<Environment> = {},
	door: DoorSettings = {},
): Promise<ToyValidator> {
	const validator = createValidator(
		{
			listen: { port: 0 },
			verifierThreads: 1,
			// Who dials in is looked for at once; to look ten times a second beside that cost every test some of a
			// core.
			dispatchEveryMs: 300,
			recoverEveryMs: 2000,
			...settings,
			probe: { plan: TOY_PLAN, ...settings.probe, deadlines: { ...PATIENT, ...settings.probe?.deadlines } },
			params: { intervalMs: 3_600_000, jitterMs: 1000, retryFirstMs: 100, ...settings.params },
			api: { limits: { readsPerS: 10_000, writesPerS: 10_000, ...settings.api?.limits } },
		},
		surroundings,
		{ knocksPerS: 1000, perAddress: 1000, ...door, bounds: { ...BOUNDS, ...door.bounds } },
	);
	if (settings.databaseUrl === undefined) await copyCluster(serverFolder(settings.dataDir), { durable: false });
	const running = await validator.start();
	const client = createApiClient({ baseUrl: running.url, timeoutMs: PATIENT_MS });
	return { ...running, stop: validator.stop, client };
}

/** Asks again until the answer is there; tests end by their runner's limit, not by this. */
export async function eventually<T>(ask: () => Promise<T | null | undefined | false>): Promise<T> {
	// Soon at first, then seldom: every question costs a core some ten milliseconds, and some answers take half
	// a minute.
	const startedMs = Date.now();
	for (;;) {
		const answer = await ask();
		if (answer) return answer;
		const waitedMs = Date.now() - startedMs;
		if (waitedMs > 900_000) throw new Error("what was waited for has not come in 900 s");
		await new Promise((resolve) => setTimeout(resolve, Math.min(200, Math.max(10, 0.06 * waitedMs))));
	}
}
