// "81 % of data sheet, usual 45–95": is a proven figure good for this card? Only where the figures say which
// card it is. Pure.
import type { Figure } from "../../protocol/probe/evidence.ts";
import type { Identity } from "../../protocol/probe/verdict.ts";
import { besideDataSheet } from "../../verify/hardware/identify/data-sheet.ts";

export function sheetNote(figure: Figure, identity: Identity | undefined): string {
	const isNamed = identity?.state === "confirmed" || identity?.state === "consistent";
	const beside = isNamed && identity.profile !== null ? besideDataSheet(identity.profile, figure) : null;
	if (beside === null) return "";
	const percent = (share: number): string => (100 * share).toFixed(0);
	const { low, high } = beside.usual;
	const head = `${percent(beside.share)} % of data sheet`;
	// A quick probe fills a part of the memory on purpose.
	if (figure.name === "memory.resident") return head;
	return `${head}, usual ${percent(low)}–${percent(high)}${beside.isUsual ? "" : ": LOW"}`;
}
