// Sampled: windows are drawn after the claim and run again: the first, the last, and others. A claim that
// came too fast is run again whole.
import { formatPercent } from "../../../protocol/format-number.ts";
import { createMethod, settleAudits, whole } from "../method.ts";

export const method = createMethod({
	// A tenth that was skipped is found with 81 %.
	counts: { usual: 16, least: 1, most: 64 },
	isDefault: true,
	drawsWindows: true,
	isFoundBySize: true,
	// One more than the windows: a short last one is run with the one before it.
	audited: (count, segments, perWindow) => Math.min(segments, (count + 2) * perWindow + 1),
	chanceOfSkip: (count, skipped) => 1 - (1 - Math.min(1, skipped)) ** count,
	chanceOfOne: (count, perWindow, segments) => Math.min(1, (count * perWindow) / segments),
	next(view, drawn) {
		const { part, method } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		if (view.isTooFast) return [whole(view, "anyone")];
		return drawn.windows(method.count).map(({ first, count }) => ({ kind: "audit", first, count, by: "anyone" }));
	},
	words: {
		choices: [
			{ count: 16, title: "Spot checks" },
			{ count: 4, title: "A few spot checks" },
		],
		explained: ({ count, one, tenth }) =>
			one === 1
				? "So small a job is run again whole, window by window. Whatever was skipped or forged is found."
				: `Others run ${count} random windows again, and the first and the last. If a tenth of the work were skipped, the chance to find it is ${tenth}; for a single forged segment it is ${formatPercent(one)}.`,
	},
});
