// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IZkPlans} from "../../src/zk/IZkPlans.sol";
import {IZkTraining} from "../../src/zk/IZkTraining.sol";
import {IZkVerifier} from "../../src/zk/IZkVerifier.sol";
import {IZkRunVerifier} from "../../src/zk/runs/IZkRunVerifier.sol";
import {Cheats} from "../Cheats.sol";

/// A toy: a proof is the hash of what it proves. Plan 1 has two steps a segment, and there is no other; its
/// only key is for two segments.
contract ToyVerifier is IZkVerifier, IZkRunVerifier, IZkPlans {
    error ToyFalse();

    function proofOf(bytes32 plan, Statement memory statement, bytes memory points) public pure returns (bytes memory) {
        return abi.encode(keccak256(abi.encode(plan, statement, points)));
    }

    function mustHold(bytes32 plan, Statement calldata statement, bytes calldata points, bytes calldata proof)
        external
        pure
        returns (uint256 steps, bytes32[4] memory hashes)
    {
        if (plan != bytes32(uint256(1)) || keccak256(proof) != keccak256(proofOf(plan, statement, points))) revert ToyFalse();
        for (uint256 i = 0; i < 4; i++) hashes[i] = keccak256(points[64 * i:64 * i + 64]);
        return (2, hashes);
    }

    function runProofOf(RunStatement memory statement, bytes32[] memory states, bytes memory points)
        public
        pure
        returns (bytes memory)
    {
        return abi.encode(keccak256(abi.encode(statement, states, points)));
    }

    function mustHold(RunStatement calldata statement, bytes32[] calldata states, bytes calldata points, bytes calldata proof)
        external
        pure
        returns (uint256 steps, bytes32[] memory hashes)
    {
        if (statement.plan != bytes32(uint256(1)) || statement.key != "key" || states.length != 3) revert ToyFalse();
        if (keccak256(proof) != keccak256(runProofOf(statement, states, points))) revert ToyFalse();
        hashes = new bytes32[](5);
        for (uint256 i = 0; i < 5; i++) hashes[i] = keccak256(points[64 * i:64 * i + 64]);
        return (2, hashes);
    }

    function register(bytes calldata) external pure returns (bytes32) {
        return bytes32(uint256(1));
    }

    function imageOf(bytes32 plan) external view returns (address) {
        return plan == bytes32(uint256(1)) ? address(this) : address(0);
    }
}

