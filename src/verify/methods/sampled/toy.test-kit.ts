// A toy of the method sampled: four windows were run again and agree.
import { audit, type MethodToy, tamperedAudits, viewOf } from "../toy.test-kit.ts";

const SAMPLED = { name: "sampled", count: 2 } as const;
const honest = viewOf(SAMPLED, { audits: [0, 30, 60, 90].map((first) => audit(first, 10)) });
export const toy: MethodToy = {
	honest,
	tampered: { ...tamperedAudits(honest, 1), "it came too fast": viewOf(SAMPLED, {}, true) },
};
