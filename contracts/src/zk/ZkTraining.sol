// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IZkPlans} from "./IZkPlans.sol";
import {IZkTraining} from "./IZkTraining.sol";
import {IZkVerifier} from "./IZkVerifier.sol";
import {IZkRunVerifier} from "./runs/IZkRunVerifier.sol";

/// Runs of training, each as far as it is proven. No owner, no money, no way back. Whose data and weights the
/// commitments of a run are shows who compares bytes with the roots that the run names (docs/zk.md §6).
contract ZkTraining is IZkTraining {
    IZkVerifier private immutable _verifier;
    IZkRunVerifier private immutable _runVerifier;
    IZkPlans private immutable _plans;
    /// keccak256 of a run's head; 0: nobody has opened it.
    mapping(uint256 run => bytes32) private _heads;

    constructor(IZkVerifier verifier_, IZkRunVerifier runVerifier_, IZkPlans plans_) {
        (_verifier, _runVerifier, _plans) = (verifier_, runVerifier_, plans_);
    }

    /// @inheritdoc IZkTraining
    function open(Run calldata run) external returns (uint256 number) {
        number = numberOf(run);
        if (_heads[number] != 0) revert AlreadyOpened(number);
        if (run.firstStep >= run.endStep || run.endStep > type(uint32).max || _plans.imageOf(run.plan) == address(0)) {
            revert RunInvalid();
        }
        _heads[number] = headHash(run.firstStep, run.state, run.points);
        emit Opened(number, msg.sender, run);
    }

    /// @inheritdoc IZkTraining
    function submit(Run calldata run, Head calldata head, bytes32 state, bytes calldata points, bytes calldata proof) external {
        uint256 number = mustStandAt(run, head);
        (uint256 steps, bytes32[4] memory hashes) = _verifier.mustHold(
            run.plan,
            IZkVerifier.Statement(number, run.seed, head.nextStep, run.features, run.labels, head.state, state),
            points,
            proof
        );
        if (hashes[0] != run.featurePoints || hashes[1] != run.labelPoints || hashes[2] != head.points) revert PointsMismatch();
        goOn(number, run.endStep, head.nextStep + steps, state, hashes[3]);
    }

    /// @inheritdoc IZkTraining
    function submitRun(
        Run calldata run,
        Head calldata head,
        bytes32[] calldata states,
        bytes calldata points,
        bytes calldata proof
    ) external {
        uint256 number = mustStandAt(run, head);
        if (states.length == 0 || states[0] != head.state) revert HeadMismatch(number);
        (uint256 steps, bytes32[] memory hashes) =
            _runVerifier.mustHold(statementOf(run, number, head.nextStep), states, points, proof);
        if (hashes[0] != run.featurePoints || hashes[1] != run.labelPoints || hashes[2] != head.points) revert PointsMismatch();
        uint256 last = states.length - 1;
        goOn(number, run.endStep, head.nextStep + last * steps, states[last], hashes[last + 2]);
    }

    function statementOf(Run calldata run, uint256 number, uint64 firstStep)
        private
        pure
        returns (IZkRunVerifier.RunStatement memory)
    {
        return IZkRunVerifier.RunStatement(run.plan, run.key, number, run.seed, firstStep, run.features, run.labels);
    }

    /// The run's number.
    function mustStandAt(Run calldata run, Head calldata head) private view returns (uint256 number) {
        if (msg.sender != run.prover) revert NotProver(msg.sender);
        number = numberOf(run);
        if (_heads[number] != headHash(head.nextStep, head.state, head.points)) revert HeadMismatch(number);
        if (head.nextStep >= run.endStep) revert RunEnded(number);
    }

    /// A segment begins at a multiple of its steps, all of them below 2^33.
    function goOn(uint256 number, uint64 endStep, uint256 next, bytes32 state, bytes32 points) private {
        if (next > endStep) revert RunInvalid();
        _heads[number] = headHash(uint64(next), state, points);
        emit Proven(number, msg.sender, uint64(next), state, points);
    }

    /// @inheritdoc IZkTraining
    function numberOf(Run calldata run) public view returns (uint256) {
        return uint256(keccak256(abi.encode(block.chainid, address(this), run)));
    }

    /// @inheritdoc IZkTraining
    function isHead(uint256 run, Head calldata head) external view returns (bool) {
        return _heads[run] == headHash(head.nextStep, head.state, head.points);
    }

    /// @inheritdoc IZkTraining
    function verifier() external view returns (IZkVerifier) {
        return _verifier;
    }

    /// @inheritdoc IZkTraining
    function runVerifier() external view returns (IZkRunVerifier) {
        return _runVerifier;
    }

    function headHash(uint64 nextStep, bytes32 state, bytes32 points) private pure returns (bytes32) {
        return keccak256(abi.encode(nextStep, state, points));
    }
}
