// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {JobKit} from "../jobs/JobKit.sol";

/// Two providers, a customer, validators that sign whatever they are asked to, an accuser and strangers, in
/// random order over some jobs. It keeps books of its own of what each was promised.
contract JobHandler is JobKit {
    uint256 public constant MOST_JOBS = 3;
    uint32 public constant PARTS = 3;
    IJobEscrow.Terms[] private all;
    uint256[] public jobs;
    /// "" is honest: whether the claim of an attempt was.
    mapping(bytes32 attempt => string) private wayOf;
    mapping(bytes32 attempt => bytes32) private hashOf;
    mapping(bytes32 attempt => bytes32) public commitmentOf;
    mapping(bytes32 attempt => bool) public wasConvicted;
    mapping(bytes32 attempt => bool) public wasPaid;
    mapping(string act => uint256) public seen;
    mapping(address => uint256) public broughtBy;
    mapping(address => uint256) public takenBy;
    mapping(address => uint256) public earnedBy;
    mapping(address => uint256) public lostBy;
    uint256 public funded;
    uint256 public convictedHonestly;
    uint256 public paidTwice;
    uint256 public settledEarly;
    uint256 public settledUnproven;
    uint256 public expiredProven;
    uint256 public checkedByWord;
    mapping(uint256 job => bool) private ordered;
    mapping(bytes32 attempt => bool) public wasProven;
    uint256 public outOfOrder;
    uint256 public releasedByNobody;
    uint256 public burned;

    constructor() {
        deployJobs();
        (broughtBy[ANNA], broughtBy[BERT]) = (3 * BOND, 3 * BOND);
    }

    function contracts() external view returns (address, address) {
        return (address(token), address(escrow));
    }

    function everyone() public view returns (address[8] memory) {
        return [CUSTOMER, ANNA, BERT, AUDITOR, ACCUSER, validators[0], validators[1], validators[2]];
    }

    function count() external view returns (uint256) {
        return jobs.length;
    }

    function termsAt(uint256 index) external view returns (IJobEscrow.Terms memory) {
        return all[index];
    }

    /// What the escrow asks ZkJobs.
    function isOrdered(uint256 job_) external view override returns (bool) {
        return ordered[job_];
    }

    function isProven(uint256 job_, uint32 number, uint16 attempt) external view override returns (bool) {
        return wasProven[keyOf(job_, number, attempt)];
    }

    function isZk() private view returns (bool) {
        return terms.method == 5;
    }

    function order(uint256 which) external {
        choose(which);
        ordered[job] = true;
    }

    /// ZkJobs proves what is claimed, and no lies.
    function prove(uint256 which, uint32 number) external {
        choose(which);
        number %= PARTS;
        IJobEscrow.Part memory one = part(number);
        bytes32 attempt = attemptOf(number, one.attempt);
        bool isLie = keccak256(bytes(wayOf[attempt])) != keccak256(bytes(from(number)));
        if (one.state != IJobEscrow.PartState.Claimed || isLie || !isZk()) return;
        wasProven[attempt] = true;
        seen["prove"]++;
    }

    function doPayProver(uint256 which, uint32 number, uint128 pay, uint256 who) external {
        choose(which);
        number %= PARTS;
        bool isOther = who % 4 == 3;
        // ZkJobs, in whose place this is, pays for jobs of its method alone.
        if (!isOther && !isZk()) return;
        if (isOther) vm.prank(everyone()[who % 8]);
        escrow.payProver(job, number, AUDITOR, pay % 400, terms.audit);
        if (isOther) paidTwice++;
        earnedBy[AUDITOR] += pay % 400;
        seen["payProver"]++;
    }

    /// The third job is paid by proof.
    function open() external {
        if (jobs.length == MOST_JOBS) return;
        terms = someTerms(bytes32(jobs.length));
        if (jobs.length == 2) terms.method = 5;
        job = idOf(terms);
        fund();
        all.push(terms);
        jobs.push(job);
        funded += 3 * uint256(COST);
        seen["fund"]++;
    }

    function choose(uint256 index) private {
        index %= jobs.length;
        (job, terms) = (jobs[index], all[index]);
    }

    function attemptOf(uint32 number, uint16 attempt) private view returns (bytes32) {
        return keyOf(job, number, attempt);
    }

    function keyOf(uint256 job_, uint32 number, uint16 attempt) public pure returns (bytes32) {
        return keccak256(abi.encode(job_, number, attempt));
    }

    function way(uint32 number, uint16 attempt) private view returns (string memory) {
        return wayOf[attemptOf(number, attempt)];
    }

    /// How the attempt that a part is built on ended.
    function from(uint32 number) private view returns (string memory) {
        return number == 0 ? "" : way(number - 1, part(number).base);
    }

    function wait(uint32 seconds_) external {
        later(seconds_ % 8 hours);
    }

    function waitLong(uint32 seconds_) external {
        later(seconds_ % 2 days);
    }

    function doDeposit(uint256 who, uint128 amount) external {
        address provider = who % 2 == 0 ? ANNA : BERT;
        amount = uint128(bound(amount, 1, 2 * BOND));
        vm.prank(provider);
        escrow.deposit(amount);
        broughtBy[provider] += amount;
        seen["deposit"]++;
    }

    function doWithdraw(uint256 who, uint128 amount) external {
        vm.prank(who % 2 == 0 ? ANNA : BERT);
        escrow.withdrawDeposit(uint128(bound(amount, 1, BOND)));
        seen["withdrawDeposit"]++;
    }

    function doCollect(uint256 who) external {
        address account = everyone()[who % 8];
        uint256 before = token.balanceOf(account);
        vm.prank(account);
        escrow.collect(account);
        takenBy[account] += token.balanceOf(account) - before;
        seen["collect"]++;
    }

    function doCancel(uint256 which, bool isCustomer) external {
        choose(which);
        IJobEscrow.Job memory before = escrow.jobOf(job);
        vm.prank(isCustomer ? CUSTOMER : STRANGER);
        escrow.cancel(terms);
        earnedBy[CUSTOMER] += (before.end - before.touched) * uint256(COST);
        seen["cancel"]++;
    }

    function doAssign(uint256 which, uint32 number, bool isAnna) external {
        choose(which);
        assign(number % PARTS, isAnna ? ANNA : BERT);
        seen["assign"]++;
    }

    function doClaim(uint256 which, uint32 number, bool isLie) external {
        choose(which);
        number %= PARTS;
        uint16 attempt = part(number).attempt;
        string memory to = isLie ? string(abi.encodePacked("lie", attempt)) : from(number);
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimOn(number, to);
        bytes[] memory signatures = sign(storedHash(number, attempt, hash), 0, 1);
        vm.prank(part(number).provider);
        escrow.claim(terms, number, made, signatures);
        wayOf[attemptOf(number, attempt)] = to;
        hashOf[attemptOf(number, attempt)] = hash;
        commitmentOf[attemptOf(number, attempt)] = escrow.commitmentOf(job, number, attempt);
        seen["claim"]++;
    }

    function claimOn(uint32 number, string memory to)
        private
        view
        returns (IJobEscrow.Claim memory made, bytes32 hash, bytes32 last)
    {
        (made, hash, last) = claimFor(number, from(number), to);
        if (number > 0) made.previous = hashOf[attemptOf(number - 1, part(number).base)];
    }

    function nowClaimed(uint32 number) private view returns (bytes32 hash, bytes32 last) {
        uint16 attempt = part(number).attempt;
        (, hash, last) = claimOn(number, way(number, attempt));
    }

    function doCheck(uint256 which, uint32 number, uint128 pay) external {
        choose(which);
        number %= PARTS;
        (bytes32 hash, bytes32 last) = nowClaimed(number);
        IJobEscrow.Audit[] memory audits = oneAudit(pay % 400);
        bytes[] memory signatures = sign(checkedHash(number, part(number).attempt, hash, audits), 1, 2);
        escrow.check(terms, number, hash, last, audits, signatures);
        if (isZk()) checkedByWord++;
        earnedBy[AUDITOR] += audits[0].pay;
        seen["check"]++;
    }

    function doSettle(uint256 which, uint32 number) external {
        choose(which);
        number %= PARTS;
        IJobEscrow.Part memory before = part(number);
        settle(number);
        bytes32 attempt = attemptOf(number, before.attempt);
        if (wasPaid[attempt] || wasConvicted[attempt]) paidTwice++;
        if (isZk() && !wasProven[attempt]) settledUnproven++;
        if (!isZk() && block.timestamp <= before.time) settledEarly++;
        if (number > 0 && !before.isAlone && part(number - 1).state != IJobEscrow.PartState.Settled) outOfOrder++;
        wasPaid[attempt] = true;
        earnedBy[before.provider] += terms.price;
        seen["settle"]++;
    }

    function doExpire(uint256 which, uint32 number, bool isCustomer) external {
        choose(which);
        number %= PARTS;
        IJobEscrow.Part memory one = part(number);
        bool isOpen = one.state == IJobEscrow.PartState.Open;
        vm.prank(isCustomer ? CUSTOMER : STRANGER);
        escrow.expire(terms, number);
        // One that fell with the part before may be proven; part 0 is built on none.
        if (number == 0 && !isOpen && wasProven[attemptOf(number, one.attempt)]) expiredProven++;
        if (isOpen) earnedBy[CUSTOMER] += COST - escrow.auditSpent(job, number);
        seen["expire"]++;
    }

    /// By its provider, by the quorum's word, or by a stranger without one.
    function doRelease(uint256 which, uint32 number, uint256 who) external {
        choose(which);
        number %= PARTS;
        IJobEscrow.Part memory one = part(number);
        bool isSigned = who % 3 == 0;
        bytes[] memory signatures =
            isSigned ? sign(releasedHash(job, number, one.attempt), 0, 1) : new bytes[](0);
        address caller = who % 3 == 1 ? one.provider : STRANGER;
        vm.prank(caller);
        escrow.release(terms, number, one.attempt, signatures);
        if (caller == STRANGER && !isSigned) releasedByNobody++;
        if (one.state != IJobEscrow.PartState.Assigned) releasedByNobody++;
        seen["release"]++;
    }

    /// Disputes convicts lies only.
    function doConvict(uint256 which, uint32 number, bool hasAccuser) external {
        choose(which);
        number %= PARTS;
        IJobEscrow.Part memory one = part(number);
        bytes32 attempt = attemptOf(number, one.attempt);
        bool isLie = keccak256(bytes(wayOf[attempt])) != keccak256(bytes(from(number)));
        if (!isLie) return;
        (bytes32 hash, bytes32 last) = nowClaimed(number);
        uint256 before = escrow.owedTo(DEAD);
        escrow.convict(terms, number, hash, last, hasAccuser ? ACCUSER : address(0));
        if (wasPaid[attempt]) convictedHonestly++;
        wasConvicted[attempt] = true;
        lostBy[one.provider] += BOND;
        burned += escrow.owedTo(DEAD) - before;
        earnedBy[CUSTOMER] += 975;
        if (hasAccuser) earnedBy[ACCUSER] += 1075;
        seen["convict"]++;
    }

    /// Nobody but Disputes, and Disputes nothing but the claim.
    function convictFalsely(uint256 which, uint32 number, uint256 who, bytes32 hash) external {
        choose(which);
        number %= PARTS;
        (bytes32 right, bytes32 last) = nowClaimed(number);
        bool isDisputes = who % 9 == 8;
        vm.prank(isDisputes ? address(this) : everyone()[who % 8]);
        try escrow.convict(terms, number, isDisputes ? hash : right, last, ACCUSER) {
            convictedHonestly++;
        } catch {}
        seen["convictFalsely"]++;
    }

    function doShare(uint256 which) external {
        choose(which);
        IJobEscrow.Job memory before = escrow.jobOf(job);
        escrow.share(terms);
        for (uint256 i = 0; i < 3; i++) earnedBy[validators[i]] += 7 * uint256(before.unshared);
        earnedBy[CUSTOMER] += before.unspent;
        seen["share"]++;
    }

    function pauseOrNot(bool isOn) external {
        if (isOn) escrow.pause();
        else escrow.unpause();
        seen["pause"]++;
    }
}
