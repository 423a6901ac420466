// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// A commitment to a device's identity, docs/chain.md §2.
type DeviceId is bytes32;
/// One lock of a locker: keccak256(abi.encode(locker, ref)).
type LockId is bytes32;

/// What others may ask of the Registry: who takes part, with what stake, who may take it, and which device
/// belongs to whom. docs/chain.md.
interface IRegistry {
    enum Role {
        None,
        Provider,
        Validator
    }

    /// An account is its owner's address. Only the owner moves stake; the signer is the hot key of the
    /// running program; rewards go to `payout`.
    struct Account {
        Role role;
        /// Bonded: counts as stake, can be slashed.
        uint128 stake;
        /// When all of `unbonding` may be withdrawn, in seconds since 1970.
        uint64 unlockAt;
        /// On its way out: counts for nothing, can still be slashed until withdrawn.
        uint128 unbonding;
        /// Held by lockers for a purpose (a job's bond): counts for no vote, can be slashed.
        uint128 locked;
        address signer;
        /// Since when: a signer takes a seat only in epochs that end later, so that an account never has two.
        uint64 signerSince;
        address payout;
        /// Of a validator: the contract (a Scoreboard) that it votes in and that may slash all of it. 0 for a
        /// provider.
        address electorate;
        /// Ed25519 key of docs/network.md §1. The chain cannot check it: whoever reads it checks `keyProof`
        /// of the event.
        bytes32 signingKey;
        string endpoint;
    }

    /// Who may take what of an account. Only the account's owner gives it.
    struct Allowance {
        address slasher;
        /// Most of all that is there, in one `slash`.
        uint32 mostPpm;
        /// Most that it may hold locked at a time.
        uint128 mostLocked;
    }

    struct Registration {
        Role role;
        /// 0: the owner itself. Else `signerConsent` is the signer's EIP-712 SignerConsent(account).
        address signer;
        bytes signerConsent;
        /// 0: the owner.
        address payout;
        /// A validator's, not 0; a provider's is 0.
        address electorate;
        bytes32 signingKey;
        /// Of several proofs of one key, the one with the highest number counts: an old one takes nothing
        /// back.
        uint64 keyNumber;
        bytes keyProof;
        string endpoint;
        uint128 amount;
        Allowance[] allowances;
    }

    struct Params {
        uint128 minProviderStake;
        uint128 minValidatorStake;
        uint64 unbondingSeconds;
        /// How long a device stays bound after its statement was issued.
        uint64 deviceSeconds;
        /// What of an electorate's stake must sign a device's statement: more than this.
        uint32 devicePpm;
        /// What of a slashed amount goes to the accuser; the rest is burned.
        uint32 accuserPpm;
    }

    /// EIP-712 statement of validators: they saw this device prove itself under this provider. A binding is
    /// by (electorate, schema, device): another network's validators, or another way to name a device, bind
    /// apart.
    struct DeviceStatement {
        DeviceId device;
        address provider;
        address electorate;
        /// keccak256 of the name of what `device` commits to, "assay/device/1".
        bytes32 schema;
        bytes32 evidenceSha256;
        uint64 issuedAt;
    }

