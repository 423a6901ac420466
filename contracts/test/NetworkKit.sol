// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IScoreboard} from "../src/epochs/IScoreboard.sol";
import {Scoreboard} from "../src/epochs/Scoreboard.sol";
import {Rewards} from "../src/rewards/Rewards.sol";
import {StakeKit} from "./StakeKit.sol";

/// All contracts as a deployment makes them, three validators with stakes 3000, 3000, 3000 and a provider.
abstract contract NetworkKit is StakeKit {
    uint64 internal constant EPOCH = 4320;
    uint64 internal constant WINDOW = 600;
    uint64 internal constant DISPUTE = 3600;
    uint128 internal constant EMISSION = 1_000_000_007;

    Scoreboard internal scoreboard;
    Rewards internal rewards;

    function scoreboardParams() internal pure virtual returns (IScoreboard.Params memory) {
        return IScoreboard.Params({
            genesis: GENESIS,
            epochSeconds: EPOCH,
            commitSeconds: WINDOW,
            revealSeconds: WINDOW,
            signSeconds: WINDOW,
            challengeSeconds: DISPUTE,
            quorumPpm: 666_667,
            signerSlashPpm: 500_000,
            validatorPpm: 100_000,
            targetWeight: 0,
            stakePerWeight: 1000
        });
    }

    /// As deployed; a test may want others.
    function deployParams() internal view virtual returns (IScoreboard.Params memory) {
        return scoreboardParams();
    }

    function deploy() internal {
        deployRegistry();
        address predicted = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        scoreboard = Scoreboard(deployCode("Scoreboard", abi.encode(registry, predicted, deployParams())));
        rewards = Rewards(deployCode("Rewards", abi.encode(token, scoreboard, registry, EMISSION)));
        deployRest(address(scoreboard));
        token.approve(address(rewards), type(uint256).max);
        rewards.fund(EMISSION * 1000);
        joinAll();
    }

    function toCommit(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH);
    }

    function toReveal(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH + WINDOW);
    }

    /// The reveals are over: weights may be posted.
    function toSign(uint64 epoch) internal {
        vm.warp(GENESIS + (epoch + 1) * EPOCH + 2 * WINDOW);
    }

    /// These providers with these scores.
    function leavesOf(address[] memory providers, uint32[] memory scores)
        internal
        pure
        returns (IScoreboard.ScoreLeaf[] memory leaves)
    {
        leaves = new IScoreboard.ScoreLeaf[](providers.length);
        for (uint256 i = 0; i < providers.length; i++) {
            leaves[i] = IScoreboard.ScoreLeaf(providers[i], scores[i], keccak256(abi.encode("evidence", providers[i])));
        }
    }

    function salt(uint256 validator) internal pure returns (bytes32) {
        return keccak256(abi.encode("salt", validator));
    }

    function addresses(address a, address b, address c) internal pure returns (address[] memory list) {
        list = new address[](3);
        (list[0], list[1], list[2]) = (a, b, c);
    }

    function numbers(uint32 a, uint32 b, uint32 c) internal pure returns (uint32[] memory list) {
        list = new uint32[](3);
        (list[0], list[1], list[2]) = (a, b, c);
    }
}
