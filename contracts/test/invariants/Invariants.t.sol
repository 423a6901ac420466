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

    /// One campaign for all of them: a state that breaks one rule need not be found again for each.
    function invariant_everythingHolds() public view {
        stakesAreBackedToTheUnit();
        everyAccountHasWhatItBroughtLessWhatItTookAndLost();
        whatIsSeizedIsSharedOrBurned();
        votesAddUp();
        rewardsAreBackedToTheUnit();
        rewardsAreConserved();
        nothingIsClaimedTwiceOrWrongly();
        noWithdrawalIsBlockedOrEarly();
        noSlashWithoutFraud();
        noLieSurvivesADispute();
        theOwnerTakesNothingAndAPauseLetsNobodyIn();
        aDeviceHasOneProvider();
        whatIsOwedIsCollectedOnceAndNeverBlocked();
    }

    function stakesAreBackedToTheUnit() private view {
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.actorCount(); i++) sum += registry.slashableOf(handler.actors(i));
        equal(registry.totalStake(), sum);
        equal(token.balanceOf(address(registry)), sum);
    }

    function everyAccountHasWhatItBroughtLessWhatItTookAndLost() private view {
        for (uint256 i = 0; i < handler.actorCount(); i++) {
            address actor = handler.actors(i);
            equal(registry.slashableOf(actor) + handler.withdrawn(actor) + handler.lost(actor), handler.deposited(actor));
        }
    }

    function whatIsSeizedIsSharedOrBurned() private view {
        equal(token.balanceOf(address(0xACC)) + token.balanceOf(registry.BURN()), handler.seized());
    }

    function votesAddUp() private view {
        uint64 now_ = uint64(block.timestamp);
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.actorCount(); i++) {
            address actor = handler.actors(i);
            uint128 voting = registry.votingStakeAt(actor, now_);
            IRegistry.Account memory account = registry.accountOf(actor);
            bool votes = account.role == IRegistry.Role.Validator && account.stake >= 1000;
            equal(voting, votes ? account.stake : 0);
            sum += voting;
        }
        equal(registry.totalVotingStakeAt(now_), sum);
    }

    /// Reserve, carry, what is unclaimed of the pots and what is owed: neither more nor less is there.
    function rewardsAreBackedToTheUnit() private view {
        uint256 sum = uint256(rewards.reserve()) + rewards.carry();
        for (uint256 i = 0; i < handler.settledCount(); i++) {
            (uint128 pot, uint128 paid, bool swept) = rewards.potOf(handler.settledEpoch(i));
            isTrue(paid <= pot, "paid more than the pot");
            if (!swept) sum += pot - paid;
        }
        for (uint256 i = 0; i < 2; i++) sum += handler.owed(handler.two()[i]);
        equal(token.balanceOf(address(rewards)), sum);
    }

    function rewardsAreConserved() private view {
        equal(token.balanceOf(address(rewards)) + handler.paidOut(), handler.funded());
        uint256 paid = 0;
        for (uint256 i = 0; i < handler.settledCount(); i++) {
            (, uint128 ofPot,) = rewards.potOf(handler.settledEpoch(i));
            paid += ofPot;
        }
        for (uint256 i = 0; i < 2; i++) {
            address who = handler.two()[i];
            equal(handler.claimed(who), handler.paidTo(who) + handler.owed(who));
            paid -= handler.claimed(who);
        }
        equal(paid, 0);
    }

    function nothingIsClaimedTwiceOrWrongly() private view {
        equal(handler.doubleClaims(), 0);
        equal(handler.wrongShares(), 0);
    }

    function noWithdrawalIsBlockedOrEarly() private view {
        equal(handler.blockedWithdrawals(), 0);
        equal(handler.earlyWithdrawals(), 0);
    }

    function noSlashWithoutFraud() private view {
        equal(handler.slashesWithoutFraud(), 0);
        equal(handler.fraudAccepted(), 0);
        equal(handler.honestRejected(), 0);
    }

    function noLieSurvivesADispute() private view {
        equal(handler.liesAccepted(), 0);
        equal(handler.wrongMedians(), 0);
    }

    function theOwnerTakesNothingAndAPauseLetsNobodyIn() private view {
        equal(handler.ownerTook(), 0);
        equal(handler.entriesWhilePaused(), 0);
    }

    function aDeviceHasOneProvider() private view {
        equal(handler.devicesTaken(), 0);
        for (uint256 i = 0; i < 2; i++) {
            bytes32 device = handler.devices(i);
            (address provider,) = registry.deviceOf(device);
            equal(provider, handler.boundOf(device));
        }
    }

    function whatIsOwedIsCollectedOnceAndNeverBlocked() private view {
        equal(handler.doubleCollects(), 0);
        equal(handler.blockedCollects(), 0);
        equal(handler.wrongPayments(), 0);
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
        for (uint256 i = 0; i < 12; i++) isTrue(handler.seen(acts[i]) > 0, acts[i]);
    }
}
