// What a segment of the large plan (zk-gas.test.ts) costs where it is paid: through ZkJobs and the real
// escrow. As there the proof is random bytes of a proof's form, and verifier and judge go on where a sum is
// false: all else is the same.
import { test } from "node:test";
import { encodeDeployData, getContractAddress, type Hex, keccak256 } from "viem";
import { assayTokenAbi } from "../../src/chain/abi/assay-token-abi.ts";
import {
	assayTokenCode,
	jobEscrowCode,
	twinJudgeCode,
	twinPostsCode,
	zkJobsCode,
	zkPlansCode,
} from "../../src/chain/abi/creation-code.ts";
import { jobEscrowAbi } from "../../src/chain/abi/job-escrow-abi.ts";
import { twinPostsAbi } from "../../src/chain/abi/twin-posts-abi.ts";
import { weightJudgeAbi } from "../../src/chain/abi/weight-judge-abi.ts";
import { zkJobsAbi } from "../../src/chain/abi/zk-jobs-abi.ts";
import { zkVerifierAbi } from "../../src/chain/abi/zk-verifier-abi.ts";
import { type Contracts, callOf } from "../../src/chain/contracts/contracts.ts";
import { TRIAL_TWINS } from "../../src/chain/contracts/deploy-zk.ts";
import {
	approveJobsCall,
	assignPartCall,
	claimPartCall,
	fundJobCall,
	type JobTerms,
	jobIdOf,
	signAssignment,
	signStored,
} from "../../src/chain/contracts/job-escrow.ts";
import * as zk from "../../src/chain/contracts/zk-jobs.ts";
import { accountOf, type Call } from "../../src/chain/sending/sign.ts";
import { fromHex, toHex } from "../../src/protocol/chain/hex.ts";
import { keccakTree } from "../../src/protocol/hash/keccak-tree.ts";
import { METHOD_NUMBERS } from "../../src/protocol/network/job.ts";
import { proofSizes } from "../../src/verify/zk/verify-segment.ts";
import { planHash, planWords } from "../../src/work/plan/compile-plan.ts";
import { claimHash, rootsTree, segmentTree } from "../../src/work/trace/commitments.ts";
import { NO_TERMS } from "./disputes.test-kit.ts";
import { calldataGas, checkGas } from "./gas.test-kit.ts";
import { compiledFor, drawBytes, largePlan, openGasChain, SENDER, send } from "./zk-gas.test-kit.ts";
import { DEV_BITS, devTau, NO_ID } from "./zk-vectors.test-kit.ts";

/** With steps: four epochs of 2^14 rows, 2,048 a segment. */
const SEGMENTS = 32;
const UNIT = 10n ** 18n;
const validator = accountOf(`0x${"a1".repeat(32)}`);
const hash = (text: string) => keccak256(`0x${text}`);

/** Everything that a zk job needs, put on a chain. */
async function deployed(rpc: Awaited<ReturnType<typeof openGasChain>>) {
	const put = async (data: Hex) => (await send(rpc, null, data)).at;
	const token = await put(
		encodeDeployData({ abi: assayTokenAbi, bytecode: assayTokenCode, args: [1_000_000n * UNIT] }),
	);
	const zkPlans = await put(zkPlansCode);
	const ids = DEV_BITS.map(() => NO_ID);
	const verifying = { abi: zkVerifierAbi, bytecode: compiledFor("zk/ZkVerifier.sol", []).code };
	const zkVerifier = await put(encodeDeployData({ ...verifying, args: [zkPlans, devTau(), DEV_BITS, ids] }));
	const judging = { abi: weightJudgeAbi, bytecode: compiledFor("zk/hybrid/WeightJudge.sol", []).code };
	const weightJudge = await put(encodeDeployData({ ...judging, args: [devTau(), DEV_BITS, ids] }));
	const roots = DEV_BITS.map(() => hash("0c"));
	const twins = [zkPlans, await put(twinJudgeCode), DEV_BITS, roots, TRIAL_TWINS] as const;
	const twinPosts = await put(encodeDeployData({ abi: twinPostsAbi, bytecode: twinPostsCode, args: twins }));
	// Escrow and ZkJobs name each other: the second is where the next but one contract goes.
	const nonce = (await rpc("eth_getTransactionCount", [SENDER, "latest"])) as Hex;
	const zkJobs = getContractAddress({ from: SENDER, nonce: BigInt(nonce) + 1n });
	const money = [token, SENDER, SENDER, zkJobs, { withdrawSeconds: 1, accuserCosts: 0n }] as const;
	const jobEscrow = await put(encodeDeployData({ abi: jobEscrowAbi, bytecode: jobEscrowCode, args: money }));
	const own = [jobEscrow, zkVerifier, zkPlans, twinPosts, weightJudge] as const;
	await put(encodeDeployData({ abi: zkJobsAbi, bytecode: zkJobsCode, args: own }));
	return { chainId: 7373, token, zkPlans, zkVerifier, weightJudge, twinPosts, zkJobs, jobEscrow };
}

