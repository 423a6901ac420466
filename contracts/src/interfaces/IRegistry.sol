// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// What others may ask of the Registry: who takes part, with what stake, and which device belongs to whom. docs/chain.md.
interface IRegistry {
    enum Role {
        None,
        Provider,
        Validator
    }

    struct Account {
        Role role;
        /// Bonded: counts as stake, can be slashed.
        uint128 stake;
        /// On its way out: counts for nothing, can still be slashed until withdrawn.
        uint128 unbonding;
        /// When all of `unbonding` may be withdrawn, in seconds since 1970.
        uint64 unlockAt;
        /// Ed25519 key of docs/network.md §1. The chain cannot check it: whoever reads it checks `keyProof` of the event.
        bytes32 signingKey;
        string endpoint;
    }

    struct Params {
        uint128 minProviderStake;
        uint128 minValidatorStake;
        uint64 unbondingSeconds;
        /// How long a device stays bound after its attestation was issued.
        uint64 deviceSeconds;
        /// What of a slashed amount goes to the accuser; the rest is burned.
        uint32 accuserPpm;
    }

    /// EIP-712 statement of a validator: it saw this device prove itself under this provider.
    struct DeviceAttestation {
        bytes32 device;
        address provider;
        bytes32 evidenceSha256;
        uint64 issuedAt;
    }

    event Registered(address indexed account, Role role, bytes32 indexed signingKey, bytes keyProof, string endpoint);
    event SigningKeyChanged(address indexed account, bytes32 indexed signingKey, bytes keyProof);
    event EndpointChanged(address indexed account, string endpoint);
    event Staked(address indexed account, uint128 amount, uint128 stake);
    event Unstaked(address indexed account, uint128 amount, uint64 unlockAt);
    event Withdrawn(address indexed account, address to, uint128 amount);
    event Slashed(address indexed account, address indexed accuser, uint128 amount, uint128 toAccuser, uint128 burned);
    event DeviceBound(
        bytes32 indexed device, address indexed provider, address indexed validator, bytes32 evidenceSha256, uint64 until
    );
    event DeviceReleased(bytes32 indexed device, address indexed provider);

    error ParamsInvalid();
    error NotRegistered(address account);
    error AlreadyRegistered(address account);
    error RoleUnknown();
    error SigningKeyMissing();
    error StakeTooSmall(uint128 stake, uint128 least);
    error StakeMissing(uint128 asked, uint128 there);
    error AmountZero();
    error StillLocked(uint64 unlockAt);
    error NothingToWithdraw();
    error NotSlasher(address caller);
    error SlashTooLarge(uint32 ppm);
    error NotProvider(address account);
    error NotDeviceOwner(bytes32 device, address caller);
    error DeviceTaken(bytes32 device, address provider, uint64 until);
    error AttestationStale(uint64 issuedAt);
    error AttesterNotValidator(address signer);

    function register(Role role, bytes32 signingKey, bytes calldata keyProof, string calldata endpoint, uint128 amount)
        external;
    function setSigningKey(bytes32 signingKey, bytes calldata keyProof) external;
    function setEndpoint(string calldata endpoint) external;
    function stake(uint128 amount) external;
    function unstake(uint128 amount) external;
    function withdraw(address to) external;
    function bindDevice(DeviceAttestation calldata attestation, bytes calldata signature) external;
    function releaseDevice(bytes32 device) external;

    /// Only Scoreboard and Slashing, which only call it with a proof in hand. Returns what was taken.
    function slash(address account, uint32 ppm, address accuser) external returns (uint128 amount);

    function accountOf(address account) external view returns (Account memory);
    /// Stake that may be slashed now: bonded and unbonding.
    function slashableOf(address account) external view returns (uint128);
    /// A validator's weight at a moment: its stake, or 0 below the least stake. Of a moment to come it is what it is now.
    function votingStakeAt(address validator, uint64 time) external view returns (uint128);
    function totalVotingStakeAt(uint64 time) external view returns (uint128);
    /// Whom a device belongs to now; the zero address once the binding has run out.
    function deviceOf(bytes32 device) external view returns (address provider, uint64 until);
    function params() external view returns (Params memory);
    function attestationDigest(DeviceAttestation calldata attestation) external view returns (bytes32);
    function scoreboard() external view returns (address);
    function slashing() external view returns (address);
}
