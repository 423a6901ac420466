// What a contract or a node said when it refused: CHAIN_REFUSED with the contract's own words, and the name
// of its error again.
import { BaseError, decodeErrorResult, type Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { assayTokenAbi } from "../abi/assay-token-abi.ts";
import { attestationsAbi } from "../abi/attestations-abi.ts";
import { disputesAbi } from "../abi/disputes-abi.ts";
import { jobEscrowAbi } from "../abi/job-escrow-abi.ts";
import { judgeAbi } from "../abi/judge-abi.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rentalEscrowAbi } from "../abi/rental-escrow-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { rollCallAbi } from "../abi/roll-call-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { segmentProofsAbi } from "../abi/segment-proofs-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import { twinPostsAbi } from "../abi/twin-posts-abi.ts";
import { weightJudgeAbi } from "../abi/weight-judge-abi.ts";
import { wireJudgeAbi } from "../abi/wire-judge-abi.ts";
import { zkJobsAbi } from "../abi/zk-jobs-abi.ts";
import { zkPlansAbi } from "../abi/zk-plans-abi.ts";
import { zkVerifierAbi } from "../abi/zk-verifier-abi.ts";
import { RpcRefusal } from "../node/rpc.ts";

/** What people meet first, and who cannot read the contract. */
const IN_WORDS: Readonly<Record<string, string>> = {
	ERC20InsufficientAllowance: "fewer tokens are approved than it takes (spender, approved, needed): ",
	ERC20InsufficientBalance: "the account has fewer tokens than it takes (account, has, needs): ",
};

/** What a contract or node said, as CHAIN_REFUSED. */
export function refusal(error: unknown): unknown {
	if (!(error instanceof RpcRefusal)) return error;
	const { errorName, args = [] } = revertOf(error) ?? {};
	const words =
		errorName === undefined
			? error.message.slice(0, 300)
			: `${IN_WORDS[errorName] ?? ""}${errorName}(${args.join(", ")})`;
	return new AssayError("CHAIN_REFUSED", `the chain refuses this: ${words}`, {
		hint: "docs/chain.md says what each contract allows when.",
		cause: error,
	});
}

/** The name of the custom error behind a failed read or send; null: it is none of our contracts'. */
export function refusedBecause(error: unknown): string | null {
	const refused = error instanceof BaseError ? error.walk((one) => one instanceof RpcRefusal) : (error as Error).cause;
	return refused instanceof RpcRefusal ? (revertOf(refused)?.errorName ?? null) : null;
}

const EVERY_ERROR = [
	...registryAbi,
	...scoreboardAbi,
	...rewardsAbi,
	...slashingAbi,
	...rollCallAbi,
	...rentalEscrowAbi,
	...jobEscrowAbi,
	...disputesAbi,
	...judgeAbi,
	...wireJudgeAbi,
	...attestationsAbi,
	...zkPlansAbi,
	...zkVerifierAbi,
	...twinPostsAbi,
	...zkJobsAbi,
	...weightJudgeAbi,
	...segmentProofsAbi,
	// Of a token, however it was called: the words of ERC-6093.
	...assayTokenAbi,
].filter(({ type }) => type === "error");

function revertOf({ data: given }: RpcRefusal) {
	const data = typeof given === "string" ? given : (given as { data?: unknown } | null | undefined)?.data;
	if (typeof data !== "string" || !/^0x[0-9a-f]{8}/i.test(data)) return null;
	try {
		return decodeErrorResult({ abi: EVERY_ERROR, data: data as Hex });
	} catch {
		return null;
	}
}
