// A toy of the method attested: an allowed guest's devices signed at both ends.
import { audit, type MethodToy, viewOf } from "../toy.test-kit.ts";

const ATTESTED = { name: "attested", count: 0 } as const;
const signed = (view = viewOf(ATTESTED), attested: "hosted" | "measured" | "genuine" | "none" = "hosted") => ({
	...{ ...view, attested },
});
export const toy: MethodToy = {
	honest: signed(),
	tampered: {
		"no guest was named": signed(viewOf(ATTESTED), "measured"),
		"the guest was not measured": signed(viewOf(ATTESTED), "genuine"),
		"nothing was signed": signed(viewOf(ATTESTED), "none"),
		"it came too fast": signed(viewOf(ATTESTED, {}, true)),
		"an audit differs": signed(viewOf(ATTESTED, { audits: [audit(0, 100, false)] })),
		"an audit was not compared": signed(viewOf(ATTESTED, { audits: [audit(0, 100, null)] })),
	},
};
