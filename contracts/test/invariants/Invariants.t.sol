// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Scoreboard} from "../../src/epochs/Scoreboard.sol";
import {Rewards} from "../../src/rewards/Rewards.sol";
import {AssayToken} from "../../src/stake/AssayToken.sol";
import {DeviceId, IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {Cheats} from "../Cheats.sol";
import {Handler} from "./Handler.sol";

/// What holds after any sequence of Handler's acts: safety, and liveness. Runs and depth are in
/// hardhat.config.ts.
contract InvariantsTest is Cheats {
    Handler private handler;
    AssayToken private token;
    Registry private registry;
    Scoreboard private scoreboard;
    Rewards private rewards;

    function setUp() public {
        handler = new Handler();
        (address token_, address registry_, address scoreboard_, address rewards_) = handler.contracts();
        (token, registry, scoreboard, rewards) =
            (AssayToken(token_), Registry(registry_), Scoreboard(scoreboard_), Rewards(rewards_));
    }

    /// Found by a campaign: whoever had a weight and was given nothing, for nothing was funded, may be gone
    /// with the next weights.
    function test_whoEarnedNothingMayGo() public {
        handler.stake(45896395193115702179504986748118278658844619345950980462490977977910236807168, 23231);
        handler.epoch(
            500822554057464904774668913418767179125152334147008126957285284981689957,
            214932172919351906010167968842109149118321696219373055017118442911317
        );
        handler.epoch(24675773223710501420185, 2146951949346632849948569566678);
        handler.look();
        this.invariant_everythingHolds();
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
        this.rewardsAreBackedAndConserved();
        this.nobodyIsSlashedWithoutFraud();
        this.noLieStandsAndNoTruthFalls();
        this.ownersAndLockersTakeNoMoreThanTheyMay();
        this.aDeviceHasOneProvider();
        this.whoMayAlwaysDoSomethingCan();
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
        uint256 shared = token.balanceOf(address(0xACC)) + token.balanceOf(address(0x4A12));
        assertEq(shared + token.balanceOf(registry.BURN()), handler.seized());
    }

    function votesAddUp() external view {
        uint64 now_ = uint64(block.timestamp);
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.actorCount(); i++) {
            address actor = handler.actors(i);
            uint128 voting = registry.votingStakeAt(address(scoreboard), actor, now_);
            IRegistry.Account memory account = registry.accountOf(actor);
            bool votes = account.role == IRegistry.Role.Validator && account.stake >= 1000;
            assertEq(voting, votes ? account.stake : 0);
            sum += voting;
        }
        assertEq(registry.totalVotingStakeAt(address(scoreboard), now_), sum);
    }

    /// What is there and what was paid is what was funded; claimed ≤ given by final weights ≤ given by the
    /// head ≤ funded.
    function rewardsAreBackedAndConserved() external view {
        assertEq(token.balanceOf(address(rewards)) + rewards.claimedTotal(), handler.funded());
        assertEq(rewards.fundedAt(uint64(block.timestamp)), handler.funded());
        uint256 sum = 0;
        for (uint256 i = 0; i < handler.earnerCount(); i++) sum += rewards.claimedOf(handler.earners(i));
        assertEq(rewards.claimedTotal(), sum);
        assertTrue(sum <= handler.finalTotal(), "claimed more than was given");
        (bool any, uint64 epoch) = scoreboard.head();
        (,, uint128 total,,) = scoreboard.postedOf(epoch);
        if (any) assertTrue(handler.finalTotal() <= total && total <= handler.funded(), "given more than was funded");
        assertEq(handler.wrongClaims(), 0);
        assertEq(handler.totalsShrank(), 0);
    }

    function nobodyIsSlashedWithoutFraud() external view {
        assertEq(handler.fraudAccepted(), 0);
        assertEq(handler.fraudForgiven(), 0);
        assertEq(handler.wronglyPunished(), 0);
    }

    function noLieStandsAndNoTruthFalls() external view {
        assertEq(handler.rightProvenWrong(), 0);
        assertEq(handler.liesStand(), 0);
        assertEq(handler.seatsTwice(), 0);
        assertEq(handler.postsWithoutQuorum(), 0);
    }

    function ownersAndLockersTakeNoMoreThanTheyMay() external view {
        assertEq(handler.ownerTook(), 0);
        assertEq(handler.lockersTook(), 0);
        assertEq(handler.signersTaken(), 0);
        assertEq(handler.entriesWhilePaused(), 0);
    }

    function aDeviceHasOneProvider() external view {
        assertEq(handler.devicesTaken(), 0);
        for (uint256 i = 0; i < 2; i++) {
            DeviceId device = handler.devices(i);
            (address provider,) = registry.deviceOf(address(scoreboard), keccak256("assay/device/1"), device);
            assertEq(provider, handler.boundOf(device));
        }
    }

    /// With two thirds of honest stake an epoch is posted, also right after a lie was dropped; what is final
    /// is claimed; what is unbonded is withdrawn; an answer is taken; deposits come back.
    function whoMayAlwaysDoSomethingCan() external view {
        assertEq(handler.blockedPosts(), 0);
        assertEq(handler.blockedClaims(), 0);
        assertEq(handler.blockedWithdrawals(), 0);
        assertEq(handler.earlyWithdrawals(), 0);
        assertEq(handler.blockedAnswers(), 0);
        assertEq(handler.coinsStuck(), 0);
    }

    /// The campaign reaches every act: by hand once, so that a handler that always reverts cannot pass for a
    /// network that holds.
    function test_everyActHappens() public {
        handler.stake(0, 10);
        handler.register(4, true, 4000, true);
        handler.fund(5);
        // Right; a lie that nobody posted, by who announced it; one that was; one that something was built
        // on.
        for (uint256 lie = 0; lie < 4; lie++) handler.epoch(uint256(keccak256("seed")) << 8, (3 + lie) % 4 + 256 * lie);
        handler.keys_(4, 0, 0);
        handler.keys_(3, 0, 1);
        handler.wait(10 days);
        handler.look();
        handler.claim(0, 1);
        handler.allowances(3, 100_000, 1000, false);
        handler.slash(3, 20_000);
        handler.lock(3, 200);
        handler.lock(3, 100);
        handler.endLock(0, 10, true);
        handler.endLock(1, 0, false);
        handler.allowances(3, 0, 0, true);
        handler.bindDevice(3, 0, 0, 0);
        handler.releaseDevice(3, 0);
        handler.bindDevice(3, 1, 0, 0);
        handler.revokeDevice(1, 0);
        handler.gemm(3, 0, bytes32(0), 3, 9, true);
        handler.gemm(3, 1, bytes32(0), 3, 0, false);
        handler.rollCall_(3, "beta", 7, true);
        handler.rollCall_(3, "gamma", 7, false);
        handler.unstake(0, 0, true);
        for (uint256 i = 0; i < 8; i++) handler.wait(1 days - 1);
        handler.withdraw(0, true);
        handler.owner(2, 1, 5);
        this.invariant_everythingHolds();
        string[22] memory acts = [
            "stake", "register", "fund", "epoch", "lie proven", "built on a lie", "keys", "claim", "allow", "disallow",
            "slash", "lock", "slashLocked", "unlock", "bindDevice", "releaseDevice", "revokeDevice", "gemm", "answer",
            "expire", "unstake", "withdraw"
        ];
        for (uint256 i = 0; i < acts.length; i++) assertTrue(handler.seen(acts[i]) > 0, acts[i]);
    }
}
