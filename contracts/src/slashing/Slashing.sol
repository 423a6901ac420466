// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {EpochBook} from "../epochs/EpochBook.sol";
import {IScoreboard} from "../epochs/IScoreboard.sol";
import {IRegistry} from "../stake/IRegistry.sol";
import {TaggedTree} from "../trees/TaggedTree.sol";
import {GemmElement} from "./GemmElement.sol";
import {GemmOpening} from "./GemmOpening.sol";
import {ISlashing} from "./ISlashing.sol";

/// Takes stake from those who signed what the chain can recompute to be false, or signed two things that
/// exclude each other. Anyone may bring a proof; no role, no vote and no owner can bring anything else.
/// Immutable.
contract Slashing is ISlashing, EIP712 {
    bytes32 private constant RECEIPT_TYPE = keccak256(
        "ProbeReceipt(address provider,bytes32 probeId,uint32 challenge,uint8 precision,uint32 m,uint32 n,uint32 k,uint32 rounds,bytes32 seed,bytes32 end)"
    );
    bytes32 private constant REPORT_TYPE = keccak256("ScoreReport(address validator,uint64 epoch,bytes32 root)");
    uint32 private constant PPM = 1_000_000;

    IRegistry public immutable registry;
    uint32 private immutable GEMM_SLASH_PPM;
    uint32 private immutable CONFLICT_SLASH_PPM;

    /// INVARIANT: one receipt, or one validator's epoch, is punished once, however many of its elements or
    /// reports are wrong.
    mapping(bytes32 => bool) public isPunished;

    constructor(IRegistry registry_, Params memory params_) EIP712("assay", "1") {
        if (
            registry_.slashing() != address(this) || params_.gemmSlashPpm == 0 || params_.gemmSlashPpm > PPM
                || params_.conflictSlashPpm == 0 || params_.conflictSlashPpm > PPM
        ) revert ParamsInvalid();
        registry = registry_;
        GEMM_SLASH_PPM = params_.gemmSlashPpm;
        CONFLICT_SLASH_PPM = params_.conflictSlashPpm;
    }

    function proveGemm(ProbeReceipt calldata receipt, bytes calldata signature, GemmFraud calldata fraud) external {
        bytes32 digest = receiptDigest(receipt);
        mustBeSigned(receipt.provider, digest, signature);
        bindRound(receipt, fraud);
        (uint16 committed, uint16 right) = openElement(receipt, fraud);
        if (committed == right) revert ElementRight(right);
        punish(digest, receipt.provider, GEMM_SLASH_PPM);
        emit GemmFraudProven(receipt.provider, receipt.probeId, msg.sender, committed, right);
    }

    function proveConflict(
        ScoreReport calldata first,
        bytes calldata firstSignature,
        ScoreReport calldata second,
        bytes calldata secondSignature
    ) external {
        if (first.validator != second.validator || first.epoch != second.epoch || first.root == second.root) {
            revert NoConflict();
        }
        mustBeSigned(first.validator, reportDigest(first), firstSignature);
        mustBeSigned(second.validator, reportDigest(second), secondSignature);
        punishConflict(first);
    }

    function proveRevealConflict(ScoreReport calldata report, bytes calldata signature) external {
        mustBeSigned(report.validator, reportDigest(report), signature);
        (bytes32 revealed, bool isRevealed,) =
            IScoreboard(registry.scoreboard()).reportOf(report.epoch, report.validator);
        if (!isRevealed || revealed == EpochBook.asRoot(report.root)) revert NoConflict();
        punishConflict(report);
    }

    function params() external view returns (Params memory) {
        return Params(GEMM_SLASH_PPM, CONFLICT_SLASH_PPM);
    }

    function gemmElement(uint8 precision, bytes32 seed, uint32 k, uint32 row, uint32 column)
        external
        pure
        returns (uint16)
    {
        if (!GemmElement.isValid(precision, uint256(row > column ? row : column) + 1, k)) revert GemmOpening.SpecInvalid();
        return GemmElement.element(precision, seed, k, row, column);
    }

    function receiptDigest(ProbeReceipt calldata receipt) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(RECEIPT_TYPE, receipt)));
    }

    function reportDigest(ScoreReport calldata report) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(REPORT_TYPE, report)));
    }

    /// Only plain keys sign: what a contract "signs" can change after the fact.
    function mustBeSigned(address signer, bytes32 digest, bytes calldata signature) private pure {
        (address recovered, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(digest, signature);
        if (err != ECDSA.RecoverError.NoError || recovered != signer) revert SignatureInvalid();
    }

    /// seed and roots lead to the signed end, so the provider itself named both.
    function bindRound(ProbeReceipt calldata receipt, GemmFraud calldata fraud) private pure {
        uint256 length = fraud.roots.length;
        if (length == 0 || length > receipt.rounds) revert RoundsInvalid();
        bytes32 seed = fraud.seed;
        for (uint256 i = 0; i < length; i++) seed = TaggedTree.nextSeed(seed, fraud.roots[i]);
        if (seed != receipt.end) revert ChainMismatch();
    }

    /// The element as committed, and as it follows from the seed.
    function openElement(ProbeReceipt calldata receipt, GemmFraud calldata fraud)
        private
        pure
        returns (uint16 committed, uint16 right)
    {
        GemmOpening.Product memory product =
            GemmOpening.Product(receipt.precision, receipt.m, receipt.n, receipt.k, fraud.leaf, fraud.column);
        GemmOpening.mustBeValid(product);
        committed = GemmOpening.committed(product, fraud.roots[0], fraud.leafBytes, fraud.path);
        right = GemmOpening.right(product, fraud.seed);
    }

    function punishConflict(ScoreReport calldata report) private {
        punish(keccak256(abi.encode(report.validator, report.epoch)), report.validator, CONFLICT_SLASH_PPM);
        emit ConflictProven(report.validator, report.epoch, msg.sender);
    }

    function punish(bytes32 deed, address account, uint32 ppm) private {
        if (isPunished[deed]) revert AlreadyPunished();
        isPunished[deed] = true;
        if (registry.slashableOf(account) == 0) revert NothingToSlash(account);
        registry.slash(account, ppm, msg.sender);
    }
}