    /// A new account. Its signer, payout and allowances follow in events of their own.
    event Registered(
        address indexed account,
        Role role,
        bytes32 indexed signingKey,
        uint64 keyNumber,
        bytes keyProof,
        string endpoint,
        address electorate
    );
    /// Also at the registration.
    event SignerChanged(address indexed account, address indexed signer);
    /// Also at the registration.
    event PayoutChanged(address indexed account, address payout);
    /// Readers check `keyProof`; of several proofs of one key the highest number counts.
    event SigningKeyChanged(address indexed account, bytes32 indexed signingKey, uint64 keyNumber, bytes keyProof);
    /// Where the account's files and services are found.
    event EndpointChanged(address indexed account, string endpoint);
    /// What the slasher may take from now on. `endsAt` is 0 while it holds without end.
    event AllowanceChanged(
        address indexed account, address indexed slasher, uint32 mostPpm, uint128 mostLocked, uint64 endsAt
    );
    /// `stake` is what is bonded now.
    event Staked(address indexed account, uint128 amount, uint128 stake);
    /// All that is unbonding may be withdrawn from `unlockAt` on.
    event Unstaked(address indexed account, uint128 amount, uint64 unlockAt);
    /// What was unbonding has left.
    event Withdrawn(address indexed account, address to, uint128 amount);
    /// `reason` is the slasher's: keccak256 of a name, listed in docs/slashing.md.
    event Slashed(
        address indexed account,
        address indexed slasher,
        bytes32 indexed reason,
        address accuser,
        uint128 amount,
        uint128 toAccuser,
        uint128 burned
    );
    /// Moved from the account's stake to what is locked.
    event Locked(LockId indexed id, address indexed account, address indexed locker, uint128 amount);
    /// Moved back to its stake; the lock is gone.
    event Unlocked(LockId indexed id, address indexed account, uint128 amount);
    /// Paid from what is locked; `reason` as in `Slashed`.
    event LockSlashed(
        LockId indexed id, address indexed account, bytes32 indexed reason, address beneficiary, uint128 amount
    );
    /// The device is the provider's until then.
    event DeviceBound(
        DeviceId indexed device,
        address indexed provider,
        address indexed electorate,
        bytes32 schema,
        bytes32 evidenceSha256,
        uint64 until
    );
    /// By its provider: the device is free.
    event DeviceReleased(DeviceId indexed device, address indexed provider, address indexed electorate, bytes32 schema);
    /// By the electorate; `provider` is 0 when nobody had it, or by a newer statement.
    event DeviceRevoked(DeviceId indexed device, address indexed provider, address indexed electorate, bytes32 schema);

    /// @notice Thrown when a parameter of the deployment is 0 or too large.
    error ParamsInvalid();
    /// @notice Thrown when the account is not registered.
    error NotRegistered(address account);
    /// @notice Thrown when the account is registered already.
    error AlreadyRegistered(address account);
    /// @notice Thrown when the role is neither provider nor validator.
    error RoleUnknown();
    /// @notice Thrown when a validator names no electorate, or a provider names one.
    error ElectorateInvalid(address electorate);
    /// @notice Thrown when the signing key is 0.
    error SigningKeyMissing();
    /// @notice Thrown when the signer is, or was, another account's.
    error SignerTaken(address signer, address account);
    /// @notice Thrown when the signer has not signed its consent to this account.
    error ConsentInvalid(address signer);
    /// @notice Thrown when an amount is 0.
    error AmountZero();
    /// @notice Thrown when what would be bonded is less than the role needs.
    error StakeTooSmall(uint128 stake, uint128 least);
    /// @notice Thrown when a validator's stake would not fit into 96 bits.
    error StakeTooLarge(uint128 stake);
    /// @notice Thrown when more is to be unbonded or locked than is bonded.
    error StakeMissing(uint128 asked, uint128 there);
    /// @notice Thrown when the unbonding delay is not over.
    error StillUnbonding(uint64 unlockAt);
    /// @notice Thrown when nothing is unbonding.
    error NothingToWithdraw();
    /// @notice Thrown when an allowance names no slasher, or allows nothing or more than all.
    error AllowanceInvalid();
    /// @notice Thrown when an allowance is less than the one that holds: it ends by `disallow` only.
    error AllowanceSmaller(address slasher);
    /// @notice Thrown when the account does not allow this slasher, or no longer.
    error NotAllowed(address account, address slasher);
    /// @notice Thrown when more is to be slashed than is allowed.
    error SlashTooLarge(uint32 ppm, uint32 mostPpm);
    /// @notice Thrown when more is to be locked than the locker may hold.
    error LockTooLarge(uint128 held, uint128 mostLocked);
    /// @notice Thrown when the locker has a lock under this id.
    error AlreadyLocked(LockId id);
    /// @notice Thrown when the locker has no lock under this id.
    error LockUnknown(LockId id);
    /// @notice Thrown when the account is no provider, or the caller does not act for it.
    error NotProvider(address account);
    /// @notice Thrown when the caller does not act for the provider that has the device.
    error NotDeviceOwner(DeviceId device, address caller);
    /// @notice Thrown when another provider has the device.
    error DeviceTaken(DeviceId device, address provider, uint64 until);
    /// @notice Thrown when a statement is of the future, has run out, was revoked, or is not newer than the
    /// last.
    error StatementStale(uint64 issuedAt);
    /// @notice Thrown when signers do not ascend, or one has no vote in the electorate now.
    error SignerInvalid(address signer);
    /// @notice Thrown when too little of the electorate's stake has signed.
    error TooFewSigners(uint128 signed, uint128 total);

