// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TaggedTree} from "../trees/TaggedTree.sol";
import {IRollCall} from "./IRollCall.sol";

/// The bytes of one device's answer to a roll call: src/protocol/roll-call. Pure.
library RollLeaf {
    bytes32 internal constant SEED_TAG = sha256("assay/roll-seed/1");
    uint32 internal constant MOST_ROUNDS = 1024;

    /// As KeccakTree's leaves.
    function hash(IRollCall.Leaf calldata leaf) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0), head(leaf), leaf.end, leaf.last));
    }

    /// Seed of the first round.
    function firstSeed(bytes32 beta, IRollCall.Leaf calldata leaf) internal pure returns (bytes32) {
        return sha256(abi.encodePacked(SEED_TAG, SEED_TAG, beta, head(leaf)));
    }

    /// The seed of that round, after a walk over all of them that must come to the leaf's end.
    function seedOf(bytes32 beta, IRollCall.Leaf calldata leaf, uint32 round, bytes32[] calldata roots)
        internal
        pure
        returns (bytes32 found)
    {
        if (roots.length != leaf.rounds) revert IRollCall.RoundsInvalid();
        bytes32 seed = firstSeed(beta, leaf);
        for (uint256 i = 0; i < roots.length; i++) {
            if (i == round) found = seed;
            seed = TaggedTree.nextSeed(seed, roots[i]);
        }
        if (seed != leaf.end) revert IRollCall.ChainMismatch();
    }

    /// 76 bytes: who, which device, which sizes.
    function head(IRollCall.Leaf calldata leaf) private pure returns (bytes memory) {
        return abi.encodePacked(
            leaf.providerKey, leaf.account, leaf.device, leaf.m, leaf.n, leaf.k, leaf.rounds, leaf.keep
        );
    }
}
