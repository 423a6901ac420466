// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {TwinJudge} from "./TwinJudge.sol";
import {TwinTree} from "./TwinTree.sol";

/// Who says that commitments are those of a model's weights, and what becomes of it, docs/zk.md §12: a tree
/// of points is posted with a bond; whoever holds the weights may demand what lies below a node of it; a
/// false leaf or sum that is shown, or silence, takes the bond. What nobody brought down in time stands for
/// ever.
interface ITwinPosts {
    struct Params {
        /// From the post until nobody may begin to demand any more.
        uint32 windowSeconds;
        /// From a demand to its answer, and from an answer to the next demand.
        uint32 answerSeconds;
        uint32 replySeconds;
        /// Coins: of whoever posts, and for each demand.
        uint128 bond;
        uint128 deposit;
    }

    /// The commitments to the weights of one state, each the top of a tree.
    struct Tree {
        /// What it is posted for: a job's number.
        uint256 scope;
        /// Hash of the plan, which says where each weight stands.
        bytes32 plan;
        /// S_j by its number and the tree of its tensors, docs/work.md §7.
        uint64 segment;
        bytes32 states;
        TwinTree.Node[] tops;
    }

    struct Post {
        address poster;
        uint40 until;
        /// Open ones.
        uint32 games;
        bool isFallen;
        bool isPaid;
    }

    /// One challenger's way down.
    struct Game {
        /// Asked: last moment to answer. Else: last moment to ask on.
        uint40 deadline;
        /// Levels below what was asked for last.
        uint8 left;
        bool isOpen;
        bool isAsked;
        /// Demands, of all its games, whose deposits lie here.
        uint32 deposits;
        /// Asked: hash of the node. Else: hash of the nodes that were answered.
        bytes32 mark;
    }

    event Posted(bytes32 indexed post, uint256 indexed scope, address indexed poster, uint40 until, Tree tree);
    event Demanded(bytes32 indexed post, address indexed challenger, uint40 deadline, uint256 chunk, TwinTree.Node node);
    event Answered(bytes32 indexed post, address indexed challenger, TwinTree.Node[] nodes);
    event Closed(bytes32 indexed post, address indexed challenger);
    event Fallen(bytes32 indexed post, address indexed accuser, uint256 toAccuser);

    /// @notice Thrown when a parameter is none or too large.
    error ParamsInvalid();
    /// @notice Thrown when other coins were sent than it takes.
    error CoinsWrong(uint256 wanted);
    /// @notice Thrown when the tree has another number of tops than the plan, or one that is no point, or is
    /// over powers that are unknown here.
    error TreeInvalid();
    /// @notice Thrown when it was posted before, was never posted, has fallen, or stands.
    error PostState(bytes32 post);
    /// @notice Thrown when the game is not in a state that allows this.
    error GameState(bytes32 post, address challenger);
    /// @notice Thrown when it is too late, or too early.
    error WrongTime(uint256 until);
    /// @notice Thrown when nodes are shown that are not those of the tree, or do not add up.
    error NodesMismatch();
    /// @notice Thrown when what is shown is right.
    error NothingShown();
    /// @notice Thrown when nothing is owed, or it could not be paid.
    error NothingPaid();

    /// By anyone, with the bond. Its number names the caller: nobody can post badly what another posts well.
    function post(Tree calldata tree) external payable returns (bytes32 number);
    /// Begins a way down from the top of a commitment, with a deposit.
    function demand(address poster, Tree calldata tree, uint256 chunk) external payable;
    /// One's own way on, below one of the nodes that were answered.
    function demandBelow(bytes32 number, TwinTree.Node[] calldata nodes, uint256 which) external payable;
    /// By anyone: the nodes four levels below, down to the leaves at most.
    function answer(bytes32 number, address challenger, TwinTree.Node calldata node, TwinTree.Node[] calldata nodes) external;
    /// By anyone: the demand was not answered in time.
    function proveSilent(bytes32 number, address challenger) external;
    /// By anyone who announced it in an earlier block (else nobody gets anything): this leaf is not that of
    /// the weights.
    function proveLeaf(bytes32 salt, address poster, Tree calldata tree, uint256 chunk, TwinJudge.Leaf calldata leaf) external;
    /// The same: a node is not the sum of the two below it.
    function proveSum(
        bytes32 salt,
        address poster,
        Tree calldata tree,
        uint256 chunk,
        TwinTree.Node[2][] calldata levels,
        uint256 index
    ) external;
    /// Ends a game that did not go on: by its challenger at any time, by anyone when it is late.
    function close(bytes32 number, address challenger) external;
    /// The deposits of a challenger: its own again where the tree fell, the poster's where it stands.
    function settleDeposits(bytes32 number, address challenger) external;
    /// The bond of a tree that stands is its poster's again.
    function settleBond(bytes32 number) external;
    /// What the caller is owed.
    function collect(address payable to) external;

    function numberOf(address poster, Tree calldata tree) external pure returns (bytes32);
    /// keccak256 of the tops' points, as statements have it.
    function pointsOf(Tree calldata tree) external pure returns (bytes32);
    /// Nobody brought it down, and nobody can any more.
    function isStanding(bytes32 number) external view returns (bool);
    function postOf(bytes32 number) external view returns (Post memory);
    function gameOf(bytes32 number, address challenger) external view returns (Game memory);
    function owedTo(address account) external view returns (uint256);
    function params() external view returns (Params memory);
    /// From a post until it stands or has fallen, at most.
    function longest() external view returns (uint256);
}
