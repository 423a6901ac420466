// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Keys of wrapped run proofs, docs/zk.md §13, by their hash: for ever the same. A key is for one plan and
/// one number of segments. Whoever knows a key's secrets can prove anything with it, and no contract sees
/// that: so whoever opens a run or orders a job names the key, and whoever relies on it checks the key's
/// ceremony first.
interface IZkKeys {
    event KeyRegistered(bytes32 indexed key, bytes32 indexed plan, uint256 segments, address image);

    /// @notice Thrown when the words are no key: their number, a point that is none, gamma other than 1, or
    /// delta 1, to which nobody has contributed.
    error KeyInvalid();
    /// @notice Thrown when alpha and beta are not those of the ceremony that the contract was deployed for.
    error CeremonyMismatch();

    /// `words`: alpha; beta, gamma, delta; a point for 1 and one for each of three inputs: 22 words,
    /// coordinates of the second group imaginary first. By anyone; a key that is there stays.
    function registerKey(bytes32 plan, uint256 segments, bytes calldata words) external returns (bytes32 key);
    /// The account whose code is a zero byte, plan, segments and words of the key; 0: nobody has registered
    /// it.
    function keyImageOf(bytes32 key) external view returns (address);
}
