// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ISegmentVerifier} from "../../src/disputes/ISegmentVerifier.sol";
import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {TaggedTree} from "../../src/trees/TaggedTree.sol";
import {IZkJobs} from "../../src/zk/IZkJobs.sol";
import {IZkPlans} from "../../src/zk/IZkPlans.sol";
import {IZkVerifier} from "../../src/zk/IZkVerifier.sol";
import {TwinValues} from "../../src/zk/TwinValues.sol";
import {ISegmentProofs} from "../../src/zk/hybrid/ISegmentProofs.sol";
import {SegmentProofs} from "../../src/zk/hybrid/SegmentProofs.sol";
import {Cheats} from "../Cheats.sol";
import {PlanKit} from "./PlanKit.sol";
import {ToyProofs} from "./ZkJobsKit.sol";

/// In the place of WeightJudge: what is shown is the hash of what is asked.
contract ToyWeights {
    error ToyFalse();

    function bareOf(uint256 bits, bytes memory points, uint256 count) public pure returns (bytes memory) {
        return abi.encode(keccak256(abi.encode("bare", bits, points, count)));
    }

    function openingOf(uint256 bits, bytes memory point, uint256 place, uint256 value) public pure returns (bytes memory) {
        return abi.encode(keccak256(abi.encode("weight", bits, point, place, value)));
    }

    function mustBeBare(uint256 bits, bytes calldata points, uint256 count, bytes calldata proof) external pure {
        if (keccak256(proof) != keccak256(bareOf(bits, points, count))) revert ToyFalse();
    }

    function mustHave(uint256 bits, bytes calldata point, uint256 place, uint256 value, bytes calldata proof) external pure {
        if (keccak256(proof) != keccak256(openingOf(bits, point, place, value))) revert ToyFalse();
    }
}

