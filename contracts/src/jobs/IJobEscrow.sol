// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IPullPayments} from "../payments/IPullPayments.sol";

/// Who may ask that a claim is not paid yet: Disputes, while a game about it goes on.
interface IClaimHolder {
    function isHeld(uint256 job, uint32 part, uint16 attempt, address provider) external view returns (bool);
}

/// Who says that a claim of a zk job is proven: ZkJobs.
interface IClaimProofs {
    /// Its customer has said what is to be proven.
    function isOrdered(uint256 job) external view returns (bool);
    function isProven(uint256 job, uint32 part, uint16 attempt) external view returns (bool);
}

/// Jobs whose parts are paid when their claims stood undisputed: docs/chain.md §11, docs/work.md §7. A job's
/// number is the hash of its terms, so every call brings the terms and the chain keeps a slot of them.
interface IJobEscrow is IPullPayments {
    struct Params {
        /// From the wish to withdraw a deposit until it is owed.
        uint32 withdrawSeconds;
        /// Of a convicted bond, before it is shared: what a proof costs its accuser, and a fifth more.
        uint128 accuserCosts;
    }

    struct Terms {
        address customer;
        /// The customer's own: two jobs of the same terms need two.
        bytes32 salt;
        /// docs/work.md §6 and §7.
        bytes32 program;
        bytes32 inputs;
        /// Hash of the job file: for people, nothing here depends on it.
        bytes32 spec;
        /// The one in `inputs`.
        bytes32 seed;
        /// S₀: what the first part begins with.
        bytes32 start;
        /// Of all parts together, segment 0 counted. Part p has ⌈segments/parts⌉ of them, the last one the
        /// rest.
        uint64 segments;
        uint32 parts;
        /// A part, each: to the provider, to the validators, at most to auditors.
        uint128 price;
        uint128 fee;
        uint128 audit;
        /// Locked by the provider of a part.
        uint128 bond;
        /// No part is assigned later.
        uint64 startBy;
        /// From the assignment to the claim.
        uint32 workSeconds;
        /// From the claim to the payment; from the evidence to the payment, if that is earlier.
        uint32 windowSeconds;
        uint32 checkedSeconds;
        /// How it is verified (docs/jobs.md). Nothing here depends on it but for zk, number 5: such a part is
        /// paid when it is proven, without a window; a claim that is not proven when a second window has gone
        /// is open again.
        uint8 method;
        /// So many of the validators must sign.
        uint8 quorum;
        /// One to five, ascending.
        address[] validators;
    }

    enum PartState {
        Untouched,
        /// Was assigned once, and waits for another provider.
        Open,
        Assigned,
        Claimed,
        /// Paid: for ever.
        Settled,
        /// The customer's again: for ever.
        Refunded
    }

    /// In one slot.
    struct Part {
        address provider;
        /// How often it was assigned.
        uint16 attempt;
        /// Attempt of the part before, whose end this one begins with.
        uint16 base;
        /// Assigned: last moment to claim. Claimed: last moment of the window.
        uint40 time;
        PartState state;
        /// A quorum has seen the method's evidence.
        bool isChecked;
        /// By another provider than the part before: paid whatever becomes of that one.
        bool isAlone;
    }

    struct Job {
        /// Parts below this were assigned at least once.
        uint32 touched;
        /// Less than the terms say once the rest was cancelled. 0: no such job.
        uint32 end;
        /// Settled parts whose fees were not shared yet.
        uint32 unshared;
        bool isFunded;
        /// What auditors left of those.
        uint128 unspent;
    }

    struct Deposit {
        uint128 free;
        /// Bonds of parts that are assigned or claimed.
        uint128 locked;
        /// On its way out, and from when on it is owed.
        uint128 leaving;
        uint64 readyAt;
    }

    /// What validators sign of a drawn provider, with job and provider: EIP-712 `Assignment`.
    struct Assignment {
        uint32 part;
        /// The next one of the part.
        uint16 attempt;
        /// Last moment to take it.
        uint64 until;
        /// Hash of the draw's record, which everyone can check.
        bytes32 draw;
    }

