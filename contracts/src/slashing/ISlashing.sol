// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// Fraud that the chain itself can recompute; nothing else costs anyone their stake. docs/chain.md.
interface ISlashing {
    struct Params {
        uint32 gemmSlashPpm;
        uint32 conflictSlashPpm;
    }

    /// EIP-712 statement of a provider: for this challenge my rounds began at `seed` and their roots lead to
    /// `end`, the seed that would follow the last round (docs/hardware-proof.md §4). So `end` binds every
    /// seed and every root.
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
        bytes32 seed;
        bytes32 end;
    }

    struct GemmFraud {
        /// Seed of the round in question.
        bytes32 seed;
        /// That round's root, then those of all later rounds.
        bytes32[] roots;
        uint32 leaf;
        /// Which of the leaf's 512 elements is wrong.
        uint16 column;
        /// 1,024 bytes.
        bytes leafBytes;
        bytes32[] path;
    }

    /// EIP-712 statement of a validator: this is my report for this epoch.
    struct ScoreReport {
        address validator;
        uint64 epoch;
        bytes32 root;
    }

    event GemmFraudProven(
        address indexed provider, bytes32 indexed probeId, address indexed accuser, uint16 committed, uint16 right
    );
    event ConflictProven(address indexed validator, uint64 indexed epoch, address indexed accuser);

    /// @notice Thrown when a share to slash is 0 or more than all, or the Registry names another Slashing.
    error ParamsInvalid();
    /// @notice Thrown when the signature is not the accused's.
    error SignatureInvalid();
    /// @notice Thrown when this receipt, or this validator's epoch, has been punished before.
    error AlreadyPunished();
    /// @notice Thrown when the accused has no stake left.
    error NothingToSlash(address account);
    /// @notice Thrown when there are no roots, or more than the receipt has rounds.
    error RoundsInvalid();
    /// @notice Thrown when seed and roots do not lead to the signed end.
    error ChainMismatch();
    /// @notice Thrown when the element is what the seed makes it.
    error ElementRight(uint16 value);
    /// @notice Thrown when the statements do not exclude each other.
    error NoConflict();

    /// One element of a committed product that is not what its seed makes it.
    function proveGemm(ProbeReceipt calldata receipt, bytes calldata signature, GemmFraud calldata fraud) external;
    /// Two different signed reports of one validator for one epoch.
    function proveConflict(
        ScoreReport calldata first,
        bytes calldata firstSignature,
        ScoreReport calldata second,
        bytes calldata secondSignature
    ) external;
    /// A signed report that is not the one its validator revealed on chain.
    function proveRevealConflict(ScoreReport calldata report, bytes calldata signature) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// What a provider signs.
    function receiptDigest(ProbeReceipt calldata receipt) external view returns (bytes32);
    /// What a validator signs.
    function reportDigest(ScoreReport calldata report) external view returns (bytes32);
    /// One element of the product, modulo 2^16, from its seed alone.
    function gemmElement(uint8 precision, bytes32 seed, uint32 k, uint32 row, uint32 column)
        external
        pure
        returns (uint16);
}
