// Why a program is refused, docs/work.md §5: a code, the place (tensor, or phase, op and instruction) and a
// sentence with the bound.
import { AssayError } from "../../protocol/assay-error.ts";
import { codes } from "../../protocol/codes.ts";
import type { Phase } from "./shapes.ts";

export type FaultCode =
	| "PROGRAM_MALFORMED"
	| "PROGRAM_LIMIT"
	| "PROGRAM_INTERVAL"
	| "PROGRAM_TARGET"
	| "PROGRAM_WIRING"
	| "PROGRAM_SHAPE"
	| "PROGRAM_OVERFLOW"
	| "PROGRAM_INDEX"
	| "PROGRAM_DIVISOR"
	| "PROGRAM_DOMAIN"
	| "PROGRAM_OUTPUT";

/** What is wrong, before anyone says where. */
export interface Wrong {
	readonly code: FaultCode;
	readonly message: string;
	/** Register number of the instruction, in a map. */
	readonly instruction?: number;
}

export interface ProgramFault {
	readonly code: FaultCode;
	readonly message: string;
	readonly tensor: number | null;
	readonly phase: Phase | null;
	readonly op: number | null;
	readonly instruction: number | null;
}

export type Checked<T> =
	| { readonly ok: true; readonly value: T }
	| { readonly ok: false; readonly fault: ProgramFault };

export function refuse(fault: Partial<ProgramFault> & Pick<ProgramFault, "code" | "message">): {
	readonly ok: false;
	readonly fault: ProgramFault;
} {
	return { ok: false, fault: { tensor: null, phase: null, op: null, instruction: null, ...fault } };
}

/** "step op 3, instruction 7: …" */
export function faultSentence({ message, tensor, phase, op, instruction }: ProgramFault): string {
	const place = [
		...(tensor === null ? [] : [`tensor ${tensor}`]),
		...(op === null ? [] : [`${phase} op ${op}`]),
		...(instruction === null ? [] : [`instruction ${instruction}`]),
	].join(", ");
	return place === "" ? message : `${place}: ${message}`;
}

/** The value, or the fault as the error that commands show. */
export function orThrow<T>(checked: Checked<T>): T {
	if (checked.ok) return checked.value;
	const { code } = checked.fault;
	throw new AssayError(code, faultSentence(checked.fault), { hint: codes[code].hint });
}
