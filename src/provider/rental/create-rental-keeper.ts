// Keeps rentals: makes an environment when a validator asks, ends it when that validator says so or when its time is over, whether or not
// anybody comes back. One rental at a time; one thing at a time. The book (rental-book.ts) is written first, so that a provider killed at
// any moment ends, at its next start, whatever is over, unfinished or unknown.
import type { RentalHealth, RentedAccess, RentRequest } from "../../engine/agent/agent-connection.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { parseSshPublicKey } from "../../protocol/bytes/ssh-public-key.ts";
import type { ProviderEvent } from "../provider-event.ts";
import type { EnvironmentMaker } from "./environment.ts";
import { type BookEntry, dueForRemoval, nextLookMs, readBook, writeBook } from "./rental-book.ts";

export interface RentalKeeperOptions {
	readonly maker: EnvironmentMaker;
	readonly bookPath: string;
	/** The name or address that customers are given. */
	readonly sshHost: string;
	/** UUIDs that may be asked for. */
	readonly devices: () => readonly string[];
	/** The furthest end, from now. */
	readonly maxMs: number;
	/** True while an engine works: its devices are not to be rented in the middle of that. */
	readonly isBusy: () => boolean;
	readonly nowMs: () => number;
	readonly randomBytes: (size: number) => Uint8Array;
	readonly onEvent: (event: ProviderEvent) => void;
}

export interface RentalKeeper {
	rent(o: RentRequest & { validatorKey: string }): Promise<RentedAccess>;
	extend(o: { rental: string; untilMs: number; validatorKey: string }): Promise<void>;
	unrent(o: { rental: string; validatorKey: string }): Promise<void>;
	checkRental(o: { rental: string; validatorKey: string }): Promise<RentalHealth>;
	/** What exists, also while it is made or ended. */
	readonly rentals: readonly BookEntry[];
	/** Ends all of them now. */
	endAll(): Promise<void>;
	/** Stops the clock; rentals stay as they are and are found again at the next start. */
	stop(): Promise<void>;
}

