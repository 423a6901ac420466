// Amounts of tokens, accounts and phases for people. Pure. Amounts come as decimal text in the smallest unit:
// they pass 2^53.
import type { ChainPhase } from "../../src/api/types.ts";

const SPACE = "\u202f";
const grouped = (digits: string): string => digits.replaceAll(/\B(?=(\d{3})+$)/g, SPACE);

/** Every digit. */
export function exactAmount(amount: string, decimals: number): string {
	const digits = amount.padStart(decimals + 1, "0");
	const fraction = digits.slice(digits.length - decimals).replace(/0+$/, "");
	const whole = digits.slice(0, digits.length - decimals);
	return decimals === 0 || fraction === "" ? whole : `${whole}.${fraction}`;
}

/**
 * Two places after the point, six for what is less than one; cut, never rounded up: nobody is shown more than
 * there is.
 */
export function shortAmount(amount: string, decimals: number): string {
	const [whole = "0", fraction = ""] = exactAmount(amount, decimals).split(".");
	const places = whole === "0" ? 6 : 2;
	const shown = fraction.slice(0, places).replace(/0+$/, "");
	if (whole === "0" && shown === "" && /[1-9]/.test(fraction)) return "< 0.000001";
	return shown === "" ? grouped(whole) : `${grouped(whole)}.${shown.padEnd(2, "0")}`;
}

/** 0x12345678…abcd: both ends, since accounts are compared by both. */
export const shortAccount = (account: string): string => `${account.slice(0, 8)}…${account.slice(-4)}`;

/** 1 leaf, 2 leaves. */
export const some = (count: number, one: string, many = `${one}s`): string =>
	`${String(count).replaceAll(/\B(?=(\d{3})+$)/g, SPACE)} ${count === 1 ? one : many}`;

const phase = <T extends string>(word: string, tone: T, about: string) => ({ word, tone, about });
export const PHASES = {
	open: phase("open", "running", "Hosts are proven and scored."),
	commit: phase("commit", "running", "Validators commit to their scores without showing them."),
	reveal: phase("reveal", "running", "Validators show the roots that they committed to."),
	sign: phase("sign", "running", "Validators compute the weights and sign them; a quorum’s signatures are posted."),
	challenge: phase("challenge", "running", "Weights are posted. Anyone may prove them wrong."),
	final: phase("final", "valid", "Weights stand; rewards can be claimed."),
	lapsed: phase(
		"no weights",
		"abandoned",
		"No quorum reported or signed in time. Nothing is lost: the rewards stay for later epochs.",
	),
} as const satisfies Readonly<Record<ChainPhase, object>>;

/** m:ss, or h:mm:ss. */
export function countdown(ms: number): string {
	const s = Math.max(0, Math.ceil(ms / 1000));
	const two = (n: number) => String(n).padStart(2, "0");
	const [h, m] = [Math.floor(s / 3600), Math.floor((s % 3600) / 60)];
	return h > 0 ? `${h}:${two(m)}:${two(s % 60)}` : `${m}:${two(s % 60)}`;
}