    struct Claim {
        bytes32 segmentRoot;
        bytes32 resultRoot;
        /// What the part begins with, as leaf 0 of the segment tree.
        bytes32 first;
        bytes32[] firstPath;
        /// Tree of the state tensors at its end; with the result root it makes the last leaf.
        bytes32 lastStates;
        bytes32[] lastPath;
        /// Hash of the claim of the part before; 0 in part 0.
        bytes32 previous;
    }

    /// What an auditor gets.
    struct Audit {
        address auditor;
        uint128 pay;
    }

    event Deposited(address indexed account, uint256 amount);
    event Leaving(address indexed account, uint256 amount, uint64 readyAt);
    event Funded(uint256 indexed job, address indexed customer, Terms terms);
    event Cancelled(uint256 indexed job, uint32 end, uint256 refund);
    event Assigned(
        uint256 indexed job, uint32 indexed part, address indexed provider, uint16 attempt, uint40 until, bytes32 draw
    );
    event Claimed(
        uint256 indexed job,
        uint32 indexed part,
        address indexed provider,
        uint16 attempt,
        bytes32 claim,
        bytes32 segmentRoot,
        bytes32 resultRoot,
        bytes32 last,
        uint40 until
    );
    event Checked(uint256 indexed job, uint32 indexed part, uint16 attempt, uint40 until, uint256 toAuditors);
    event ProverPaid(uint256 indexed job, uint32 indexed part, address indexed prover, uint256 pay);
    event Settled(uint256 indexed job, uint32 indexed part, address indexed provider, uint256 pay);
    /// Late, handed back, released, not proven in time, or built on a claim that fell: the bond is free
    /// again.
    event Reopened(uint256 indexed job, uint32 indexed part, address indexed provider, uint16 attempt);
    event Refunded(uint256 indexed job, uint32 indexed part, uint256 amount);
    event Convicted(
        uint256 indexed job,
        uint32 indexed part,
        address indexed provider,
        uint16 attempt,
        address accuser,
        uint256 toAccuser,
        uint256 toCustomer,
        uint256 burned
    );
    event Shared(uint256 indexed job, uint256 fees, uint256 unspent);

    /// @notice Thrown when a delay is none or above a year.
    error ParamsInvalid();
    /// @notice Thrown when the terms are outside what docs/chain.md §11 allows.
    error TermsInvalid();
    /// @notice Thrown when the caller must be another.
    error NotParty(address caller);
    /// @notice Thrown when these terms were funded before.
    error AlreadyFunded(uint256 job);
    /// @notice Thrown when no job has these terms.
    error JobUnknown(uint256 job);
    /// @notice Thrown when the job has no such part, or it was cancelled.
    error PartUnknown(uint32 part);
    /// @notice Thrown when every part was assigned, or cancelled before.
    error NothingToCancel(uint256 job);
    /// @notice Thrown when the part is in a state that does not allow this.
    error WrongState(uint32 part, PartState state);
    /// @notice Thrown when it is too late: to assign, to claim, to check.
    error TooLate(uint256 until);
    /// @notice Thrown when it is too early: to settle, to expire, to refund.
    error TooEarly(uint256 until);
    /// @notice Thrown when the attempt that was signed is not the next one; to release, not the one at work.
    error WrongAttempt(uint16 next);
    /// @notice Thrown when the part before is not there yet: not claimed, neither checked nor the caller's,
    /// or, to settle, not settled.
    error NotInOrder(uint32 part);
    /// @notice Thrown when the claim that this part was built on fell.
    error BuiltOnFallen(uint32 part);
    /// @notice Thrown when a state is not where the claim's tree must have it, or is not the one before.
    error StateMismatch();
    /// @notice Thrown when the claim is another than the part's.
    error ClaimUnknown(bytes32 claim);
    /// @notice Thrown when fewer or more than the quorum signed, somebody else, somebody twice, or not in the
    /// terms' order.
    error SignaturesInvalid();
    /// @notice Thrown when it was checked before.
    error AlreadyChecked(uint32 part);
    /// @notice Thrown when auditors would get more than is left for them, or an auditor is nobody.
    error AuditInvalid();
    /// @notice Thrown when an amount is 0.
    error AmountZero();
    /// @notice Thrown when less is free than that.
    error DepositTooSmall(uint256 free, uint256 wanted);
    /// @notice Thrown when a dispute about the claim goes on.
    error Held(uint32 part);
    /// @notice Thrown when the claim of a zk job is not proven, or its customer has not said what is to be
    /// proven.
    error Unproven(uint32 part);
    /// @notice Thrown when no fees and no rest wait.
    error NothingToShare(uint256 job);

