// A toy of the method zk: the chain took proofs of all segments, and nothing else makes it checked.
import { audit, type MethodToy, viewOf } from "../toy.test-kit.ts";

const ZK = { name: "zk", count: 0 } as const;
export const toy: MethodToy = {
	honest: viewOf(ZK, { isChecked: true }),
	isDecided: true,
	tampered: {
		"not all is proven": viewOf(ZK, { proven: 99 }),
		"others ran it again": viewOf(ZK, { audits: [audit(0, 100)] }),
	},
};
