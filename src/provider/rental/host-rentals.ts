// The rentals on this host: makes an environment when a validator asks, ends it when that validator says so
// or when its time is over, whether or not anybody comes back. One rental at a time; one thing at a time.
// With every environment something waits for its end that needs no process of ours (rental-end.ts). The book
// (rental-book.ts) is written first, so that a provider killed at any moment ends, at its next start,
// whatever is over, unfinished or unknown.
import type { CallRequest, RentalHealth, RentedAccess, RentRequest } from "../../engine/agent/agent-calls.ts";
import { createMutex } from "../../platform/keyed-mutex.ts";
import { AssayError } from "../../protocol/assay-error.ts";
import { bytesToHex } from "../../protocol/bytes/bytes.ts";
import { parseSshPublicKey } from "../../protocol/bytes/ssh-public-key.ts";
import { errorToEvent, type ProviderEvent } from "../provider-event.ts";
import type { EnvironmentMaker } from "./environment.ts";
import { type BookEntry, dueForRemoval, nextLookMs, readBook, writeBook } from "./rental-book.ts";

export interface HostRentalsOptions {
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

type By = { readonly validatorKey: string };
type WhyUnrented = (ProviderEvent & { kind: "unrented" })["why"];

/** Reads the book, ends what has to end, and starts the clock. Throws AssayError FILE_UNREADABLE. */
export async function openHostRentals(options: HostRentalsOptions): Promise<HostRentals> {
	const rentals = new HostRentals(options, await readBook(options.bookPath));
	await rentals.takeOver();
	return rentals;
}

export class HostRentals {
	private readonly options: HostRentalsOptions;
	private entries: readonly BookEntry[];
	/** One after the other: an expiry in the middle of an extension would be nobody's friend. */
	private readonly mutex = createMutex();
	private timer: NodeJS.Timeout | undefined;
	private isStopped = false;

	constructor(options: HostRentalsOptions, entries: readonly BookEntry[]) {
		this.options = options;
		this.entries = entries;
	}

	/** What exists, also while it is made or ended. */
	get rentals(): readonly BookEntry[] {
		return this.entries;
	}

	rent(request: RentRequest & By): Promise<{ readonly ssh: RentedAccess }> {
		return this.mutex.run(async () => {
			try {
				return { ssh: await this.make(request) };
			} finally {
				this.schedule();
			}
		});
	}

	extend({ rental, untilMs, validatorKey }: CallRequest<"extend"> & By): Promise<void> {
		return this.mutex.run(async () => {
			const entry = this.find(rental, validatorKey);
			this.checkEnd(untilMs);
			await this.moveEnd(entry, untilMs);
			this.options.onEvent({ kind: "extended", rental, untilMs });
			this.schedule();
		});
	}

	unrent({ rental, validatorKey }: CallRequest<"unrent"> & By): Promise<void> {
		return this.mutex.run(async () => this.remove(this.find(rental, validatorKey), "released"));
	}

	check({ rental, validatorKey }: CallRequest<"check"> & By): Promise<RentalHealth> {
		return this.mutex.run(async () => this.options.maker.health(this.find(rental, validatorKey).name));
	}

	/** Ends all of them now. */
	endAll(): Promise<void> {
		return this.mutex.run(async () => {
			for (const entry of this.entries) await this.remove(entry, "ended");
		});
	}

	/** Stops the clock; rentals stay as they are and are found again at the next start. */
	async stop(): Promise<void> {
		this.isStopped = true;
		clearTimeout(this.timer);
		await this.mutex.idle();
	}

	/** What a provider that was killed may have left: ends what is over, unfinished or unknown. */
	async takeOver(): Promise<void> {
		const { maker } = this.options;
		await this.mutex.run(async () => {
			await this.sweep(true);
			await this.removeUnknown().catch((error) => this.trouble(error));
			// The host itself may have been restarted: somebody must wait for the end, and looking at an
			// environment brings its SSH server back.
			for (const { name, rental, publicKey, untilMs } of this.entries) {
				await maker.setEnd({ name, publicKey, untilMs }).catch((error) => this.trouble(error));
				const { healthy, detail } = await maker.health(name);
				if (!healthy)
					this.trouble(new AssayError("RENTAL_FAILED", `the environment of ${rental} does not answer: ${detail}`));
			}
		});
		this.schedule();
	}

