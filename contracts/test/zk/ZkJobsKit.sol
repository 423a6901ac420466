// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {IZkJobs} from "../../src/zk/IZkJobs.sol";
import {IZkPlans} from "../../src/zk/IZkPlans.sol";
import {IZkVerifier} from "../../src/zk/IZkVerifier.sol";
import {TwinTree} from "../../src/zk/TwinTree.sol";
import {ZkJobs} from "../../src/zk/ZkJobs.sol";
import {WeightJudge} from "../../src/zk/hybrid/WeightJudge.sol";
import {TreeKit} from "../TreeKit.sol";
import {JobKit} from "../jobs/JobKit.sol";
import {PlanKit} from "./PlanKit.sol";

/// In the place of ZkVerifier, of TwinPosts and of WeightJudge: a proof is the hash of what it proves, a tree
/// stands when it is told to, and a commitment is bare below a million.
contract ToyProofs is IZkVerifier {
    error ToyFalse();

    uint256 public longest = 1 days;
    mapping(bytes32 number => bool) public isStanding;
    mapping(bytes32 number => uint40) private untils;

    function proofOf(bytes32 plan, Statement memory statement, bytes memory points) public view returns (bytes memory) {
        return abi.encode(keccak256(abi.encode(block.chainid, plan, statement, points)));
    }

    function mustHold(bytes32 plan, Statement calldata statement, bytes calldata points, bytes calldata proof)
        external
        view
        returns (uint256 steps, bytes32[4] memory hashes)
    {
        if (keccak256(proof) != keccak256(proofOf(plan, statement, points))) revert ToyFalse();
        for (uint256 i = 0; i < 4; i++) hashes[i] = keccak256(points[64 * i:64 * i + 64]);
        return (2, hashes);
    }

    function bareOf(bytes memory points) public pure returns (bytes memory) {
        // The plan's chunks and the places of its weights: docs of PlanKit.
        return abi.encode(keccak256(abi.encode(12, points, 8)));
    }

    function mustBeBare(uint256 chunkBits, bytes calldata points, uint256 count, bytes calldata proof) external pure {
        bool isBare = keccak256(proof) == keccak256(abi.encode(keccak256(abi.encode(chunkBits, points, count))));
        for (uint256 i = 0; i < points.length; i += 64) {
            if (!isBare || uint256(bytes32(points[i:i + 32])) >= 1_000_000) revert WeightJudge.BareFalse();
        }
    }

    function setLongest(uint256 seconds_) external {
        longest = seconds_;
    }

    function stand(address poster, ITwinPosts.Tree calldata tree, bool does) external {
        postedAt(poster, tree, block.timestamp);
        isStanding[numberOf(poster, tree)] = does;
    }

    function postedAt(address poster, ITwinPosts.Tree calldata tree, uint256 time) public {
        untils[numberOf(poster, tree)] = uint40(time + 100);
    }

    function params() external pure returns (ITwinPosts.Params memory) {
        return ITwinPosts.Params(100, 1, 1, 1, 1);
    }

    function postOf(bytes32 number) external view returns (ITwinPosts.Post memory one) {
        one.until = untils[number];
    }

    function numberOf(address poster, ITwinPosts.Tree calldata tree) public pure returns (bytes32) {
        return keccak256(abi.encode(poster, tree));
    }

    function pointsOf(ITwinPosts.Tree calldata tree) external pure returns (bytes32) {
        return keccak256(abi.encode(tree.tops[0].x, tree.tops[0].y));
    }
}

