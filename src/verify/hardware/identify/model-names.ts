// From what a person types ("h100", "RTX-4090", "NVIDIA H100 80GB HBM3") to the cards that are meant: one
// list for CLI, API and web. Only for people's words. What a driver reports is compared whole (normalName),
// because there a longer name is another device.
import type { Profile } from "./profile.ts";
import { PROFILES } from "./profiles.ts";
import { ALSO_CALLED } from "./short-name.ts";

/** Words that no two cards differ by. */
const EMPTY_WORDS = new Set(["nvidia", "geforce", "tesla", "quadro", "gpu"]);

const wordsOf = (text: string): string[] =>
	text
		.toLowerCase()
		.split(/[^a-z0-9]+/)
		.filter((word) => word !== "" && !EMPTY_WORDS.has(word));

/** A name without spaces, and where its words begin. */
interface Squashed {
	readonly text: string;
	readonly starts: ReadonlySet<number>;
}

export function squashed(text: string): Squashed {
	const words = wordsOf(text);
	const starts = words.map((_, i) => words.slice(0, i).join("").length);
	return { text: words.join(""), starts: new Set(starts) };
}

/** Each spelling of each card: a number alone ("4090") means the RTX of that number. */
const SPELLINGS: readonly (readonly [Profile, Squashed])[] = PROFILES.flatMap((profile) =>
	[profile.id, ...profile.names, ...(ALSO_CALLED[profile.id] ?? [])]
		.flatMap((name) => [name, ...(/rtx \d/i.test(name) ? [name.replace(/rtx /i, "")] : [])])
		.map((name) => [profile, squashed(name)] as const),
);

/**
 * The cards that are meant: those whose whole name it is, else all whose name has it from the beginning of a
 * word on, no number cut in two. "h100" means every H100, "H200" that card and not the H200 NVL, "a10" no
 * A100. None: nobody knows it.
 */
export const profilesMeant = (typed: string): readonly Profile[] => cardsMeant(typed, SPELLINGS);

export function cardsMeant<Card>(typed: string, spellings: readonly (readonly [Card, Squashed])[]): readonly Card[] {
	const { text } = squashed(typed);
	if (text === "") return [];
	const isPart = ({ text: name, starts }: Squashed): boolean =>
		[...starts].some(
			(at) => name.startsWith(text, at) && !/^\d\d$/.test(name.slice(at + text.length - 1, at + text.length + 1)),
		);
	const whole = spellings.filter(([, name]) => name.text === text);
	const found = whole.length > 0 ? whole : spellings.filter(([, name]) => isPart(name));
	return [...new Set(found.map(([card]) => card))];
}
