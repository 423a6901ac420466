// The methods that can be ordered: redundant, sampled, optimistic, zk here, attested beside it.
import type { JobMethod } from "../../protocol/network/job.ts";
import { attested } from "./attested.ts";
import { auditedSegments, type Method, settleAudits, whole } from "./method.ts";

/**
 * Several providers run the same part at once. The one that was drawn first claims; the others' answers are
 * kept until its claim is there, so nobody can copy. All must agree. By chance one more runs it afterwards.
 *
 * ATTACK: friends who hold all draws of a part know so before they claim, and would lie then only. So that
 * one is drawn after the claim.
 */
const redundant: Method = {
	next(view, drawn) {
		const { part, method } = view;
		if (part.state !== "running" && part.state !== "claimed") return [];
		const isAudited = part.state === "claimed" && !part.isChecked && drawn.isAudited();
		const missing = method.count - 1 + (isAudited ? 1 : 0) - part.audits.length;
		if (missing > 0) return Array.from({ length: missing }, () => whole(view, "drawn"));
		return settleAudits(view);
	},
	judge: (view) => ({
		isChecked:
			view.part.audits.length >= view.method.count - 1 && view.part.audits.every(({ agrees }) => agrees === true),
		...{ audited: auditedSegments(view), segments: view.segments, trust: "the draw" },
	}),
};

/**
 * Windows are drawn after the claim and run again: the first, the last, and others. A claim that came too
 * fast is run again whole.
 */
const sampled: Method = {
	next(view, drawn) {
		const { part, method } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		if (view.isTooFast) return [whole(view, "anyone")];
		return drawn.windows(method.count).map(({ first, count }) => ({ kind: "audit", first, count, by: "anyone" }));
	},
	judge: (view) => ({
		isChecked: view.part.audits.length > 0 && view.part.audits.every(({ agrees }) => agrees === true),
		...{ audited: auditedSegments(view), segments: view.segments, trust: "the draw" },
	}),
};

/**
 * Nothing but the window; some claims are run again by chance, and those that came too fast. Anyone may run
 * any.
 */
const optimistic: Method = {
	next(view, drawn) {
		const { part } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		return view.isTooFast || drawn.isAudited() ? [whole(view, "drawn")] : [];
	},
	judge: (view) => ({
		isChecked: view.part.audits.length > 0 && view.part.audits.every(({ agrees }) => agrees === true),
		...{ audited: auditedSegments(view), segments: view.segments, trust: "one honest watcher" },
	}),
};

/**
 * Proven on chain, segment by segment, by whoever likes: nothing is run again, and nobody's word stands for
 * it. docs/zk.md §12.
 */
const zk: Method = {
	next: () => [],
	judge: ({ part: { isChecked }, segments }) => ({ isChecked, audited: 0, segments, trust: "arithmetic alone" }),
};

export const METHODS: { readonly [Name in JobMethod["name"]]: Method } = {
	...{ redundant, sampled, optimistic, attested, zk },
};