	private async make({ rental, validatorKey, untilMs, devices, publicKey }: RentRequest & By): Promise<RentedAccess> {
		const { maker, randomBytes, isBusy, onEvent } = this.options;
		const key = parseSshPublicKey(publicKey);
		if (!key.ok) throw new AssayError("PUBLIC_KEY_BAD", `the customer's key is refused: ${key.detail}`);
		this.checkEnd(untilMs);
		const known = this.options.devices();
		if (devices.some((uuid) => !known.includes(uuid)))
			throw new AssayError("RENTAL_UNAVAILABLE", "a device was asked for that this host does not have");
		const same = this.entries.find((entry) => entry.rental === rental && entry.validatorKey === validatorKey);
		// Asked again by a validator that lost our answer.
		if (same?.state === "active" && same.publicKey === key.line) {
			await this.moveEnd(same, untilMs);
			return this.accessTo(same);
		}
		if (this.entries.length > 0) throw new AssayError("PROVIDER_RENTED", "this provider is rented");
		if (isBusy()) throw new AssayError("PROVIDER_BUSY", "this provider's engine is in use");
		const name = `assay-${bytesToHex(randomBytes(4))}`;
		const { kind, port } = maker;
		const facts = { rental, validatorKey, name, kind, port, publicKey: key.line, untilMs };
		const entry: BookEntry = { ...facts, state: "making", user: "", hostKey: "" };
		await this.note(entry);
		try {
			const made = await maker.create({ name, publicKey: key.line, devices, untilMs });
			const active: BookEntry = { ...entry, ...made, state: "active" };
			await this.note(active);
			onEvent({ kind: "rented", rental, user: made.user, untilMs });
			return this.accessTo(active);
		} catch (error) {
			await this.remove(entry, "unfinished").catch((fault) => this.trouble(fault));
			throw error;
		}
	}

	/** The book first: what ends the rental without us must never be later than it. */
	private async moveEnd(entry: BookEntry, untilMs: number): Promise<void> {
		const { name, publicKey } = entry;
		await this.note({ ...entry, untilMs });
		try {
			await this.options.maker.setEnd({ name, publicKey, untilMs });
		} catch (error) {
			await this.note(entry);
			throw error;
		}
	}

	private accessTo({ port, user, hostKey }: BookEntry): RentedAccess {
		return { host: this.options.sshHost, port, user, hostKey };
	}

	private async remove(entry: BookEntry, why: WhyUnrented): Promise<void> {
		const { maker, onEvent } = this.options;
		await this.note({ ...entry, state: "ending" });
		await maker.remove(entry.name);
		await this.write(this.others(entry));
		if (this.entries.length === 0) await maker.rest();
		onEvent({ kind: "unrented", rental: entry.rental, why });
	}

	/** What cannot be removed now is tried again at the next look; meanwhile the host counts as rented. */
	private async sweep(afterRestart: boolean): Promise<void> {
		const nowMs = this.options.nowMs();
		for (const entry of dueForRemoval(this.entries, nowMs, afterRestart)) {
			const why = entry.state === "making" ? "unfinished" : entry.untilMs <= nowMs ? "expired" : "ended";
			await this.remove(entry, why).catch((error) => this.trouble(error));
		}
	}

	/** Environments that no book names: the provider was killed in between, or its book moved away. */
	private async removeUnknown(): Promise<void> {
		const { maker, onEvent } = this.options;
		const known = new Set(this.entries.map(({ name }) => name));
		for (const name of await maker.list()) {
			if (known.has(name)) continue;
			await maker.remove(name);
			onEvent({ kind: "unrented", rental: "", why: "unfinished" });
		}
		if (this.entries.length === 0) await maker.rest();
	}

	private schedule(): void {
		clearTimeout(this.timer);
		if (this.isStopped) return;
		const look = () => void this.mutex.run(() => this.sweep(false)).then(() => this.schedule());
		this.timer = setTimeout(look, nextLookMs(this.entries, this.options.nowMs()));
	}

	private find(rental: string, validatorKey: string): BookEntry {
		const found = this.entries.find((entry) => entry.rental === rental && entry.validatorKey === validatorKey);
		// Somebody else's rental is told as none: a validator learns nothing of another's.
		if (found?.state !== "active")
			throw new AssayError("RENTAL_UNKNOWN", "this provider has no such rental of this validator");
		return found;
	}

	private checkEnd(untilMs: number): void {
		const { nowMs, maxMs } = this.options;
		if (untilMs <= nowMs()) throw new AssayError("RENTAL_TIME", "the end of the rental lies in the past");
		if (untilMs > nowMs() + maxMs)
			throw new AssayError("RENTAL_TIME", "the end of the rental is further away than this provider allows");
	}

	private others({ name }: BookEntry): readonly BookEntry[] {
		return this.entries.filter((entry) => entry.name !== name);
	}

	private note(entry: BookEntry): Promise<void> {
		return this.write([...this.others(entry), entry]);
	}

	private async write(entries: readonly BookEntry[]): Promise<void> {
		await writeBook(this.options.bookPath, entries);
		this.entries = entries;
	}

	private trouble(error: unknown): void {
		this.options.onEvent({ kind: "trouble", ...errorToEvent(error, "RENTAL_FAILED") });
	}
}
