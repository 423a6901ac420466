// What a renter ordered, on the command line: `--expect 8xH100 --min-fp16 600T --min-memory 75GiB`. The same
// for probe, its fleets and verify. Not here: whether a machine is it (verify/hardware/order.ts).
import { AssayError } from "../../protocol/assay-error.ts";
import { closestWord } from "../../protocol/closest-word.ts";
import { profilesMeant } from "../../verify/hardware/identify/model-names.ts";
import { unsupportedMeant } from "../../verify/hardware/identify/other-vendors.ts";
import { PROFILES } from "../../verify/hardware/identify/profiles.ts";
import type { Least, Order } from "../../verify/hardware/order.ts";
import { group, type Option, text, usageError, type Values } from "../options.ts";

const MOST_CARDS = 64;
const SCALE: Readonly<Record<string, number>> = {
	...{ "": 1, k: 1e3, M: 1e6, G: 1e9, T: 1e12, P: 1e15 },
	...{ Ki: 2 ** 10, Mi: 2 ** 20, Gi: 2 ** 30, Ti: 2 ** 40 },
};

/**
 * A number with a prefix and, if one likes, its unit; without a prefix it is in `usual`: `600T`, `600 TFLOPS`
 * and `600` are one.
 */
function quantity(value: string, help: string, usual: string, unit: RegExp): Option<number | undefined> {
	const read = (given: unknown, name: string): number | undefined => {
		if (given === undefined) return undefined;
		const [, digits = "", prefix = "", rest = ""] =
			/^\s*(\d+(?:\.\d+)?)\s*([kMGTP]i?)?(.*)$/.exec(given as string) ?? [];
		const scale = SCALE[prefix === "" ? usual : prefix];
		if (digits === "" || scale === undefined || !unit.test(rest) || (prefix === "" && rest !== ""))
			throw usageError(`${name} takes a number such as ${value}, not '${given}'`);
		return Number(digits) * scale;
	};
	return { value, help, read };
}

const rate = /^(op\/s|ops|flops)?$/i;

export const orderOptions = group("what was ordered", {
	expect: text(
		"8xH100",
		"exit 1 with one line of reason unless that many cards of that model are proven; h100 means any H100",
	),
	"min-fp16": quantity("600T", "each of them with at least this fp16 speed, FLOPS", "T", rate),
	"min-fp8": quantity("1200T", "and this fp8 speed, FLOPS", "T", rate),
	"min-memory": quantity("75GiB", "and this much memory proven", "Gi", /^B?$/i),
	"min-bandwidth": quantity("3TB/s", "and this memory speed", "G", /^(B\/s)?$/i),
});

/** null: nothing was ordered. Throws USAGE, CARD_UNSUPPORTED, CARD_NAME_UNKNOWN. */
export function orderOf(values: Values<typeof orderOptions>): Order | null {
	const leasts: [Omit<Least, "value">, number | undefined][] = [
		[{ figure: "gemm.fp16", label: "fp16", unit: "FLOPS" }, values["min-fp16"]],
		[{ figure: "gemm.fp8", label: "fp8", unit: "FLOPS" }, values["min-fp8"]],
		[{ figure: "memory.resident", label: "memory", unit: "B" }, values["min-memory"]],
		[{ figure: "memory.bandwidth", label: "memory speed", unit: "B/s" }, values["min-bandwidth"]],
	];
	const least = leasts.flatMap(([row, value]) => (value === undefined ? [] : [{ ...row, value }]));
	if (values.expect === undefined) return least.length === 0 ? null : { count: 1, model: null, profiles: [], least };
	const [, number, model = ""] = /^(?:(\d{1,4})\s*[x×]\s*)?(.*)$/is.exec(values.expect.trim()) ?? [];
	const count = Number(number ?? 1);
	if (count < 1 || count > MOST_CARDS)
		throw usageError(`--expect takes 1 to ${MOST_CARDS} cards, not '${values.expect}'`);
	if (/^(any|gpu|gpus)$/i.test(model)) return { count, model: null, profiles: [], least };
	const profiles = profilesMeant(model).map(({ id }) => id);
	if (profiles.length === 0) throw unknownModel(model);
	return { count, model, profiles, least };
}

function unknownModel(model: string): AssayError {
	const other = unsupportedMeant(model);
	if (other !== null)
		return new AssayError("CARD_UNSUPPORTED", `${other}: not supported yet; only NVIDIA cards can be proven`, {
			hint: "docs/profiles.md lists the cards that can be told apart. For any NVIDIA GPU: --expect 8xGPU.",
		});
	const near = closestWord(model, [...new Set(PROFILES.flatMap(({ id }) => [id, ...id.split(/[ -]/)]))]);
	return new AssayError("CARD_NAME_UNKNOWN", `no card is called '${model}'`, {
		hint: `${near === null ? "" : `Did you mean '${near}'? `}docs/profiles.md lists the cards that can be told apart. For any GPU: --expect 8xGPU.`,
	});
}
