// A badge of a verdict for a README or a listing: "assay | 8 × H200, 2026-11-17". It is a picture and no
// proof. Pure.
import { escaped } from "./escaped.ts";

const COLOURS = { valid: "#0a7a45", invalid: "#b3261e", inconclusive: "#8a5a00" } as const;
/** Of a character of 11 px Verdana, wide enough for all but the widest. */
const WIDTH = 7;
const LONGEST = 60;

export function svgBadge(status: keyof typeof COLOURS, text: string): string {
	const words = text.length > LONGEST ? `${text.slice(0, LONGEST - 1)}…` : text;
	const [left, right] = [5 * WIDTH + 14, words.length * WIDTH + 14];
	const label = escaped(`assay: ${words}`);
	return `<svg xmlns="http://www.w3.org/2000/svg" width="${left + right}" height="20" role="img" aria-label="${label}"><title>${label}</title>
<rect width="${left}" height="20" fill="#444"/><rect x="${left}" width="${right}" height="20" fill="${COLOURS[status]}"/>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11"><text x="7" y="14">assay</text><text x="${left + 7}" y="14" textLength="${right - 14}" lengthAdjust="spacingAndGlyphs">${escaped(words)}</text></g></svg>
`;
}
