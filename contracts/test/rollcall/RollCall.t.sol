// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IRollCall} from "../../src/rollcall/IRollCall.sol";
import {RollCall} from "../../src/rollcall/RollCall.sol";
import {GemmOpening} from "../../src/slashing/GemmOpening.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {KeccakTree} from "../../src/trees/KeccakTree.sol";
import {StakeKit} from "../StakeKit.sol";

/// Commitments to answers; openings that are demanded, given and withheld; whoever would have others slashed.
contract RollCallTest is StakeKit {
    uint64 private constant CALL = 1000;
    address private constant DEMANDER = address(0xD0);
    uint256 private constant OTHER_KEY = 0xB0C;

    IRollCall.Commitment private commitment;
    IRollCall.LeafProof private proof;
    IRollCall.Place private place;
    bytes32[] private roots;
    bytes private leafBytes;
    bytes32[] private path;

    function setUp() public {
        deployStakes();
        vm.roll(CALL + 2);
        vm.setBlockhash(CALL, keccak256("beta"));
        vm.deal(DEMANDER, 1000 ether);
        answered(0);
    }

    function tagged(string memory tag, bytes memory data) private pure returns (bytes32) {
        bytes32 digest = sha256(bytes(tag));
        return sha256(bytes.concat(digest, digest, data));
    }

    /// Three rounds of 4 × 1024 × 128. In round 1 leaf 5 (row 2, columns 512 …) holds at column 7 what the
    /// seed makes it, plus `error_`; the answer is leaf 2 of 3 in the tree of the first validator, who
    /// commits to it.
    function answered(uint16 error_) private {
        IRollCall.Leaf memory leaf =
            IRollCall.Leaf(keccak256("key"), provider, 1, 4, 1024, 128, 3, 3, 0, keccak256("last"));
        bytes memory head = abi.encodePacked(leaf.providerKey, provider, uint32(1), uint32(4), uint32(1024));
        head = bytes.concat(head, abi.encodePacked(uint32(128), uint32(3), uint32(3)));
        assertEq(head.length, 76);
        bytes32 seed = tagged("assay/roll-seed/1", bytes.concat(keccak256("beta"), head));
        bytes32 first = keccak256("root of round 0");
        seed = tagged("assay/seed/1", bytes.concat(seed, first));
        uint16 value;
        unchecked {
            value = slashing.gemmElement(0, seed, 128, 2, 519) + error_;
        }
        leafBytes = new bytes(1024);
        (leafBytes[14], leafBytes[15]) = (bytes1(uint8(value)), bytes1(uint8(value >> 8)));
        delete path;
        for (uint256 i = 0; i < 3; i++) path.push(keccak256(abi.encode("sibling", i)));
        bytes32 node = tagged("assay/leaf/1", leafBytes);
        node = tagged("assay/node/1", bytes.concat(path[0], node));
        node = tagged("assay/node/1", bytes.concat(node, path[1]));
        node = tagged("assay/node/1", bytes.concat(path[2], node));
        delete roots;
        roots.push(first);
        roots.push(node);
        roots.push(keccak256("root of round 2"));
        seed = tagged("assay/seed/1", bytes.concat(seed, node));
        leaf.end = tagged("assay/seed/1", bytes.concat(seed, roots[2]));
        commitTo(leaf);
        place = IRollCall.Place(1, 5, 7);
    }

    function commitTo(IRollCall.Leaf memory leaf) private {
        proof.leaf = leaf;
        proof.index = 2;
        delete proof.path;
        proof.path.push(keccak256("the two others"));
        bytes memory packed = abi.encodePacked(leaf.providerKey, leaf.account, leaf.device, leaf.m, leaf.n);
        packed = bytes.concat(packed, abi.encodePacked(leaf.k, leaf.rounds, leaf.keep, leaf.end, leaf.last));
        bytes32 hash = keccak256(bytes.concat(hex"00", packed));
        assertEq(rollCall.leafHash(leaf), hash);
        proof.signature = signed(PROVIDER_KEY, rollCall.answerDigest(CALL, keccak256("beta"), hash));
        bytes32 root = KeccakTree.node(proof.path[0], hash);
        commitment = IRollCall.Commitment(validators[0], CALL, root, 3, keccak256("beta"), uint64(block.number));
        if (rollCall.commitmentOf(validators[0], CALL) != 0) commitment.validator = validators[1];
        if (rollCall.commitmentOf(validators[1], CALL) != 0) commitment.validator = validators[2];
        vm.prank(commitment.validator);
        rollCall.commit(CALL, root, 3);
    }

    function demandBy(address who) private returns (IRollCall.Demand memory) {
        uint256 deposit = rollCall.depositFor(3, 128);
        vm.deal(who, 1000 ether);
        vm.prank(who);
        rollCall.demandOpening{value: deposit}(commitment, proof, place);
        bool votes = registry.votingStakeAt(electorate, who, uint64(block.timestamp)) > 0;
        return IRollCall.Demand(
            who, CALL, commitment.beta, proof.leaf, place, deposit, uint64(block.timestamp) + 1 days, votes
        );
    }

    function refused(bytes memory why) private {
        uint256 deposit = 1 ether;
        vm.prank(DEMANDER);
        vm.expectRevert(why);
        rollCall.demandOpening{value: deposit}(commitment, proof, place);
    }

    function refused(bytes4 why) private {
        refused(abi.encodeWithSelector(why));
    }

    function unanswerable(IRollCall.Demand memory demand, bytes4 why) private {
        vm.expectRevert(why);
        rollCall.answerOpening(demand, roots, leafBytes, path);
    }

    // Commitments

    function test_committedOnceByAValidatorOfAKnownCall() public {
        assertEq(
            rollCall.commitmentOf(validators[0], CALL),
            keccak256(abi.encode(commitment.root, uint32(3), keccak256("beta"), uint64(block.number)))
        );
        vm.startPrank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.AlreadyCommitted.selector, validators[0], CALL));
        rollCall.commit(CALL, "another", 3);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.BlockUnknown.selector, CALL + 2));
        rollCall.commit(CALL + 2, "root", 3);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.BlockUnknown.selector, CALL + 3));
        rollCall.commit(CALL + 3, "root", 3);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.BlockUnknown.selector, type(uint64).max));
        rollCall.commit(type(uint64).max, "root", 3);
        rollCall.commit(CALL + 1, "root", 3);
        vm.stopPrank();
        vm.roll(CALL + 257);
        vm.prank(validators[2]);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.BlockUnknown.selector, CALL));
        rollCall.commit(CALL, "root", 3);
    }

    function test_onlyStakeCommits() public {
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.NotValidator.selector, provider));
        rollCall.commit(CALL, "root", 3);
        vm.startPrank(validators[1]);
        registry.unstake(STAKE);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.NotValidator.selector, validators[1]));
        rollCall.commit(CALL, "root", 3);
        vm.stopPrank();
    }

    function deployWith(IRollCall.Params memory params) public returns (RollCall) {
        return RollCall(deployCode("RollCall", abi.encode(registry, electorate, params)));
    }

    /// The rule of src/protocol/roll-call, on both sides of its threshold.
    function testFuzz_whichBlocksCall(bytes32 beta, uint32 every) public {
        every = every == 0 ? 1 : every % 5 == 0 ? every % 7 + 1 : every;
        if (beta == 0) beta = "0";
        IRollCall.Params memory params = rollCall.params();
        params.every = every;
        RollCall other = deployWith(params);
        bool calls = uint256(keccak256(bytes.concat("assay/roll-call/1", beta))) < (2 ** 256 - 1) / every;
        assertTrue(other.isRollCall(beta) == calls, "another rule");
        vm.startPrank(validators[0]);
        vm.setBlockhash(CALL, beta);
        if (!calls) vm.expectRevert(abi.encodeWithSelector(IRollCall.NoCall.selector, CALL));
        other.commit(CALL, "root", 1);
        vm.stopPrank();
    }

    function test_roundsOfDrandAreCommittedAndNotDemanded() public {
        IRollCall.Params memory params = rollCall.params();
        (params.isDrand, params.every) = (true, type(uint32).max);
        RollCall drand = deployWith(params);
        vm.startPrank(validators[0]);
        drand.commit(1 << 40, commitment.root, 3);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.AlreadyCommitted.selector, validators[0], uint64(1 << 40)));
        drand.commit(1 << 40, "root", 3);
        vm.stopPrank();
        (commitment.validator, commitment.call, commitment.beta) = (validators[0], 1 << 40, 0);
        vm.prank(DEMANDER);
        vm.expectRevert(IRollCall.DemandsClosed.selector);
        drand.demandOpening{value: 1 ether}(commitment, proof, place);
    }

    function test_paramsThatAreNone() public {
        IRollCall.Params[9] memory bad;
        for (uint256 i = 0; i < 9; i++) bad[i] = rollCall.params();
        bad[0].every = 0;
        bad[1].windowSeconds = 0;
        bad[2].demandBlocks = 0;
        bad[3].answerSeconds = 0;
        bad[4].slashPpm = 0;
        bad[5].slashPpm = 1_000_001;
        bad[6].leastDeposit = 0;
        // Who left could not be slashed any more.
        bad[7].answerSeconds = 3.5 days + 1;
        bad[8].answerSeconds = type(uint32).max;
        for (uint256 i = 0; i < 9; i++) {
            vm.expectRevert(IRollCall.ParamsInvalid.selector);
            this.deployWith(bad[i]);
        }
        bad[7].answerSeconds = 3.5 days;
        assertEq(deployWith(bad[7]).params().answerSeconds, 3.5 days);
        IRollCall.Params memory good = rollCall.params();
        vm.expectRevert(IRollCall.ParamsInvalid.selector);
        deployCode("RollCall", abi.encode(registry, address(0), good));
    }

    /// ATTACK: a second commitment of one validator by another of its keys, or one of a validator of another
    /// network.
    function test_aValidatorIsAnAccountOfThisElectorate() public {
        address next = vm.addr(0x52);
        bytes memory consent = signed(0x52, registry.consentDigest(validators[0]));
        vm.prank(validators[0]);
        registry.setSigner(next, consent);
        vm.prank(next);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.AlreadyCommitted.selector, validators[0], CALL));
        rollCall.commit(CALL, "another", 3);
        vm.setBlockhash(CALL + 1, keccak256("next"));
        vm.prank(validators[0]);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.NotValidator.selector, validators[0]));
        rollCall.commit(CALL + 1, "root", 3);
        vm.expectEmit(address(rollCall));
        emit IRollCall.Committed(validators[0], CALL + 1, "root", 3);
        vm.prank(next);
        rollCall.commit(CALL + 1, "root", 3);
        electorate = address(0xE2);
        join(vm.addr(0x53), IRegistry.Role.Validator, 5000);
        vm.prank(vm.addr(0x53));
        vm.expectRevert(abi.encodeWithSelector(IRollCall.NotValidator.selector, vm.addr(0x53)));
        rollCall.commit(CALL, "root", 3);
    }

    // Demands

    function test_answeredTheDepositIsTheAccounts() public {
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        assertEq(address(rollCall).balance, demand.deposit);
        vm.warp(demand.until);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.StillAnswerable.selector, demand.until));
        rollCall.expire(demand);
        rollCall.answerOpening(demand, roots, leafBytes, path);
        assertEq(rollCall.owedTo(provider), demand.deposit);
        assertEq(rollCall.owedTo(DEMANDER), 0);
        unanswerable(demand, IRollCall.DemandUnknown.selector);
        vm.warp(demand.until + 1);
        vm.expectRevert(IRollCall.DemandUnknown.selector);
        rollCall.expire(demand);
        assertEq(registry.slashableOf(provider), 1000);
        vm.prank(provider);
        rollCall.withdraw(payable(address(0xF00)));
        assertEq(address(0xF00).balance, demand.deposit);
        vm.prank(provider);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.NothingOwed.selector, provider));
        rollCall.withdraw(payable(provider));
    }

    function test_withheldTheStakeIsCutOnce() public {
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        IRollCall.Demand memory second = demandBy(ACCUSER);
        vm.warp(demand.until + 1);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.AnswerLate.selector, demand.until));
        rollCall.answerOpening(demand, roots, leafBytes, path);
        rollCall.expire(demand);
        assertEq(registry.slashableOf(provider), 900);
        assertEq(token.balanceOf(DEMANDER), 20);
        assertEq(rollCall.owedTo(DEMANDER), demand.deposit);
        vm.expectRevert(IRollCall.DemandUnknown.selector);
        rollCall.expire(demand);
        rollCall.expire(second);
        assertEq(registry.slashableOf(provider), 900);
        assertEq(rollCall.owedTo(ACCUSER), second.deposit);
        refused(IRollCall.AlreadyPunished.selector);
        vm.prank(DEMANDER);
        rollCall.withdraw(payable(DEMANDER));
        assertEq(DEMANDER.balance, 1000 ether);
    }

    /// A wrong element cannot be opened: that is what a demand is for.
    function test_aWrongElementIsNoAnswer() public {
        vm.roll(CALL + 3);
        answered(9);
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        (, bytes memory why) = address(rollCall).call(
            abi.encodeCall(rollCall.answerOpening, (demand, roots, leafBytes, path))
        );
        assertEq(bytes32(bytes4(why)), bytes32(IRollCall.ElementWrong.selector));
        // Another element of the same leaf, or another leaf, is none either.
        demand.place.column = 8;
        unanswerable(demand, IRollCall.DemandUnknown.selector);
        vm.warp(demand.until + 1);
        demand.place.column = 7;
        rollCall.expire(demand);
        assertEq(registry.slashableOf(provider), 900);
    }

    function test_nothingOfAnAnswerCanBeChanged() public {
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        roots[0] = keccak256("another");
        unanswerable(demand, IRollCall.ChainMismatch.selector);
        roots[0] = keccak256("root of round 0");
        bytes32 last = roots[2];
        roots.pop();
        unanswerable(demand, IRollCall.RoundsInvalid.selector);
        roots.push(last);
        roots.push(last);
        unanswerable(demand, IRollCall.RoundsInvalid.selector);
        roots.pop();
        path[1] = keccak256("another");
        unanswerable(demand, GemmOpening.RootMismatch.selector);
        path[1] = keccak256(abi.encode("sibling", 1));
        leafBytes[1000] = 0x01;
        unanswerable(demand, GemmOpening.RootMismatch.selector);
        leafBytes.pop();
        unanswerable(demand, GemmOpening.PlaceInvalid.selector);
        leafBytes.push(0x00);
        leafBytes[1000] = 0x00;
        // Nor of the demand: each field is in its hash.
        for (uint256 i = 0; i < 8; i++) {
            IRollCall.Demand memory other = abi.decode(abi.encode(demand), (IRollCall.Demand));
            if (i == 0) other.demander = ACCUSER;
            if (i == 1) other.call++;
            if (i == 2) other.beta = "other";
            if (i == 3) other.leaf.account = validators[0];
            if (i == 4) other.place.round = 0;
            if (i == 5) other.deposit *= 2;
            if (i == 6) other.until++;
            if (i == 7) other.isValidators = true;
            unanswerable(other, IRollCall.DemandUnknown.selector);
            vm.warp(demand.until + 2);
            vm.expectRevert(IRollCall.DemandUnknown.selector);
            rollCall.expire(other);
            vm.warp(demand.until - 1 days);
        }
        rollCall.answerOpening(demand, roots, leafBytes, path);
    }

    function test_onlyWhatWasCommittedIsDemanded() public {
        commitment.root = "another";
        refused(IRollCall.CommitmentUnknown.selector);
        setUpAgain();
        commitment.count = 4;
        refused(IRollCall.CommitmentUnknown.selector);
        setUpAgain();
        commitment.beta = "another";
        refused(IRollCall.CommitmentUnknown.selector);
        setUpAgain();
        commitment.blockNumber++;
        refused(IRollCall.CommitmentUnknown.selector);
        setUpAgain();
        commitment.call++;
        refused(IRollCall.CommitmentUnknown.selector);
        setUpAgain();
        commitment.validator = provider;
        refused(IRollCall.CommitmentUnknown.selector);
        setUpAgain();
        proof.index = 1;
        refused(IRollCall.LeafUnknown.selector);
        proof.index = 3;
        refused(IRollCall.LeafUnknown.selector);
        setUpAgain();
        // One sibling too many changes no root.
        proof.path.push("another");
        refused(IRollCall.LeafUnknown.selector);
        proof.path.pop();
        proof.path[0] = "another";
        refused(IRollCall.LeafUnknown.selector);
        proof.path.pop();
        refused(IRollCall.LeafUnknown.selector);
        setUpAgain();
        proof.leaf.keep = 2;
        refused(IRollCall.LeafUnknown.selector);
        setUpAgain();
        vm.roll(block.number + 300);
        demandBy(DEMANDER);
        vm.roll(block.number + 1);
        refused(IRollCall.DemandsClosed.selector);
    }

    /// As after setUp, whatever a test has changed in storage.
    function setUpAgain() private {
        (commitment.call, commitment.count) = (CALL, 3);
        (commitment.beta, commitment.blockNumber) = (keccak256("beta"), CALL + 2);
        (commitment.validator, proof.index, proof.leaf.keep) = (validators[0], 2, 3);
        if (proof.path.length == 0) proof.path.push();
        proof.path[0] = keccak256("the two others");
        commitment.root = KeccakTree.node(proof.path[0], rollCall.leafHash(proof.leaf));
    }

    /// ATTACK: a validator commits to a leaf in the name of somebody who never answered, and demands.
    function test_nobodyAnswersForWhatHeDidNotSign() public {
        IRollCall.Leaf memory leaf = proof.leaf;
        leaf.account = vm.addr(OTHER_KEY);
        join(leaf.account, IRegistry.Role.Provider, 1000);
        commitTo(leaf);
        refused(IRollCall.SignatureInvalid.selector);
        bytes32 hash = rollCall.leafHash(leaf);
        proof.signature = signed(keys[0], rollCall.answerDigest(CALL, keccak256("beta"), hash));
        refused(IRollCall.SignatureInvalid.selector);
        proof.signature = "";
        refused(IRollCall.SignatureInvalid.selector);
        // Signed for another call, another block's hash, another leaf.
        proof.signature = signed(OTHER_KEY, rollCall.answerDigest(CALL + 1, keccak256("beta"), hash));
        refused(IRollCall.SignatureInvalid.selector);
        proof.signature = signed(OTHER_KEY, rollCall.answerDigest(CALL, keccak256("dropped fork"), hash));
        refused(IRollCall.SignatureInvalid.selector);
        proof.signature = signed(OTHER_KEY, rollCall.answerDigest(CALL, keccak256("beta"), "leaf"));
        refused(IRollCall.SignatureInvalid.selector);
        proof.signature = signed(OTHER_KEY, rollCall.answerDigest(CALL, keccak256("beta"), hash));
        bytes memory right = proof.signature;
        proof.signature = mirrored(right);
        refused(IRollCall.SignatureInvalid.selector);
        proof.signature = right;
        vm.chainId(block.chainid + 1);
        refused(IRollCall.SignatureInvalid.selector);
        vm.chainId(block.chainid - 1);
        demandBy(DEMANDER);
    }

    function test_withoutAnAccountNothingIsDemanded() public {
        IRollCall.Leaf memory leaf = proof.leaf;
        leaf.account = address(0);
        commitTo(leaf);
        refused(IRollCall.SignatureInvalid.selector);
        proof.signature = new bytes(65);
        refused(IRollCall.SignatureInvalid.selector);
    }

    function test_placesThatAreNone() public {
        place.round = 3;
        refused(IRollCall.PlaceInvalid.selector);
        place = IRollCall.Place(1, 8, 7);
        refused(IRollCall.PlaceInvalid.selector);
        place = IRollCall.Place(1, 5, 512);
        refused(IRollCall.PlaceInvalid.selector);
        place = IRollCall.Place(2, 7, 511);
        demandBy(ACCUSER);
        place = IRollCall.Place(0, 0, 0);
        IRollCall.Leaf memory leaf = proof.leaf;
        leaf.rounds = 1025;
        commitTo(leaf);
        refused(IRollCall.PlaceInvalid.selector);
        (leaf.rounds, leaf.k) = (1024, 100);
        commitTo(leaf);
        refused(GemmOpening.SpecInvalid.selector);
    }

    function test_specsThatAreNone() public {
        IRollCall.Leaf memory leaf = proof.leaf;
        leaf.n = 1000;
        commitTo(leaf);
        refused(GemmOpening.SpecInvalid.selector);
        (leaf.n, leaf.m) = (1024, type(uint32).max);
        leaf.k = 65536;
        commitTo(leaf);
        refused(GemmOpening.SpecInvalid.selector);
    }

    function test_theDepositPaysForTheAnswer() public {
        vm.fee(0);
        uint256 least = rollCall.depositFor(3, 128);
        assertEq(least, 0.001 ether);
        vm.fee(100 gwei);
        least = rollCall.depositFor(3, 128);
        assertEq(least, 2 * 100 gwei * (400_000 + 3 * 1500 + 128 * 90));
        assertEq(rollCall.depositFor(1024, 65536), 2 * 100 gwei * (400_000 + 1024 * 1500 + uint256(65536) * 90));
        vm.prank(DEMANDER);
        vm.expectRevert(abi.encodeWithSelector(IRollCall.DepositTooSmall.selector, least - 1, least));
        rollCall.demandOpening{value: least - 1}(commitment, proof, place);
        demandBy(DEMANDER);
    }

    function test_whoHasNothingToLoseIsNotAsked() public {
        vm.prank(provider);
        registry.unstake(1000);
        // On its way out is still there.
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(provider);
        refused(abi.encodeWithSelector(IRollCall.NothingToSlash.selector, provider));
        // Its stake is gone; the deposit is not.
        rollCall.expire(demand);
        assertEq(rollCall.owedTo(DEMANDER), demand.deposit);
    }

    /// H6: who does not allow what a withheld opening costs cannot be asked, and is scored by nobody.
    function test_whoDoesNotAllowItIsNotAsked() public {
        IRollCall.Leaf memory leaf = proof.leaf;
        leaf.account = vm.addr(OTHER_KEY);
        fund(leaf.account);
        IRegistry.Registration memory entry = registration(leaf.account, IRegistry.Role.Provider, 1000);
        entry.allowances[1].mostPpm = 99_999;
        vm.prank(leaf.account);
        registry.register(entry);
        commitTo(leaf);
        proof.signature = signed(OTHER_KEY, rollCall.answerDigest(CALL, keccak256("beta"), rollCall.leafHash(leaf)));
        refused(abi.encodeWithSelector(IRollCall.NothingToSlash.selector, leaf.account));
        vm.prank(leaf.account);
        registry.allow(IRegistry.Allowance(address(rollCall), 100_000, 0));
        demandBy(DEMANDER);
    }

    /// ATTACK: answer, disallow, withhold. It ends later than any demand of what was answered before.
    function test_disallowingDoesNotEscapeADemand() public {
        vm.prank(provider);
        registry.disallow(address(rollCall));
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        vm.warp(demand.until + 1);
        rollCall.expire(demand);
        assertEq(registry.slashableOf(provider), 900);
    }

    /// Once the allowance has ended nothing is taken, and the deposit comes back all the same.
    function test_anEndedAllowanceKeepsNoDeposit() public {
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        vm.prank(provider);
        registry.disallow(address(rollCall));
        vm.warp(block.timestamp + 7 days);
        rollCall.expire(demand);
        assertEq(registry.slashableOf(provider), 1000);
        assertEq(rollCall.owedTo(DEMANDER), demand.deposit);
    }

    /// ATTACK: leave, and come back with a smaller allowance, so that the demand can never be closed.
    function test_aSmallerAllowanceKeepsNoDeposit() public {
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        vm.startPrank(provider);
        registry.unstake(1000);
        vm.warp(block.timestamp + 7 days);
        registry.withdraw(provider);
        IRegistry.Registration memory entry = registration(provider, IRegistry.Role.Provider, 1000);
        entry.allowances[1].mostPpm = 50_000;
        registry.register(entry);
        vm.stopPrank();
        rollCall.expire(demand);
        assertEq(registry.slashableOf(provider), 950);
        assertEq(rollCall.owedTo(DEMANDER), demand.deposit);
    }

    /// An answer signed by a key that was replaced since is still its account's.
    function test_aFormerSignersAnswerIsDemanded() public {
        bytes memory consent = signed(0x52, registry.consentDigest(provider));
        vm.prank(provider);
        registry.setSigner(vm.addr(0x52), consent);
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        vm.warp(demand.until + 1);
        vm.expectEmit(address(registry));
        emit IRegistry.Slashed(provider, address(rollCall), rollCall.REASON(), DEMANDER, 100, 20, 80);
        rollCall.expire(demand);
    }

    /// Eight strangers, and every validator beside them: a cheat's own demands keep nobody out.
    function test_demandsOfAnAnswerAreBounded() public {
        IRollCall.Demand memory first;
        for (uint160 i = 0; i < 8; i++) {
            IRollCall.Demand memory one = demandBy(address(0x5000 + i));
            if (i == 0) first = one;
        }
        refused(IRollCall.TooManyDemands.selector);
        IRollCall.Demand memory staked = demandBy(validators[1]);
        vm.deal(validators[1], 1 ether);
        vm.prank(validators[1]);
        vm.expectRevert(IRollCall.TooManyDemands.selector);
        rollCall.demandOpening{value: 1 ether}(commitment, proof, place);
        // A validator's demand frees no stranger's place, a stranger's does.
        rollCall.answerOpening(staked, roots, leafBytes, path);
        refused(IRollCall.TooManyDemands.selector);
        rollCall.answerOpening(first, roots, leafBytes, path);
        demandBy(DEMANDER);
        demandBy(validators[1]);
        refused(IRollCall.TooManyDemands.selector);
    }

    /// Another tree with the same answer is no way around it.
    function test_oneAnswerInTwoTreesIsOne() public {
        demandBy(DEMANDER);
        commitTo(proof.leaf);
        assertEq(commitment.validator, validators[1]);
        refused(IRollCall.TooManyDemands.selector);
    }

    function test_whoCallsBackFindsNothing() public {
        Greedy greedy = new Greedy(rollCall);
        demandBy(address(greedy));
        demandBy(DEMANDER);
        vm.warp(block.timestamp + 1 days + 1);
        greedy.expire(
            IRollCall.Demand(
                address(greedy), CALL, commitment.beta, proof.leaf, place, 0.001 ether, uint64(block.timestamp) - 1, false
            )
        );
        uint256 before = address(greedy).balance;
        greedy.take();
        assertEq(address(greedy).balance, before + 0.001 ether);
        assertEq(address(rollCall).balance, 0.001 ether);
        assertEq(greedy.refused(), 1);
    }

    function test_whoRefusesCoinsGetsNone() public {
        IRollCall.Demand memory demand = demandBy(DEMANDER);
        rollCall.answerOpening(demand, roots, leafBytes, path);
        vm.prank(provider);
        vm.expectRevert(IRollCall.PaymentFailed.selector);
        rollCall.withdraw(payable(address(token)));
        assertEq(rollCall.owedTo(provider), demand.deposit);
    }

    /// Deposits are conserved whatever comes of them.
    function testFuzz_depositsAreConserved(uint8[6] memory acts) public {
        address[6] memory who =
            [validators[0], validators[1], validators[2], DEMANDER, ACCUSER, address(0x51)];
        IRollCall.Demand[6] memory demands;
        uint256 open = 0;
        for (uint256 i = 0; i < 6; i++) {
            demands[i] = demandBy(who[i]);
            open += demands[i].deposit;
        }
        for (uint256 i = 0; i < 6; i++) {
            if (acts[i] % 3 == 1) rollCall.answerOpening(demands[i], roots, leafBytes, path);
        }
        vm.warp(block.timestamp + 1 days + 1);
        uint256 left = open;
        uint256 owed = rollCall.owedTo(provider);
        for (uint256 i = 0; i < 6; i++) {
            if (acts[i] % 3 == 2) rollCall.expire(demands[i]);
            if (acts[i] % 3 != 0) left -= demands[i].deposit;
            owed += rollCall.owedTo(who[i]);
        }
        assertEq(address(rollCall).balance, open);
        assertEq(owed + left, open);
    }
}

contract Greedy {
    RollCall private immutable rollCall;
    uint256 public refused;

    constructor(RollCall rollCall_) {
        rollCall = rollCall_;
    }

    function expire(IRollCall.Demand calldata demand) external {
        rollCall.expire(demand);
    }

    function take() external {
        rollCall.withdraw(payable(address(this)));
    }

    receive() external payable {
        try rollCall.withdraw(payable(address(this))) {} catch {
            refused++;
        }
    }
}
