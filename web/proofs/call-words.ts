// What came of a roll call, or of a host in one, in a word and a colour. Red is for answers that were shown
// to be false; a host that was busy, too slow or away is not accused. Pure.
import type { RollCall, RollCallAnswer } from "../../src/api/types.ts";
import { codes } from "../../src/protocol/codes.ts";
import type { Tone } from "../parts/small.tsx";

export interface CallWords {
	readonly tone: Tone;
	readonly word: string;
	/** More of it, for whoever hovers. */
	readonly why: string;
}

const TONES: Readonly<Record<RollCallAnswer["state"] | RollCall["state"], Tone>> = {
	answered: "valid",
	done: "valid",
	late: "inconclusive",
	absent: "inconclusive",
	wrong: "inconclusive",
	excused: "none",
	open: "running",
	opening: "running",
	committed: "running",
	void: "abandoned",
};

const TOO_SLOW = "it was too slow at that time: busy, slowed down, or farther away than when it was probed";

/** By code, whatever the state is called. */
const BY_CODE: Readonly<Record<string, readonly [word: string, why: string]>> = {
	CALL_TOO_LITTLE: ["too slow", `less work or memory than its last probe showed; ${TOO_SLOW}`],
	PROVIDER_BUSY: ["busy", "its engine was in use"],
	PROVIDER_RENTED: ["rented", "its devices were a customer's"],
	ROLL_CALL_OFF: ["takes no calls", "its owner has switched roll calls off"],
	AGENT_REFUSED: ["refused", "it said no, for a reason of its own"],
	AGENT_SILENT: ["silent", "it was connected and did not answer"],
	AGENT_CLOSED: ["away", "it was not connected"],
};

const isFalse = (code: string | null): boolean =>
	code !== null && (codes as Readonly<Record<string, { readonly kind: string }>>)[code]?.kind === "verdict-invalid";

export function callWords(state: keyof typeof TONES, code: string | null): CallWords {
	const known = code === null ? undefined : BY_CODE[code];
	if (known !== undefined) return { tone: TONES[state], word: known[0], why: known[1] };
	if (state === "late") return { tone: TONES.late, word: "late", why: TOO_SLOW };
	if (state === "wrong" && isFalse(code)) return { tone: "invalid", word: "wrong", why: "its answer is false" };
	// Neither opened nor shown to be false.
	if (state === "wrong") return { tone: TONES.wrong, word: "not opened", why: "what it had answered was not shown" };
	return { tone: TONES[state], word: state, why: "" };
}
