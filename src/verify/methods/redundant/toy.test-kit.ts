// A toy of the method redundant: three run it, and two compared answers agree with the claim.
import { audit, type MethodToy, tamperedAudits, viewOf } from "../toy.test-kit.ts";

const honest = viewOf({ name: "redundant", count: 3 }, { audits: [audit(0, 100), audit(0, 100)] });
export const toy: MethodToy = { honest, tampered: tamperedAudits(honest) };
