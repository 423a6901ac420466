// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Groth16} from "./Groth16.sol";
import {IReceipts} from "./IReceipts.sol";
import {Risc0Releases} from "./Risc0Releases.sol";
import {Sp1Releases} from "./Sp1Releases.sol";

/// Checks receipts of RISC Zero and SP1 by constants alone: it has no state, no owner and no money, and
/// nothing is taken from the receipt but what it claims. A release that its makers retire later stays as it
/// is here: then a new contract is deployed.
contract Receipts is IReceipts {
    /// SHA-256 of risc0.Output and risc0.ReceiptClaim. As numbers: the compiler would call the precompile for
    /// each use.
    bytes32 private constant OUTPUT_TAG = 0x77eafeb366a78b47747de0d7bb176284085ff5564887009a5be63da32d3559d4;
    bytes32 private constant CLAIM_TAG = 0xcb1fefcd1f2d9a64975cbbbf6e161e2914434b0cbb9960b84df5d717e86b48af;
    /// Digest of the state in which a program has halted.
    bytes32 private constant HALTED = 0xa3acc27117418996340b84e5a90f3ef4c49d22c79e44aad822ec9c313e1eb8e2;
    /// A, B, C.
    uint256 private constant GROTH16_BYTES = 256;

    /// @inheritdoc IReceipts
    function statusOf(Receipt calldata receipt) external view returns (Status) {
        return judged(receipt);
    }

    /// @inheritdoc IReceipts
    function mustAccept(Receipt calldata receipt) external view {
        Status status = judged(receipt);
        if (status != Status.Current) revert ReleaseNotCurrent(bytes4(receipt.proof), status);
    }

    function judged(Receipt calldata receipt) private view returns (Status) {
        if (receipt.system == System.Risc0Groth16) return risc0(receipt);
        return sp1(receipt);
    }

    function risc0(Receipt calldata receipt) private view returns (Status) {
        bytes calldata seal = receipt.proof;
        if (seal.length != 4 + GROTH16_BYTES) revert ProofLength(seal.length, 4 + GROTH16_BYTES);
        bytes4 selector = bytes4(seal);
        (bool isKnown, Status status, bytes32 root, uint256 id) = Risc0Releases.find(selector);
        if (!isKnown) revert VerifierUnknown(selector);
        mustBeMeant(receipt, selector);
        uint256[] memory inputs = new uint256[](5);
        (inputs[0], inputs[1]) = halves(root);
        (inputs[2], inputs[3]) = halves(claimDigest(receipt.program, receipt.values));
        inputs[4] = id;
        Groth16.mustHold(Risc0Releases.key(), abi.decode(seal[4:], (uint256[8])), inputs);
        return status;
    }

    function sp1(Receipt calldata receipt) private view returns (Status) {
        bytes calldata proof = receipt.proof;
        if (proof.length < 4) revert ProofLength(proof.length, 4 + GROTH16_BYTES);
        bytes4 selector = bytes4(proof);
        (bool isKnown, Status status, bytes32 root, bytes memory key) = Sp1Releases.find(selector);
        if (!isKnown) {
            if (Sp1Releases.isPlonk(selector)) revert VerifierOther(selector);
            revert VerifierUnknown(selector);
        }
        mustBeMeant(receipt, selector);
        uint256 head = root == 0 ? 4 : 100;
        if (proof.length != head + GROTH16_BYTES) revert ProofLength(proof.length, head + GROTH16_BYTES);
        uint256[] memory inputs = new uint256[](root == 0 ? 2 : 5);
        inputs[0] = uint256(receipt.program);
        inputs[1] = uint256(sha256(receipt.values)) & ((1 << 253) - 1);
        if (root != 0) {
            // Exit code, root of the recursion keys, nonce.
            (inputs[2], inputs[3], inputs[4]) = abi.decode(proof[4:100], (uint256, uint256, uint256));
            if (inputs[2] != 0) revert ProgramFailed(inputs[2]);
            if (bytes32(inputs[3]) != root) revert RecursionRootOther(bytes32(inputs[3]));
        }
        Groth16.mustHold(key, abi.decode(proof[head:], (uint256[8])), inputs);
        return status;
    }

    function mustBeMeant(Receipt calldata receipt, bytes4 selector) private pure {
        if (receipt.release != 0 && receipt.release != selector) revert VerifierOther(selector);
    }

    /// That the image halted with exit code 0, without assumptions, and gave the journal. Computed here: a
    /// claim that came with a receipt would prove nothing.
    function claimDigest(bytes32 image, bytes calldata journal) private pure returns (bytes32) {
        bytes32 output = sha256(abi.encodePacked(OUTPUT_TAG, sha256(journal), bytes32(0), bytes2(0x0200)));
        return sha256(abi.encodePacked(CLAIM_TAG, bytes32(0), image, HALTED, output, bytes8(0), bytes2(0x0400)));
    }

    /// Low and high half of the reversed digest.
    function halves(bytes32 digest) private pure returns (uint256 low, uint256 high) {
        uint256 v = uint256(digest);
        uint256 mask = 0x00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF00FF;
        v = ((v >> 8) & mask) | ((v & mask) << 8);
        mask = 0x0000FFFF0000FFFF0000FFFF0000FFFF0000FFFF0000FFFF0000FFFF0000FFFF;
        v = ((v >> 16) & mask) | ((v & mask) << 16);
        mask = 0x00000000FFFFFFFF00000000FFFFFFFF00000000FFFFFFFF00000000FFFFFFFF;
        v = ((v >> 32) & mask) | ((v & mask) << 32);
        mask = 0x0000000000000000FFFFFFFFFFFFFFFF0000000000000000FFFFFFFFFFFFFFFF;
        v = ((v >> 64) & mask) | ((v & mask) << 64);
        // The halves themselves are still in the old order.
        return (v >> 128, v & type(uint128).max);
    }
}
