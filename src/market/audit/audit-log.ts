// What an audit writes down while it goes: each check with what it found, every difference, what cannot be
// had, notes.
import type { AuditDifference } from "./audit-scores.ts";

export interface AuditCheck {
	readonly title: string;
	readonly state: "equal" | "differs" | "unknown";
	readonly found: string;
}

export class AuditLog {
	readonly checks: AuditCheck[] = [];
	readonly differences: AuditDifference[] = [];
	/** What cannot be had: nobody is accused for want of a file. */
	readonly missing: AuditDifference[] = [];
	/** What could not be checked, and what is unusual but no fault. */
	readonly notes: string[] = [];

	/** Null: it is not known. */
	check(title: string, isEqual: boolean | null, found: string): void {
		this.checks.push({ title, state: isEqual === null ? "unknown" : isEqual ? "equal" : "differs", found });
	}

	/** Differences that were found under one title. */
	compare(title: string, differences: readonly AuditDifference[], found: string): void {
		for (const one of differences) this.differences.push(one);
		this.check(title, differences.length === 0, found);
	}
}

export const PPM = 1_000_000n;
export const NOT_HAD = "its leaves cannot be had";
export const short = (value: string): string => `${value.slice(0, 10)}…${value.slice(-4)}`;
export const percent = (part: bigint, whole: bigint): string =>
	whole === 0n ? "none" : `${(Number((part * 10_000n) / whole) / 100).toFixed(2)} %`;
