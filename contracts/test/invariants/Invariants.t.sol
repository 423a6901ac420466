// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {Scoreboard} from "../../src/epochs/Scoreboard.sol";
import {Rewards} from "../../src/rewards/Rewards.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {Cheats} from "../Cheats.sol";
import {Handler} from "./Handler.sol";

/// What holds after any sequence of Handler's acts. Runs and depth are in hardhat.config.ts.
contract InvariantsTest is Cheats {
    Handler private handler;
    AssayToken private token;
    Registry private registry;
    Scoreboard private scoreboard;
    Rewards private rewards;

    function setUp() public {
        handler = new Handler();
        (address token_, address registry_, address scoreboard_, address rewards_,) = handler.contracts();
        (token, registry, scoreboard, rewards) =
            (AssayToken(token_), Registry(registry_), Scoreboard(scoreboard_), Rewards(rewards_));
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    /// One campaign for all rules: a state that breaks one need not be found again for each. They are called
    /// from outside, so that a failure names its rule.
    function invariant_everythingHolds() public view {
        this.stakesAreBackedToTheUnit();
        this.everyAccountHasWhatItBroughtLessWhatItTookAndLost();
        this.whatIsSeizedIsSharedOrBurned();
        this.votesAddUp();
        this.rewardsAreBackedToTheUnit();
        this.rewardsAreConserved();
        this.nothingIsClaimedTwiceOrWrongly();
        this.noWithdrawalIsBlockedOrEarly();
        this.noSlashWithoutFraud();
        this.noLieSurvivesADispute();
        this.theOwnerTakesNothingAndAPauseLetsNobodyIn();
        this.aDeviceHasOneProvider();
        this.whatIsOwedIsCollectedOnceAndNeverBlocked();
    }

    function stakesAreBackedToTheUnit() external view {
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.actorCount(); i++) sum += registry.slashableOf(handler.actors(i));
        assertEq(registry.totalStake(), sum);
        assertEq(token.balanceOf(address(registry)), sum);
    }

    function everyAccountHasWhatItBroughtLessWhatItTookAndLost() external view {
        for (uint256 i = 0; i < handler.actorCount(); i++) {
            address actor = handler.actors(i);
            assertEq(registry.slashableOf(actor) + handler.withdrawn(actor) + handler.lost(actor), handler.deposited(actor));
        }
    }

    function whatIsSeizedIsSharedOrBurned() external view {
        assertEq(token.balanceOf(address(0xACC)) + token.balanceOf(registry.BURN()), handler.seized());
    }

    function votesAddUp() external view {
        uint64 now_ = uint64(block.timestamp);
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.actorCount(); i++) {
            address actor = handler.actors(i);
            uint128 voting = registry.votingStakeAt(actor, now_);
            IRegistry.Account memory account = registry.accountOf(actor);
            bool votes = account.role == IRegistry.Role.Validator && account.stake >= 1000;
            assertEq(voting, votes ? account.stake : 0);
            sum += voting;
        }
        assertEq(registry.totalVotingStakeAt(now_), sum);
    }

    /// Reserve, carry, what is unclaimed of the pots and what is owed: neither more nor less is there.
    function rewardsAreBackedToTheUnit() external view {
        uint256 sum = uint256(rewards.reserve()) + rewards.carry();
        for (uint256 i = 0; i < handler.settledCount(); i++) {
            (uint128 pot, uint128 paid, bool swept) = rewards.potOf(handler.settledEpoch(i));
            assertTrue(paid <= pot, "paid more than the pot");
            if (!swept) sum += pot - paid;
        }
        for (uint256 i = 0; i < 2; i++) sum += handler.owed(handler.two()[i]);
        assertEq(token.balanceOf(address(rewards)), sum);
    }

    function rewardsAreConserved() external view {
        assertEq(token.balanceOf(address(rewards)) + handler.paidOut(), handler.funded());
        uint256 paid = 0;
        for (uint256 i = 0; i < handler.settledCount(); i++) {
            (, uint128 ofPot,) = rewards.potOf(handler.settledEpoch(i));
            paid += ofPot;
        }
        for (uint256 i = 0; i < 2; i++) {
            address who = handler.two()[i];
            assertEq(handler.claimed(who), handler.paidTo(who) + handler.owed(who));
            paid -= handler.claimed(who);
        }
        assertEq(paid, 0);
    }

    function nothingIsClaimedTwiceOrWrongly() external view {
        assertEq(handler.doubleClaims(), 0);
        assertEq(handler.wrongShares(), 0);
    }

    function noWithdrawalIsBlockedOrEarly() external view {
        assertEq(handler.blockedWithdrawals(), 0);
        assertEq(handler.earlyWithdrawals(), 0);
    }

    function noSlashWithoutFraud() external view {
        assertEq(handler.slashesWithoutFraud(), 0);
        assertEq(handler.fraudAccepted(), 0);
        assertEq(handler.honestRejected(), 0);
    }

    function noLieSurvivesADispute() external view {
        assertEq(handler.liesAccepted(), 0);
        assertEq(handler.wrongMedians(), 0);
    }

    function theOwnerTakesNothingAndAPauseLetsNobodyIn() external view {
        assertEq(handler.ownerTook(), 0);
        assertEq(handler.entriesWhilePaused(), 0);
    }

    function aDeviceHasOneProvider() external view {
        assertEq(handler.devicesTaken(), 0);
        for (uint256 i = 0; i < 2; i++) {
            bytes32 device = handler.devices(i);
            (address provider,) = registry.deviceOf(device);
            assertEq(provider, handler.boundOf(device));
        }
    }

    function whatIsOwedIsCollectedOnceAndNeverBlocked() external view {
        assertEq(handler.doubleCollects(), 0);
        assertEq(handler.blockedCollects(), 0);
        assertEq(handler.wrongPayments(), 0);
    }

    /// The campaign reaches every act: by hand once, so that a handler that always reverts cannot pass for a
    /// network that holds.
    function test_everyActHappens() public {
        handler.stake(0, 10);
        handler.epoch(1794, 0, false);
        handler.unstake(3, 0, true);
        handler.wait(3 days - 1);
        handler.bindDevice(3, 0, 1, 0);
        handler.releaseDevice(3, 0);
        for (uint256 i = 0; i < 5; i++) handler.wait(3 days - 1);
        handler.withdraw(3, true);
        handler.register(3, false, 500);
        handler.claim(0, 0);
        handler.collect(0, 0, type(uint256).max, true);
        handler.collect(1, 0, type(uint256).max, true);
        handler.epoch(1794, 7, true);
        for (uint256 i = 0; i < 20; i++) handler.wait(3 days - 1);
        handler.sweep(0);
        handler.fund(5);
        handler.gemm(3, 0, bytes32(0), 3, 9);
        handler.gemm(3, 1, bytes32(0), 3, 0);
        handler.conflict(1, 9, "one", "two", true);
        for (uint64 number = 0; handler.seen("conflict") == 0; number++) handler.conflict(1, number, "one", "two", false);
        handler.pause(true);
        handler.ownerReaches(2, 5);
        string[12] memory acts = ["stake", "epoch", "unstake", "bindDevice", "withdraw", "register", "claim", "collect", "lie proven", "sweep", "gemm", "conflict"];
        for (uint256 i = 0; i < 12; i++) assertTrue(handler.seen(acts[i]) > 0, acts[i]);
    }
}
