// What validators sign of an epoch's weights (EIP-712 `Weights`), whether a signature is a validator's, and
// the one hash that the chain keeps of all seats; as contracts/src/epochs/Scoreboard.sol has them. Signing is
// in src/chain.
import { keccak } from "../hash/keccak-tree.ts";
import type { Seat, Weights, WeightsSignature } from "./epoch-shapes.ts";
import { fromHex, type Hex, packed, toHex } from "./hex.ts";
import { isSignedBy, typedDigest } from "./typed-data.ts";

/** For which contract on which chain weights are signed; they mean nothing elsewhere. */
export interface WeightsDomain {
	readonly chainId: number;
	readonly scoreboard: Hex;
}

const TYPE = "Weights(uint64 epoch,bytes32 base,uint64 set,uint32 count,uint64 totalWeight,uint128 paid,bytes32 root)";

/** The EIP-712 digest: names the weights on chain and is what is signed. */
export function weightsId({ chainId, scoreboard }: WeightsDomain, weights: Weights): Hex {
	const { epoch, base, set, count, totalWeight, paid, root } = weights;
	return toHex(typedDigest(chainId, scoreboard, TYPE, [epoch, base, set, count, totalWeight, paid, root]));
}

/** Whether the contract will take this signature as the signer's, for the weights of this id. */
export const isWeightsSigned = (id: Hex, { signer, signature }: WeightsSignature): boolean =>
	isSignedBy(signer, fromHex(id, 32), signature);

/** IScoreboard.Seat: h₀ = 0, hᵢ₊₁ = keccak(hᵢ ‖ signer ‖ stake (12) ‖ root). */
export const seatsHash = (seats: readonly Omit<Seat, "validator">[]): Hex =>
	toHex(
		seats.reduce<Uint8Array>(
			(hash, { signer, stake, root }) => keccak(hash, fromHex(signer, 20), packed(stake, 12), fromHex(root, 32)),
			new Uint8Array(32),
		),
	);
