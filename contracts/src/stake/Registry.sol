// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {DeviceBook} from "./DeviceBook.sol";
import {IRegistry} from "./IRegistry.sol";
import {StakeBook} from "./StakeBook.sol";

/// Who takes part: role, endpoint, signing key, stake, devices. Access, tokens and events; the rules are
/// StakeBook and DeviceBook. Immutable, no upgrades. The owner may pause new entries and nothing else: there
/// is no path from it to a stake.
contract Registry is IRegistry, Ownable2Step, Pausable, EIP712 {
    using SafeERC20 for IERC20;
    using StakeBook for StakeBook.Book;
    using DeviceBook for DeviceBook.Book;

    bytes32 private constant ATTESTATION_TYPE = keccak256(
        "DeviceAttestation(bytes32 device,address provider,bytes32 evidenceSha256,uint64 issuedAt)"
    );
    /// Not every ERC-20 can burn; nobody has the key of this address.
    address public constant BURN = 0x000000000000000000000000000000000000dEaD;
    uint64 private constant MOST_SECONDS = 365 days;

    IERC20 public immutable token;
    address public immutable scoreboard;
    address public immutable slashing;
    address public immutable rollCall;

    Params private _params;
    StakeBook.Book private _stakes;
    DeviceBook.Book private _devices;

    /// `scoreboard`, `slashing` and `rollCall` are deployed after this one; their constructors refuse when
    /// they were foretold wrongly.
    constructor(
        IERC20 token_,
        address scoreboard_,
        address slashing_,
        address rollCall_,
        address owner_,
        Params memory params_
    ) Ownable(owner_) EIP712("assay", "1") {
        // With a least stake of 0 a validator without stake could be listed, and an account left empty.
        if (params_.minProviderStake == 0 || params_.minValidatorStake == 0) revert AmountZero();
        // At least half is burned: a liar who has himself accused by a friend must not get most of it back.
        if (params_.accuserPpm > StakeBook.PPM / 2) revert SlashTooLarge(params_.accuserPpm);
        // A delay without end would be a stake taken.
        if (
            params_.unbondingSeconds > MOST_SECONDS || params_.deviceSeconds == 0 || params_.deviceSeconds > MOST_SECONDS
        ) revert ParamsInvalid();
        token = token_;
        scoreboard = scoreboard_;
        slashing = slashing_;
        rollCall = rollCall_;
        _params = params_;
    }

    function register(Role role, bytes32 signingKey, bytes calldata keyProof, string calldata endpoint, uint128 amount)
        external
        whenNotPaused
    {
        _stakes.open(_params, msg.sender, role, signingKey, endpoint, amount);
        emit Registered(msg.sender, role, signingKey, keyProof, endpoint);
        emit Staked(msg.sender, amount, amount);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    function setSigningKey(bytes32 signingKey, bytes calldata keyProof) external {
        if (signingKey == 0) revert SigningKeyMissing();
        _stakes.known(msg.sender).signingKey = signingKey;
        emit SigningKeyChanged(msg.sender, signingKey, keyProof);
    }

    function setEndpoint(string calldata endpoint) external {
        _stakes.known(msg.sender).endpoint = endpoint;
        emit EndpointChanged(msg.sender, endpoint);
    }

    function stake(uint128 amount) external whenNotPaused {
        uint128 after_ = _stakes.bond(_params, msg.sender, amount);
        emit Staked(msg.sender, amount, after_);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    // INVARIANT: unstake and withdraw have no `whenNotPaused` and no owner: nobody can block or redirect
    // them.
    function unstake(uint128 amount) external {
        uint64 unlockAt = _stakes.unbond(_params, msg.sender, amount);
        emit Unstaked(msg.sender, amount, unlockAt);
    }

    function withdraw(address to) external {
        uint128 amount = _stakes.release(msg.sender);
        emit Withdrawn(msg.sender, to, amount);
        token.safeTransfer(to, amount);
    }

    function bindDevice(DeviceAttestation calldata attestation, bytes calldata signature) external {
        // Who has it may renew it at any time: a pause must not let bindings run out.
        (address holder,) = _devices.ownerOf(attestation.device);
        if (holder != msg.sender) _requireNotPaused();
        if (attestation.provider != msg.sender || _stakes.known(msg.sender).role != Role.Provider) {
            revert NotProvider(msg.sender);
        }
        address validator = ECDSA.recover(attestationDigest(attestation), signature);
        if (_stakes.votingAt(validator, uint64(block.timestamp)) == 0) revert AttesterNotValidator(validator);
        uint64 until = _devices.bind(attestation.device, msg.sender, attestation.issuedAt, _params.deviceSeconds);
        emit DeviceBound(attestation.device, msg.sender, validator, attestation.evidenceSha256, until);
    }

    function releaseDevice(bytes32 device) external {
        _devices.release(device, msg.sender);
        emit DeviceReleased(device, msg.sender);
    }

    // INVARIANT: stake leaves an account only by its own withdraw or by this, and the three callers call this
    // only with a proof.
    function slash(address account, uint32 ppm, address accuser) external returns (uint128 amount) {
        if (msg.sender != scoreboard && msg.sender != slashing && msg.sender != rollCall) {
            revert NotSlasher(msg.sender);
        }
        amount = _stakes.seize(_params, account, ppm);
        uint128 toAccuser = uint128(uint256(amount) * _params.accuserPpm / StakeBook.PPM);
        emit Slashed(account, accuser, amount, toAccuser, amount - toAccuser);
        token.safeTransfer(accuser, toAccuser);
        token.safeTransfer(BURN, amount - toAccuser);
    }

    function pause() external onlyOwner {
        _pause();
    }

    function unpause() external onlyOwner {
        _unpause();
    }

    /// Without an owner nobody could end a pause: it ends now.
    function renounceOwnership() public override onlyOwner {
        if (paused()) _unpause();
        super.renounceOwnership();
    }

    function accountOf(address account) external view returns (Account memory) {
        return _stakes.accounts[account];
    }

    function slashableOf(address account) external view returns (uint128) {
        Account storage entry = _stakes.accounts[account];
        return entry.stake + entry.unbonding;
    }

    function votingStakeAt(address validator, uint64 time) external view returns (uint128) {
        return _stakes.votingAt(validator, time);
    }

    function totalVotingStakeAt(uint64 time) external view returns (uint128) {
        return _stakes.totalVotingAt(time);
    }

    /// Σ (stake + unbonding): what this contract owes.
    function totalStake() external view returns (uint256) {
        return _stakes.total;
    }

    function deviceOf(bytes32 device) external view returns (address provider, uint64 until) {
        return _devices.ownerOf(device);
    }

    function params() external view returns (Params memory) {
        return _params;
    }

    function attestationDigest(DeviceAttestation calldata attestation) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(ATTESTATION_TYPE, attestation)));
    }
}
