// Whose turn it is at the host's one engine: each validator gets its share of the time, whatever another one
// does. By what each has used of the last hour: who has used less goes first, and who has used more than any
// honest validator needs gives way at once. Pure but for what it remembers; the lender (lend-engine.ts)
// carries it out. Page: docs/agent-link.md §3.
//
// Attacks: one that opens again the moment it is through is behind everybody who waits. One that keeps the
// engine is cut off when its hour's use is spent and another waits. One that asks and does not come keeps its
// place for a minute and a half, and only before those who have used more.

export interface TurnRules {
	/**
	 * Use of an hour that nobody is cut off below. A probe takes 10 to 20 s, a slow one 3 min, every 72 min.
	 */
	readonly protectedMs: number;
	/** How long a place is kept for one that was told to come again; validators come after 1 s, or 1 min. */
	readonly placeMs: number;
	/** After this time half of what was used is forgotten. */
	readonly halfLifeMs: number;
}

export const TURN_RULES: TurnRules = { protectedMs: 360_000, placeMs: 90_000, halfLifeMs: 3_600_000 };

/** Validators are few, and named by the owner; more than this are not remembered. */
const MOST_USERS = 256;

export class EngineTurns {
	private readonly rules: TurnRules;
	private readonly nowMs: () => number;
	/** What each has used, as of a moment. */
	private readonly used = new Map<string, { readonly ms: number; readonly atMs: number }>();
	/** Who was told to come again, and when last. */
	private readonly places = new Map<string, { readonly sinceMs: number; atMs: number }>();
	private holder: { readonly key: string; readonly sinceMs: number } | null = null;

	/** `nowMs` must not run backwards. */
	constructor(nowMs: () => number, rules: TurnRules = TURN_RULES) {
		this.nowMs = nowMs;
		this.rules = rules;
	}

	/** Whether it may begin now. Otherwise it has a place, for when it comes again. */
	ask(key: string): boolean {
		this.lapse();
		const isNext = [...this.places.keys()].every((other) => other === key || !this.isBefore(other, key));
		if (this.holder === null && isNext) {
			this.places.delete(key);
			return true;
		}
		const atMs = this.nowMs();
		const place = this.places.get(key);
		if (place) place.atMs = atMs;
		else if (this.places.size < MOST_USERS) this.places.set(key, { sinceMs: atMs, atMs });
		return false;
	}

	begin(key: string): void {
		this.holder = { key, sinceMs: this.nowMs() };
	}

	end(): void {
		if (this.holder === null) return;
		const { key } = this.holder;
		const ms = this.usedMs(key);
		this.holder = null;
		this.used.delete(key);
		this.used.set(key, { ms, atMs: this.nowMs() });
		const [oldest] = this.used.keys();
		if (this.used.size > MOST_USERS && oldest !== undefined) this.used.delete(oldest);
	}

	/** Of the last hour or so, what runs now included. */
	usedMs(key: string): number {
		const nowMs = this.nowMs();
		const before = this.used.get(key);
		const kept = before ? before.ms * 2 ** (-(nowMs - before.atMs) / this.rules.halfLifeMs) : 0;
		return kept + (this.holder?.key === key ? nowMs - this.holder.sinceMs : 0);
	}

	/**
	 * Whether the engine is to be taken from who has it, for one who waits: its hour is spent, and the other
	 * used less.
	 */
	mustYieldTo(key: string): boolean {
		if (this.holder === null || this.holder.key === key) return false;
		const used = this.usedMs(this.holder.key);
		return used > this.rules.protectedMs && this.usedMs(key) < used;
	}

	private isBefore(a: string, b: string): boolean {
		const [usedA, usedB] = [this.usedMs(a), this.usedMs(b)];
		if (usedA !== usedB) return usedA < usedB;
		return (this.places.get(a)?.sinceMs ?? Infinity) < (this.places.get(b)?.sinceMs ?? Infinity);
	}

	private lapse(): void {
		for (const [key, { atMs }] of this.places) if (this.nowMs() - atMs > this.rules.placeMs) this.places.delete(key);
	}
}
