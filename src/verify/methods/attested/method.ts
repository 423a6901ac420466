// Attested: an allowed confidential guest ran it, on cards that signed at both ends (docs/attestation.md,
// level hosted). Whatever shows less is run again whole, as if nothing had been signed.
//
// ATTACK: an owner's interposer takes a guest's keys (TEE.fail). So claims are run again by chance all the
// same, and those that came too fast.
import { createMethod, judgeAudits, settleAudits, whole } from "../method.ts";

export const method = createMethod({
	needsHosted: true,
	next(view, drawn) {
		const { part } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		if (part.isChecked) return [];
		const isEnough = view.attested === "hosted" && !view.isTooFast && !drawn.isAudited();
		return isEnough ? [{ kind: "check" }] : [whole(view, "drawn")];
	},
	judge(view) {
		if (view.part.audits.length > 0) return judgeAudits(view, "the draw");
		const isChecked = view.attested === "hosted" && !view.isTooFast;
		return { isChecked, audited: 0, segments: view.segments, trust: "the vendor" };
	},
	words: {
		found: (percent) => `a guest that was broken into and skips a tenth is found with ${percent}`,
		choices: [{ count: 0, title: "Signed by the hardware" }],
		explained: ({ tenth }) =>
			`Only hosts in a confidential guest that the validator allows: CPU and cards sign at both ends. No owner can change such a guest's work, unless its hardware was broken into; ${tenth} of the parts are run again at random for that.`,
	},
});
