// What a check gives back: null when it found nothing wrong, else the code, the place in the file and a
// sentence. Checks are ordinary functions of what came before them; none of them throws.
import type { Code } from "../../protocol/codes.ts";

export interface Fault {
	readonly code: Code;
	readonly where: string;
	readonly detail: string;
}

export function fault(code: Code, where: string, detail: string): Fault {
	return { code, where, detail };
}

/** The first fault among checks that are made one after the other. */
export function firstFault(...checks: readonly (() => Fault | null)[]): Fault | null {
	for (const check of checks) {
		const found = check();
		if (found !== null) return found;
	}
	return null;
}
