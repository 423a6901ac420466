// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {JobEscrow} from "../../src/jobs/JobEscrow.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {Cheats} from "../Cheats.sol";
import {TreeKit} from "../TreeKit.sol";

/// A job of seven segments in three parts, three validators of whom two must sign, two providers with
/// deposits, and this contract in the place of Disputes. Hashes and digests are made here without the code of
/// src.
abstract contract JobKit is Cheats {
    uint64 internal constant GENESIS = 1_800_000_000;
    uint128 internal constant BOND = 4001;
    uint128 internal constant COST = 1000 + 21 + 300;
    uint32 internal constant WORK = 1200;
    uint32 internal constant WINDOW = 1 days;
    uint32 internal constant SOON = 600;
    address internal constant CUSTOMER = address(0xC0);
    address internal constant ANNA = address(0xA0);
    address internal constant BERT = address(0xB0);
    address internal constant STRANGER = address(0x57);
    address internal constant ACCUSER = address(0xACC);
    address internal constant AUDITOR = address(0xAD);
    address internal constant DEAD = 0x000000000000000000000000000000000000dEaD;

    AssayToken internal token;
    JobEscrow internal escrow;
    address[] internal validators;
    uint256[3] internal keys = [uint256(0xA1), 0xA2, 0xA3];
    IJobEscrow.Terms internal terms;
    uint256 internal job;
    bool internal held;

    function newToken() internal virtual returns (AssayToken) {
        return AssayToken(deployCode("AssayToken", abi.encode(1e30)));
    }

    /// What the escrow asks this contract.
    function isOrdered(uint256) external view virtual returns (bool) {
        return false;
    }

    function isProven(uint256, uint32, uint16) external view virtual returns (bool) {
        return false;
    }

    function isHeld(uint256, uint32, uint16, address) external view virtual returns (bool) {
        return held;
    }

    /// In the place of ZkJobs.
    function proofsOf() internal view virtual returns (address) {
        return address(this);
    }

    function deployEscrow(IJobEscrow.Params memory params) internal returns (JobEscrow) {
        return deployEscrow(address(this), params);
    }

    function deployEscrow(address disputes, IJobEscrow.Params memory params) internal returns (JobEscrow) {
        return JobEscrow(deployCode("JobEscrow", abi.encode(token, address(this), disputes, proofsOf(), params)));
    }

    function deployJobs() internal {
        deployJobs(address(this));
    }

    function deployJobs(address disputes) internal {
        vm.warp(GENESIS);
        token = newToken();
        escrow = deployEscrow(disputes, IJobEscrow.Params(7 days, 100));
        for (uint256 i = 0; i < 2; i++) {
            for (uint256 j = 0; j < 2; j++) {
                if (vm.addr(keys[j]) > vm.addr(keys[j + 1])) (keys[j], keys[j + 1]) = (keys[j + 1], keys[j]);
            }
        }
        for (uint256 i = 0; i < 3; i++) validators.push(vm.addr(keys[i]));
        enrich(CUSTOMER);
        enrich(ANNA);
        enrich(BERT);
        vm.prank(ANNA);
        escrow.deposit(3 * BOND);
        vm.prank(BERT);
        escrow.deposit(3 * BOND);
        terms = someTerms("salt");
        job = idOf(terms);
    }

    function enrich(address who) internal {
        token.transfer(who, 1e12);
        vm.prank(who);
        token.approve(address(escrow), type(uint256).max);
    }

    function someTerms(bytes32 salt) internal view returns (IJobEscrow.Terms memory some) {
        some = IJobEscrow.Terms({
            customer: CUSTOMER,
            salt: salt,
            program: keccak256("program"),
            inputs: keccak256("inputs"),
            spec: keccak256("spec"),
            seed: keccak256("seed"),
            start: stateAt(0, ""),
            segments: 7,
            parts: 3,
            price: 1000,
            fee: 21,
            audit: 300,
            bond: BOND,
            startBy: uint64(block.timestamp) + 2 days,
            workSeconds: WORK,
            windowSeconds: WINDOW,
            checkedSeconds: SOON,
            method: 1,
            quorum: 2,
            validators: validators
        });
    }

    function idOf(IJobEscrow.Terms memory some) internal pure returns (uint256) {
        return uint256(keccak256(abi.encode(some)));
    }

    function fund() internal {
        vm.prank(CUSTOMER);
        assertEq(escrow.fund(terms), job);
    }

    function later(uint256 seconds_) internal {
        vm.warp(block.timestamp + seconds_);
    }

    function part(uint32 number) internal view returns (IJobEscrow.Part memory) {
        return escrow.partOf(job, number);
    }

    function mustBeIn(uint32 number, IJobEscrow.PartState state) internal view {
        assertEq(uint256(part(number).state), uint256(state));
    }

    function digest(bytes32 structHash) internal view returns (bytes32) {
        bytes32 domain = keccak256(
            abi.encode(
                keccak256("EIP712Domain(string name,string version,uint256 chainId,address verifyingContract)"),
                keccak256("assay"),
                keccak256("1"),
                block.chainid,
                address(escrow)
            )
        );
        return keccak256(abi.encodePacked(hex"1901", domain, structHash));
    }

    /// By the validators of these two places.
    function sign(bytes32 structHash, uint256 a, uint256 b) internal view returns (bytes[] memory all) {
        all = new bytes[](2);
        all[0] = signed(keys[a], digest(structHash));
        all[1] = signed(keys[b], digest(structHash));
    }

    function assignmentHash(IJobEscrow.Assignment memory one, address provider) internal view returns (bytes32) {
        bytes32 kind =
            keccak256("Assignment(uint256 job,uint32 part,uint16 attempt,address provider,uint64 until,bytes32 draw)");
        return keccak256(abi.encode(kind, job, one.part, one.attempt, provider, one.until, one.draw));
    }

    function releasedHash(uint256 job_, uint32 number, uint16 attempt) internal pure returns (bytes32) {
        return keccak256(
            abi.encode(keccak256("Released(uint256 job,uint32 part,uint16 attempt)"), job_, number, attempt)
        );
    }

    function storedHash(uint32 number, uint16 attempt, bytes32 claimHash) internal view returns (bytes32) {
        bytes32 kind = keccak256("Stored(uint256 job,uint32 part,uint16 attempt,bytes32 claim)");
        return keccak256(abi.encode(kind, job, number, attempt, claimHash));
    }

    function checkedHash(uint32 number, uint16 attempt, bytes32 claimHash, IJobEscrow.Audit[] memory audits)
        internal
        view
        returns (bytes32)
    {
        bytes32 kind = keccak256(
            "Checked(uint256 job,uint32 part,uint16 attempt,bytes32 claim,Audit[] audits)Audit(address auditor,uint128 pay)"
        );
        bytes memory all;
        for (uint256 i = 0; i < audits.length; i++) {
            bytes32 one = keccak256("Audit(address auditor,uint128 pay)");
            all = bytes.concat(all, keccak256(abi.encode(one, audits[i].auditor, audits[i].pay)));
        }
        return keccak256(abi.encode(kind, job, number, attempt, claimHash, keccak256(all)));
    }

    function assignmentOf(uint32 number) internal view returns (IJobEscrow.Assignment memory) {
        return IJobEscrow.Assignment(number, part(number).attempt + 1, uint64(block.timestamp) + 120, "draw");
    }

    function assign(uint32 number, address provider) internal {
        IJobEscrow.Assignment memory one = assignmentOf(number);
        bytes[] memory all = sign(assignmentHash(one, provider), 0, 2);
        vm.prank(provider);
        escrow.assign(terms, one, all);
    }

    function resultsAt(uint64 segment, string memory way) internal pure virtual returns (bytes32) {
        return keccak256(abi.encode("results", segment, way));
    }

    /// S_j of an honest run (""), or of some other.
    function stateAt(uint64 segment, string memory way) internal pure returns (bytes32) {
        bytes32 states = keccak256(abi.encode("states", segment, way));
        return keccak256(bytes.concat(hex"04", bytes8(segment), states, resultsAt(segment, way)));
    }

    /// Begins with the state of one way and ends with that of another.
    function claimFor(uint32 number, string memory from, string memory to)
        internal
        view
        returns (IJobEscrow.Claim memory made, bytes32 hash, bytes32 last)
    {
        uint64 first = 3 * number;
        uint64 count = number == 2 ? 1 : 3;
        bytes32[] memory leaves = new bytes32[](count + 1);
        for (uint64 i = 0; i <= count; i++) leaves[i] = stateAt(first + i, i == 0 ? from : to);
        last = leaves[count];
        (made.segmentRoot, made.firstPath) = TreeKit.climb(leaves, 0);
        (, made.lastPath) = TreeKit.climb(leaves, count);
        made.first = leaves[0];
        made.resultRoot = resultsAt(first + count, to);
        made.lastStates = keccak256(abi.encode("states", first + count, to));
        if (number > 0) {
            (, made.previous,) = claimFor(number - 1, "", from);
        }
        bytes memory place = bytes.concat(bytes32(block.chainid), bytes20(address(escrow)), bytes32(job), bytes4(number));
        bytes memory what = bytes.concat(terms.program, terms.inputs, bytes8(first), bytes8(count));
        hash = keccak256(bytes.concat(hex"06", place, what, made.segmentRoot, made.resultRoot));
    }

    function claim(uint32 number, string memory from, string memory to) internal {
        (IJobEscrow.Claim memory made, bytes32 hash,) = claimFor(number, from, to);
        IJobEscrow.Part memory one = part(number);
        bytes[] memory all = sign(storedHash(number, one.attempt, hash), 0, 1);
        vm.prank(one.provider);
        escrow.claim(terms, number, made, all);
    }

    /// Assigned and claimed, honestly.
    function work(uint32 number, address provider) internal {
        assign(number, provider);
        claim(number, "", "");
    }

    function check(uint32 number, string memory from, string memory to, IJobEscrow.Audit[] memory audits) internal {
        (, bytes32 hash, bytes32 last) = claimFor(number, from, to);
        bytes[] memory all = sign(checkedHash(number, part(number).attempt, hash, audits), 1, 2);
        vm.prank(STRANGER);
        escrow.check(terms, number, hash, last, audits, all);
    }

    function noAudits() internal pure returns (IJobEscrow.Audit[] memory) {
        return new IJobEscrow.Audit[](0);
    }

    function oneAudit(uint128 pay) internal pure returns (IJobEscrow.Audit[] memory audits) {
        audits = new IJobEscrow.Audit[](1);
        audits[0] = IJobEscrow.Audit(AUDITOR, pay);
    }

    function settle(uint32 number) internal {
        vm.prank(STRANGER);
        escrow.settle(terms, number);
    }

    function expire(uint32 number) internal {
        vm.prank(STRANGER);
        escrow.expire(terms, number);
    }

    /// By a stranger, who brings the quorum's word.
    function release(uint32 number) internal {
        uint16 attempt = part(number).attempt;
        bytes[] memory all = sign(releasedHash(job, number, attempt), 0, 2);
        vm.prank(STRANGER);
        escrow.release(terms, number, attempt, all);
    }

    function convict(uint32 number, string memory from, string memory to, address accuser) internal {
        (, bytes32 hash, bytes32 last) = claimFor(number, from, to);
        escrow.convict(terms, number, hash, last, accuser);
    }

    function refused(bytes4 selector, uint256 value) internal {
        vm.expectRevert(abi.encodeWithSelector(selector, value));
    }

    function refusedIn(uint32 number, IJobEscrow.PartState state) internal {
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.WrongState.selector, number, state));
    }
}
