// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Whether a receipt of a zkVM is true: that a program, named by its image id or vkey, ran to its end and
/// gave these public values. docs/receipts.md. The twin of src/verify/receipts: whatever one of them refuses
/// the other refuses too.
interface IReceipts {
    enum System {
        Risc0Groth16,
        Sp1Groth16
    }

    /// Retired by its makers: false receipts may pass. Unreleased: a state between two releases, promised by
    /// nobody.
    enum Status {
        Current,
        Retired,
        Unreleased
    }

    struct Receipt {
        System system;
        /// The selector that the caller means; zero: that of the proof, whichever it is.
        bytes4 release;
        /// Image id, or vkey.
        bytes32 program;
        /// The journal, or the public values.
        bytes values;
        /// Selector and proof, as the zkVM's own contracts take them.
        bytes proof;
    }

    /// @notice Thrown when no release of the system has the selector.
    error VerifierUnknown(bytes4 selector);
    /// @notice Thrown when the selector is not the one that is meant, or belongs to another kind of proof.
    error VerifierOther(bytes4 selector);
    /// @notice Thrown when the proof has another length than those of its release.
    error ProofLength(uint256 found, uint256 wanted);
    /// @notice Thrown when the program did not end with exit code 0.
    error ProgramFailed(uint256 exitCode);
    /// @notice Thrown when the recursion keys are not those of the release.
    error RecursionRootOther(bytes32 root);
    /// @notice Thrown when the receipt is true, but its release is not one to rely on.
    error ReleaseNotCurrent(bytes4 selector, Status status);

    /// What the makers say of the release of a receipt that is true. Reverts for any other.
    function statusOf(Receipt calldata receipt) external view returns (Status);

    /// Reverts unless the receipt is true and its release is current: whoever pays for receipts calls this.
    function mustAccept(Receipt calldata receipt) external view;
}