/// A claim of five segments of one link, with toys for the verifiers of proofs; this contract stands for the
/// escrow and for Disputes. The honest weights before segment j have the commitment j.
contract SegmentProofsTest is Cheats {
    address private constant CUSTOMER = address(0xC0);
    address private constant ANNA = address(0xA0);
    address private constant WATCHER = address(0xACC);
    uint64 private constant SEGMENTS = 5;
    uint32 private constant ANSWER = 100;

    ToyProofs private toy;
    ToyWeights private weights;
    IZkPlans private plans;
    SegmentProofs private proofs;
    IJobEscrow.Terms private terms;
    IZkJobs.Order private ordered;
    IJobEscrow.Part private part;
    bytes32[] private list;
    bool private isFunded;
    uint256 private job;
    bytes private leaf;

    // ---- In the place of the escrow

    function jobOf(uint256) external view returns (IJobEscrow.Job memory one) {
        one.isFunded = isFunded;
    }

    function partOf(uint256 of_, uint32 number) external view returns (IJobEscrow.Part memory one) {
        if (of_ == job && number == 0) one = part;
    }

    // ----

    function setUp() public {
        vm.warp(1_800_000_000);
        toy = new ToyProofs();
        weights = new ToyWeights();
        plans = IZkPlans(deployCode("ZkPlans", ""));
        proofs = deploy(ISegmentProofs.Params(ANSWER, 3));
        (terms.customer, terms.program, terms.seed) = (CUSTOMER, keccak256("program"), "seed");
        (terms.segments, terms.parts, terms.method) = (SEGMENTS, 1, 3);
        bytes32 plan = plans.register(PlanKit.words(terms.program, 12));
        ordered = IZkJobs.Order(plan, "features", "labels", pointHash(1000), pointHash(1001), pointHash(1));
        for (uint256 i = 1; i <= SEGMENTS; i++) list.push(pointHash(i));
        job = numberOf(terms);
        (part.provider, part.attempt, part.state) = (ANNA, 1, IJobEscrow.PartState.Claimed);
        vm.deal(WATCHER, 1e18);
        leaf = new bytes(1024);
    }

    function deploy(ISegmentProofs.Params memory params) private returns (SegmentProofs) {
        return SegmentProofs(
            deployCode("SegmentProofs", abi.encode(address(this), address(this), toy, plans, weights, params))
        );
    }

    function numberOf(IJobEscrow.Terms memory some) private pure returns (uint256) {
        return uint256(keccak256(abi.encode(some)));
    }

    function point(uint256 which) private pure returns (bytes memory) {
        return abi.encode(which, which);
    }

    function pointHash(uint256 which) private pure returns (bytes32) {
        return keccak256(point(which));
    }

    function order() private {
        vm.prank(CUSTOMER);
        proofs.order(terms, ordered);
        isFunded = true;
    }

    function refused(bytes4 why, uint256 what) private {
        vm.expectRevert(abi.encodeWithSelector(why, what));
    }

    function book() private view returns (bytes32) {
        return keccak256(abi.encode(job, uint32(0), part.attempt, part.provider));
    }

    function disputed(uint64 segment) private view returns (ISegmentVerifier.Disputed memory) {
        return ISegmentVerifier.Disputed(ANNA, job, terms.seed, segment, "start", "end");
    }

    function statementOf(ISegmentVerifier.Disputed memory of_) private view returns (IZkVerifier.Statement memory) {
        uint256 named = uint256(keccak256(abi.encode(address(proofs), of_.job)));
        return IZkVerifier.Statement(named, of_.seed, 2 * (of_.segment - 1), "features", "labels", of_.start, of_.end);
    }

    /// A proof from one commitment to another, of data with these.
    function segmentOf(uint64 segment, uint256 before, uint256 after_, uint256 features, uint256 labels)
        private
        view
        returns (ISegmentProofs.Shown memory shown)
    {
        (shown.ordered, shown.list) = (ordered, list);
        shown.points = bytes.concat(point(features), point(labels), point(before), point(after_));
        shown.proof = toy.proofOf(ordered.plan, statementOf(disputed(segment)), shown.points);
    }

    function segmentOf(uint64 segment) private view returns (ISegmentProofs.Shown memory) {
        return segmentOf(segment, segment, segment + 1, 1000, 1001);
    }

    function clear(uint64 segment) private {
        assertTrue(proofs.verifySegment(disputed(segment), abi.encode(segmentOf(segment))), "as said");
    }

    // ---- Orders

    function refuseOrder(IJobEscrow.Terms memory some, IZkJobs.Order memory what) private {
        vm.prank(CUSTOMER);
        vm.expectRevert(ISegmentProofs.OrderInvalid.selector);
        proofs.order(some, what);
    }

    function test_anOrderIsItsCustomersAndComesBeforeTheMoney() public {
        refused(ISegmentProofs.OrderRefused.selector, job);
        proofs.order(terms, ordered);
        isFunded = true;
        vm.prank(CUSTOMER);
        refused(ISegmentProofs.OrderRefused.selector, job);
        proofs.order(terms, ordered);
        isFunded = false;
        order();
        assertTrue(proofs.isOrdered(job), "ordered");
        isFunded = false;
        vm.prank(CUSTOMER);
        refused(ISegmentProofs.OrderRefused.selector, job);
        proofs.order(terms, ordered);
    }

    function test_onlyOptimisticJobsOfOnePartWithAPlanOfTheirProgram() public {
        IJobEscrow.Terms memory some = terms;
        for (uint8 method = 1; method <= 5; method++) {
            some.method = method;
            if (method != 3) refuseOrder(some, ordered);
        }
        some = terms;
        some.parts = 2;
        refuseOrder(some, ordered);
        some.parts = 1;
        some.segments = 1;
        refuseOrder(some, ordered);
        some.segments = 4097;
        refuseOrder(some, ordered);
        some.segments = SEGMENTS;
        some.program = "another";
        refuseOrder(some, ordered);
        IZkJobs.Order memory unknown = ordered;
        unknown.plan = "none";
        vm.prank(CUSTOMER);
        vm.expectRevert();
        proofs.order(terms, unknown);
        some = terms;
        uint64[2] memory limits = [uint64(2), 4096];
        for (uint256 i = 0; i < 2; i++) {
            some.segments = limits[i];
            vm.prank(CUSTOMER);
            proofs.order(some, ordered);
        }
    }

    function test_parametersAreSome() public {
        vm.expectRevert(ISegmentProofs.ParamsInvalid.selector);
        this.deployWith(ISegmentProofs.Params(0, 3));
        vm.expectRevert(ISegmentProofs.ParamsInvalid.selector);
        this.deployWith(ISegmentProofs.Params(30 days + 1, 3));
        vm.expectRevert(ISegmentProofs.ParamsInvalid.selector);
        this.deployWith(ISegmentProofs.Params(ANSWER, 0));
        this.deployWith(ISegmentProofs.Params(30 days, 1));
        assertEq(proofs.params().gasPrice, 3);
    }

    function deployWith(ISegmentProofs.Params calldata params) external {
        deploy(params);
    }

    // ---- Lists

    function test_aListIsItsProvidersOwn() public {
        order();
        ISegmentProofs.Shown memory shown = segmentOf(2);
        ISegmentVerifier.Disputed memory of_ = disputed(2);
        of_.by = WATCHER;
        refused(ISegmentProofs.ListRefused.selector, job);
        proofs.verifySegment(of_, abi.encode(shown));
        // Whoever is not Disputes may say that it is the provider.
        vm.prank(ANNA);
        refused(ISegmentProofs.ListRefused.selector, job);
        proofs.verifySegment(disputed(2), abi.encode(shown));
        list.push("more");
        shown.list = list;
        refused(ISegmentProofs.ListRefused.selector, job);
        proofs.verifySegment(disputed(2), abi.encode(shown));
        list.pop();
        list[0] = "another start";
        shown.list = list;
        refused(ISegmentProofs.ListRefused.selector, job);
        proofs.verifySegment(disputed(2), abi.encode(shown));
        list[0] = pointHash(1);
        clear(2);
        assertEq(proofs.listOf(book()), keccak256(abi.encodePacked(list)));
        assertTrue(proofs.isLinked(book(), 2) && !proofs.isLinked(book(), 3), "linked");
        // Nor later: by a seed of its own choice a proof would link what was trained in another order.
        of_ = disputed(3);
        of_.seed = "another";
        bytes memory own = abi.encode(segmentOf(3));
        vm.prank(ANNA);
        refused(ISegmentProofs.ListRefused.selector, job);
        proofs.verifySegment(of_, own);
        // Said once; then anybody may bring proofs about it, through Disputes.
        list[4] = "another end";
        shown.list = list;
        refused(ISegmentProofs.ListMismatch.selector, job);
        proofs.verifySegment(disputed(2), abi.encode(shown));
        list[4] = pointHash(5);
        vm.prank(WATCHER);
        clear(3);
    }

    function test_anotherAttemptHasNoList() public {
        order();
        clear(2);
        part.attempt = 2;
        ISegmentVerifier.Disputed memory of_ = disputed(2);
        of_.by = WATCHER;
        ISegmentProofs.Shown memory shown = segmentOf(2);
        refused(ISegmentProofs.ListRefused.selector, job);
        proofs.verifySegment(of_, abi.encode(shown));
        part.state = IJobEscrow.PartState.Settled;
        refused(ISegmentProofs.ListState.selector, job);
        proofs.verifySegment(disputed(2), abi.encode(shown));
    }

    // ---- Segments

    function refuseSegment(ISegmentVerifier.Disputed memory of_, ISegmentProofs.Shown memory shown, bytes4 why) private {
        vm.expectRevert(why);
        proofs.verifySegment(of_, abi.encode(shown));
    }

    function test_aProofIsOfThisJobSegmentSeedStatesAndContract() public {
        order();
        clear(2);
        ISegmentProofs.Shown memory shown = segmentOf(2);
        ISegmentVerifier.Disputed memory of_ = disputed(2);
        of_.seed = "another";
        refuseSegment(of_, shown, ToyProofs.ToyFalse.selector);
        of_ = disputed(2);
        of_.start = "another";
        refuseSegment(of_, shown, ToyProofs.ToyFalse.selector);
        of_ = disputed(2);
        of_.end = "another";
        refuseSegment(of_, shown, ToyProofs.ToyFalse.selector);
        refuseSegment(disputed(3), shown, ToyProofs.ToyFalse.selector);
        vm.chainId(7);
        refuseSegment(disputed(2), shown, ToyProofs.ToyFalse.selector);
        for (uint64 segment = 0; segment < 7; segment += 5) {
            of_ = disputed(segment);
            refused(ISegmentProofs.SegmentRefused.selector, segment);
            proofs.verifySegment(of_, abi.encode(shown));
        }
        shown.ordered.labels = "other labels";
        refused(ISegmentProofs.OrderMismatch.selector, job);
        proofs.verifySegment(disputed(2), abi.encode(shown));
        vm.expectRevert();
        proofs.verifySegment(disputed(2), "");
    }

    function test_aProofIsOfTheOrdersDataAndFromTheListsWeights() public {
        order();
        clear(1);
        refuseSegment(disputed(2), segmentOf(2, 2, 3, 999, 1001), ISegmentProofs.PointsMismatch.selector);
        refuseSegment(disputed(2), segmentOf(2, 2, 3, 1000, 999), ISegmentProofs.PointsMismatch.selector);
        refuseSegment(disputed(2), segmentOf(2, 3, 3, 1000, 1001), ISegmentProofs.PointsMismatch.selector);
        clear(2);
    }

    function test_aSegmentThatEndsElsewhereConvictsWhereItsCommitmentsAreBare() public {
        order();
        clear(1);
        ISegmentProofs.Shown memory shown = segmentOf(2, 2, 77, 1000, 1001);
        refuseSegment(disputed(2), shown, ToyWeights.ToyFalse.selector);
        // Three inputs in four columns, two outputs: eight places, in commitments of 2^12.
        shown.bare = weights.bareOf(12, point(77), 8);
        assertTrue(!proofs.verifySegment(disputed(2), abi.encode(shown)), "elsewhere");
        assertTrue(!proofs.isLinked(book(), 2), "not linked");
    }

    // ---- Weights

    /// The end of segment 4 with these bytes in its only weight tensor.
    function weightOf(uint256 place, uint256 value)
        private
        view
        returns (ISegmentVerifier.Disputed memory of_, ISegmentProofs.Shown memory shown)
    {
        of_ = disputed(4);
        (shown.kind, shown.ordered, shown.list, shown.points) = (ISegmentProofs.Kind.Weight, ordered, list, point(5));
        bytes32 tag = TaggedTree.LEAF_TAG;
        bytes32 root = sha256(abi.encodePacked(tag, tag, leaf));
        // A tree of one: its number in the program is 3.
        shown.weight.states = keccak256(abi.encodePacked(bytes1(0x00), uint16(3), root));
        of_.end = keccak256(abi.encodePacked(bytes1(0x04), uint64(5), shown.weight.states, bytes32(0)));
        (shown.weight.place, shown.weight.value) = (place, value);
        shown.weight.shown = new TwinValues.Shown[](1);
        shown.weight.shown[0].leaf = leaf;
        shown.proof = weights.openingOf(12, point(5), place, value);
    }

    function setWeight(uint256 element, int32 value) private {
        bytes4 bytes_ = bytes4(uint32(value));
        for (uint256 i = 0; i < 4; i++) leaf[4 * element + i] = bytes_[3 - i];
    }

    function refuseWeight(ISegmentVerifier.Disputed memory of_, ISegmentProofs.Shown memory shown, bytes4 why) private {
        vm.expectRevert(why);
        proofs.verifySegment(of_, abi.encode(shown));
    }

    function test_aWeightThatTheCommitmentHasOtherwiseConvicts() public {
        order();
        clear(1);
        // Row 1, column 2 of rows of three, in columns of four.
        setWeight(5, -9);
        (ISegmentVerifier.Disputed memory of_, ISegmentProofs.Shown memory shown) = weightOf(6, 8);
        assertTrue(!proofs.verifySegment(of_, abi.encode(shown)), "another");
        (of_, shown) = weightOf(6, 0x30644e72e131a029b85045b68181585d2833e84879b9709143e1f593f0000001 - 9);
        refuseWeight(of_, shown, ISegmentProofs.NothingShown.selector);
        setWeight(5, 9);
        assertTrue(!proofs.verifySegment(of_, abi.encode(withState(of_, shown))), "the other sign");
        (of_, shown) = weightOf(6, 9);
        refuseWeight(of_, shown, ISegmentProofs.NothingShown.selector);
    }

    /// The same, with the state of what the leaf has now.
    function withState(ISegmentVerifier.Disputed memory of_, ISegmentProofs.Shown memory shown)
        private
        view
        returns (ISegmentProofs.Shown memory)
    {
        (ISegmentVerifier.Disputed memory other, ISegmentProofs.Shown memory now_) = weightOf(6, 9);
        (of_.end, shown.weight.states, shown.weight.shown) = (other.end, now_.weight.states, now_.weight.shown);
        return shown;
    }

    function test_aWeightIsOfTheListTheStateAndThePlan() public {
        order();
        clear(1);
        (ISegmentVerifier.Disputed memory of_, ISegmentProofs.Shown memory shown) = weightOf(6, 8);
        shown.points = point(6);
        refuseWeight(of_, shown, ISegmentProofs.PointsMismatch.selector);
        (of_, shown) = weightOf(6, 8);
        shown.weight.states = "another";
        refuseWeight(of_, shown, ISegmentProofs.PointsMismatch.selector);
        (of_, shown) = weightOf(6, 8);
        shown.weight.results = "some";
        refuseWeight(of_, shown, ISegmentProofs.PointsMismatch.selector);
        (of_, shown) = weightOf(6, 8);
        of_.segment = 3;
        refuseWeight(of_, shown, ISegmentProofs.PointsMismatch.selector);
        // Behind the last weight nothing stands in a state.
        (of_, shown) = weightOf(8, 8);
        shown.weight.shown = new TwinValues.Shown[](0);
        refuseWeight(of_, shown, ISegmentProofs.PointsMismatch.selector);
        (of_, shown) = weightOf(6, 8);
        shown.weight.value = 7;
        refuseWeight(of_, shown, ToyWeights.ToyFalse.selector);
        (of_, shown) = weightOf(6, 8);
        shown.weight.shown[0].leaf[0] = 0x01;
        refuseWeight(of_, shown, TwinValues.ShownMismatch.selector);
        // A place between rows is 0 in both.
        (of_, shown) = weightOf(3, 0);
        shown.weight.shown = new TwinValues.Shown[](0);
        refuseWeight(of_, shown, ISegmentProofs.NothingShown.selector);
    }

    // ---- Demands

    function demand(uint64 segment, uint256 coins) private {
        vm.prank(WATCHER);
        proofs.demand{value: coins}(job, segment);
    }

    function silenceOf() private view returns (bytes memory) {
        ISegmentProofs.Shown memory shown;
        (shown.kind, shown.ordered) = (ISegmentProofs.Kind.Silence, ordered);
        return abi.encode(shown);
    }

    function test_whoSaysAListProvesWhatIsDemandedOrFalls() public {
        order();
        uint256 deposit = proofs.deposit();
        assertEq(deposit, 3 * 1_300_000);
        refused(ISegmentProofs.ListState.selector, job);
        this.demandAs(2, deposit);
        clear(1);
        refused(ISegmentProofs.SegmentRefused.selector, 0);
        this.demandAs(0, deposit);
        refused(ISegmentProofs.SegmentRefused.selector, SEGMENTS);
        this.demandAs(SEGMENTS, deposit);
        refused(ISegmentProofs.SegmentRefused.selector, 1);
        this.demandAs(1, deposit);
        refused(ISegmentProofs.CoinsWrong.selector, deposit);
        this.demandAs(2, deposit - 1);
        refused(ISegmentProofs.SegmentRefused.selector, 2);
        proofs.verifySegment(disputed(2), silenceOf());
        demand(2, deposit);
        refused(ISegmentProofs.SegmentRefused.selector, 2);
        this.demandAs(2, deposit);
        demand(3, deposit);
        uint256 until = block.timestamp + ANSWER;
        assertEq(proofs.demandOf(book(), 3).deadline, until);
        refused(ISegmentProofs.WrongTime.selector, until);
        proofs.settleDemand(book(), 2);
        vm.warp(until);
        refused(ISegmentProofs.WrongTime.selector, until);
        proofs.settleDemand(book(), 2);
        refused(ISegmentProofs.WrongTime.selector, until);
        proofs.verifySegment(disputed(3), silenceOf());
        clear(2);
        assertEq(proofs.owedTo(ANNA), deposit);
        vm.warp(until + 1);
        refused(ISegmentProofs.SegmentRefused.selector, 2);
        proofs.verifySegment(disputed(2), silenceOf());
        assertTrue(!proofs.verifySegment(disputed(3), silenceOf()), "silent");
        proofs.settleDemand(book(), 3);
        vm.expectRevert(ISegmentProofs.NothingPaid.selector);
        proofs.settleDemand(book(), 3);
        vm.expectRevert(ISegmentProofs.NothingPaid.selector);
        proofs.settleDemand(book(), 2);
        vm.expectRevert(ISegmentProofs.NothingPaid.selector);
        proofs.settleDemand(book(), 4);
        // A proof that comes late is still one, and nobody is paid twice.
        clear(3);
        assertEq(proofs.owedTo(ANNA), deposit);
        assertEq(proofs.owedTo(WATCHER), deposit);
        assertEq(address(proofs).balance, 2 * deposit);
        // Where it does not arrive it is still owed.
        vm.prank(WATCHER);
        vm.expectRevert(ISegmentProofs.NothingPaid.selector);
        proofs.collect(payable(address(plans)));
        vm.prank(WATCHER);
        proofs.collect(payable(address(0xF00)));
        assertEq(address(0xF00).balance, deposit);
        vm.prank(WATCHER);
        vm.expectRevert(ISegmentProofs.NothingPaid.selector);
        proofs.collect(payable(WATCHER));
    }

    function demandAs(uint64 segment, uint256 coins) external {
        vm.deal(address(this), coins);
        proofs.demand{value: coins}(job, segment);
    }

    function test_aFloodOfDemandsGivesMoreTime() public {
        (terms.segments, isFunded) = (400, false);
        job = numberOf(terms);
        for (uint256 i = SEGMENTS + 1; i <= 400; i++) list.push(pointHash(i));
        order();
        clear(1);
        uint256 deposit = proofs.deposit();
        for (uint64 i = 2; i < 170; i++) {
            demand(i, deposit);
            uint256 more = (i - 2) / 16;
            assertEq(proofs.demandOf(book(), i).deadline, block.timestamp + ANSWER * (1 + (more < 8 ? more : 8)));
        }
        for (uint64 i = 2; i < 170; i++) clear(i);
        demand(170, deposit);
        assertEq(proofs.demandOf(book(), 170).deadline, block.timestamp + ANSWER);
    }

    function test_aClaimThatIsOverIsAskedNothing() public {
        order();
        clear(1);
        part.state = IJobEscrow.PartState.Open;
        uint256 deposit = proofs.deposit();
        refused(ISegmentProofs.ListState.selector, job);
        this.demandAs(2, deposit);
    }
}
