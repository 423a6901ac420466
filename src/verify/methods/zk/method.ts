// zk: proven on chain, segment by segment, by whoever likes: nothing is run again, and nobody's word stands
// for it. docs/zk.md §12.
import { wholeSpan } from "../../../protocol/format-number.ts";
import { createMethod } from "../method.ts";

export const method = createMethod({
	driver: "proofs",
	windowsToClaim: 2,
	isFoundBySize: true,
	isOpen: true,
	audited: () => 0,
	chanceOfSkip: () => 1,
	chanceOfOne: () => 1,
	// What is proven is paid at once.
	windows: ({ jobWindowMs }, leastMs) => ({ windowMs: Math.max(leastMs, jobWindowMs), checkedMs: 1 }),
	next: () => [],
	judge: ({ part: { isChecked }, segments }) => ({ isChecked, audited: 0, segments, trust: "arithmetic alone" }),
	words: {
		extra: "proofs",
		usuallyPaid: () => "when every segment is proven",
		paid: ({ windowMs }) =>
			`when every segment is proven; unproven ${wholeSpan(2 * windowMs)} after the claim, it goes to another`,
		found: () => "what is wrong is not paid",
		stood: "proven",
		elsewhere: {
			title: "Paid by proof",
			why: "whoever orders it commits to its data and first weights with an engine, which a browser has not.",
			fits: "An MLP that is trained by exact-sgd can be proven.",
		},
		explained: () => "Every segment is proven on chain, and what is wrong is not paid.",
	},
});
