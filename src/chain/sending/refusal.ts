// What a contract or a node said when it refused: CHAIN_REFUSED with the contract's own words, and the name of its error again.
import { BaseError, ContractFunctionRevertedError, decodeErrorResult, type Hex } from "viem";
import { AssayError } from "../../protocol/assay-error.ts";
import { registryAbi } from "../abi/registry-abi.ts";
import { rewardsAbi } from "../abi/rewards-abi.ts";
import { scoreboardAbi } from "../abi/scoreboard-abi.ts";
import { slashingAbi } from "../abi/slashing-abi.ts";
import { RpcRefusal } from "../node/rpc.ts";

/** What a contract or node said, as CHAIN_REFUSED. */
export function refusal(error: unknown): unknown {
	if (!(error instanceof RpcRefusal)) return error;
	const words = revertWords(error);
	return new AssayError("CHAIN_REFUSED", `the chain refuses this: ${words}`, {
		hint: "docs/chain.md says what each contract allows when.",
		cause: error,
	});
}

const EVERY_ERROR = [...registryAbi, ...scoreboardAbi, ...rewardsAbi, ...slashingAbi].filter(
	({ type }) => type === "error",
);

function revertWords(error: RpcRefusal): string {
	const data = typeof error.data === "string" ? error.data : (error.data as { data?: unknown } | null)?.data;
	if (typeof data === "string" && /^0x[0-9a-f]{8}/i.test(data)) {
		try {
			const { errorName, args } = decodeErrorResult({ abi: EVERY_ERROR, data: data as Hex });
			return `${errorName}(${(args ?? []).join(", ")})`;
		} catch {
			// Not one of ours.
		}
	}
	return error.message.slice(0, 300);
}

/** The name of the custom error behind a failed read or send, or null. */
export function refusedBecause(error: unknown): string | null {
	if (error instanceof AssayError && error.code === "CHAIN_REFUSED")
		return /refuses this: (\w+)/.exec(error.message)?.[1] ?? null;
	if (error instanceof BaseError) {
		const revert = error.walk((e) => e instanceof ContractFunctionRevertedError);
		if (revert instanceof ContractFunctionRevertedError) return revert.data?.errorName ?? null;
	}
	return null;
}
