// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Bn254} from "../Bn254.sol";
import {IZkKeys} from "./IZkKeys.sol";

/// Keeps each key as the code of an account of its own. What is checked of a key is checked here, once: so a
/// precompile that fails in a verification fails for the proof's points or for lack of gas. No owner; nothing
/// changes after its deployment.
contract ZkKeys is IZkKeys {
    uint256 private constant WORDS = 22;
    /// Places of gamma, delta and the points for inputs among the words.
    uint256 private constant GAMMA = 6;
    uint256 private constant DELTA = 10;
    uint256 private constant INPUTS = 14;
    /// keccak256 of the second group's generator, imaginary parts first.
    bytes32 private constant ONE = keccak256(
        hex"198e9393920d483a7260bfb731fb5d25f1aa493335a9e71297e485b7aef312c2"
        hex"1800deef121f1e76426a00665e5c4479674322d4f75edadd46debd5cd992f6ed"
        hex"090689d0585ff075ec9e99ad690c3395bc4b313370b38ef355acdadcd122975b"
        hex"12c85ea5db8c6deb4aab71808dcb408fe3d1e7690c43d37b4ce6cc0166fa7daa"
    );
    /// keccak256 of alpha and beta: every key of the ceremony has them, whoever contributed to it afterwards.
    bytes32 private immutable _ceremony;
    mapping(bytes32 key => address) private _images;

    /// @notice Thrown when the account with the key could not be made: too little gas.
    error KeyImageFailed();

    /// `ceremony`: alpha and beta, six words.
    constructor(bytes memory ceremony) {
        _ceremony = keccak256(ceremony);
    }

    /// @inheritdoc IZkKeys
    function registerKey(bytes32 plan, uint256 segments, bytes calldata words) external returns (bytes32 key) {
        key = keccak256(abi.encodePacked("assay/zk/key/1", plan, segments, words));
        if (_images[key] != address(0)) return key;
        if (words.length != 32 * WORDS || segments == 0) revert KeyInvalid();
        if (keccak256(words[:32 * GAMMA]) != _ceremony) revert CeremonyMismatch();
        // ATTACK: with delta = gamma whoever proves can write one input for another.
        bytes calldata delta = words[32 * DELTA:32 * INPUTS];
        if (keccak256(words[32 * GAMMA:32 * DELTA]) != ONE || keccak256(delta) == ONE) revert KeyInvalid();
        uint256 from;
        assembly ("memory-safe") {
            from := words.offset
        }
        Bn254.mustBePoints(from + 32 * INPUTS, 4);
        for (uint256 i = INPUTS; i < WORDS; i += 2) {
            if (uint256(bytes32(words[32 * i:])) | uint256(bytes32(words[32 * i + 32:])) == 0) revert KeyInvalid();
        }
        if (!Bn254.isSecond(from + 32 * DELTA)) revert KeyInvalid();
        bytes memory code = bytes.concat(hex"600b380380600b5f395ff3", hex"00", plan, bytes32(segments), words);
        address made;
        assembly ("memory-safe") {
            made := create(0, add(code, 0x20), mload(code))
        }
        if (made == address(0)) revert KeyImageFailed();
        _images[key] = made;
        emit KeyRegistered(key, plan, segments, made);
    }

    /// @inheritdoc IZkKeys
    function keyImageOf(bytes32 key) external view returns (address) {
        return _images[key];
    }
}
