// Attested: an allowed confidential guest ran it, on cards that signed at both ends (docs/attestation.md,
// level hosted). Whatever shows less is run again whole, as if nothing had been signed.
//
// ATTACK: an owner's interposer takes a guest's keys (TEE.fail). So claims are run again by chance all the
// same, and those that came too fast.
import { auditedSegments, type Method, settleAudits, whole } from "./method.ts";

export const attested: Method = {
	next(view, drawn) {
		const { part } = view;
		if (part.state !== "claimed") return [];
		if (part.audits.length > 0) return settleAudits(view);
		if (part.isChecked) return [];
		const isEnough = view.attested === "hosted" && !view.isTooFast && !drawn.isAudited();
		return isEnough ? [{ kind: "check" }] : [whole(view, "drawn")];
	},
	judge(view) {
		const { audits } = view.part;
		const isSigned = view.attested === "hosted" && !view.isTooFast;
		return {
			isChecked: audits.length > 0 ? audits.every(({ agrees }) => agrees === true) : isSigned,
			...{ audited: auditedSegments(view), segments: view.segments },
			trust: audits.length > 0 ? "the draw" : "the vendor",
		};
	},
};