test("what a segment of eleven links of 1,024 costs where it is paid", async () => {
	const rpc = await openGasChain();
	const contracts = { addresses: await deployed(rpc) } as unknown as Contracts;
	const does = async ({ to, data }: Call) => ({ ...(await send(rpc, to, data)), calldata: calldataGas(data) });
	const plan = largePlan(new Array<number>(12).fill(1024), 2 ** 14);
	await does(zk.registerPlanCall(contracts, toHex(planWords(plan))));
	const draw = drawBytes();
	const [features, labels, start] = plan.groups.slice(0, 3).map(({ chunks }) => draw.points(chunks)) as [
		string,
		string,
		string,
	];
	const ends = Array.from({ length: SEGMENTS }, () => draw.points(plan.groups[3]!.chunks));
	const order = {
		...{ plan: toHex(planHash(plan)), features: hash("03"), labels: hash("04") },
		...{ featurePoints: hash(features), labelPoints: hash(labels), startPoints: hash(start) },
	};
	const terms: JobTerms = {
		...NO_TERMS,
		...{ customer: SENDER, salt: hash("01"), start: hash("05"), seed: hash("02"), program: `0x${plan.programRoot}` },
		...{
			segments: BigInt(1 + SEGMENTS),
			parts: 1,
			inputs: hash("06"),
			spec: hash("07"),
			price: UNIT,
			audit: 32n * UNIT,
		},
		...{ bond: 10n * UNIT, startBy: 1_800_100_000n, workSeconds: 1200, windowSeconds: 1200, checkedSeconds: 60 },
		...{ method: METHOD_NUMBERS.zk, quorum: 1, validators: [validator.address] },
	};
	const job = jobIdOf(terms);
	await does(approveJobsCall(contracts, 10n ** 30n));
	await does(callOf(contracts, "jobEscrow", "deposit", 10n * UNIT));
	await does(fundJobCall(contracts, terms));
	await does(zk.orderProofsCall(contracts, terms, order));
	const assignment = { part: 0, attempt: 1, until: terms.startBy, draw: hash("08") };
	const drawn = await signAssignment(validator, contracts, job, SENDER, assignment);
	await does(assignPartCall(contracts, terms, assignment, [drawn]));
	await does(await claimed(contracts, terms));
	const points: Hex = `0x${ends.join("")}`;
	const list = await does(
		zk.listEndsCall(contracts, terms, order, 0, { points, bare: `0x${draw.points(3)}${draw.scalars(1)}` }),
	);
	const leaves = keccakTree(ends.map((one) => fromHex(hash(one), 32)));
	const sizes = proofSizes(plan);
	const submitted = (number: number) => {
		const told = [features, labels, number === 1 ? start : ends[number - 2], ends[number - 1]].join("");
		const opening = `${draw.points(1)}${draw.scalars(3)}${draw.points(2)}`;
		const segment: zk.ZkSegment = {
			...{ number: BigInt(number), stateBefore: hash("09"), stateAfter: hash("0a"), points: `0x${told}` },
			proof: `0x${draw.points(sizes.points)}${draw.scalars(sizes.scalars)}${opening}`,
		};
		return does(zk.submitProofCall(contracts, terms, order, segment, leaves.path(number - 1).map(toHex)));
	};
	await submitted(1);
	const one = await submitted(2);
	checkGas("jobSegments", { zkJobSegment: one.gas, zkJobSegmentCalldata: one.calldata, zkJobList32: list.gas });
});

/** Of states that nobody has. */
async function claimed(contracts: Contracts, terms: JobTerms): Promise<Call> {
	const { jobEscrow } = contracts.addresses;
	const states = Array.from({ length: 1 + SEGMENTS }, (_, i) =>
		fromHex(i === 0 ? terms.start : hash(`bb${i}0`.slice(0, 4)), 32),
	);
	const [lastStates, resultRoot] = [hash("0b"), rootsTree([]).root];
	const last = `04${(1 + SEGMENTS).toString(16).padStart(16, "0")}${lastStates.slice(2)}${Buffer.from(resultRoot).toString("hex")}`;
	const tree = segmentTree([...states, fromHex(hash(last), 32)]);
	const claim = claimHash({
		...{ chainId: 7373n, escrow: fromHex(jobEscrow.toLowerCase() as Hex, 20), job: jobIdOf(terms), part: 0 },
		...{ program: fromHex(terms.program, 32), inputs: fromHex(terms.inputs, 32), first: 0, segments: 1 + SEGMENTS },
		...{ segmentRoot: tree.root, resultRoot },
	});
	const stored = await signStored(validator, contracts, { job: jobIdOf(terms), part: 0, attempt: 1 }, toHex(claim));
	const shown = {
		...{ segmentRoot: toHex(tree.root), resultRoot: toHex(resultRoot), first: terms.start, previous: NO_ID },
		...{ firstPath: tree.path(0).map(toHex), lastStates, lastPath: tree.path(1 + SEGMENTS).map(toHex) },
	};
	return claimPartCall(contracts, terms, 0, shown, [stored]);
}
