// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IZkPlans} from "./IZkPlans.sol";
import {ZkPlan} from "./ZkPlan.sol";

/// Compiles plans, and keeps each as the code of an account of its own, which a verifier reads for a few
/// thousand gas. Everything follows from the words that the plan's hash is of: whoever registers a plan
/// decides nothing. That it is a program's plan shows only who compiles that program.
contract ZkPlans is IZkPlans {
    mapping(bytes32 plan => address) private _images;

    /// @notice Thrown when the account with the plan could not be made: too little gas.
    error ImageFailed();

    /// @inheritdoc IZkPlans
    function register(bytes calldata words) external returns (bytes32 plan) {
        plan = ZkPlan.hashOf(words);
        if (_images[plan] != address(0)) return plan;
        ZkPlan.Plan memory compiled = ZkPlan.compiled(words);
        bytes32 program = compiled.program;
        // The code gives back all that stands behind it: a zero byte, so that nobody can run it, and the
        // plan.
        bytes memory image = ZkPlan.packed(compiled);
        bytes memory code = bytes.concat(hex"600b380380600b5f395ff3", hex"00", image);
        address made;
        assembly ("memory-safe") {
            made := create(0, add(code, 0x20), mload(code))
        }
        if (made == address(0)) revert ImageFailed();
        _images[plan] = made;
        emit Registered(plan, program, made);
    }

    /// @inheritdoc IZkPlans
    function imageOf(bytes32 plan) external view returns (address) {
        return _images[plan];
    }
}
