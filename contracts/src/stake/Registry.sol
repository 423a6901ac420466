// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {SafeERC20} from "@openzeppelin/contracts/token/ERC20/utils/SafeERC20.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {DeviceBook} from "./DeviceBook.sol";
import {DeviceId, IRegistry, LockId} from "./IRegistry.sol";
import {LockBook} from "./LockBook.sol";
import {StakeBook} from "./StakeBook.sol";

/// Who takes part: role, keys, endpoint, stake, who may take it, devices. Access, tokens and events; the
/// rules are StakeBook, LockBook and DeviceBook. Immutable, no upgrades. It names no other contract: each
/// account says itself who may slash it. The owner may pause new entries and nothing else: there is no path
/// from it to a stake.
contract Registry is IRegistry, Ownable2Step, Pausable, EIP712 {
    using SafeERC20 for IERC20;
    using StakeBook for StakeBook.Book;
    using LockBook for LockBook.Book;
    using DeviceBook for DeviceBook.Book;

    bytes32 private constant CONSENT_TYPE = keccak256("SignerConsent(address account)");
    bytes32 private constant STATEMENT_TYPE = keccak256(
        "DeviceStatement(bytes32 device,address provider,address electorate,bytes32 schema,bytes32 evidenceSha256,uint64 issuedAt)"
    );
    bytes32 private constant REVOCATION_TYPE =
        keccak256("DeviceRevocation(bytes32 device,address electorate,bytes32 schema,uint64 issuedAt)");
    /// Not every ERC-20 can burn; nobody has the key of this address.
    address public constant BURN = 0x000000000000000000000000000000000000dEaD;
    uint64 private constant MOST_SECONDS = 365 days;

    IERC20 public immutable token;
    uint128 private immutable MIN_PROVIDER_STAKE;
    uint128 private immutable MIN_VALIDATOR_STAKE;
    uint64 private immutable UNBONDING_SECONDS;
    uint64 private immutable DEVICE_SECONDS;
    uint32 private immutable DEVICE_PPM;
    uint32 private immutable ACCUSER_PPM;

    StakeBook.Book private _stakes;
    LockBook.Book private _locks;
    DeviceBook.Book private _devices;

    constructor(IERC20 token_, address owner_, Params memory params_) Ownable(owner_) EIP712("assay", "1") {
        if (
            // With a least stake of 0 a validator without stake could be listed, and an account left empty.
            params_.minProviderStake == 0 || params_.minValidatorStake == 0
                // At least half is burned: a liar who has himself accused by a friend must not get most of it
                // back.
                || params_.accuserPpm > StakeBook.PPM / 2
                // A delay without end would be a stake taken.
                || params_.unbondingSeconds > MOST_SECONDS || params_.deviceSeconds == 0
                || params_.deviceSeconds > MOST_SECONDS
                // More than all of it never signs.
                || params_.devicePpm >= StakeBook.PPM
        ) revert ParamsInvalid();
        token = token_;
        MIN_PROVIDER_STAKE = params_.minProviderStake;
        MIN_VALIDATOR_STAKE = params_.minValidatorStake;
        UNBONDING_SECONDS = params_.unbondingSeconds;
        DEVICE_SECONDS = params_.deviceSeconds;
        DEVICE_PPM = params_.devicePpm;
        ACCUSER_PPM = params_.accuserPpm;
    }

    function register(Registration calldata registration) external whenNotPaused {
        _stakes.open(msg.sender, registration, leastOf(registration.role));
        emit Registered(
            msg.sender,
            registration.role,
            registration.signingKey,
            registration.keyNumber,
            registration.keyProof,
            registration.endpoint,
            registration.electorate
        );
        setSignerOf(msg.sender, registration.signer, registration.signerConsent);
        setPayoutOf(msg.sender, registration.payout);
        for (uint256 i = 0; i < registration.allowances.length; i++) allowFrom(msg.sender, registration.allowances[i]);
        emit Staked(msg.sender, registration.amount, registration.amount);
        token.safeTransferFrom(msg.sender, address(this), registration.amount);
    }

    function setSigner(address signer, bytes calldata consent) external {
        setSignerOf(msg.sender, signer, consent);
    }

    function setPayout(address payout) external {
        setPayoutOf(msg.sender, payout);
    }

    function setSigningKey(bytes32 signingKey, uint64 keyNumber, bytes calldata keyProof) external {
        if (signingKey == 0) revert SigningKeyMissing();
        _stakes.known(msg.sender).signingKey = signingKey;
        emit SigningKeyChanged(msg.sender, signingKey, keyNumber, keyProof);
    }

    /// An owner's own account comes before one that its address signs for.
    function setEndpoint(string calldata endpoint) external {
        address account = msg.sender;
        if (_stakes.accounts[account].role == Role.None) {
            account = _stakes.signers[msg.sender].account;
            if (_stakes.known(account).signer != msg.sender) revert NotRegistered(msg.sender);
        }
        _stakes.accounts[account].endpoint = endpoint;
        emit EndpointChanged(account, endpoint);
    }

    function allow(Allowance calldata allowance) external {
        _stakes.known(msg.sender);
        allowFrom(msg.sender, allowance);
    }

    function disallow(address slasher) external {
        LockBook.Grant storage grant = _locks.disallow(_stakes, msg.sender, slasher, UNBONDING_SECONDS);
        emit AllowanceChanged(msg.sender, slasher, grant.mostPpm, grant.mostLocked, grant.endsAt);
    }

    function stake(uint128 amount) external {
        uint128 after_ = _stakes.bond(msg.sender, amount, leastStakeOf(msg.sender));
        emit Staked(msg.sender, amount, after_);
        token.safeTransferFrom(msg.sender, address(this), amount);
    }

    // INVARIANT: unstake and withdraw have no `whenNotPaused` and no owner: nobody can block or redirect
    // them.
    function unstake(uint128 amount) external {
        uint64 unlockAt = _stakes.unbond(msg.sender, amount, leastStakeOf(msg.sender), UNBONDING_SECONDS);
        emit Unstaked(msg.sender, amount, unlockAt);
    }

    function withdraw(address to) external {
        uint128 amount = _stakes.release(msg.sender);
        emit Withdrawn(msg.sender, to, amount);
        token.safeTransfer(to, amount);
    }

    function bindDevice(DeviceStatement calldata statement, bytes[] calldata signatures) external {
        Account storage account = _stakes.accounts[statement.provider];
        if (account.role != Role.Provider || (msg.sender != statement.provider && msg.sender != account.signer)) {
            revert NotProvider(statement.provider);
        }
        // Who has it may renew it at any time: a pause must not let bindings run out.
        (address holder,) = deviceOf(statement.electorate, statement.schema, statement.device);
        if (holder != statement.provider) _requireNotPaused();
        mustBeSigned(statement.electorate, statementDigest(statement), signatures);
        uint64 until = _devices.bind(statement, DEVICE_SECONDS);
        emit DeviceBound(
            statement.device, statement.provider, statement.electorate, statement.schema, statement.evidenceSha256, until
        );
    }

    function releaseDevice(address electorate, bytes32 schema, DeviceId device) external {
        bytes32 key = DeviceBook.keyOf(electorate, schema, device);
        address provider = _devices.bindings[key].provider;
        if (provider == address(0) || (msg.sender != provider && msg.sender != _stakes.accounts[provider].signer)) {
            revert NotDeviceOwner(device, msg.sender);
        }
        _devices.release(key);
        emit DeviceReleased(device, provider, electorate, schema);
    }

    function revokeDevice(
        DeviceId device,
        address electorate,
        bytes32 schema,
        uint64 issuedAt,
        bytes[] calldata signatures
    ) external {
        mustBeSigned(electorate, revocationDigest(device, electorate, schema, issuedAt), signatures);
        address provider =
            _devices.revoke(DeviceBook.keyOf(electorate, schema, device), issuedAt, DEVICE_SECONDS);
        emit DeviceRevoked(device, provider, electorate, schema);
    }

    // INVARIANT: stake leaves an account only by its own withdraw, by this and by slashLocked, and only to
    // those whom the account allowed it.
    function slash(address account, uint32 ppm, address accuser, bytes32 reason) external returns (uint128 amount) {
        (uint32 mostPpm,) = _locks.allowed(_stakes, account, msg.sender);
        if (mostPpm == 0) revert NotAllowed(account, msg.sender);
        if (ppm > mostPpm) revert SlashTooLarge(ppm, mostPpm);
        amount = _stakes.seize(account, ppm, leastStakeOf(account));
        uint128 toAccuser = accuser == address(0) ? 0 : uint128(uint256(amount) * ACCUSER_PPM / StakeBook.PPM);
        emit Slashed(account, msg.sender, reason, accuser, amount, toAccuser, amount - toAccuser);
        if (toAccuser != 0) token.safeTransfer(accuser, toAccuser);
        token.safeTransfer(BURN, amount - toAccuser);
    }

    function lock(address account, uint128 amount, bytes32 ref) external returns (LockId id) {
        id = _locks.lock(_stakes, account, msg.sender, ref, amount, leastStakeOf(account));
        emit Locked(id, account, msg.sender, amount);
    }

    function unlock(bytes32 ref) external returns (uint128 amount) {
        LockId id;
        address account;
        (id, account, amount) = _locks.unlock(_stakes, msg.sender, ref);
        emit Unlocked(id, account, amount);
    }

    function slashLocked(bytes32 ref, uint128 amount, address beneficiary, bytes32 reason)
        external
        returns (uint128 taken)
    {
        LockId id;
        address account;
        (id, account, taken) = _locks.slash(_stakes, msg.sender, ref, amount);
        emit LockSlashed(id, account, reason, beneficiary, taken);
        token.safeTransfer(beneficiary == address(0) ? BURN : beneficiary, taken);
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

    function accountOfSigner(address signer) external view returns (address) {
        return _stakes.signers[signer].account;
    }

    function payoutOf(address account) external view returns (address) {
        address payout = _stakes.accounts[account].payout;
        return payout == address(0) ? account : payout;
    }

    function slashableOf(address account) external view returns (uint128) {
        return StakeBook.slashable(_stakes.accounts[account]);
    }

    function allowanceOf(address account, address slasher) external view returns (uint32 mostPpm, uint128 mostLocked) {
        return _locks.allowed(_stakes, account, slasher);
    }

    function lockOf(LockId id) external view returns (address account, uint128 amount) {
        LockBook.Lock storage entry = _locks.locks[id];
        return (entry.account, entry.amount);
    }

    function votingStakeAt(address electorate, address account, uint64 time) external view returns (uint128) {
        return _stakes.votingAt(electorate, account, time);
    }

    function totalVotingStakeAt(address electorate, uint64 time) external view returns (uint128) {
        return _stakes.totalVotingAt(electorate, time);
    }

    function voiceOf(address electorate, address signer) external view returns (address, uint128) {
        return _stakes.voiceNow(electorate, signer);
    }

    function seatOf(address electorate, address signer, uint64 time)
        external
        view
        returns (address account, uint128 weight, uint128 total)
    {
        (account, weight) = _stakes.seatAt(electorate, signer, time);
        total = _stakes.totalVotingAt(electorate, time);
    }

    /// Σ (stake + unbonding + locked): what this contract owes.
    function totalStake() external view returns (uint128) {
        return _stakes.total;
    }

    function params() external view returns (Params memory) {
        return Params(
            MIN_PROVIDER_STAKE, MIN_VALIDATOR_STAKE, UNBONDING_SECONDS, DEVICE_SECONDS, DEVICE_PPM, ACCUSER_PPM
        );
    }

    function deviceOf(address electorate, bytes32 schema, DeviceId device)
        public
        view
        returns (address provider, uint64 until)
    {
        return _devices.ownerOf(DeviceBook.keyOf(electorate, schema, device));
    }

    /// What a signer signs to speak for an account.
    function consentDigest(address account) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(CONSENT_TYPE, account)));
    }

    /// What validators sign of a device.
    function statementDigest(DeviceStatement calldata statement) public view returns (bytes32) {
        return _hashTypedDataV4(keccak256(abi.encode(STATEMENT_TYPE, statement)));
    }

    /// What validators sign to free a device.
    function revocationDigest(DeviceId device, address electorate, bytes32 schema, uint64 issuedAt)
        public
        view
        returns (bytes32)
    {
        return _hashTypedDataV4(keccak256(abi.encode(REVOCATION_TYPE, device, electorate, schema, issuedAt)));
    }

    function setSignerOf(address account, address signer, bytes calldata consent) private {
        if (signer == address(0)) signer = account;
        if (signer != account) {
            (address recovered, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(consentDigest(account), consent);
            if (err != ECDSA.RecoverError.NoError || recovered != signer) revert ConsentInvalid(signer);
        }
        _stakes.setSigner(account, signer);
        emit SignerChanged(account, signer);
    }

    function setPayoutOf(address account, address payout) private {
        if (payout == address(0)) payout = account;
        _stakes.known(account).payout = payout;
        emit PayoutChanged(account, payout);
    }

    function allowFrom(address account, Allowance calldata allowance) private {
        _locks.allow(_stakes, account, allowance);
        emit AllowanceChanged(account, allowance.slasher, allowance.mostPpm, allowance.mostLocked, 0);
    }

    /// More than DEVICE_PPM of the electorate's stake now, each signer once.
    function mustBeSigned(address electorate, bytes32 digest, bytes[] calldata signatures) private view {
        uint64 now_ = uint64(block.timestamp);
        uint128 total = _stakes.totalVotingAt(electorate, now_);
        uint128 signed = 0;
        address last = address(0);
        for (uint256 i = 0; i < signatures.length; i++) {
            address signer = ECDSA.recoverCalldata(digest, signatures[i]);
            (, uint128 weight) = _stakes.seatAt(electorate, signer, now_);
            if (signer <= last || weight == 0) revert SignerInvalid(signer);
            last = signer;
            signed += weight;
        }
        if (uint256(signed) * StakeBook.PPM <= uint256(total) * DEVICE_PPM) revert TooFewSigners(signed, total);
    }

    function leastStakeOf(address account) private view returns (uint128) {
        return leastOf(_stakes.accounts[account].role);
    }

    function leastOf(Role role) private view returns (uint128) {
        return role == Role.Validator ? MIN_VALIDATOR_STAKE : MIN_PROVIDER_STAKE;
    }
}
