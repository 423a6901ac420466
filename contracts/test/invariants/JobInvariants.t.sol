// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IJobEscrow} from "../../src/jobs/IJobEscrow.sol";
import {JobEscrow} from "../../src/jobs/JobEscrow.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {Cheats} from "../Cheats.sol";
import {JobHandler} from "./JobHandler.sol";

/// What holds after any sequence of JobHandler's acts. Runs and depth are in hardhat.config.ts.
contract JobInvariantsTest is Cheats {
    uint256 private constant COST = 1321;
    uint256 private constant BOND = 4001;
    JobHandler private handler;
    AssayToken private token;
    JobEscrow private escrow;

    function setUp() public {
        handler = new JobHandler();
        (address token_, address escrow_) = handler.contracts();
        (token, escrow) = (AssayToken(token_), JobEscrow(escrow_));
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    /// One campaign for all rules; called from outside, so that a failure names its rule.
    function invariant_everyJobHolds() public view {
        this.tokensAreDepositsOpenFundsAndOwed();
        this.everyoneHasWhatHeBroughtAndEarnedLessWhatHeLost();
        this.whatWasFundedIsOpenPaidOrRefunded();
        this.aBondIsLockedForOnePart();
        this.nobodyIsPaidTwice();
        this.nobodyIsConvictedWithoutAProof();
        this.nothingIsPaidBeforeItsWindowEnds();
        this.nothingIsReleasedByAStranger();
        this.noWordStandsForAProof();
        this.partsAreSettledInOrder();
        this.whatFellIsNeverPaid();
        this.whatIsPaidOrRefundedStaysSo();
        this.claimsAreWrittenOnce();
        this.auditorsGetNoMoreThanTheirBudget();
        this.halfOfAConvictedBondIsBurned();
        this.partsAreTouchedInOrder();
    }

    function part(uint256 job, uint32 number) private view returns (IJobEscrow.Part memory) {
        return escrow.partOf(job, number);
    }

    function isBonded(IJobEscrow.Part memory one) private pure returns (bool) {
        return one.state == IJobEscrow.PartState.Assigned || one.state == IJobEscrow.PartState.Claimed;
    }

    function isOver(IJobEscrow.Part memory one) private pure returns (bool) {
        return one.state == IJobEscrow.PartState.Settled || one.state == IJobEscrow.PartState.Refunded;
    }

    function depositOf(address who) private view returns (uint256) {
        IJobEscrow.Deposit memory one = escrow.depositOf(who);
        return uint256(one.free) + one.locked + one.leaving;
    }

    /// What a job still holds.
    function openFunds(uint256 job) private view returns (uint256 sum) {
        IJobEscrow.Job memory entry = escrow.jobOf(job);
        sum = (entry.end - entry.touched) * COST + entry.unshared * 21 + entry.unspent;
        for (uint32 i = 0; i < entry.touched; i++) {
            if (!isOver(part(job, i))) sum += COST - escrow.auditSpent(job, i);
        }
    }

    function tokensAreDepositsOpenFundsAndOwed() external view {
        uint256 sum = escrow.owedTo(escrow.BURN());
        for (uint256 i = 0; i < handler.count(); i++) sum += openFunds(handler.jobs(i));
        for (uint256 i = 0; i < 8; i++) sum += depositOf(handler.everyone()[i]) + escrow.owedTo(handler.everyone()[i]);
        assertEq(token.balanceOf(address(escrow)), sum);
    }

    function everyoneHasWhatHeBroughtAndEarnedLessWhatHeLost() external view {
        for (uint256 i = 0; i < 8; i++) {
            address who = handler.everyone()[i];
            assertEq(
                depositOf(who) + escrow.owedTo(who) + handler.takenBy(who) + handler.lostBy(who),
                handler.broughtBy(who) + handler.earnedBy(who)
            );
        }
    }

    function whatWasFundedIsOpenPaidOrRefunded() external view {
        uint256 open = 0;
        uint256 spent = 0;
        for (uint256 i = 0; i < handler.count(); i++) open += openFunds(handler.jobs(i));
        // All that anyone earned came from jobs, or from convicted bonds.
        for (uint256 i = 0; i < 8; i++) spent += handler.earnedBy(handler.everyone()[i]);
        uint256 lost = handler.lostBy(handler.everyone()[1]) + handler.lostBy(handler.everyone()[2]);
        assertEq(handler.funded() + lost, open + spent + handler.burned());
    }

    function aBondIsLockedForOnePart() external view {
        for (uint256 who = 1; who < 3; who++) {
            uint256 bonded = 0;
            for (uint256 i = 0; i < handler.count(); i++) {
                for (uint32 j = 0; j < 3; j++) {
                    IJobEscrow.Part memory one = part(handler.jobs(i), j);
                    if (isBonded(one) && one.provider == handler.everyone()[who]) bonded++;
                }
            }
            assertEq(escrow.depositOf(handler.everyone()[who]).locked, bonded * BOND);
        }
    }

    function nobodyIsPaidTwice() external view {
        assertEq(handler.paidTwice(), 0);
        for (uint256 i = 0; i < handler.count(); i++) {
            for (uint32 j = 0; j < 3; j++) {
                uint256 paid = 0;
                uint16 last = part(handler.jobs(i), j).attempt;
                for (uint16 a = 1; a <= last; a++) if (handler.wasPaid(handler.keyOf(handler.jobs(i), j, a))) paid++;
                assertTrue(paid <= 1, "two attempts of one part are paid");
            }
        }
    }

    function nobodyIsConvictedWithoutAProof() external view {
        assertEq(handler.convictedHonestly(), 0);
    }

    /// Of parts at work alone, by their provider or the quorum.
    function nothingIsReleasedByAStranger() external view {
        assertEq(handler.releasedByNobody(), 0);
    }

    function nothingIsPaidBeforeItsWindowEnds() external view {
        assertEq(handler.settledEarly(), 0);
    }

    /// Of a zk job: nothing is paid that is not proven, nothing is checked, and what is proven does not run
    /// out.
    function noWordStandsForAProof() external view {
        assertEq(handler.settledUnproven(), 0);
        assertEq(handler.checkedByWord(), 0);
        assertEq(handler.expiredProven(), 0);
    }

    function partsAreSettledInOrder() external view {
        assertEq(handler.outOfOrder(), 0);
    }

    function whatFellIsNeverPaid() external view {
        for (uint256 i = 0; i < handler.count(); i++) {
            for (uint32 j = 1; j < 3; j++) {
                IJobEscrow.Part memory one = part(handler.jobs(i), j);
                if (one.state != IJobEscrow.PartState.Settled || one.isAlone) continue;
                IJobEscrow.Part memory before = part(handler.jobs(i), j - 1);
                assertTrue(before.state == IJobEscrow.PartState.Settled && before.attempt == one.base, "fell");
            }
        }
    }

    function whatIsPaidOrRefundedStaysSo() external view {
        for (uint256 i = 0; i < handler.count(); i++) {
            for (uint32 j = 0; j < 3; j++) {
                IJobEscrow.Part memory one = part(handler.jobs(i), j);
                bool isPaid = handler.wasPaid(handler.keyOf(handler.jobs(i), j, one.attempt));
                assertTrue(isPaid == (one.state == IJobEscrow.PartState.Settled), "paid and not settled, or the reverse");
            }
        }
    }

    function claimsAreWrittenOnce() external view {
        for (uint256 i = 0; i < handler.count(); i++) {
            for (uint32 j = 0; j < 3; j++) {
                IJobEscrow.Part memory one = part(handler.jobs(i), j);
                for (uint16 a = 1; a <= one.attempt; a++) {
                    bytes32 kept = handler.commitmentOf(handler.keyOf(handler.jobs(i), j, a));
                    assertEq(escrow.commitmentOf(handler.jobs(i), j, a), kept);
                    if (a == one.attempt && one.state == IJobEscrow.PartState.Claimed) assertTrue(kept != 0, "no claim");
                }
            }
        }
    }

    function auditorsGetNoMoreThanTheirBudget() external view {
        for (uint256 i = 0; i < handler.count(); i++) {
            for (uint32 j = 0; j < 3; j++) assertTrue(escrow.auditSpent(handler.jobs(i), j) <= 300, "audits");
        }
    }

    function halfOfAConvictedBondIsBurned() external view {
        uint256 lost = handler.lostBy(handler.everyone()[1]) + handler.lostBy(handler.everyone()[2]);
        assertEq(escrow.owedTo(escrow.BURN()), handler.burned());
        assertTrue(handler.burned() >= lost / BOND * 1951, "less than half of what is shared was burned");
    }

    function partsAreTouchedInOrder() external view {
        for (uint256 i = 0; i < handler.count(); i++) {
            IJobEscrow.Job memory entry = escrow.jobOf(handler.jobs(i));
            assertTrue(entry.touched <= entry.end && entry.end <= 3, "order");
            for (uint32 j = 0; j < 3; j++) {
                bool isTouched = part(handler.jobs(i), j).state != IJobEscrow.PartState.Untouched;
                assertTrue(isTouched == (j < entry.touched), "touched");
            }
        }
    }

    /// Every state has a way out without anyone's goodwill: after any acts time passes, strangers alone call,
    /// and all money is owed to whom it belongs; then everyone collects, and nothing is left.
    function testFuzz_everyJobEnds(uint256 seed) public {
        play(seed);
        vm.warp(block.timestamp + 400 days);
        for (uint256 i = 0; i < handler.count(); i++) windDown(handler.termsAt(i));
        assertEq(escrow.depositOf(handler.everyone()[1]).locked, 0);
        assertEq(escrow.depositOf(handler.everyone()[2]).locked, 0);
        address[8] memory everyone = handler.everyone();
        for (uint256 i = 1; i < 3; i++) {
            uint128 free = escrow.depositOf(everyone[i]).free;
            vm.startPrank(everyone[i]);
            if (free > 0) escrow.withdrawDeposit(free);
            vm.stopPrank();
        }
        vm.warp(block.timestamp + 7 days);
        for (uint256 i = 0; i < 8; i++) {
            vm.prank(everyone[i]);
            try escrow.collect(everyone[i]) {} catch {}
        }
        // Nothing is left but what is burned.
        assertEq(token.balanceOf(address(escrow)), escrow.owedTo(escrow.BURN()));
    }

    /// Some acts in random order, of the handler's own.
    function play(uint256 seed) private {
        for (uint256 i = 0; i < 3; i++) handler.open();
        handler.order(2);
        for (uint256 i = 0; i < 30; i++) {
            seed = uint256(keccak256(abi.encode(seed)));
            (uint256 which, uint32 number, bool flag) = ((seed >> 8) % 3, uint32(seed >> 16), seed >> 48 & 1 == 0);
            uint256 act = seed % 16;
            bytes memory call = act < 5
                ? abi.encodeCall(handler.doAssign, (which, number, flag))
                : act < 9
                    ? abi.encodeCall(handler.doClaim, (which, number, seed >> 56 & 3 == 0))
                    : act < 11
                        ? abi.encodeCall(handler.doCheck, (which, number, uint128(seed >> 64)))
                        : act == 11
                            ? abi.encodeCall(handler.doSettle, (which, number))
                            : act == 12
                                ? abi.encodeCall(handler.doExpire, (which, number, flag))
                                : act == 13
                                    ? abi.encodeCall(handler.doConvict, (which, number, flag))
                                    : act == 14
                                        ? abi.encodeCall(handler.wait, (number))
                                        : abi.encodeCall(handler.doCancel, (which, seed >> 60 & 7 == 0));
            (bool done,) = address(handler).call(call);
            done;
        }
    }

    function windDown(IJobEscrow.Terms memory terms) private {
        uint256 job = escrow.jobIdOf(terms);
        try escrow.cancel(terms) {} catch {}
        IJobEscrow.Job memory entry = escrow.jobOf(job);
        assertEq(entry.touched, entry.end);
        for (uint32 i = 0; i < entry.touched; i++) {
            // Settled, or reopened and refunded.
            try escrow.settle(terms, i) {} catch {}
            try escrow.expire(terms, i) {} catch {}
            try escrow.expire(terms, i) {} catch {}
            assertTrue(isOver(part(job, i)), "stuck");
        }
        try escrow.share(terms) {} catch {}
    }

    /// So that a handler that always reverts cannot pass for an escrow that holds.
    function test_everyActHappens() public {
        handler.open();
        handler.open();
        handler.open();
        handler.doAssign(0, 0, true);
        handler.doClaim(0, 0, true);
        handler.doCheck(0, 0, 200);
        handler.convictFalsely(0, 0, 1, "");
        handler.convictFalsely(0, 0, 8, "");
        handler.doAssign(0, 1, false);
        handler.doConvict(0, 0, true);
        handler.doClaim(0, 1, false);
        handler.doAssign(1, 0, true);
        handler.doClaim(1, 0, false);
        handler.doAssign(1, 1, true);
        handler.doCancel(1, true);
        handler.order(2);
        handler.doAssign(2, 0, false);
        handler.doClaim(2, 0, false);
        handler.doPayProver(2, 0, 100, 0);
        handler.prove(2, 0);
        handler.doSettle(2, 0);
        handler.doDeposit(0, 5);
        handler.doWithdraw(0, 5);
        invariant_everyJobHolds();
        handler.waitLong(1 days + 1);
        handler.doSettle(0, 1);
        handler.doSettle(1, 0);
        handler.doRelease(1, 1, 0);
        handler.doExpire(1, 1, false);
        handler.doShare(1);
        handler.doCollect(1);
        handler.pauseOrNot(true);
        string[17] memory acts = [
            "fund", "assign", "claim", "check", "convictFalsely", "convict", "cancel", "prove",
            "deposit", "withdrawDeposit", "settle", "expire", "share", "collect", "pause", "payProver", "release"
        ];
        for (uint256 i = 0; i < 17; i++) assertTrue(handler.seen(acts[i]) > 0, acts[i]);
        assertEq(handler.seen("settle"), 3);
        assertEq(handler.seen("expire"), 1);
        invariant_everyJobHolds();
    }
}
