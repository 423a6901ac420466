// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRollCall} from "../../src/rollcall/IRollCall.sol";
import {ISlashing} from "../../src/slashing/ISlashing.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {People} from "./People.sol";

/// Fraud of providers, real and pretended: wrong elements under signed receipts, openings that are demanded,
/// given or withheld.
abstract contract Fraud is People {
    // What must stay 0.
    uint256 public fraudAccepted;
    uint256 public fraudForgiven;
    uint256 public blockedAnswers;
    uint256 public coinsStuck;
    uint64 private probes;

    struct Product {
        bytes leaf;
        bytes32 root;
        uint16 column;
    }

    function tagged(string memory tag, bytes memory data) private pure returns (bytes32) {
        bytes32 digest = sha256(bytes(tag));
        return sha256(bytes.concat(digest, digest, data));
    }

    /// 1 × 512 × 128 in one leaf, whose element `column` is right or off by `error_`.
    function productOf(uint8 precision, bytes32 seed, uint16 column, uint16 error_)
        private
        view
        returns (Product memory made)
    {
        uint16 value;
        unchecked {
            value = slashing.gemmElement(precision, seed, 128, 0, column) + error_;
        }
        made.leaf = new bytes(1024);
        (made.leaf[2 * column], made.leaf[2 * column + 1]) = (bytes1(uint8(value)), bytes1(uint8(value >> 8)));
        made.root = tagged("assay/leaf/1", made.leaf);
        made.column = column;
    }

    function gemm(uint256 who, uint8 precision, bytes32 seed, uint16 column, uint16 error_, bool announces) external {
        if (uint256(seed) % 4 != 0) error_ = 0;
        precision %= 5;
        Product memory made = productOf(precision, seed, column % 512, error_);
        ISlashing.ProbeReceipt memory receipt;
        (receipt.provider, receipt.probeId, receipt.precision) = (someone(who), bytes32(uint256(probes++)), precision);
        (receipt.m, receipt.n, receipt.k, receipt.rounds) = (1, 512, 128, 1);
        receipt.tree = keccak256(bytes.concat(hex"00", seed, made.root));
        ISlashing.GemmFraud memory fraud;
        (fraud.seed, fraud.root, fraud.column, fraud.leafBytes) = (seed, made.root, made.column, made.leaf);
        if (announces) {
            bytes32 deed = slashing.deedOf(receipt.provider, receipt.probeId);
            slashing.announce(slashing.announcementOf(ACCUSER, deed, SALT));
            vm.roll(block.number + 1);
        }
        accuse(receipt, fraud, error_ != 0);
    }

    function accuse(ISlashing.ProbeReceipt memory receipt, ISlashing.GemmFraud memory fraud, bool isWrong) private {
        address actor = receipt.provider;
        address signer = registry.accountOf(actor).signer;
        if (signer == address(0)) return;
        bytes memory word = signed(keyOf[signer], slashing.receiptDigest(receipt));
        uint256 before = registry.slashableOf(actor);
        (uint32 mostPpm,) = registry.allowanceOf(actor, address(slashing));
        vm.prank(ACCUSER);
        try slashing.proveGemm(receipt, word, fraud, SALT) {
            if (!isWrong) fraudAccepted++;
            took(actor, before);
            seen["gemm"]++;
        } catch {
            if (isWrong && mostPpm > 0) fraudForgiven++;
        }
        vm.prank(ACCUSER);
        try slashing.proveGemm(receipt, word, fraud, SALT) {
            fraudAccepted++;
        } catch {}
    }

    /// A call, a commitment to one provider's answer, one demand of it; then an answer or silence.
    function rollCall_(uint256 who, bytes32 beta, uint16 column, bool answers) external {
        address actor = nearest(who, IRegistry.Role.Provider);
        if (registry.accountOf(actor).signer == address(0)) return;
        uint64 call = uint64(block.number);
        vm.roll(block.number + 1);
        vm.setBlockhash(call, beta);
        (IRollCall.LeafProof memory proof, Product memory made) = answerOf(actor, call, beta, column % 512);
        bytes32 root = rollCall.leafHash(proof.leaf);
        address validator = registry.accountOf(nearest(who, IRegistry.Role.Validator)).signer;
        vm.prank(validator);
        rollCall.commit(call, root, 1);
        demand(
            IRollCall.Commitment(registry.accountOfSigner(validator), call, root, 1, beta, uint64(block.number)),
            proof,
            made,
            answers
        );
    }

    /// The provider's right answer, signed.
    function answerOf(address actor, uint64 call, bytes32 beta, uint16 column)
        private
        view
        returns (IRollCall.LeafProof memory proof, Product memory made)
    {
        IRollCall.Leaf memory leaf = proof.leaf;
        (leaf.providerKey, leaf.account, leaf.device) = (keccak256("key"), actor, 1);
        (leaf.m, leaf.n, leaf.k, leaf.rounds, leaf.keep) = (1, 512, 128, 1, 1);
        leaf.last = keccak256("last");
        bytes memory head = abi.encodePacked(leaf.providerKey, actor, uint32(1), uint32(1), uint32(512));
        head = bytes.concat(head, abi.encodePacked(uint32(128), uint32(1), uint32(1)));
        bytes32 seed = tagged("assay/roll-seed/1", bytes.concat(beta, head));
        made = productOf(0, seed, column, 0);
        leaf.end = tagged("assay/seed/1", bytes.concat(seed, made.root));
        bytes32 answer = rollCall.answerDigest(call, beta, rollCall.leafHash(leaf));
        proof.signature = signed(keyOf[registry.accountOf(actor).signer], answer);
    }

    function demand(
        IRollCall.Commitment memory commitment,
        IRollCall.LeafProof memory proof,
        Product memory made,
        bool answers
    ) private {
        uint256 deposit = rollCall.depositFor(1, 128);
        vm.deal(ACCUSER, deposit);
        IRollCall.Place memory place = IRollCall.Place(0, 0, made.column);
        vm.prank(ACCUSER);
        rollCall.demandOpening{value: deposit}(commitment, proof, place);
        IRollCall.Demand memory open = IRollCall.Demand(
            ACCUSER, commitment.call, commitment.beta, proof.leaf, place, deposit, uint64(block.timestamp) + 1 days, false
        );
        address actor = proof.leaf.account;
        uint256 before = registry.slashableOf(actor);
        bytes32[] memory roots = new bytes32[](1);
        roots[0] = made.root;
        if (answers) {
            try rollCall.answerOpening(open, roots, made.leaf, new bytes32[](0)) {
                seen["answer"]++;
            } catch {
                blockedAnswers++;
            }
            if (registry.slashableOf(actor) != before) fraudAccepted++;
        } else {
            vm.warp(block.timestamp + 1 days + 1);
            rollCall.expire(open);
            took(actor, before);
            seen["expire"]++;
        }
        address owed = answers ? actor : ACCUSER;
        vm.prank(owed);
        try rollCall.withdraw(payable(HARMED)) {}
        catch {
            coinsStuck++;
        }
    }
}
