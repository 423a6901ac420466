// A sixth method, as somebody would add it: the first segments of a part are run again by another provider,
// who is drawn after the claim. What lies behind them is on trust, so it is no method to sell.
import { createMethod, settleAudits, whole } from "../../../src/verify/methods/method.ts";

export const method = createMethod({
	counts: { usual: 2, least: 1, most: 9 },
	chanceOfSkip: () => 0.25,
	chanceOfOne: (count, _perWindow, segments) => Math.min(1, count / segments),
	next(view) {
		const { part, method, segments } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		if (view.isTooFast) return [whole(view, "drawn")];
		return [{ kind: "audit", first: 0, count: Math.min(method.count, segments), by: "drawn" }];
	},
	words: {
		extra: "checks",
		found: (percent) => `whoever skips the first tenth is found with ${percent}`,
		stood: "compared from its beginning",
		choices: [{ count: 2, title: "The beginning again" }],
		explained: ({ count, tenth }) => `Another provider runs the first ${count} segments again: ${tenth}.`,
	},
});
