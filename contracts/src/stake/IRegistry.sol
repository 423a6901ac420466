// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

/// What others may ask of the Registry: who takes part, with what stake, and which device belongs to whom.
/// docs/chain.md.
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
        /// Ed25519 key of docs/network.md §1. The chain cannot check it: whoever reads it checks `keyProof`
        /// of the event.
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

    /// @notice Thrown when a delay of the parameters is above a year, or devices would be bound for no time.
    error ParamsInvalid();
    /// @notice Thrown when the signing key is 0.
    error SigningKeyMissing();
    /// @notice Thrown when an amount or a least stake is 0.
    error AmountZero();
    /// @notice Thrown when the caller is neither Scoreboard nor Slashing nor RollCall.
    error NotSlasher(address caller);
    /// @notice Thrown when more than all is to be slashed, or more than half of it would go to the accuser.
    error SlashTooLarge(uint32 ppm);
    /// @notice Thrown when the caller is no provider, or the attestation names another one.
    error NotProvider(address account);
    /// @notice Thrown when the signer of the attestation has no voting stake.
    error AttesterNotValidator(address signer);

    /// Takes `amount` as stake. `keyProof` shows that the account has the signing key; readers of the event
    /// check it.
    function register(Role role, bytes32 signingKey, bytes calldata keyProof, string calldata endpoint, uint128 amount)
        external;
    /// Replaces the caller's signing key.
    function setSigningKey(bytes32 signingKey, bytes calldata keyProof) external;
    /// Replaces the address where the caller can be reached.
    function setEndpoint(string calldata endpoint) external;
    /// Adds to the caller's stake.
    function stake(uint128 amount) external;
    /// Starts the delay after which `amount` may be withdrawn; until then it can be slashed.
    function unstake(uint128 amount) external;
    /// Pays out what was unstaked once the delay is over. Nobody can block it.
    function withdraw(address to) external;
    /// Binds a device to the calling provider, on the signed word of a validator.
    function bindDevice(DeviceAttestation calldata attestation, bytes calldata signature) external;
    /// Frees a device of the caller at once.
    function releaseDevice(bytes32 device) external;

    /// Only Scoreboard, Slashing and RollCall, which only call it with a proof in hand. Returns what was taken.
    function slash(address account, uint32 ppm, address accuser) external returns (uint128 amount);

    /// All zero for an address that is not registered.
    function accountOf(address account) external view returns (Account memory);
    /// Stake that may be slashed now: bonded and unbonding.
    function slashableOf(address account) external view returns (uint128);
    /// A validator's weight at a moment: its stake, or 0 below the least stake. Of a moment to come it is
    /// what it is now.
    function votingStakeAt(address validator, uint64 time) external view returns (uint128);
    /// Sum of all validators' weights at that moment.
    function totalVotingStakeAt(uint64 time) external view returns (uint128);
    /// Whom a device belongs to now; the zero address once the binding has run out.
    function deviceOf(bytes32 device) external view returns (address provider, uint64 until);
    /// As set at the deployment.
    function params() external view returns (Params memory);
    /// What a validator signs.
    function attestationDigest(DeviceAttestation calldata attestation) external view returns (bytes32);
    /// One of the three contracts that may slash.
    function scoreboard() external view returns (address);
    /// Another contract that may slash.
    function slashing() external view returns (address);
    /// The third contract that may slash.
    function rollCall() external view returns (address);
}
