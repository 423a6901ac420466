// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Ownable, Ownable2Step} from "@openzeppelin/contracts/access/Ownable2Step.sol";
import {IERC20} from "@openzeppelin/contracts/token/ERC20/IERC20.sol";
import {Pausable} from "@openzeppelin/contracts/utils/Pausable.sol";
import {ECDSA} from "@openzeppelin/contracts/utils/cryptography/ECDSA.sol";
import {EIP712} from "@openzeppelin/contracts/utils/cryptography/EIP712.sol";
import {PullPayments} from "../payments/PullPayments.sol";
import {KeccakTree} from "../trees/KeccakTree.sol";
import {DepositBook} from "./DepositBook.sol";
import {IClaimHolder, IClaimProofs, IJobEscrow} from "./IJobEscrow.sol";
import {JobTerms} from "./JobTerms.sol";
import {PartBook} from "./PartBook.sol";

/// A claim is paid when its window ends undisputed; evidence only shortens the window; fraud kills it until
/// it is paid. Of a zk job it is paid when it is proven. Access, tokens and events; the states are PartBook
/// and DepositBook. Immutable. The owner may pause `fund` and nothing else: there is no path from it to any
/// token. It knows no roles: whom a customer's terms name as validators is the customer's choice.
contract JobEscrow is IJobEscrow, PullPayments, Ownable2Step, Pausable, EIP712 {
    using DepositBook for Deposit;
    using JobTerms for Terms;
    using PartBook for PartBook.Book;
    using PartBook for Part;

    /// The method whose claims are paid by proof.
    uint8 private constant ZK = 5;
    bytes32 private constant ASSIGNMENT_TYPE = keccak256(
        "Assignment(uint256 job,uint32 part,uint16 attempt,address provider,uint64 until,bytes32 draw)"
    );
    bytes32 private constant RELEASED_TYPE = keccak256("Released(uint256 job,uint32 part,uint16 attempt)");
    bytes32 private constant STORED_TYPE =
        keccak256("Stored(uint256 job,uint32 part,uint16 attempt,bytes32 claim)");
    bytes32 private constant CHECKED_TYPE = keccak256(
        "Checked(uint256 job,uint32 part,uint16 attempt,bytes32 claim,Audit[] audits)Audit(address auditor,uint128 pay)"
    );
    bytes32 private constant AUDIT_TYPE = keccak256("Audit(address auditor,uint128 pay)");

    /// The only one who convicts, and who may hold a payment while a game goes on.
    address public immutable disputes;
    /// Whose word counts for zk jobs, and who has their provers paid.
    address public immutable proofs;
    uint32 private immutable WITHDRAW_SECONDS;
    uint128 private immutable ACCUSER_COSTS;

    // INVARIANT: tokens held = Σ deposits (free, locked, leaving) + Σ owed + what jobs hold: for each part
    // that is neither settled, refunded nor cancelled its cost less what auditors got of it; for settled ones
    // what is not shared yet.
    PartBook.Book private _book;
    mapping(address => Deposit) private _deposits;

    constructor(IERC20 token_, address owner_, address disputes_, address proofs_, Params memory params_)
        PullPayments(token_)
        Ownable(owner_)
        EIP712("assay", "1")
    {
        if (params_.withdrawSeconds == 0 || params_.withdrawSeconds > 365 days) revert ParamsInvalid();
        (disputes, proofs) = (disputes_, proofs_);
        WITHDRAW_SECONDS = params_.withdrawSeconds;
        ACCUSER_COSTS = params_.accuserCosts;
    }

    function deposit(uint128 amount) external {
        if (amount == 0) revert AmountZero();
        _deposits[msg.sender].free += amount;
        emit Deposited(msg.sender, amount);
        takeIn(amount);
    }

    function withdrawDeposit(uint128 amount) external {
        uint64 readyAt = uint64(block.timestamp) + WITHDRAW_SECONDS;
        _deposits[msg.sender].startLeaving(amount, readyAt);
        emit Leaving(msg.sender, amount, readyAt);
    }

    function collect(address to) external {
        uint128 left = _deposits[msg.sender].left();
        if (left > 0) owe(msg.sender, left);
        payOut(to);
    }

    function fund(Terms calldata terms) external whenNotPaused returns (uint256 job) {
        if (msg.sender != terms.customer) revert NotParty(msg.sender);
        terms.mustBeValid();
        job = terms.idOf();
        if (_book.jobs[job].isFunded) revert AlreadyFunded(job);
        _book.jobs[job] = Job(0, terms.parts, 0, true, 0);
        emit Funded(job, msg.sender, terms);
        takeIn(terms.parts * terms.partCost());
    }

    function cancel(Terms calldata terms) external {
        uint256 job = terms.idOf();
        Job storage entry = _book.known(job);
        mustBeGivenUp(terms, job);
        (uint32 touched, uint32 end) = (entry.touched, entry.end);
        if (touched == end) revert NothingToCancel(job);
        entry.end = touched;
        uint256 refund = (end - touched) * terms.partCost();
        owe(terms.customer, refund);
        emit Cancelled(job, touched, refund);
    }

    function assign(Terms calldata terms, Assignment calldata assignment, bytes[] calldata signatures) external {
        uint256 job = terms.idOf();
        if (block.timestamp > terms.startBy) revert TooLate(terms.startBy);
        if (block.timestamp > assignment.until) revert TooLate(assignment.until);
        if (isCancelled(terms, job)) revert PartUnknown(assignment.part);
        if (terms.method == ZK && !IClaimProofs(proofs).isOrdered(job)) revert Unproven(assignment.part);
        mustBeSigned(
            terms,
            keccak256(
                abi.encode(
                    ASSIGNMENT_TYPE,
                    job,
                    assignment.part,
                    assignment.attempt,
                    msg.sender,
                    assignment.until,
                    assignment.draw
                )
            ),
            signatures
        );
        uint40 until = uint40(block.timestamp + terms.workSeconds);
        _book.assign(job, assignment.part, assignment.attempt, msg.sender, until);
        _deposits[msg.sender].lock(terms.bond);
        emit Assigned(job, assignment.part, msg.sender, assignment.attempt, until, assignment.draw);
    }

    function claim(Terms calldata terms, uint32 part, Claim calldata claimed, bytes[] calldata signatures) external {
        uint256 job = terms.idOf();
        Part memory one = _book.touched(job, part);
        if (one.state != PartState.Assigned) revert WrongState(part, one.state);
        if (msg.sender != one.provider) revert NotParty(msg.sender);
        if (block.timestamp > one.time) revert TooLate(one.time);
        if (_book.isFallen(job, part, one)) revert BuiltOnFallen(part);
        mustBeginWhereItMust(terms, job, part, one.base, claimed);
        bytes32 last = lastOf(terms, part, claimed);
        bytes32 hash = terms.claimHash(address(this), job, part, claimed.segmentRoot, claimed.resultRoot);
        mustBeSigned(terms, keccak256(abi.encode(STORED_TYPE, job, part, one.attempt, hash)), signatures);
        one.state = PartState.Claimed;
        one.time = uint40(block.timestamp + terms.windowSeconds);
        _book.parts[job][part] = one;
        _book.commitments[job][part][one.attempt] = commitment(hash, last);
        emit Claimed(
            job, part, msg.sender, one.attempt, hash, claimed.segmentRoot, claimed.resultRoot, last, one.time
        );
    }

    function check(
        Terms calldata terms,
        uint32 part,
        bytes32 claimHash,
        bytes32 last,
        Audit[] calldata audits,
        bytes[] calldata signatures
    ) external {
        uint256 job = terms.idOf();
        Part memory one = _book.claimed(job, part);
        mustBeClaim(job, part, one.attempt, claimHash, last);
        if (block.timestamp > one.time) revert TooLate(one.time);
        if (one.isChecked) revert AlreadyChecked(part);
        // Nobody's word stands for a proof, nor pays anyone but provers.
        if (terms.method == ZK) revert Unproven(part);
        bytes32 hash =
            keccak256(abi.encode(CHECKED_TYPE, job, part, one.attempt, claimHash, auditsHash(audits)));
        mustBeSigned(terms, hash, signatures);
        uint256 soon = block.timestamp + terms.checkedSeconds;
        if (soon < one.time) one.time = uint40(soon);
        one.isChecked = true;
        _book.parts[job][part] = one;
        uint256 paid = payAuditors(terms, job, part, audits);
        emit Checked(job, part, one.attempt, one.time, paid);
    }

    function settle(Terms calldata terms, uint32 part) external {
        uint256 job = terms.idOf();
        Part storage stored = _book.claimed(job, part);
        Part memory one = stored;
        if (terms.method == ZK) {
            if (!isProven(job, part, one.attempt)) revert Unproven(part);
        } else if (block.timestamp <= one.time) {
            revert TooEarly(one.time);
        }
        (bool standing, bool isSettled) = _book.isBaseStanding(job, part, one);
        if (standing && !isSettled) revert NotInOrder(part);
        if (!standing && !one.isAlone) revert BuiltOnFallen(part);
        if (IClaimHolder(disputes).isHeld(job, part, one.attempt, one.provider)) revert Held(part);
        stored.state = PartState.Settled;
        Job storage entry = _book.jobs[job];
        (entry.unshared, entry.unspent) =
            (entry.unshared + 1, entry.unspent + uint128(terms.audit - _book.auditSpent[job][part]));
        _deposits[one.provider].unlock(terms.bond);
        owe(one.provider, terms.price);
        emit Settled(job, part, one.provider, terms.price);
    }

    function expire(Terms calldata terms, uint32 part) external {
        uint256 job = terms.idOf();
        Part storage stored = _book.touched(job, part);
        Part memory one = stored;
        if (one.state == PartState.Open) {
            mustBeGivenUp(terms, job);
            stored.state = PartState.Refunded;
            uint256 refund = terms.partCost() - _book.auditSpent[job][part];
            owe(terms.customer, refund);
            emit Refunded(job, part, refund);
            return;
        }
        bool isFallen = _book.isFallen(job, part, one);
        if (one.state == PartState.Assigned) {
            if (!isFallen && block.timestamp <= one.time) revert TooEarly(one.time);
        } else if (one.state != PartState.Claimed) {
            revert WrongState(part, one.state);
        } else if (!isFallen) {
            if (terms.method != ZK || isProven(job, part, one.attempt)) revert WrongState(part, one.state);
            uint256 until = uint256(one.time) + terms.windowSeconds;
            if (block.timestamp <= until) revert TooEarly(until);
        }
        reopen(terms, job, part, stored);
    }

    function release(Terms calldata terms, uint32 part, uint16 attempt, bytes[] calldata signatures) external {
        uint256 job = terms.idOf();
        Part storage stored = _book.touched(job, part);
        if (stored.state != PartState.Assigned) revert WrongState(part, stored.state);
        if (stored.attempt != attempt) revert WrongAttempt(stored.attempt);
        if (msg.sender != stored.provider) {
            mustBeSigned(terms, keccak256(abi.encode(RELEASED_TYPE, job, part, attempt)), signatures);
        }
        reopen(terms, job, part, stored);
    }

    function payProver(uint256 job, uint32 part, address prover, uint128 pay, uint128 most) external {
        if (msg.sender != proofs) revert NotParty(msg.sender);
        PartState state = _book.parts[job][part].state;
        if (state != PartState.Claimed) revert WrongState(part, state);
        spend(job, part, pay, most);
        owe(prover, pay);
        emit ProverPaid(job, part, prover, pay);
    }

    function convict(Terms calldata terms, uint32 part, bytes32 claimHash, bytes32 last, address accuser) external {
        if (msg.sender != disputes) revert NotParty(msg.sender);
        uint256 job = terms.idOf();
        Part storage stored = _book.claimed(job, part);
        (address provider, uint16 attempt) = (stored.provider, stored.attempt);
        mustBeClaim(job, part, attempt, claimHash, last);
        stored.reopen();
        _deposits[provider].take(terms.bond);
        (uint256 toAccuser, uint256 toCustomer) = sharesOf(terms.bond, accuser);
        uint256 burned = terms.bond - toAccuser - toCustomer;
        if (toAccuser > 0) owe(accuser, toAccuser);
        owe(terms.customer, toCustomer);
        // Nobody has the key of this account: what it is owed stays here for ever. Sending it there would
        // cost the accuser 10,000 gas more.
        owe(BURN, burned);
        emit Convicted(job, part, provider, attempt, accuser, toAccuser, toCustomer, burned);
    }

    function share(Terms calldata terms) external {
        uint256 job = terms.idOf();
        Job storage entry = _book.known(job);
        (uint256 fees, uint256 unspent) = (uint256(entry.unshared) * terms.fee, entry.unspent);
        if (fees + unspent == 0) revert NothingToShare(job);
        (entry.unshared, entry.unspent) = (0, 0);
        owe(terms.customer, unspent);
        uint256 count = terms.validators.length;
        uint256 each = fees / count;
        owe(terms.validators[0], fees - each * (count - 1));
        for (uint256 i = 1; i < count; i++) owe(terms.validators[i], each);
        emit Shared(job, fees, unspent);
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

    function params() external view returns (Params memory) {
        return Params(WITHDRAW_SECONDS, ACCUSER_COSTS);
    }

    function jobIdOf(Terms calldata terms) external pure returns (uint256) {
        return terms.idOf();
    }

    function jobOf(uint256 job) external view returns (Job memory) {
        return _book.jobs[job];
    }

    function partOf(uint256 job, uint32 part) external view returns (Part memory) {
        return _book.parts[job][part];
    }

    function commitmentOf(uint256 job, uint32 part, uint16 attempt) external view returns (bytes32) {
        return _book.commitments[job][part][attempt];
    }

    function auditSpent(uint256 job, uint32 part) external view returns (uint256) {
        return _book.auditSpent[job][part];
    }

    function depositOf(address account) external view returns (Deposit memory) {
        return _deposits[account];
    }

    /// The costs of the accuser, then a quarter each for it and the customer. Without an accuser its part is
    /// burned too: a proof that was copied convicts, and pays nobody.
    function sharesOf(uint128 bond, address accuser) private view returns (uint256 toAccuser, uint256 toCustomer) {
        uint256 costs = ACCUSER_COSTS < bond ? ACCUSER_COSTS : bond;
        toCustomer = (bond - costs) / 4;
        if (accuser != address(0)) toAccuser = costs + toCustomer;
    }

    /// Nobody loses anything: the bond is free again.
    function reopen(Terms calldata terms, uint256 job, uint32 part, Part storage stored) private {
        (address provider, uint16 attempt) = (stored.provider, stored.attempt);
        stored.reopen();
        _deposits[provider].unlock(terms.bond);
        emit Reopened(job, part, provider, attempt);
    }

    /// By the customer at any time, by anyone once nobody may be assigned.
    function mustBeGivenUp(Terms calldata terms, uint256 job) private view {
        if (msg.sender == terms.customer || isCancelled(terms, job)) return;
        if (block.timestamp <= terms.startBy) revert TooEarly(terms.startBy);
    }

    /// The rest was taken back: nothing of the job is assigned any more, and what comes open is the
    /// customer's.
    function isCancelled(Terms calldata terms, uint256 job) private view returns (bool) {
        Job storage entry = _book.jobs[job];
        return entry.isFunded && entry.end < terms.parts;
    }

    /// The quorum, each once, in the order of the terms.
    function mustBeSigned(Terms calldata terms, bytes32 structHash, bytes[] calldata signatures) private view {
        if (signatures.length != terms.quorum) revert SignaturesInvalid();
        bytes32 digest = _hashTypedDataV4(structHash);
        uint256 next = 0;
        for (uint256 i = 0; i < signatures.length; i++) {
            (address signer, ECDSA.RecoverError err,) = ECDSA.tryRecoverCalldata(digest, signatures[i]);
            if (err != ECDSA.RecoverError.NoError) revert SignaturesInvalid();
            while (next < terms.validators.length && terms.validators[next] != signer) next++;
            if (next == terms.validators.length) revert SignaturesInvalid();
            next++;
        }
    }

    /// Leaf 0 of the claim's tree is the state that the part before ended with; in part 0, the terms' own.
    function mustBeginWhereItMust(
        Terms calldata terms,
        uint256 job,
        uint32 part,
        uint16 base,
        Claim calldata claimed
    ) private view {
        if (part == 0) {
            if (claimed.first != terms.start) revert StateMismatch();
        } else if (commitment(claimed.previous, claimed.first) != _book.commitments[job][part - 1][base]) {
            revert StateMismatch();
        }
        (, uint64 count) = terms.rangeOf(part);
        mustLead(claimed.first, 0, count, claimed.firstPath, claimed.segmentRoot);
    }

    /// The last leaf of the claim's tree, which holds the claimed result.
    function lastOf(Terms calldata terms, uint32 part, Claim calldata claimed) private pure returns (bytes32 last) {
        (uint64 first, uint64 count) = terms.rangeOf(part);
        last = JobTerms.stateHash(first + count, claimed.lastStates, claimed.resultRoot);
        mustLead(last, count, count, claimed.lastPath, claimed.segmentRoot);
    }

    /// Of a tree with one leaf more than the part has segments.
    function mustLead(bytes32 leaf, uint256 index, uint256 segments, bytes32[] calldata path, bytes32 root) private pure {
        (bool possible, bytes32 found) = KeccakTree.rootFromPath(leaf, index, segments + 1, path);
        if (!possible || found != root) revert StateMismatch();
    }

    function mustBeClaim(uint256 job, uint32 part, uint16 attempt, bytes32 claimHash, bytes32 last) private view {
        if (_book.commitments[job][part][attempt] != commitment(claimHash, last)) revert ClaimUnknown(claimHash);
    }

    function commitment(bytes32 claimHash, bytes32 last) private pure returns (bytes32) {
        return keccak256(abi.encode(claimHash, last));
    }

    function auditsHash(Audit[] calldata audits) private pure returns (bytes32) {
        bytes memory hashes;
        for (uint256 i = 0; i < audits.length; i++) {
            hashes = abi.encodePacked(hashes, keccak256(abi.encode(AUDIT_TYPE, audits[i].auditor, audits[i].pay)));
        }
        return keccak256(hashes);
    }

    function payAuditors(Terms calldata terms, uint256 job, uint32 part, Audit[] calldata audits)
        private
        returns (uint256 paid)
    {
        for (uint256 i = 0; i < audits.length; i++) {
            if (audits[i].auditor == address(0)) revert AuditInvalid();
            paid += audits[i].pay;
            owe(audits[i].auditor, audits[i].pay);
        }
        if (paid > 0) spend(job, part, paid, terms.audit);
    }

    function spend(uint256 job, uint32 part, uint256 paid, uint128 most) private {
        uint256 spent = _book.auditSpent[job][part] + paid;
        if (spent > most) revert AuditInvalid();
        _book.auditSpent[job][part] = spent;
    }

    function isProven(uint256 job, uint32 part, uint16 attempt) private view returns (bool) {
        return IClaimProofs(proofs).isProven(job, part, attempt);
    }
}
