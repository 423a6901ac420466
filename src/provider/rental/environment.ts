// What a rental lives in on this host: something with a name, one customer's key, and an end. Two kinds exist
// (container-environment.ts, user-environment.ts); the book of rentals (host-rentals.ts) decides when one is
// made and when it goes.
import type { RentalHealth } from "../../engine/agent/agent-calls.ts";
import type { AssayError } from "../../protocol/assay-error.ts";
import { codedError } from "../../protocol/coded-error.ts";

interface EnvironmentRequest {
	/** Chosen and noted before anything is made, so that a crash leaves nothing without a name. */
	readonly name: string;
	/** `type base64`, parsed. */
	readonly publicKey: string;
	/** UUIDs of GPUs; empty: all. */
	readonly devices: readonly string[];
	/** When access ends by itself, whatever becomes of the provider. */
	readonly untilMs: number;
}

/** What keeps a renter from the rest of the host: rental-guards.ts. Null: it does; else why it cannot. */
export type Guards = Readonly<Record<"memory" | "disk" | "metadata", string | null>>;

export interface EnvironmentMaker {
	readonly kind: "container" | "user";
	readonly guards: Guards;
	/** Where customers log in, once `create` has returned. */
	readonly port: number;
	/** Gives the name to log in with. Throws AssayError; what is left half made, `remove` takes away. */
	create(options: EnvironmentRequest): Promise<{ readonly user: string; readonly hostKey: string }>;
	/** From now on access ends by itself at this time, whatever was said before. Throws AssayError. */
	setEnd(options: Omit<EnvironmentRequest, "devices">): Promise<void>;
	/** Ends and removes everything, also of one half made. Throws RENTAL_FAILED when something stays. */
	remove(name: string): Promise<void>;
	health(name: string): Promise<RentalHealth>;
	/** Every environment of this provider that the host has, known or not. */
	list(): Promise<string[]>;
	/** Stops what serves environments; to be called when there are none. */
	rest(): Promise<void>;
}

/** `assay-` and 8 hex digits. Checked wherever a name becomes part of a command or a path. */
export const ENVIRONMENT_NAME = /^assay-[0-9a-f]{8}$/;

export function checkName(name: string): void {
	if (!ENVIRONMENT_NAME.test(name)) throw rentalFailed("this is no name of an environment");
}

export const rentalFailed = (detail: string): AssayError => codedError("RENTAL_FAILED", detail);