/// A zk job of seven segments in three parts. The honest weights before segment j have the commitment j; the
/// data have 1000 and 1001.
abstract contract ZkJobsKit is JobKit {
    address internal constant CARL = address(0xCA);

    ToyProofs internal toy;
    IZkPlans internal plans;
    ZkJobs internal zk;
    bytes32 internal plan;
    IZkJobs.Order internal ordered;
    /// Commitments that the segments of a part end with, as they were listed last.
    mapping(uint32 part => uint256[]) internal listed;
    address private predicted;

    function proofsOf() internal view override returns (address) {
        return predicted;
    }

    /// An exact MLP has no results.
    function resultsAt(uint64, string memory) internal pure override returns (bytes32) {
        return 0;
    }

    function deployZkJobs() internal {
        toy = new ToyProofs();
        plans = IZkPlans(deployCode("ZkPlans", ""));
        plan = plans.register(PlanKit.words(keccak256("program"), 12));
        // The token, the escrow, then this.
        predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 2);
        deployJobs();
        zk = ZkJobs(deployCode("ZkJobs", abi.encode(escrow, toy, plans, toy, toy)));
        assertEq(address(zk), predicted);
        bytes32 start = keccak256(point(1));
        ordered = IZkJobs.Order(plan, "features", "labels", keccak256(point(1000)), keccak256(point(1001)), start);
    }

    function fundAndOrder() internal {
        (terms.method, terms.startBy) = (5, uint64(block.timestamp) + 10 days);
        job = idOf(terms);
        fund();
        vm.prank(CUSTOMER);
        zk.order(terms, ordered);
    }

    function point(uint256 which) internal pure returns (bytes memory) {
        return abi.encode(which, which);
    }

    function stateOf(uint64 segment, string memory way) internal pure returns (bytes32) {
        return stateAt(segment, way);
    }

    /// Statements count two steps a segment.
    function statementOf(address prover, IZkJobs.Segment memory one) internal view returns (IZkVerifier.Statement memory) {
        return IZkVerifier.Statement(
            zk.proverJob(job, prover),
            terms.seed,
            one.number == 0 ? 0 : 2 * (one.number - 1),
            "features",
            "labels",
            one.stateBefore,
            one.stateAfter
        );
    }

    /// From one commitment to another; what states are called counts for nothing.
    function segmentOf(address prover, uint64 number, uint256 before, uint256 after_)
        internal
        view
        returns (IZkJobs.Segment memory one)
    {
        one.number = number;
        (one.stateBefore, one.stateAfter) = ("before", "after");
        one.points = bytes.concat(point(1000), point(1001), point(before), point(after_));
        one.proof = toy.proofOf(plan, statementOf(prover, one), one.points);
    }

    function submit(address prover, uint64 number, uint256 before, uint256 after_) internal {
        IZkJobs.Segment memory one = segmentOf(prover, number, before, after_);
        bytes32[] memory path = pathOf(number);
        vm.prank(prover);
        zk.submit(terms, ordered, one, path);
    }

    /// First segment with steps of a part.
    function firstOf(uint32 number) internal pure returns (uint64) {
        return number == 0 ? 1 : 3 * uint64(number);
    }

    /// To the list that its part has, of a segment that it may not have.
    function pathOf(uint64 number) internal view returns (bytes32[] memory path) {
        uint32 which = uint32(number / 3);
        uint256 count = listed[which].length;
        if (number < firstOf(which) || number - firstOf(which) >= count) return path;
        bytes32[] memory leaves = new bytes32[](count);
        for (uint256 i = 0; i < count; i++) leaves[i] = keccak256(point(listed[which][i]));
        (, path) = TreeKit.climb(leaves, number - firstOf(which));
    }

    /// What the part's segments end with. `blinded` j: what segment j ends with has another commitment to the
    /// same weights.
    function endsOf(uint32 number, uint64 blinded) internal returns (bytes memory points) {
        delete listed[number];
        uint64 end = number == 2 ? 7 : 3 * (number + 1);
        for (uint64 i = firstOf(number); i < end; i++) {
            listed[number].push(i == blinded ? blind(i + 1) : i + 1);
            points = bytes.concat(points, point(listed[number][listed[number].length - 1]));
        }
    }

    function blind(uint256 which) internal pure returns (uint256) {
        return 1_000_000 + which;
    }

    function listPart(uint32 number, uint64 blinded) internal {
        bytes memory points = endsOf(number, blinded);
        bytes memory bare = toy.bareOf(points);
        address provider = part(number).provider;
        vm.prank(provider);
        zk.list(terms, ordered, number, points, bare);
    }

    /// With the list of the right weights.
    function claimPart(uint32 number, address provider, string memory way) internal {
        assign(number, provider);
        claim(number, "", way);
        listPart(number, 0);
    }

    function treeFor(uint64 segment, uint256 points, string memory way) internal view returns (ITwinPosts.Tree memory tree) {
        (tree.scope, tree.plan, tree.segment) = (job, plan, segment);
        tree.states = keccak256(abi.encode("states", segment, way));
        tree.tops = new TwinTree.Node[](1);
        tree.tops[0] = TwinTree.Node("tree", points, points);
    }

    /// The part's claim, and the tree of a state that it may end with.
    function endOf(uint32 number, uint256 points, string memory way)
        internal
        view
        returns (bytes32 claimed, ITwinPosts.Tree memory tree)
    {
        (, claimed,) = claimFor(number, "", way);
        tree = treeFor(number == 2 ? 7 : 3 * (number + 1), points, way);
    }

    function conclude(uint32 number, uint256 points, string memory way, bool isExpected) internal {
        (bytes32 claimed, ITwinPosts.Tree memory tree) = endOf(number, points, way);
        toy.stand(address(this), tree, true);
        if (!isExpected) vm.expectRevert(IZkJobs.EndMismatch.selector);
        zk.conclude(terms, ordered, number, claimed, address(this), tree);
        toy.stand(address(this), tree, false);
    }
}
