// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Plans for tests, as ZkPlans takes them.
library PlanKit {
    /// One link from three inputs to two classes.
    function words(bytes32 program, uint256 chunkBits) internal pure returns (bytes memory) {
        bytes memory head = abi.encode(program, 2, 2, 4, 2, 22, 12, 14, 8, 12);
        return bytes.concat(head, abi.encode(11, 10, 10, chunkBits, 1, 3, 2));
    }
}
