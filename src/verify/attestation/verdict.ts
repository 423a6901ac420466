// The verdict on a piece of attestation evidence (docs/attestation.md), and the hearing in which it is
// reached. Checks run in the order of that page. The first false thing ends the hearing. What is only
// missing, out of date or not known here is remembered, and decides if nothing was false. Nothing thrown in
// here leaves `hear`.
import type { Code } from "../../protocol/codes.ts";
import type { AttestedLevel, Finding } from "../../protocol/probe/verdict.ts";

export type Level = AttestedLevel;

/** What was read out of the evidence. Only what a good signature covers gets in here. */
type Facts = Readonly<Record<string, unknown>>;

export interface AttestationVerdict {
	readonly status: "valid" | "invalid" | "inconclusive";
	readonly level: Level;
	/** Null when valid. */
	readonly code: Code | null;
	readonly where: string;
	readonly detail: string;
	readonly facts: Facts;
	readonly findings: readonly Finding[];
}

/** Thrown by checks, caught by `hear`. */
class Refusal {
	readonly code: Code;
	readonly where: string;
	readonly detail: string;
	/** Nothing was false: what follows cannot be read, or is not at hand. */
	readonly isDoubt: boolean;
	constructor(code: Code, where: string, detail: string, isDoubt = false) {
		this.code = code;
		this.where = where;
		this.detail = detail;
		this.isDoubt = isDoubt;
	}
}

export function refuse(code: Code, where: string, detail: string): never {
	throw new Refusal(code, where, detail);
}

/** Evidence, a vendor's file, a manifest: not spelled, or not put together, as its format has it. */
export const wrong = (where: string, detail: string): never => refuse("ATTEST_FORM", where, detail);
export const wrongCollateral = (where: string, detail: string): never => refuse("COLLATERAL_WRONG", where, detail);
export const wrongManifest = (where: string, detail: string): never => refuse("RIM_WRONG", where, detail);

/**
 * Ends the hearing, or the part of it that `orDoubt` runs, in doubt. ATTEST_VERSION: a version, algorithm or
 * kind that this release does not know. Nothing is shown by such evidence, and nobody is accused by it.
 */
export function cannotTell(where: string, detail: string, code: Code = "ATTEST_VERSION"): never {
	throw new Refusal(code, where, detail, true);
}

/** What `read` gives. Null: it cannot be told, which the hearing remembers. */
export function orDoubt<T>(hearing: Hearing, read: () => T): T | null {
	try {
		return read();
	} catch (thrown) {
		if (!(thrown instanceof Refusal && thrown.isDoubt)) throw thrown;
		hearing.doubt ??= thrown;
		return null;
	}
}

/**
 * Reads what its device has signed. The vendor's firmware wrote it, so what cannot be read in it is not known
 * here, but not false: `unread` says what.
 */
export function readSigned<T>(
	read: () => T,
): { readonly value: T; readonly unread: null } | { readonly value: null; readonly unread: string } {
	try {
		return { value: read(), unread: null };
	} catch (thrown) {
		if (!(thrown instanceof Refusal && (thrown.isDoubt || thrown.code === "ATTEST_FORM"))) throw thrown;
		return { value: null, unread: thrown.detail };
	}
}

/** Runs `read`; a refusal in it gets this code instead. For parts whose form has a code of its own. */
export function refusingAs<T>(code: Code, where: string, read: () => T): T {
	try {
		return read();
	} catch (thrown) {
		if (thrown instanceof Refusal && !thrown.isDoubt)
			throw new Refusal(code, where, `${thrown.where}: ${thrown.detail}`);
		throw thrown;
	}
}

export class Hearing {
	readonly facts: Record<string, unknown> = {};
	readonly findings: Finding[] = [];
	doubt: Refusal | null = null;

	/** Something needed is missing, out of date or not known here; the first such thing is told. */
	doubtful(code: Code, where: string, detail: string): void {
		this.doubt ??= new Refusal(code, where, detail);
	}

	find(code: Code, detail: string): void {
		if (!this.findings.some((one) => one.code === code)) this.findings.push({ code, detail });
	}
}

/** `judge` gives the level that is shown when nothing is false or missing. */
export function hear(judge: (hearing: Hearing) => Level): AttestationVerdict {
	const hearing = new Hearing();
	const { facts, findings } = hearing;
	try {
		const level = judge(hearing);
		const { doubt } = hearing;
		if (doubt !== null) return { status: "inconclusive", level: "none", ...plain(doubt), facts, findings };
		const isSimulated = findings.some(({ code }) => code === "SIMULATED_ROOTS");
		return { status: "valid", level: isSimulated ? "none" : level, code: null, where: "", detail: "", facts, findings };
	} catch (thrown) {
		const refusal =
			thrown instanceof Refusal ? thrown : new Refusal("INTERNAL", "", `the verifier failed: ${String(thrown)}`);
		const told = refusal.isDoubt ? (hearing.doubt ?? refusal) : refusal;
		const status = refusal.isDoubt ? "inconclusive" : "invalid";
		return { status, level: "none", ...plain(told), facts, findings };
	}
}

const plain = ({ code, where, detail }: Refusal) => ({ code, where, detail });
