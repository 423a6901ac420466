// Demands of a worker's trees are answered all at once: one after the other, each deep in the chain before
// the next, a dozen of them would bring an honest tree down. The whole game is in tests/jobs/zk-jobs.test.ts.
import assert from "node:assert/strict";
import { test } from "node:test";
import { AssayError } from "../../src/protocol/assay-error.ts";
import { toHex } from "../../src/protocol/chain/hex.ts";
import { nodeOf } from "../../src/provider/proofs/chain-forms.ts";
import { createEndKeeper } from "../../src/provider/proofs/keep-end.ts";
import type { ProofChain } from "../../src/provider/proofs/proof-chain.ts";
import { DEV_POWERS, powerOf } from "../../src/verify/zk/srs.ts";
import { twinTop } from "../../src/verify/zk/twin-tree.ts";
import { weightTrees } from "../../src/verify/zk/weight-trees.ts";
import { compilePlan, planHash, type ZkPlan } from "../../src/work/plan/compile-plan.ts";
import { trained } from "./trained.test-kit.ts";

const DEMANDS = 40;

test("no answer waits for another, and one that the chain refuses keeps none back", async () => {
	const { program, states } = trained(1);
	const plan = compilePlan(program, 8) as ZkPlan;
	const { weights } = states[1]!;
	const top = nodeOf(twinTop(weightTrees(plan, weights, powerOf(DEV_POWERS))[0]!));
	const sent = new Set<string>();
	let all = () => {};
	const allAreSent = new Promise<void>((resolve) => {
		all = resolve;
	});
	const chain = {
		order: async () => ({ plan: toHex(planHash(plan)) }),
		stateOf: async () => "open",
		demands: async () => Array.from({ length: DEMANDS }, (_, i) => ({ challenger: `0x${i}`, node: top })),
		async answer(_tree: unknown, { challenger }: { readonly challenger: string }) {
			sent.add(challenger);
			if (sent.size === DEMANDS) all();
			// The first was answered by somebody else.
			if (challenger === "0x0") throw new AssayError("CHAIN_REFUSED", "it waits for no answer");
			// Deep in the chain when the others are too.
			await allAreSent;
		},
	} as unknown as ProofChain;
	const of = {
		...{ job: 1n, part: 0, attempt: 1, terms: {} as never, claim: "0x" as const, segment: 2, program, weights },
		ends: { points: "0x", bare: "0x" } as const,
	};
	await assert.rejects(createEndKeeper(chain, () => DEV_POWERS).keep(of), { code: "CHAIN_REFUSED" });
	assert.equal(sent.size, DEMANDS);
});