    /// A provider's tokens, from which bonds are locked.
    function deposit(uint128 amount) external;
    /// Of what is free: owed after `withdrawSeconds`. A second call starts the delay anew for both.
    function withdrawDeposit(uint128 amount) external;
    /// Pays the caller what it is owed, with what has left its deposit.
    function collect(address to) external;

    /// Takes (price + fee + audit) · parts from the customer, who calls.
    function fund(Terms calldata terms) external returns (uint256 job);
    /// The parts that nobody ever had are the customer's again: by the customer at any time, by anyone after
    /// `startBy`. From then on nothing of the job is assigned.
    function cancel(Terms calldata terms) external;
    /// By the drawn provider. Locks its bond.
    function assign(Terms calldata terms, Assignment calldata assignment, bytes[] calldata signatures) external;
    /// By the part's provider, with validators' word that they hold result and segment list: EIP-712
    /// `Stored`.
    function claim(Terms calldata terms, uint32 part, Claim calldata claimed, bytes[] calldata signatures) external;
    /// By anyone, with validators' word that the method's evidence is there: EIP-712 `Checked`. `last` is the
    /// claim's.
    function check(
        Terms calldata terms,
        uint32 part,
        bytes32 claimHash,
        bytes32 last,
        Audit[] calldata audits,
        bytes[] calldata signatures
    ) external;
    /// By anyone after the window, or of a zk job once it is proven, while no dispute holds the claim: parts
    /// in order.
    function settle(Terms calldata terms, uint32 part) external;
    /// By anyone: what is late, or was built on a claim that fell, is open again; what is open, and can be
    /// assigned no more, is the customer's again. The customer need not wait for the latter, and nobody has
    /// to once the rest of the job was cancelled.
    function expire(Terms calldata terms, uint32 part) external;
    /// An assigned part is open again before its time is over: by its provider, who hands it back and needs
    /// no signature; by anyone with validators' word that its provider is gone or gets nowhere: EIP-712
    /// `Released`. `attempt`: the one that is assigned.
    function release(Terms calldata terms, uint32 part, uint16 attempt, bytes[] calldata signatures) external;
    /// By the ZkJobs contract alone, which knows the terms and takes jobs of method zk only: a prover gets
    /// this much of what is for auditors, while the part is claimed. `most`: what the terms have for them.
    function payProver(uint256 job, uint32 part, address prover, uint128 pay, uint128 most) external;
    /// By the Disputes contract alone.
    function convict(Terms calldata terms, uint32 part, bytes32 claimHash, bytes32 last, address accuser) external;
    /// By anyone: fees of settled parts to the validators, and what auditors left to the customer.
    function share(Terms calldata terms) external;

    /// As set at the deployment.
    function params() external view returns (Params memory);
    function jobIdOf(Terms calldata terms) external pure returns (uint256);
    function jobOf(uint256 job) external view returns (Job memory);
    function partOf(uint256 job, uint32 part) external view returns (Part memory);
    /// keccak256(claim hash ‖ last state) of an attempt; 0 when there was no claim.
    function commitmentOf(uint256 job, uint32 part, uint16 attempt) external view returns (bytes32);
    /// What auditors were paid of a part.
    function auditSpent(uint256 job, uint32 part) external view returns (uint256);
    function depositOf(address account) external view returns (Deposit memory);
}
