// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {ITwinPosts} from "../../src/zk/ITwinPosts.sol";
import {IZkJobs} from "../../src/zk/IZkJobs.sol";
import {ZkJobs} from "../../src/zk/ZkJobs.sol";
import {WeightJudge} from "../../src/zk/hybrid/WeightJudge.sol";
import {PlanKit} from "./PlanKit.sol";
import {ToyProofs, ZkJobsKit} from "./ZkJobsKit.sol";

/// Jobs that are paid by proof, with the real escrow and a toy verifier whose proof is the hash of what it
/// proves. Who lies, and who gains by it.
contract ZkJobsTest is ZkJobsKit {
    function setUp() public {
        deployZkJobs();
        fundAndOrder();
    }

    function refuse(bytes4 why, uint256 what) private {
        vm.expectRevert(abi.encodeWithSelector(why, what));
    }

    function refuseSubmit(address prover, uint64 number, uint256 before, uint256 after_, bytes memory why) private {
        IZkJobs.Segment memory one = segmentOf(prover, number, before, after_);
        bytes32[] memory path = pathOf(number);
        vm.prank(prover);
        vm.expectRevert(why);
        zk.submit(terms, ordered, one, path);
    }

    function test_aJobIsTrainedByOneProvenByTwoAndPaid() public {
        claimPart(0, ANNA, "");
        // Part 0 has segments 0 to 2; 1 and 2 have steps. The second one comes first, and waits.
        submit(BERT, 2, 2, 3);
        assertEq(escrow.owedTo(BERT), 0);
        submit(CARL, 1, 1, 2);
        assertEq(escrow.owedTo(BERT), 150);
        assertEq(escrow.owedTo(CARL), 150);
        assertEq(zk.headOf(job).next, 3);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Unproven.selector, 0));
        escrow.settle(terms, 0);
        conclude(0, 3, "", true);
        // No window, and no validator's word.
        escrow.settle(terms, 0);
        assertEq(escrow.owedTo(ANNA), 1000);
        claimPart(1, BERT, "");
        for (uint64 i = 3; i < 6; i++) submit(CARL, i, i, i + 1);
        assertEq(escrow.owedTo(CARL), 150 + 300);
        conclude(1, 6, "", true);
        escrow.settle(terms, 1);
        claimPart(2, ANNA, "");
        submit(BERT, 6, 6, 7);
        conclude(2, 7, "", true);
        escrow.settle(terms, 2);
        escrow.share(terms);
        assertEq(escrow.owedTo(ANNA), 2000);
        assertEq(escrow.owedTo(BERT), 1000 + 150 + 300);
        assertEq(escrow.owedTo(CUSTOMER), 0);
    }

    /// Worker: one wrong step, so its end is not what the proofs end with.
    function test_aWorkerWithOneWrongStepIsNeverPaid() public {
        claimPart(0, ANNA, "wrong");
        submit(CARL, 1, 1, 2);
        submit(CARL, 2, 2, 3);
        // Its own true tree: other points than the proofs'. A tree of the right points does not stand for
        // these bytes, and another state was not claimed.
        (bytes32 claimed, ITwinPosts.Tree memory tree) = endOf(0, 99, "wrong");
        toy.stand(address(this), tree, true);
        vm.expectRevert(IZkJobs.EndMismatch.selector);
        zk.conclude(terms, ordered, 0, claimed, address(this), tree);
        (, tree) = endOf(0, 3, "wrong");
        vm.expectRevert(IZkJobs.EndMismatch.selector);
        zk.conclude(terms, ordered, 0, claimed, address(this), tree);
        (, tree) = endOf(0, 3, "");
        toy.stand(address(this), tree, true);
        vm.expectRevert(IZkJobs.EndMismatch.selector);
        zk.conclude(terms, ordered, 0, claimed, address(this), tree);
        later(WINDOW + 1);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Unproven.selector, 0));
        escrow.settle(terms, 0);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.TooEarly.selector, block.timestamp - 1 + WINDOW));
        escrow.expire(terms, 0);
        later(WINDOW);
        escrow.expire(terms, 0);
        mustBeIn(0, IJobEscrow.PartState.Open);
        assertEq(escrow.owedTo(ANNA), 0);
        // Whoever does it right next has nothing left to prove, and nobody is paid twice for proofs.
        claimPart(0, BERT, "");
        refuseSubmit(CARL, 2, 2, 3, abi.encodeWithSelector(IZkJobs.SegmentRefused.selector, 2));
        conclude(0, 3, "", true);
        escrow.settle(terms, 0);
        assertEq(escrow.owedTo(BERT), 1000);
        assertEq(escrow.owedTo(CARL), 300);
    }

    /// Worker and prover together: a true segment from weights that are not the job's is worth nothing.
    function test_onlyWhatFollowsFromTheCustomersStartIsPaid() public {
        claimPart(0, ANNA, "wrong");
        refuseSubmit(CARL, 1, 50, 51, abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        refuseSubmit(CARL, 1, 50, 2, abi.encodeWithSelector(IZkJobs.PointsMismatch.selector));
        // It may wait for ever: what it begins with are other commitments, though it ends as the list says.
        submit(CARL, 2, 51, 3);
        submit(BERT, 1, 1, 2);
        assertEq(escrow.owedTo(CARL), 0);
        refuse(IZkJobs.NothingWaits.selector, job);
        zk.advance(terms, 5);
        submit(BERT, 2, 2, 3);
        assertEq(escrow.owedTo(BERT), 300);
        assertEq(escrow.owedTo(CARL), 0);
    }

    function test_nobodyUsesAnothersProof() public {
        claimPart(0, ANNA, "");
        IZkJobs.Segment memory stolen = segmentOf(CARL, 1, 1, 2);
        bytes32[] memory path = pathOf(1);
        vm.prank(STRANGER);
        vm.expectRevert(ToyProofs.ToyFalse.selector);
        zk.submit(terms, ordered, stolen, path);
        vm.prank(CARL);
        zk.submit(terms, ordered, stolen, path);
        vm.prank(CARL);
        refuse(IZkJobs.SegmentRefused.selector, 1);
        zk.submit(terms, ordered, stolen, path);
        // Nor for another job, or on another chain, or through another contract.
        assertTrue(zk.proverJob(job, CARL) != zk.proverJob(job + 1, CARL), "job");
        assertTrue(zk.proverJob(job, CARL) != zk.proverJob(job, BERT), "prover");
        ZkJobs other = ZkJobs(deployCode("ZkJobs", abi.encode(escrow, toy, plans, toy, toy)));
        assertTrue(zk.proverJob(job, CARL) != other.proverJob(job, CARL), "contract");
        refuse(IZkJobs.OrderMismatch.selector, job);
        other.submit(terms, ordered, stolen, path);
    }

    function test_aProofOfOtherDataOrAnotherStepIsRefused() public {
        claimPart(0, ANNA, "");
        bytes32[] memory path = pathOf(1);
        for (uint256 how = 0; how < 5; how++) {
            IZkJobs.Segment memory one = segmentOf(CARL, 1, 1, 2);
            if (how == 0) one.points = bytes.concat(point(77), point(1001), point(1), point(2));
            if (how == 1) one.points = bytes.concat(point(1000), point(77), point(1), point(2));
            if (how == 2) one.number = 2;
            if (how == 3) one.proof = "false";
            if (how == 4) one.number = 0;
            // About these points it is proven well.
            if (how < 2) one.proof = toy.proofOf(plan, statementOf(CARL, one), one.points);
            vm.prank(CARL);
            vm.expectRevert(
                how < 2
                    ? abi.encodeWithSelector(IZkJobs.PointsMismatch.selector)
                    : how == 4
                        ? abi.encodeWithSelector(IZkJobs.SegmentRefused.selector, 0)
                        : abi.encodeWithSelector(ToyProofs.ToyFalse.selector)
            );
            zk.submit(terms, ordered, one, path);
        }
        IZkJobs.Order memory other = ordered;
        other.startPoints = keccak256(point(2));
        IZkJobs.Segment memory good = segmentOf(CARL, 1, 1, 2);
        refuse(IZkJobs.OrderMismatch.selector, job);
        zk.submit(terms, other, good, path);
        refuseSubmit(CARL, 7, 7, 8, abi.encodeWithSelector(IZkJobs.SegmentRefused.selector, 7));
    }

    /// Without a claim and its list nothing is taken, and what comes early waits for the segments before it.
    function test_proofsComeAfterTheListAndWaitForThoseBefore() public {
        refuseSubmit(CARL, 1, 1, 2, abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        assign(0, ANNA);
        claim(0, "", "");
        refuseSubmit(CARL, 1, 1, 2, abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        refuse(IZkJobs.NothingWaits.selector, job);
        zk.advance(terms, 5);
        listPart(0, 0);
        submit(BERT, 2, 2, 3);
        // Who proves again what waits takes nothing from whoever was first.
        refuseSubmit(CARL, 2, 2, 3, abi.encodeWithSelector(IZkJobs.SegmentRefused.selector, 2));
        assertEq(zk.waitingAt(job, 2, bytes28(keccak256(point(2)))).prover, BERT);
        // The next part is claimed by the same, and its proofs wait for the end of this one.
        claimPart(1, ANNA, "");
        assertEq(zk.headOf(job).next, 1);
        submit(CARL, 3, 3, 4);
        submit(CARL, 5, 5, 6);
        refuse(IZkJobs.NothingWaits.selector, job);
        zk.advance(terms, 5);
        submit(CARL, 1, 1, 2);
        assertEq(escrow.owedTo(CARL) + escrow.owedTo(BERT), 300);
        refuseSubmit(BERT, 3, 3, 4, abi.encodeWithSelector(IZkJobs.SegmentRefused.selector, 3));
        zk.advance(terms, 1);
        assertEq(zk.headOf(job).next, 4);
        assertEq(escrow.owedTo(CARL), 250);
        submit(BERT, 4, 4, 5);
        assertEq(escrow.owedTo(CARL) + escrow.owedTo(BERT), 600);
    }

    // ---- Lists

    function refuseList(address by, IJobEscrow.Terms memory agreed, bytes memory points, bytes memory why) private {
        bytes memory bare = toy.bareOf(points);
        vm.prank(by);
        vm.expectRevert(why);
        zk.list(agreed, ordered, 0, points, bare);
    }

    function test_theWorkerAloneListsOnceAnAttempt() public {
        bytes memory ends = endsOf(0, 0);
        bytes memory why = abi.encodeWithSelector(IZkJobs.ListRefused.selector, job, 0);
        // Before the part is assigned, and before it is claimed.
        refuseList(ANNA, terms, ends, why);
        assign(0, ANNA);
        refuseList(ANNA, terms, ends, why);
        claim(0, "", "");
        address[3] memory strangers = [CUSTOMER, CARL, BERT];
        for (uint256 i = 0; i < 3; i++) refuseList(strangers[i], terms, ends, why);
        bytes[4] memory wrong = [bytes(""), bytes.concat(ends, point(4)), bytes.concat(ends, hex"00"), point(2)];
        for (uint256 i = 0; i < 4; i++) refuseList(ANNA, terms, wrong[i], why);
        // Of a job with other terms, which nobody claimed.
        IJobEscrow.Terms memory other = terms;
        other.salt = "other";
        refuseList(ANNA, other, ends, abi.encodeWithSelector(IZkJobs.ListRefused.selector, idOf(other), 0));
        // Of another plan, in which weights stand elsewhere.
        ordered.plan = plans.register(PlanKit.words(keccak256("program"), 14));
        refuseList(ANNA, terms, ends, abi.encodeWithSelector(IZkJobs.OrderMismatch.selector, job));
        ordered.plan = plan;
        listPart(0, 0);
        assertTrue(zk.listOf(job, 0, 1) != 0 && zk.listOf(job, 0, 2) == 0, "attempt");
        refuseList(ANNA, terms, ends, why);
    }

    /// Customer: a part whose list no block has room for.
    function test_aPartCanBeListed() public {
        uint64[2] memory most = [uint64(1024), 1025];
        for (uint256 i = 0; i < 2; i++) {
            terms = someTerms("long");
            (terms.method, terms.segments, terms.parts) = (5, 2 * most[i], 2);
            job = idOf(terms);
            fund();
            if (i == 1) vm.expectRevert(IZkJobs.OrderInvalid.selector);
            vm.prank(CUSTOMER);
            zk.order(terms, ordered);
        }
    }

    /// Prover: right weights under commitments that it alone can go on from. It would have kept everybody
    /// from proving the rest, for the gas of one proof.
    function test_aProverDoesNotChooseWhatASegmentEndsWith() public {
        claimPart(0, ANNA, "");
        refuseSubmit(CARL, 1, 1, blind(2), abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        // Nor does one that comes early take the place of another.
        refuseSubmit(CARL, 2, 2, blind(3), abi.encodeWithSelector(IZkJobs.NotListed.selector, 2));
        submit(CARL, 2, blind(2), 3);
        submit(BERT, 2, 2, 3);
        submit(BERT, 1, 1, 2);
        assertEq(escrow.owedTo(BERT), 300);
        assertEq(escrow.owedTo(CARL), 0);
        conclude(0, 3, "", true);
    }

    /// What is listed of one segment says nothing of another, nor with another path.
    function test_aListIsOfPlaces() public {
        assign(0, ANNA);
        claim(0, "", "");
        listPart(0, 0);
        refuseSubmit(CARL, 1, 1, 3, abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        IZkJobs.Segment memory one = segmentOf(CARL, 1, 1, 2);
        bytes32[][3] memory wrong = [new bytes32[](0), pathOf(2), new bytes32[](2)];
        wrong[2][0] = pathOf(1)[0];
        for (uint256 i = 0; i < 3; i++) {
            vm.prank(CARL);
            vm.expectRevert(abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
            zk.submit(terms, ordered, one, wrong[i]);
        }
        submit(CARL, 1, 1, 2);
    }

    function fall(uint32 number) private {
        later(2 * uint256(WINDOW) + 2);
        escrow.expire(terms, number);
    }

    /// Worker and prover together: a list of commitments that they alone can go on from, in the middle or at
    /// the end. They would have had the provers' pay of the part for proofs that are of no use to anybody
    /// else, and it would have been missing to whoever proves the part next.
    function test_whatIsListedIsBare() public {
        assign(0, ANNA);
        claim(0, "", "");
        for (uint64 blinded = 1; blinded < 3; blinded++) {
            refuseList(ANNA, terms, endsOf(0, blinded), abi.encodeWithSelector(WeightJudge.BareFalse.selector));
        }
        bytes memory points = endsOf(0, 0);
        bytes memory other = toy.bareOf(point(2));
        vm.prank(ANNA);
        vm.expectRevert(WeightJudge.BareFalse.selector);
        zk.list(terms, ordered, 0, points, other);
        refuseSubmit(CARL, 1, 1, blind(2), abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        fall(0);
        claimPart(0, BERT, "");
        submit(CARL, 1, 1, 2);
        submit(CARL, 2, 2, 3);
        assertEq(escrow.owedTo(CARL), 300);
        conclude(0, 3, "", true);
        escrow.settle(terms, 0);
    }

    /// What is proven is of use to whoever comes next, whatever becomes of the claim and whatever others
    /// list: a proof that waits too.
    function test_whatIsProvenStaysProven() public {
        claimPart(0, ANNA, "wrong");
        submit(CARL, 2, 2, 3);
        fall(0);
        refuseSubmit(CARL, 1, 1, 2, abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        // Bare, and of other weights: nobody proves that segment 1 ends so.
        assign(0, BERT);
        claim(0, "", "wrong");
        bytes memory points = bytes.concat(point(77), point(78));
        bytes memory bare = toy.bareOf(points);
        vm.prank(BERT);
        zk.list(terms, ordered, 0, points, bare);
        refuseSubmit(CARL, 1, 1, 2, abi.encodeWithSelector(IZkJobs.NotListed.selector, 1));
        fall(0);
        claimPart(0, ANNA, "");
        submit(STRANGER, 1, 1, 2);
        assertEq(escrow.owedTo(CARL), 150);
        assertEq(escrow.owedTo(STRANGER), 150);
        assertEq(zk.endOf(job, 0), keccak256(point(3)));
        conclude(0, 3, "", true);
    }

    /// Of a part that nobody has claimed nothing is paid, though its proofs wait where the head is.
    function test_proofsOfAPartThatFellWaitForItsNextClaim() public {
        claimPart(0, ANNA, "");
        claimPart(1, ANNA, "");
        submit(CARL, 3, 3, 4);
        fall(0);
        escrow.expire(terms, 1);
        claimPart(0, BERT, "");
        submit(BERT, 1, 1, 2);
        submit(BERT, 2, 2, 3);
        assertEq(zk.headOf(job).next, 3);
        refuse(IZkJobs.NothingWaits.selector, job);
        zk.advance(terms, 5);
        // Claimed again, and not listed yet: what waits was listed when it came.
        assign(1, BERT);
        claim(1, "", "");
        zk.advance(terms, 5);
        assertEq(escrow.owedTo(CARL), 100);
        listPart(1, 0);
        refuseSubmit(CARL, 3, 3, 4, abi.encodeWithSelector(IZkJobs.SegmentRefused.selector, 3));
        for (uint64 i = 4; i < 6; i++) submit(BERT, i, i, i + 1);
        conclude(0, 3, "", true);
        escrow.settle(terms, 0);
        conclude(1, 6, "", true);
        escrow.settle(terms, 1);
        assertEq(escrow.owedTo(BERT), 2000 + 300 + 200);
    }

    function test_theCustomerAloneOrdersOnceAndBeforeTheWork() public {
        refuse(IZkJobs.OrderRefused.selector, job);
        vm.prank(CUSTOMER);
        zk.order(terms, ordered);
        terms = someTerms("second");
        terms.method = 5;
        job = idOf(terms);
        vm.prank(CUSTOMER);
        refuse(IZkJobs.OrderRefused.selector, job);
        zk.order(terms, ordered);
        fund();
        vm.prank(STRANGER);
        refuse(IZkJobs.OrderRefused.selector, job);
        zk.order(terms, ordered);
        // A worker cannot be lured: without an order nobody gets a part.
        IJobEscrow.Assignment memory drawn = assignmentOf(0);
        bytes[] memory signatures = sign(assignmentHash(drawn, ANNA), 0, 2);
        vm.prank(ANNA);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Unproven.selector, 0));
        escrow.assign(terms, drawn, signatures);
        IZkJobs.Order memory other = ordered;
        other.plan = plans.register(PlanKit.words("another program", 12));
        vm.prank(CUSTOMER);
        vm.expectRevert(IZkJobs.OrderInvalid.selector);
        zk.order(terms, other);
        toy.setLongest(WINDOW + 1);
        vm.prank(CUSTOMER);
        vm.expectRevert(IZkJobs.OrderInvalid.selector);
        zk.order(terms, ordered);
        toy.setLongest(WINDOW);
        vm.prank(CUSTOMER);
        zk.order(terms, ordered);
    }

    /// Validator: its word neither shortens anything nor pays anyone. Customer: cannot take the claim back by
    /// time while it is proven.
    function test_noWordStandsForAProof() public {
        claimPart(0, ANNA, "");
        (bytes32 claimed,) = endOf(0, 3, "");
        IJobEscrow.Audit[] memory audits = new IJobEscrow.Audit[](0);
        bytes[] memory none = new bytes[](0);
        bytes32 last = stateOf(3, "");
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.Unproven.selector, 0));
        escrow.check(terms, 0, claimed, last, audits, none);
        submit(CARL, 1, 1, 2);
        submit(CARL, 2, 2, 3);
        conclude(0, 3, "", true);
        later(10 * uint256(WINDOW));
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.WrongState.selector, 0, IJobEscrow.PartState.Claimed));
        escrow.expire(terms, 0);
        escrow.settle(terms, 0);
        assertEq(escrow.owedTo(ANNA), 1000);
        vm.expectRevert(abi.encodeWithSelector(IJobEscrow.NotParty.selector, STRANGER));
        vm.prank(STRANGER);
        escrow.payProver(job, 0, STRANGER, 1, 1);
    }

    /// A tree that does not stand (yet), of another job, plan or segment, concludes nothing.
    function test_onlyAStandingTreeOfThisEndConcludes() public {
        claimPart(0, ANNA, "");
        submit(CARL, 1, 1, 2);
        conclude(0, 3, "", false);
        submit(CARL, 2, 2, 3);
        (bytes32 claimed, ITwinPosts.Tree memory tree) = endOf(0, 3, "");
        for (uint256 how = 0; how < 5; how++) {
            (claimed, tree) = endOf(0, 3, "");
            if (how == 0) tree.scope = job + 1;
            if (how == 1) tree.plan = "other";
            if (how == 2) tree.segment = 2;
            if (how == 3) tree.states = "other";
            if (how < 4) toy.stand(address(this), tree, true);
            vm.expectRevert(IZkJobs.EndMismatch.selector);
            zk.conclude(terms, ordered, 0, how == 4 ? bytes32("other claim") : claimed, address(this), tree);
        }
        conclude(0, 3, "", true);
        // It concludes one attempt's claim.
        assertTrue(zk.isProven(job, 0, 1) && !zk.isProven(job, 0, 0) && !zk.isProven(job, 0, 2), "attempt");
    }

    /// Customer: trees that it makes up about states of somebody who does not look for them must not convict.
    function test_jobsOfOtherMethodsAreNotOrdered() public {
        terms = someTerms("second");
        terms.method = 3;
        job = idOf(terms);
        fund();
        vm.prank(CUSTOMER);
        vm.expectRevert(IZkJobs.OrderInvalid.selector);
        zk.order(terms, ordered);
        refuseSubmit(CARL, 1, 1, 2, abi.encodeWithSelector(IZkJobs.OrderMismatch.selector, job));
    }

    /// Worker: a tree that stood before anybody else had the bytes of its end.
    function test_aTreeThatWasPostedBeforeTheClaimConcludesNothing() public {
        claimPart(0, ANNA, "");
        submit(CARL, 1, 1, 2);
        submit(CARL, 2, 2, 3);
        (bytes32 claimed, ITwinPosts.Tree memory tree) = endOf(0, 3, "");
        toy.stand(address(this), tree, true);
        toy.postedAt(address(this), tree, block.timestamp - 1);
        vm.expectRevert(IZkJobs.EndMismatch.selector);
        zk.conclude(terms, ordered, 0, claimed, address(this), tree);
        toy.postedAt(address(this), tree, block.timestamp);
        zk.conclude(terms, ordered, 0, claimed, address(this), tree);
    }

    /// Worker: the order of another plan, in which the same commitments are of other bytes.
    function test_onlyTheJobsOwnOrderConcludes() public {
        claimPart(0, ANNA, "");
        submit(CARL, 1, 1, 2);
        submit(CARL, 2, 2, 3);
        (bytes32 claimed, ITwinPosts.Tree memory tree) = endOf(0, 3, "");
        IZkJobs.Order memory other = ordered;
        other.plan = plans.register(PlanKit.words(keccak256("program"), 14));
        tree.plan = other.plan;
        toy.stand(address(this), tree, true);
        refuse(IZkJobs.OrderMismatch.selector, job);
        zk.conclude(terms, other, 0, claimed, address(this), tree);
        conclude(0, 3, "", true);
        escrow.settle(terms, 0);
        // Nor again, when it is settled.
        conclude(0, 3, "", false);
    }

    /// Segment 0 has no steps: alone in its part, that part ends with what the customer ordered to begin
    /// with.
    function test_aPartWithoutStepsEndsAsTheJobBegins() public {
        terms = someTerms("single");
        (terms.method, terms.segments, terms.parts) = (5, 2, 2);
        job = idOf(terms);
        fund();
        vm.prank(CUSTOMER);
        zk.order(terms, ordered);
        assertEq(zk.endOf(job, 0), keccak256(point(1)));
        assertEq(zk.endOf(job, 1), 0);
    }

    /// What waits in the next part is paid as that part's.
    function test_whatIsPaidAlongIsOfOnePart() public {
        for (uint32 i = 0; i < 3; i++) claimPart(i, ANNA, "");
        submit(CARL, 6, 6, 7);
        for (uint64 i = 5; i > 0; i--) submit(BERT, i, i, i + 1);
        // Part 0 is proven; of the others everything waits.
        assertEq(zk.headOf(job).next, 3);
        zk.advance(terms, 9);
        assertEq(zk.headOf(job).next, 6);
        assertEq(escrow.owedTo(BERT), 600);
        assertEq(escrow.owedTo(CARL), 0);
        zk.advance(terms, 9);
        assertEq(escrow.owedTo(CARL), 300);
        // All is proven, and nothing waits behind the end.
        refuse(IZkJobs.NothingWaits.selector, job);
        zk.advance(terms, 9);
    }
}
