// What a provider tells its owner while it runs; the command line prints it, tests wait for it. Plain
// objects.
import type { EngineLimits } from "../engine/agent/agent-calls.ts";
import type { AgentEnd } from "../engine/agent/agent-socket.ts";
import { AssayError } from "../protocol/assay-error.ts";
import type { HostClaim } from "../protocol/probe/evidence.ts";
import type { Finding, VerdictStatus } from "../protocol/probe/verdict.ts";
import type { PartNews, Placed } from "./jobs/work-part.ts";

export type ProviderEvent =
	| { readonly kind: "dialling"; readonly url: string }
	| { readonly kind: "connected"; readonly url: string; readonly validatorKey: string }
	/** It is dialled again in `retryMs`. */
	| { readonly kind: "lost"; readonly url: string; readonly end: AgentEnd; readonly retryMs: number }
	| {
			readonly kind: "unreached";
			readonly url: string;
			readonly code: string;
			readonly detail: string;
			readonly hint: string;
			readonly retryMs: number;
	  }
	| { readonly kind: "opened"; readonly validatorKey: string; readonly probe: string; readonly limits: EngineLimits }
	| { readonly kind: "closed"; readonly validatorKey: string; readonly probe: string; readonly killed: string | null }
	/** How a validator judged a probe. */
	| {
			readonly kind: "judged";
			readonly validatorKey: string;
			readonly probe: string;
			readonly status: VerdictStatus;
			readonly code: string | null;
			readonly findings: readonly Finding[];
	  }
	| { readonly kind: "refused"; readonly validatorKey: string; readonly code: string; readonly detail: string }
	| { readonly kind: "changed"; readonly claim: HostClaim }
	| { readonly kind: "rented"; readonly rental: string; readonly user: string; readonly untilMs: number }
	| { readonly kind: "extended"; readonly rental: string; readonly untilMs: number }
	| {
			readonly kind: "unrented";
			readonly rental: string;
			readonly why: "released" | "expired" | "ended" | "unfinished";
	  }
	/** A roll call was answered with so many devices. */
	| { readonly kind: "called"; readonly call: number; readonly devices: number; readonly ms: number }
	/** An opening of an answer was demanded on chain, and given. */
	| { readonly kind: "demanded"; readonly call: number; readonly device: number }
	/** A part of a job, or an audit of it, got so far. */
	| ({ readonly kind: "job"; readonly state: PartNews; readonly detail: string } & Placed)
	/** Something to be looked at; the provider goes on. */
	| { readonly kind: "trouble"; readonly code: string; readonly detail: string };

/** `otherwise` is the code of an error that has none. */
export function errorToEvent(error: unknown, otherwise: string): { readonly code: string; readonly detail: string } {
	const code = error instanceof AssayError ? error.code : otherwise;
	return { code, detail: error instanceof Error ? error.message : String(error) };
}
