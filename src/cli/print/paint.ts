// Colours for a terminal, by what they mean. Pure.

export interface Paint {
	good(text: string): string;
	bad(text: string): string;
	unsure(text: string): string;
	dim(text: string): string;
	strong(text: string): string;
}

const wrap = (open: number, close: number) => (text: string) => `\u001b[${open}m${text}\u001b[${close}m`;
const asIs = (text: string) => text;
const colours: Paint = {
	good: wrap(32, 39),
	bad: wrap(31, 39),
	unsure: wrap(33, 39),
	dim: wrap(2, 22),
	strong: wrap(1, 22),
};
export const plain: Paint = { good: asIs, bad: asIs, unsure: asIs, dim: asIs, strong: asIs };

/** Colour only for a terminal, and never when NO_COLOR is set (no-color.org). */
export function paintFor(
	stream: { readonly isTTY?: boolean },
	env: Readonly<Record<string, string | undefined>>,
): Paint {
	return stream.isTTY === true && (env.NO_COLOR ?? "") === "" ? colours : plain;
}
