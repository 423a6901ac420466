// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {JobTerms} from "../jobs/JobTerms.sol";
import {Announcements} from "../slashing/Announcements.sol";
import {Bn254} from "./Bn254.sol";
import {ITwinPosts} from "./ITwinPosts.sol";
import {IZkPlans} from "./IZkPlans.sol";
import {P_CHUNK_BITS, P_GROUPS, P_LIMB0, P_LIMB1, P_LIMB2} from "./Layout.sol";
import {PlanFacts} from "./PlanFacts.sol";
import {TwinJudge} from "./TwinJudge.sol";
import {TwinTree} from "./TwinTree.sol";
import {TwinValues} from "./TwinValues.sol";

/// Trees of points that somebody vouches for. An answer must hash and add up to the node that was asked for,
/// so a false sum cannot be answered, and a false commitment leads down to a false leaf: whoever holds the
/// weights wins, whatever the poster does; whoever posted the true tree can answer all and is never
/// convicted. Holds coins: bonds, deposits, and what is owed. No owner; nothing changes after its deployment.
contract TwinPosts is ITwinPosts, Announcements {
    using PlanFacts for address;
    using Bn254 for Bn254.Sum;

    /// Levels that one answer goes down.
    uint256 private constant FAN_BITS = 4;
    /// Of a tree of 2^24 values: 17 levels in fans of four.
    uint256 private constant MOST_ROUNDS = 5;
    /// Numbers of 64 bits have 39 in the limbs of a plan, those of 32 have 31.
    uint256 private constant NARROW_BITS = 31;
    /// Nobody has the key of this account.
    address private constant BURN = 0x000000000000000000000000000000000000dEaD;

    IZkPlans private immutable _plans;
    TwinJudge private immutable _judge;
    uint32 private immutable WINDOW;
    uint32 private immutable ANSWER;
    uint32 private immutable REPLY;
    uint128 private immutable BOND;
    uint128 private immutable DEPOSIT;
    /// Of the first 2^bits powers.
    mapping(uint256 chunkBits => bytes32) private _ids;

    // INVARIANT: coins held = bonds of trees that have neither fallen nor been paid + deposits that are not
    // settled + all that is owed.
    mapping(bytes32 number => Post) private _posts;
    mapping(bytes32 number => mapping(address challenger => Game)) private _games;
    mapping(address => uint256) private _owed;

    constructor(IZkPlans plans_, TwinJudge judge_, uint256[] memory bits, bytes32[] memory ids, Params memory params_) {
        if (
            params_.windowSeconds == 0 || params_.answerSeconds == 0 || params_.replySeconds == 0 || params_.bond == 0
                || params_.windowSeconds > 365 days || params_.answerSeconds > 30 days || params_.replySeconds > 30 days
                || address(judge_).code.length == 0 || bits.length != ids.length
        ) revert ParamsInvalid();
        (_plans, _judge) = (plans_, judge_);
        (WINDOW, ANSWER, REPLY) = (params_.windowSeconds, params_.answerSeconds, params_.replySeconds);
        (BOND, DEPOSIT) = (params_.bond, params_.deposit);
        for (uint256 i = 0; i < bits.length; i++) _ids[bits[i]] = ids[i];
    }

    /// @inheritdoc ITwinPosts
    function post(Tree calldata tree) external payable returns (bytes32 number) {
        if (msg.value != BOND) revert CoinsWrong(BOND);
        number = numberOf(msg.sender, tree);
        if (_posts[number].poster != address(0)) revert PostState(number);
        address plan = PlanFacts.known(_plans.imageOf(tree.plan));
        uint256 chunks = plan.read(P_GROUPS + 128 * uint256(TwinValues.Group.Before) + 32);
        // Over powers that have no id here no leaf could be shown false.
        if (tree.tops.length != chunks || _ids[plan.read(P_CHUNK_BITS)] == 0) revert TreeInvalid();
        for (uint256 i = 0; i < chunks; i++) {
            if (!TwinTree.isPoint(tree.tops[i].x, tree.tops[i].y)) revert TreeInvalid();
        }
        uint40 until = uint40(block.timestamp + WINDOW);
        _posts[number] = Post(msg.sender, until, 0, false, false);
        emit Posted(number, tree.scope, msg.sender, until, tree);
    }

    /// @inheritdoc ITwinPosts
    function demand(address poster, Tree calldata tree, uint256 chunk) external payable {
        bytes32 number = numberOf(poster, tree);
        Post storage one = pending(number);
        if (block.timestamp > one.until) revert WrongTime(one.until);
        Game storage game = _games[number][msg.sender];
        if (game.isOpen) revert GameState(number, msg.sender);
        uint256 bits = _plans.imageOf(tree.plan).read(P_CHUNK_BITS);
        // Of a commitment that is one leaf nothing lies below.
        if (bits <= TwinTree.LEAF_BITS) revert GameState(number, msg.sender);
        one.games++;
        (game.isOpen, game.left) = (true, uint8(bits - TwinTree.LEAF_BITS));
        ask(number, game, chunk, tree.tops[chunk]);
    }

    /// @inheritdoc ITwinPosts
    function demandBelow(bytes32 number, TwinTree.Node[] calldata nodes, uint256 which) external payable {
        pending(number);
        Game storage game = _games[number][msg.sender];
        if (!game.isOpen || game.isAsked || game.left == 0) revert GameState(number, msg.sender);
        if (block.timestamp > game.deadline) revert WrongTime(game.deadline);
        if (keccak256(abi.encode(nodes)) != game.mark) revert NodesMismatch();
        ask(number, game, which, nodes[which]);
    }

    function ask(bytes32 number, Game storage game, uint256 place, TwinTree.Node calldata node) private {
        if (msg.value != DEPOSIT) revert CoinsWrong(DEPOSIT);
        (game.isAsked, game.deadline, game.mark) = (true, uint40(block.timestamp + ANSWER), keccak256(abi.encode(node)));
        game.deposits++;
        emit Demanded(number, msg.sender, game.deadline, place, node);
    }

    /// @inheritdoc ITwinPosts
    function answer(bytes32 number, address challenger, TwinTree.Node calldata node, TwinTree.Node[] calldata nodes) external {
        pending(number);
        Game storage game = _games[number][challenger];
        if (!game.isAsked) revert GameState(number, challenger);
        if (block.timestamp > game.deadline) revert WrongTime(game.deadline);
        uint256 levels = game.left < FAN_BITS ? game.left : FAN_BITS;
        if (keccak256(abi.encode(node)) != game.mark || nodes.length != 1 << levels) revert NodesMismatch();
        mustAddUp(node, nodes);
        (game.isAsked, game.deadline) = (false, uint40(block.timestamp + REPLY));
        (game.left, game.mark) = (game.left - uint8(levels), keccak256(abi.encode(nodes)));
        emit Answered(number, challenger, nodes);
    }

    /// Their hashes and their sums lead up to the node.
    function mustAddUp(TwinTree.Node calldata node, TwinTree.Node[] memory nodes) private view {
        for (uint256 i = 0; i < nodes.length; i++) {
            if (!TwinTree.isPoint(nodes[i].x, nodes[i].y)) revert NodesMismatch();
        }
        Bn254.Sum memory sum;
        for (uint256 count = nodes.length / 2; count > 0; count /= 2) {
            for (uint256 i = 0; i < count; i++) {
                (TwinTree.Node memory left, TwinTree.Node memory right) = (nodes[2 * i], nodes[2 * i + 1]);
                bytes32 hash = keccak256(
                    abi.encodePacked(bytes1(0x01), left.hash, left.x, left.y, right.hash, right.x, right.y)
                );
                (sum.x, sum.y) = (left.x, left.y);
                sum.add(right.x, right.y);
                nodes[i] = TwinTree.Node(hash, sum.x, sum.y);
            }
        }
        if (nodes[0].hash != node.hash || nodes[0].x != node.x || nodes[0].y != node.y) revert NodesMismatch();
    }

    /// @inheritdoc ITwinPosts
    function proveSilent(bytes32 number, address challenger) external {
        pending(number);
        Game storage game = _games[number][challenger];
        if (!game.isAsked) revert GameState(number, challenger);
        if (block.timestamp <= game.deadline) revert WrongTime(game.deadline);
        fall(number, challenger);
    }

    /// @inheritdoc ITwinPosts
    function proveLeaf(bytes32 salt, address poster, Tree calldata tree, uint256 chunk, TwinJudge.Leaf calldata leaf) external {
        bytes32 number = numberOf(poster, tree);
        pending(number);
        if (!_judge.isLeafFalse(subjectOf(tree, chunk), tree.tops[chunk], leaf)) revert NothingShown();
        fall(number, accuserOf(keccak256(msg.data[36:]), salt));
    }

    /// @inheritdoc ITwinPosts
    function proveSum(
        bytes32 salt,
        address poster,
        Tree calldata tree,
        uint256 chunk,
        TwinTree.Node[2][] calldata levels,
        uint256 index
    ) external {
        bytes32 number = numberOf(poster, tree);
        pending(number);
        if (!_judge.isSumFalse(tree.tops[chunk], levels, index)) revert NothingShown();
        fall(number, accuserOf(keccak256(msg.data[36:]), salt));
    }

    /// What the plan says of weights; of data nothing is posted here.
    function subjectOf(Tree calldata tree, uint256 chunk) private view returns (TwinJudge.Subject memory subject) {
        address plan = PlanFacts.known(_plans.imageOf(tree.plan));
        uint256 weightBits = plan.read(P_LIMB0) + plan.read(P_LIMB1) + plan.read(P_LIMB2);
        subject.sizes.weightSize = weightBits > NARROW_BITS ? 8 : 4;
        subject.sizes.layers = plan.layersOf();
        subject.group = TwinValues.Group.Before;
        subject.root = JobTerms.stateHash(tree.segment, tree.states, 0);
        (subject.segment, subject.states) = (tree.segment, tree.states);
        uint256 bits = plan.read(P_CHUNK_BITS);
        (subject.chunkBits, subject.chunk, subject.powers) = (bits, chunk, _ids[bits]);
    }

    /// Half of it is burned, so that nobody gets a bond back by accusing itself first.
    function fall(bytes32 number, address accuser) private {
        _posts[number].isFallen = true;
        uint256 half = accuser == address(0) ? 0 : BOND / 2;
        if (half > 0) _owed[accuser] += half;
        _owed[BURN] += BOND - half;
        emit Fallen(number, accuser, half);
    }

    /// @inheritdoc ITwinPosts
    function close(bytes32 number, address challenger) external {
        Game storage game = _games[number][challenger];
        if (!game.isOpen || game.isAsked) revert GameState(number, challenger);
        if (msg.sender != challenger && block.timestamp <= game.deadline) revert WrongTime(game.deadline);
        game.isOpen = false;
        _posts[number].games--;
        emit Closed(number, challenger);
    }

    /// @inheritdoc ITwinPosts
    function settleDeposits(bytes32 number, address challenger) external {
        Post memory one = _posts[number];
        if (!one.isFallen && !isStanding(number)) revert PostState(number);
        Game storage game = _games[number][challenger];
        uint256 amount = uint256(game.deposits) * DEPOSIT;
        if (amount == 0) revert NothingPaid();
        game.deposits = 0;
        _owed[one.isFallen ? challenger : one.poster] += amount;
    }

    /// @inheritdoc ITwinPosts
    function settleBond(bytes32 number) external {
        Post storage one = _posts[number];
        if (one.isPaid || !isStanding(number)) revert PostState(number);
        one.isPaid = true;
        _owed[one.poster] += BOND;
    }

    /// @inheritdoc ITwinPosts
    function collect(address payable to) external {
        uint256 amount = _owed[msg.sender];
        if (amount == 0) revert NothingPaid();
        _owed[msg.sender] = 0;
        (bool isPaid,) = to.call{value: amount}("");
        if (!isPaid) revert NothingPaid();
    }

    /// One that may still fall.
    function pending(bytes32 number) private view returns (Post storage one) {
        one = _posts[number];
        if (one.poster == address(0) || one.isFallen || isStanding(number)) revert PostState(number);
    }

    /// @inheritdoc ITwinPosts
    function numberOf(address poster, Tree calldata tree) public pure returns (bytes32) {
        return keccak256(abi.encode(poster, tree));
    }

    /// @inheritdoc ITwinPosts
    function pointsOf(Tree calldata tree) external pure returns (bytes32) {
        bytes memory points = new bytes(64 * tree.tops.length);
        for (uint256 i = 0; i < tree.tops.length; i++) {
            (uint256 x, uint256 y) = (tree.tops[i].x, tree.tops[i].y);
            assembly ("memory-safe") {
                let to := add(add(points, 0x20), shl(6, i))
                mstore(to, x)
                mstore(add(to, 0x20), y)
            }
        }
        return keccak256(points);
    }

    /// @inheritdoc ITwinPosts
    function isStanding(bytes32 number) public view returns (bool) {
        Post memory one = _posts[number];
        return one.poster != address(0) && !one.isFallen && one.games == 0 && block.timestamp > one.until;
    }

    /// @inheritdoc ITwinPosts
    function postOf(bytes32 number) external view returns (Post memory) {
        return _posts[number];
    }

    /// @inheritdoc ITwinPosts
    function gameOf(bytes32 number, address challenger) external view returns (Game memory) {
        return _games[number][challenger];
    }

    /// @inheritdoc ITwinPosts
    function owedTo(address account) external view returns (uint256) {
        return _owed[account];
    }

    /// @inheritdoc ITwinPosts
    function params() external view returns (Params memory) {
        return Params(WINDOW, ANSWER, REPLY, BOND, DEPOSIT);
    }

    /// @inheritdoc ITwinPosts
    function longest() external view returns (uint256) {
        return uint256(WINDOW) + MOST_ROUNDS * (uint256(ANSWER) + REPLY);
    }
}
