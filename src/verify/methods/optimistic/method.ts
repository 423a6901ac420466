// Optimistic: nothing but the window; some claims are run again by chance, and those that came too fast.
// Anyone may run any again.
import { wholeSpan } from "../../../protocol/format-number.ts";
import { createMethod, judgeAudits, settleAudits, whole } from "../method.ts";

export const method = createMethod({
	isOpen: true,
	isProvable: true,
	windows: ({ jobWindowMs, jobCheckedMs }) => ({ windowMs: jobWindowMs, checkedMs: jobCheckedMs }),
	next(view, drawn) {
		const { part } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		return view.isTooFast || drawn.isAudited() ? [whole(view, "drawn")] : [];
	},
	judge: (view) => judgeAudits(view, "one honest watcher"),
	words: {
		usuallyPaid: ({ windowMs }) => `${wholeSpan(windowMs)} after the claim`,
		choices: [{ count: 0, title: "On trust, with audits" }],
		explained: ({ tenth, windowMs, bond }) =>
			`Nothing is checked by default: ${tenth} of the parts are run again at random, and anyone can prove a lie for ${wholeSpan(windowMs)}. Who lied loses ${bond}.`,
	},
});
