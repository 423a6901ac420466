// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Fraud of a provider that the chain itself can recompute. docs/slashing.md.
interface ISlashing {
    struct Params {
        uint32 gemmSlashPpm;
    }

    /// EIP-712 statement of a provider, by its signer: for this challenge these were the seeds and roots of
    /// my rounds. `tree` is KeccakTree over keccak(0x00 ‖ seed ‖ root) of every round, so that fraud in any
    /// round is one path.
    struct ProbeReceipt {
        address provider;
        bytes32 probeId;
        uint32 challenge;
        /// 0 int8, 1 fp8, 2 fp16, 3 bf16, 4 tf32.
        uint8 precision;
        uint32 m;
        uint32 n;
        uint32 k;
        uint32 rounds;
        bytes32 tree;
    }

    struct GemmFraud {
        uint32 round;
        bytes32 seed;
        bytes32 root;
        bytes32[] roundPath;
        uint32 leaf;
        /// Which of the leaf's 512 elements is wrong.
        uint16 column;
        /// 1,024 bytes.
        bytes leafBytes;
        bytes32[] path;
    }

    /// `accuser` is who showed it; what it got is in the Registry's `Slashed`.
    event GemmFraudProven(
        address indexed provider, bytes32 indexed probeId, address indexed accuser, uint16 committed, uint16 right
    );

    /// @notice Thrown when a parameter is 0 or too large.
    error ParamsInvalid();
    /// @notice Thrown when no signer of the provider has signed the receipt.
    error SignatureInvalid();
    /// @notice Thrown when seed and root are not those of that round under the receipt's tree.
    error RoundUnknown();
    /// @notice Thrown when the element is what its seed makes it.
    error ElementRight(uint16 element);
    /// @notice Thrown when the provider was punished for this probe before.
    error AlreadyPunished();
    /// @notice Thrown when the provider has no stake left, or does not allow this contract to take any.
    error NothingToSlash(address provider);

    /// One element of a committed product that is not what its seed makes it. A provider is punished once a
    /// probe, however many of its challenges are wrong. The caller gets its share if it announced
    /// keccak(caller, deed, salt) in an earlier block, deed = keccak(provider, probeId).
    function proveGemm(
        ProbeReceipt calldata receipt,
        bytes calldata signature,
        GemmFraud calldata fraud,
        bytes32 salt
    ) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// Whether the provider was punished for this probe.
    function isPunished(address provider, bytes32 probeId) external view returns (bool);
    /// What a provider signs.
    function receiptDigest(ProbeReceipt calldata receipt) external view returns (bytes32);
    /// One element of the product, modulo 2^16, from its seed alone.
    function gemmElement(uint8 precision, bytes32 seed, uint32 k, uint32 row, uint32 column)
        external
        pure
        returns (uint16);
}
