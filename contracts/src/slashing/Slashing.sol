// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {IRegistry} from "../stake/IRegistry.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {Announcements} from "./Announcements.sol";
import {GemmElement} from "./GemmElement.sol";
import {GemmOpening} from "./GemmOpening.sol";
import {ISlashing} from "./ISlashing.sol";

/// Takes stake from providers who signed what the chain can recompute to be false. Anyone may bring a proof;
/// no role, no vote and no owner can bring anything else. Immutable.
contract Slashing is ISlashing, Announcements, EIP712 {
    bytes32 private constant RECEIPT_TYPE = keccak256(
        "ProbeReceipt(address provider,bytes32 probeId,uint32 challenge,uint8 precision,uint32 m,uint32 n,uint32 k,uint32 rounds,bytes32 tree)"
    );
    /// As in the Registry's `Slashed`.
    bytes32 public constant REASON = keccak256("assay/wrong-element");
    uint32 private constant PPM = 1_000_000;

    IRegistry public immutable registry;
    uint32 private immutable GEMM_SLASH_PPM;

    // INVARIANT: one probe is punished once, however many of its challenges or elements are wrong.
    mapping(bytes32 deed => bool) private _punished;

    constructor(IRegistry registry_, Params memory params_) EIP712("assay", "1") {
        if (params_.gemmSlashPpm == 0 || params_.gemmSlashPpm > PPM) revert ParamsInvalid();
        registry = registry_;
        GEMM_SLASH_PPM = params_.gemmSlashPpm;
    }

    function proveGemm(
        ProbeReceipt calldata receipt,
        bytes calldata signature,
        GemmFraud calldata fraud,
        bytes32 salt
    ) external {
        mustBeSigned(receipt, signature);
        mustBeRound(receipt, fraud);
        (uint16 committed, uint16 right) = openElement(receipt, fraud);
        if (committed == right) revert ElementRight(right);
        punish(receipt.provider, receipt.probeId, salt);
        emit GemmFraudProven(receipt.provider, receipt.probeId, msg.sender, committed, right);
    }

    function params() external view returns (Params memory) {
        return Params(GEMM_SLASH_PPM);
    }

    function isPunished(address provider, bytes32 probeId) external view returns (bool) {
        return _punished[deedOf(provider, probeId)];
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

    /// What an accuser announces.
    function deedOf(address provider, bytes32 probeId) public pure returns (bytes32) {
        return keccak256(abi.encode(provider, probeId));
    }

    /// By a key that signs for the provider, or once did: what was signed does not escape. Only plain keys
    /// sign: what a contract "signs" can change after the fact.
    function mustBeSigned(ProbeReceipt calldata receipt, bytes calldata signature) private view {
        (address signer, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(receiptDigest(receipt), signature);
        if (
            err != ECDSA.RecoverError.NoError || receipt.provider == address(0)
                || registry.accountOfSigner(signer) != receipt.provider
        ) revert SignatureInvalid();
    }

    /// The provider itself named this seed and this root for this round.
    function mustBeRound(ProbeReceipt calldata receipt, GemmFraud calldata fraud) private pure {
        bytes32 leaf = keccak256(abi.encodePacked(bytes1(0), fraud.seed, fraud.root));
        (bool possible, bytes32 tree) = KeccakTree.rootFromPath(leaf, fraud.round, receipt.rounds, fraud.roundPath);
        if (!possible || tree != receipt.tree) revert RoundUnknown();
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
        committed = GemmOpening.committed(product, fraud.root, fraud.leafBytes, fraud.path);
        right = GemmOpening.right(product, fraud.seed);
    }

    function punish(address provider, bytes32 probeId, bytes32 salt) private {
        bytes32 deed = deedOf(provider, probeId);
        if (_punished[deed]) revert AlreadyPunished();
        _punished[deed] = true;
        (uint32 mostPpm,) = registry.allowanceOf(provider, address(this));
        if (mostPpm == 0 || registry.slashableOf(provider) == 0) revert NothingToSlash(provider);
        uint32 ppm = mostPpm < GEMM_SLASH_PPM ? mostPpm : GEMM_SLASH_PPM;
        registry.slash(provider, ppm, accuserOf(deed, salt), REASON);
    }
}
