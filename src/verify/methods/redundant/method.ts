// Redundant: several providers run the same part at once. The one that was drawn first claims; the others'
// answers are kept until its claim is there, so nobody can copy. All must agree. By chance one more runs it
// afterwards.
//
// ATTACK: friends who hold all draws of a part know so before they claim, and would lie then only. So that
// one is drawn after the claim.
import { createMethod, judgeAudits, settleAudits, whole } from "../method.ts";

export const method = createMethod({
	counts: { usual: 2, least: 2, most: 5 },
	runners: (count) => count,
	// One more than run it anyhow: the random audit.
	audited: (count, segments) => count * segments,
	chanceOfSkip: () => 1,
	chanceOfOne: () => 1,
	next(view, drawn) {
		const { part, method } = view;
		if (part.state !== "running" && part.state !== "claimed") return [];
		const isAudited = part.state === "claimed" && !part.isChecked && drawn.isAudited();
		const missing = method.count - 1 + (isAudited ? 1 : 0) - part.audits.length;
		if (missing > 0) return Array.from({ length: missing }, () => whole(view, "drawn"));
		return settleAudits(view);
	},
	judge: (view) => judgeAudits(view, "the draw", view.method.count - 1),
	words: {
		choices: [{ count: 2, title: "Run twice" }],
		explained: () => "A second provider runs all of it. Any difference is found, unless both collude.",
	},
});