/// Runs of a few customers, proven in random order by provers of whom some lie.
contract ZkHandler is Cheats {
    ToyVerifier private toy = new ToyVerifier();
    IZkTraining public training = IZkTraining(deployCode("ZkTraining", abi.encode(toy, toy, toy)));

    struct Kept {
        IZkTraining.Run run;
        IZkTraining.Head head;
        bool isOpen;
        uint256 proven;
        bytes points;
    }

    Kept[8] private kept;
    /// Everything that was accepted, to be sent once more.
    bytes[] private sent;
    mapping(string => uint256) public seen;
    /// What must never be accepted.
    mapping(string => uint256) public lies;

    constructor() {
        for (uint256 i = 0; i < 8; i++) {
            Kept storage one = kept[i];
            one.run = IZkTraining.Run({
                salt: bytes32(i / 2),
                prover: address(this),
                plan: bytes32(uint256(1)),
                key: "key",
                seed: "seed",
                features: "features",
                labels: "labels",
                featurePoints: keccak256(pointOf("f", i)),
                labelPoints: keccak256(pointOf("l", i)),
                state: bytes32(i),
                points: keccak256(pointOf("w", 0)),
                firstStep: uint64(2 * (i % 3)),
                endStep: uint64(2 * (i % 3) + 1 + 3 * (i % 4))
            });
            one.points = pointOf("w", 0);
            one.head = IZkTraining.Head(one.run.firstStep, one.run.state, one.run.points);
        }
    }

    function pointOf(bytes32 name, uint256 i) private pure returns (bytes memory) {
        return abi.encode(name, i);
    }

    function keptOf(uint256 i) external view returns (Kept memory) {
        return kept[i];
    }

    function open(uint256 which) external {
        Kept storage one = kept[which % 8];
        bool wasOpen = one.isOpen;
        training.open(one.run);
        if (wasOpen) lies["opened twice"]++;
        one.isOpen = true;
        seen["open"]++;
    }

    function openNone(uint256 which, uint256 how) external {
        IZkTraining.Run memory run = kept[which % 8].run;
        run.salt = bytes32(how);
        if (how % 3 == 0) run.plan = "none";
        if (how % 3 == 1) run.endStep = run.firstStep;
        if (how % 3 == 2) run.endStep = uint64(1) << 32;
        training.open(run);
        lies["opened what is none"]++;
    }

    /// `how`: 0 honest; else with one lie.
    function submit(uint256 which, uint256 how, bytes32 state, uint256 point) external {
        (which, how) = (which % 8, how % 9);
        Kept storage one = kept[which];
        IZkTraining.Head memory head = one.head;
        IZkTraining.Run memory run = kept[how == 6 ? (which + 1) % 8 : which].run;
        if (how == 4) head.nextStep += 2;
        if (how == 5) head.state = bytes32(uint256(head.state) + 1);
        bytes memory points = bytes.concat(
            pointOf("f", how == 1 ? which + 1 : which),
            pointOf("l", how == 2 ? which + 1 : which),
            how == 3 ? pointOf("w", point + 1) : one.points,
            pointOf("w", point)
        );
        uint256 number = training.numberOf(how == 7 ? kept[(which + 1) % 8].run : run);
        bytes memory call = callOf(run, head, state, points, number, how == 8);
        (bool isTaken,) = address(training).call(call);
        if (!isTaken) return;
        if (how != 0) lies["a lie was taken"]++;
        if (head.nextStep + 2 > run.endStep) lies["beyond the end"]++;
        if (!one.isOpen) lies["of no run"]++;
        one.head = IZkTraining.Head(head.nextStep + 2, state, keccak256(pointOf("w", point)));
        one.points = pointOf("w", point);
        one.proven++;
        sent.push(call);
        seen["submit"]++;
    }

    /// Two segments at once. `how`: 0 honest; else with one lie.
    function submitRun(uint256 which, uint256 how, bytes32 state, uint64 point) external {
        (which, how) = (which % 8, how % 9);
        Kept storage one = kept[which];
        IZkTraining.Head memory head = one.head;
        IZkTraining.Run memory run = kept[how == 6 ? (which + 1) % 8 : which].run;
        if (how == 4) head.nextStep += 2;
        bytes memory call = runCallOf(run, head, which, how, state, point);
        (bool isTaken,) = address(training).call(call);
        if (!isTaken) return;
        if (how != 0) lies["a lie was taken"]++;
        if (head.nextStep + 4 > run.endStep) lies["beyond the end"]++;
        if (!one.isOpen) lies["of no run"]++;
        one.head = IZkTraining.Head(head.nextStep + 4, state, keccak256(pointOf("w", point)));
        one.points = pointOf("w", point);
        one.proven += 2;
        sent.push(call);
        seen["submit of two"]++;
    }

    function runCallOf(
        IZkTraining.Run memory run,
        IZkTraining.Head memory head,
        uint256 which,
        uint256 how,
        bytes32 state,
        uint256 point
    ) private view returns (bytes memory) {
        bytes32[] memory states = new bytes32[](3);
        (states[0], states[1], states[2]) = (how == 5 ? bytes32("other") : head.state, "between", state);
        bytes memory points = runPointsOf(which, how, point);
        uint256 number = training.numberOf(how == 7 ? kept[(which + 1) % 8].run : run);
        IZkRunVerifier.RunStatement memory said =
            IZkRunVerifier.RunStatement(run.plan, run.key, number, run.seed, head.nextStep, run.features, run.labels);
        bytes memory proof = how == 8 ? bytes("false") : toy.runProofOf(said, states, points);
        return abi.encodeCall(IZkTraining.submitRun, (run, head, states, points, proof));
    }

    function runPointsOf(uint256 which, uint256 how, uint256 point) private view returns (bytes memory) {
        return bytes.concat(
            pointOf("f", how == 1 ? which + 1 : which),
            pointOf("l", how == 2 ? which + 1 : which),
            how == 3 ? pointOf("w", point + 1) : kept[which].points,
            pointOf("w", point + 2),
            pointOf("w", point)
        );
    }

    function callOf(
        IZkTraining.Run memory run,
        IZkTraining.Head memory head,
        bytes32 state,
        bytes memory points,
        uint256 number,
        bool isFalse
    ) private view returns (bytes memory) {
        IZkVerifier.Statement memory said =
            IZkVerifier.Statement(number, run.seed, head.nextStep, run.features, run.labels, head.state, state);
        bytes memory proof = isFalse ? bytes("false") : toy.proofOf(run.plan, said, points);
        return abi.encodeCall(IZkTraining.submit, (run, head, state, points, proof));
    }

    /// A right segment of another's run, by whoever likes: it might end with commitments that nobody else can
    /// go on from.
    function byAStranger(uint256 which, bool isNamed) external {
        Kept storage one = kept[which % 8];
        IZkTraining.Run memory run = one.run;
        // To name oneself makes another run, which has no head.
        if (isNamed) run.prover = address(0xBAD);
        bytes memory points =
            bytes.concat(pointOf("f", which % 8), pointOf("l", which % 8), one.points, pointOf("w", 12345));
        bytes memory call = callOf(run, one.head, "state", points, training.numberOf(run), false);
        vm.prank(address(0xBAD));
        (bool isTaken,) = address(training).call(call);
        if (isTaken) lies["by a stranger"]++;
        seen["stranger"]++;
    }

    function replay(uint256 which) external {
        (bool isTaken,) = address(training).call(sent[which % sent.length]);
        if (isTaken) lies["once more"]++;
        seen["replay"]++;
    }

    function onAnotherChain(uint256 which) external {
        uint256 here = block.chainid;
        vm.chainId(here + 1);
        (bool isTaken,) = address(training).call(sent[which % sent.length]);
        vm.chainId(here);
        if (isTaken) lies["on another chain"]++;
    }
}