    /// Takes `amount` as stake. The caller is the account's owner.
    function register(Registration calldata registration) external;
    /// Owner. An address that was a signer once belongs to its account for ever, so that no statement
    /// escapes.
    function setSigner(address signer, bytes calldata consent) external;
    /// Owner. Where rewards go.
    function setPayout(address payout) external;
    /// Owner.
    function setSigningKey(bytes32 signingKey, uint64 keyNumber, bytes calldata keyProof) external;
    /// Owner or signer.
    function setEndpoint(string calldata endpoint) external;
    /// Owner. Gives a slasher at least what it has already; at once.
    function allow(Allowance calldata allowance) external;
    /// Owner. The slasher may slash for `unbondingSeconds` more, and locks nothing new.
    function disallow(address slasher) external;
    /// Owner. Not paused: a slashed account must be able to come back to its least stake.
    function stake(uint128 amount) external;
    /// Owner. Starts the delay after which `amount` may be withdrawn; until then it can be slashed.
    function unstake(uint128 amount) external;
    /// Owner. Pays out what was unstaked once the delay is over. Nobody can block it.
    function withdraw(address to) external;
    /// Owner or signer of the provider. Signers ascending; more than `devicePpm` of the electorate's stake
    /// now.
    function bindDevice(DeviceStatement calldata statement, bytes[] calldata signatures) external;
    /// Owner or signer of the provider that has it. Free at once.
    function releaseDevice(address electorate, bytes32 schema, DeviceId device) external;
    /// Anyone, with signatures of DeviceRevocation(device, electorate, schema, issuedAt) of more than
    /// `devicePpm` of the electorate's stake now: frees it, and no statement up to `issuedAt` binds it again.
    function revokeDevice(
        DeviceId device,
        address electorate,
        bytes32 schema,
        uint64 issuedAt,
        bytes[] calldata signatures
    ) external;

    /// By whom the account allows, up to its allowance (an electorate: all of it). Taken from stake, then
    /// unbonding, then locked. `accuser` 0: all of it is burned. Returns what was taken.
    function slash(address account, uint32 ppm, address accuser, bytes32 reason) external returns (uint128 amount);
    /// By whom a provider allows, up to `mostLocked` in all. What stays bonded is at least the least stake.
    function lock(address account, uint128 amount, bytes32 ref) external returns (LockId id);
    /// By its locker: back to the account's stake. Less than was locked where the account was slashed
    /// meanwhile.
    function unlock(bytes32 ref) external returns (uint128 amount);
    /// By its locker: `amount` (or what is left) to the beneficiary; the rest stays locked.
    function slashLocked(bytes32 ref, uint128 amount, address beneficiary, bytes32 reason)
        external
        returns (uint128 taken);

    /// All zero for an address that is not registered.
    function accountOf(address account) external view returns (Account memory);
    /// The account that this address signs for, now or once; 0 when it never did.
    function accountOfSigner(address signer) external view returns (address);
    /// Where rewards of this address go: its payout, or, when it is no account, itself.
    function payoutOf(address account) external view returns (address);
    /// Stake that may be slashed now: bonded, unbonding and locked.
    function slashableOf(address account) external view returns (uint128);
    /// What the slasher may take now; all of it for an electorate.
    function allowanceOf(address account, address slasher) external view returns (uint32 mostPpm, uint128 mostLocked);
    /// What is held under this id.
    function lockOf(LockId id) external view returns (address account, uint128 amount);
    /// A validator's weight at a moment: its stake, or 0 below the least stake. Of a moment to come it is
    /// what it is now.
    function votingStakeAt(address electorate, address account, uint64 time) external view returns (uint128);
    /// Sum of all its validators' weights at that moment.
    function totalVotingStakeAt(address electorate, uint64 time) external view returns (uint128);
    /// For whom a key speaks in an electorate, with what weight of how much. Weight 0 unless it is the
    /// account's signer now and was at that moment. In one call, for its gas.
    function seatOf(address electorate, address signer, uint64 time)
        external
        view
        returns (address account, uint128 weight, uint128 total);
    /// For whom a key speaks in an electorate now, and with what weight. Less to read than `seatOf`.
    function voiceOf(address electorate, address signer) external view returns (address account, uint128 weight);
    /// Whom a device belongs to now; the zero address once the binding has run out.
    function deviceOf(address electorate, bytes32 schema, DeviceId device)
        external
        view
        returns (address provider, uint64 until);
    /// As set at the deployment.
    function params() external view returns (Params memory);
}
