// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Plans of proofs, docs/zk.md §4, by their hash: compiled once, for ever the same.
interface IZkPlans {
    event Registered(bytes32 indexed plan, bytes32 indexed program, address image);

    /// `words`: what the plan's hash is of, behind its name: program root, sizes, 32 bytes each. By anyone; a
    /// plan that is there stays as it is.
    function register(bytes calldata words) external returns (bytes32 plan);
    /// The account whose code is the compiled plan; 0: nobody has registered it.
    function imageOf(bytes32 plan) external view returns (address);
}