contract ZkInvariantsTest is Cheats {
    ZkHandler private handler;

    function setUp() public {
        handler = new ZkHandler();
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_everyRunStandsWhereItWasProven() public view {
        IZkTraining training = handler.training();
        for (uint256 i = 0; i < 8; i++) {
            ZkHandler.Kept memory one = handler.keptOf(i);
            uint256 number = training.numberOf(one.run);
            // Its head is that of what was accepted, and there is none before it is opened.
            assertTrue(training.isHead(number, one.head) == one.isOpen, "head");
            // Each segment has two steps, and none goes on after the end.
            assertEq(one.head.nextStep, one.run.firstStep + 2 * one.proven);
            assertTrue(one.proven == 0 || one.head.nextStep <= one.run.endStep, "end");
            // It never stands where it stood before.
            if (one.proven > 0) {
                assertTrue(!training.isHead(number, IZkTraining.Head(one.run.firstStep, one.run.state, one.run.points)), "back");
                assertTrue(one.isOpen, "open");
            }
            for (uint256 k = 0; k < i; k++) {
                ZkHandler.Kept memory other = handler.keptOf(k);
                bool isSame = keccak256(abi.encode(other.run)) == keccak256(abi.encode(one.run));
                assertTrue(isSame || training.numberOf(other.run) != number, "numbers");
            }
        }
    }

    function invariant_noLieIsTaken() public view {
        assertEq(handler.lies("a lie was taken"), 0);
        assertEq(handler.lies("beyond the end"), 0);
        assertEq(handler.lies("of no run"), 0);
        assertEq(handler.lies("once more"), 0);
        assertEq(handler.lies("by a stranger"), 0);
        assertEq(handler.lies("on another chain"), 0);
        assertEq(handler.lies("opened twice"), 0);
        assertEq(handler.lies("opened what is none"), 0);
        assertEq(address(handler.training()).balance, 0);
    }

    /// So that a handler that always reverts cannot pass for a contract that holds.
    function test_everyActHappens() public {
        handler.open(3);
        handler.submit(3, 0, "one", 1);
        handler.submit(3, 0, "two", 2);
        handler.open(7);
        handler.submitRun(7, 0, "three", 3);
        handler.replay(0);
        handler.open(2);
        handler.byAStranger(2, false);
        handler.byAStranger(2, true);
        // The same by the run's prover.
        handler.submit(2, 0, "state", 12345);
        for (uint256 how = 1; how < 9; how++) handler.submit(3, how, "lie", 7);
        for (uint256 how = 1; how < 9; how++) handler.submitRun(7, how, "lie", 7);
        assertEq(handler.seen("submit of two"), 1);
        assertEq(handler.seen("open") + handler.seen("stranger"), 3 + 2);
        assertEq(handler.seen("submit"), 3);
        assertEq(handler.seen("replay"), 1);
        invariant_everyRunStandsWhereItWasProven();
        invariant_noLieIsTaken();
    }
}
