// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "./IJobEscrow.sol";

/// What follows from a job's terms alone: its number, which segments a part has, what a part costs, the hash
/// of a claim. Pure; the escrow and the judge of disputes both ask here.
library JobTerms {
    uint256 private constant MOST_VALIDATORS = 5;
    /// docs/work.md §7: the last number that a segment may have, and segment 0.
    uint256 private constant MOST_SEGMENTS = 2 ** 31;
    uint256 private constant MOST_WORK = 30 days;
    uint256 private constant MOST_WAIT = 365 days;

    /// Words of terms before the list of validators, with the place of that list.
    uint256 private constant HEAD_BYTES = 20 * 32;

    function idOf(IJobEscrow.Terms calldata terms) internal pure returns (uint256) {
        return uint256(keccak256(encoded(terms)));
    }

    /// abi.encode(terms), word by word as they came: a number that does not fit its type makes terms that
    /// nobody can fund.
    function encoded(IJobEscrow.Terms calldata terms) internal pure returns (bytes memory all) {
        address[] calldata validators = terms.validators;
        assembly ("memory-safe") {
            let size := shl(5, validators.length)
            all := mload(0x40)
            mstore(all, add(add(HEAD_BYTES, 0x40), size))
            mstore(add(all, 0x20), 0x20)
            calldatacopy(add(all, 0x40), terms, HEAD_BYTES)
            mstore(add(all, add(HEAD_BYTES, 0x20)), HEAD_BYTES)
            let list := add(all, add(HEAD_BYTES, 0x40))
            mstore(list, validators.length)
            calldatacopy(add(list, 0x20), validators.offset, size)
            mstore(0x40, add(add(list, 0x20), size))
        }
    }

    /// Whatever is accepted here can be carried out to its end: no sum leaves 128 bits, no part is empty,
    /// every state has a way out within about a year.
    function mustBeValid(IJobEscrow.Terms calldata terms) internal view {
        uint256 count = terms.validators.length;
        if (
            terms.parts == 0 || terms.segments > MOST_SEGMENTS || terms.price == 0 || terms.bond == 0
                || terms.workSeconds == 0 || terms.workSeconds > MOST_WORK || terms.windowSeconds == 0
                || terms.windowSeconds > MOST_WORK || terms.checkedSeconds > terms.windowSeconds
                || terms.startBy < block.timestamp || terms.startBy > block.timestamp + MOST_WAIT || terms.quorum == 0
                || terms.quorum > count || count > MOST_VALIDATORS
        ) revert IJobEscrow.TermsInvalid();
        (uint64 first,) = rangeUnchecked(terms, terms.parts - 1);
        if (first >= terms.segments || terms.parts * partCost(terms) > type(uint128).max) revert IJobEscrow.TermsInvalid();
        address previous = address(0);
        for (uint256 i = 0; i < count; i++) {
            address validator = terms.validators[i];
            if (validator <= previous) revert IJobEscrow.TermsInvalid();
            previous = validator;
        }
    }

    function partCost(IJobEscrow.Terms calldata terms) internal pure returns (uint256) {
        return uint256(terms.price) + terms.fee + terms.audit;
    }

    /// The part's first segment, and how many it has. The terms are valid and have this part.
    function rangeOf(IJobEscrow.Terms calldata terms, uint32 part) internal pure returns (uint64 first, uint64 count) {
        uint64 each;
        (first, each) = rangeUnchecked(terms, part);
        count = terms.segments - first;
        if (count > each) count = each;
    }

    /// docs/work.md §7. `job` is the number of these terms.
    function claimHash(
        IJobEscrow.Terms calldata terms,
        address escrow,
        uint256 job,
        uint32 part,
        bytes32 segmentRoot,
        bytes32 resultRoot
    ) internal view returns (bytes32) {
        (uint64 first, uint64 count) = rangeOf(terms, part);
        bytes memory place = abi.encodePacked(bytes1(0x06), block.chainid, escrow, job, part);
        return keccak256(
            abi.encodePacked(place, terms.program, terms.inputs, first, count, segmentRoot, resultRoot)
        );
    }

    /// S_j from its two trees.
    function stateHash(uint64 segment, bytes32 states, bytes32 results) internal pure returns (bytes32) {
        return keccak256(abi.encodePacked(bytes1(0x04), segment, states, results));
    }

    function rangeUnchecked(IJobEscrow.Terms calldata terms, uint32 part)
        private
        pure
        returns (uint64 first, uint64 each)
    {
        each = (terms.segments + terms.parts - 1) / terms.parts;
        first = each * part;
    }
}