/** Reads the book, ends what has to end, and starts the clock. Throws AssayError FILE_UNREADABLE. */
export async function createRentalKeeper(o: RentalKeeperOptions): Promise<RentalKeeper> {
	let entries = await readBook(o.bookPath);
	let timer: NodeJS.Timeout | undefined;
	let stopped = false;
	/** An expiry must not come in the middle of an extension. */
	const mutex = createMutex();

	async function note(next: readonly BookEntry[]): Promise<void> {
		await writeBook(o.bookPath, next);
		entries = [...next];
	}

	const replace = (entry: BookEntry) => note([...entries.filter(({ name }) => name !== entry.name), entry]);

	async function remove(entry: BookEntry, why: (ProviderEvent & { kind: "unrented" })["why"]): Promise<void> {
		await replace({ ...entry, state: "ending" });
		await o.maker.remove(entry.name);
		await note(entries.filter(({ name }) => name !== entry.name));
		if (entries.length === 0) await o.maker.rest();
		o.onEvent({ kind: "unrented", rental: entry.rental, why });
	}

	/** What cannot be removed now is tried again at the next look; meanwhile the host counts as rented. */
	async function sweep(afterRestart: boolean): Promise<void> {
		for (const entry of dueForRemoval(entries, o.nowMs(), afterRestart)) {
			const why = entry.state === "making" ? "unfinished" : entry.untilMs <= o.nowMs() ? "expired" : "ended";
			await remove(entry, why).catch(trouble);
		}
		if (!afterRestart) return;
		await removeUnknown().catch(trouble);
		// The host itself may have been restarted: looking at an environment brings its SSH server back.
		for (const { name, rental } of entries) {
			const { healthy, detail } = await o.maker.health(name);
			if (!healthy) trouble(new AssayError("RENTAL_FAILED", `the environment of ${rental} does not answer: ${detail}`));
		}
	}

	/** Environments that no book names: the provider was killed between two lines, or its book was moved away. */
	async function removeUnknown(): Promise<void> {
		const known = new Set(entries.map(({ name }) => name));
		for (const name of await o.maker.list()) {
			if (known.has(name)) continue;
			await o.maker.remove(name);
			o.onEvent({ kind: "unrented", rental: "", why: "unfinished" });
		}
		if (entries.length === 0) await o.maker.rest();
	}

	function trouble(error: unknown): void {
		const code = error instanceof AssayError ? error.code : "RENTAL_FAILED";
		o.onEvent({ kind: "trouble", code, detail: error instanceof Error ? error.message : String(error) });
	}

	function schedule(): void {
		clearTimeout(timer);
		if (stopped) return;
		timer = setTimeout(() => void mutex.run(() => sweep(false)).then(schedule), nextLookMs(entries, o.nowMs()));
	}

	function find(rental: string, validatorKey: string): BookEntry {
		const found = entries.find((entry) => entry.rental === rental && entry.validatorKey === validatorKey);
		// Somebody else's rental is told as none: a validator learns nothing of another's.
		if (found?.state !== "active")
			throw new AssayError("RENTAL_UNKNOWN", "this provider has no such rental of this validator");
		return found;
	}

	function checkEnd(untilMs: number): void {
		const nowMs = o.nowMs();
		if (untilMs <= nowMs) throw new AssayError("RENTAL_TIME", "the end of the rental lies in the past");
		if (untilMs > nowMs + o.maxMs)
			throw new AssayError("RENTAL_TIME", "the end of the rental is further away than this provider allows");
	}

	const access = ({ port, user, hostKey }: BookEntry): RentedAccess => ({ host: o.sshHost, port, user, hostKey });

	async function rent(r: RentRequest & { validatorKey: string }): Promise<RentedAccess> {
		const key = parseSshPublicKey(r.publicKey);
		if (!key.ok) throw new AssayError("PUBLIC_KEY_BAD", `the customer's key is refused: ${key.detail}`);
		checkEnd(r.untilMs);
		const known = o.devices();
		if (r.devices.some((uuid) => !known.includes(uuid)))
			throw new AssayError("RENTAL_UNAVAILABLE", "a device was asked for that this host does not have");
		const same = entries.find(({ rental, validatorKey }) => rental === r.rental && validatorKey === r.validatorKey);
		// Asked again by a validator that lost our answer.
		if (same?.state === "active" && same.publicKey === key.line) {
			await replace({ ...same, untilMs: r.untilMs });
			schedule();
			return access(same);
		}
		if (entries.length > 0) throw new AssayError("PROVIDER_RENTED", "this provider is rented");
		if (o.isBusy()) throw new AssayError("PROVIDER_BUSY", "this provider's engine is in use");
		const entry: BookEntry = {
			rental: r.rental,
			validatorKey: r.validatorKey,
			name: `assay-${bytesToHex(o.randomBytes(4))}`,
			kind: o.maker.kind,
			port: o.maker.port,
			publicKey: key.line,
			untilMs: r.untilMs,
			state: "making",
			user: "",
			hostKey: "",
		};
		await replace(entry);
		try {
			const made = await o.maker.create({ name: entry.name, publicKey: key.line, devices: r.devices });
			const active: BookEntry = { ...entry, ...made, state: "active" };
			await replace(active);
			o.onEvent({ kind: "rented", rental: r.rental, user: made.user, untilMs: r.untilMs });
			return access(active);
		} catch (error) {
			await remove(entry, "unfinished").catch(trouble);
			throw error;
		} finally {
			schedule();
		}
	}

	await mutex.run(() => sweep(true));
	schedule();
	return {
		rent: (r) => mutex.run(() => rent(r)),
		extend: ({ rental, untilMs, validatorKey }) =>
			mutex.run(async () => {
				const entry = find(rental, validatorKey);
				checkEnd(untilMs);
				await replace({ ...entry, untilMs });
				o.onEvent({ kind: "extended", rental, untilMs });
				schedule();
			}),
		unrent: ({ rental, validatorKey }) => mutex.run(() => remove(find(rental, validatorKey), "released")),
		checkRental: ({ rental, validatorKey }) => mutex.run(() => o.maker.health(find(rental, validatorKey).name)),
		get rentals() {
			return entries;
		},
		endAll: () =>
			mutex.run(async () => {
				for (const entry of entries) await remove(entry, "ended");
			}),
		async stop() {
			stopped = true;
			clearTimeout(timer);
			await mutex.idle();
		},
	};
}
