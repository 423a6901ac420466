// Over which powers of tau proofs of training are, in the words that every figure of proofs is shown with:
// what a proof costs and whether it proves anything depends on them. docs/zk.md §1.
import { isEmbeddedChainId } from "./chain/embedded-chain-id.ts";

/** Powers, or a key of wrapped runs, whose secrets everybody knows. */
export const TEST_PARAMETERS = "test parameters (not secure)";
export const IGNITION_POWERS = "the Ignition ceremony's powers";

/** Of the proofs that a chain's contracts take. */
export const powersOfChain = (chainId: number): string =>
	isEmbeddedChainId(chainId) ? TEST_PARAMETERS : IGNITION_POWERS;
