// A toy of the method optimistic: the one audit that chance asked for agrees.
import { audit, type MethodToy, tamperedAudits, viewOf } from "../toy.test-kit.ts";

const OPTIMISTIC = { name: "optimistic", count: 0 } as const;
const honest = viewOf(OPTIMISTIC, { audits: [audit(0, 100)] });
export const toy: MethodToy = {
	honest,
	tampered: { ...tamperedAudits(honest), "it came too fast": viewOf(OPTIMISTIC, {}, true) },
};
