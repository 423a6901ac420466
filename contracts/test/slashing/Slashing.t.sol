// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {GemmOpening} from "../../src/slashing/GemmOpening.sol";
import {ISlashing} from "../../src/slashing/ISlashing.sol";
import {Slashing} from "../../src/slashing/Slashing.sol";
import {DeviceId, IRegistry} from "../../src/stake/IRegistry.sol";
import {KeccakTree} from "../../src/trees/KeccakTree.sol";
import {StakeKit} from "../StakeKit.sol";

/// Fraud that is one, and everything that only looks like it.
contract SlashingTest is StakeKit {
    bytes32 private constant SALT = keccak256("salt");
    ISlashing.ProbeReceipt private receipt;
    ISlashing.GemmFraud private fraud;

    function setUp() public {
        deployStakes();
        vm.roll(100);
    }

    function tagged(string memory tag, bytes memory data) private pure returns (bytes32) {
        bytes32 digest = sha256(bytes(tag));
        return sha256(bytes.concat(digest, digest, data));
    }

    /// Three rounds of 4 × 1024 × 128. In round 1 leaf 5 (row 2, columns 512 …) holds `value` at column 7 and
    /// right elements nowhere else.
    function prepare(uint8 precision, uint16 value) private {
        bytes32 seed = keccak256(abi.encode("seed", precision));
        bytes memory leaf = new bytes(1024);
        (leaf[14], leaf[15]) = (bytes1(uint8(value)), bytes1(uint8(value >> 8)));
        bytes32[] memory path = new bytes32[](3);
        for (uint256 i = 0; i < 3; i++) path[i] = keccak256(abi.encode("sibling", i));
        bytes32 root = tagged("assay/leaf/1", leaf);
        root = tagged("assay/node/1", bytes.concat(path[0], root));
        root = tagged("assay/node/1", bytes.concat(root, path[1]));
        root = tagged("assay/node/1", bytes.concat(path[2], root));
        bytes32[] memory roundPath = new bytes32[](2);
        (roundPath[0], roundPath[1]) = (keccak256("round 0"), keccak256("round 2"));
        bytes32 tree = KeccakTree.node(
            KeccakTree.node(roundPath[0], keccak256(bytes.concat(hex"00", seed, root))), roundPath[1]
        );
        receipt = ISlashing.ProbeReceipt({
            provider: provider,
            probeId: keccak256("probe"),
            challenge: 3,
            precision: precision,
            m: 4,
            n: 1024,
            k: 128,
            rounds: 3,
            tree: tree
        });
        fraud = ISlashing.GemmFraud({
            round: 1,
            seed: seed,
            root: root,
            roundPath: roundPath,
            leaf: 5,
            column: 7,
            leafBytes: leaf,
            path: path
        });
    }

    function right(uint8 precision) private view returns (uint16) {
        return slashing.gemmElement(precision, keccak256(abi.encode("seed", precision)), 128, 2, 519);
    }

    function wrong() private {
        prepare(0, right(0) + 1);
    }

    function announced() private {
        bytes32 hash = slashing.announcementOf(ACCUSER, slashing.deedOf(provider, receipt.probeId), SALT);
        slashing.announce(hash);
        vm.roll(block.number + 1);
    }

    function accuse() private {
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        vm.prank(ACCUSER);
        slashing.proveGemm(receipt, signature, fraud, SALT);
    }

    function refused(bytes memory signature, bytes memory why) private {
        vm.prank(ACCUSER);
        vm.expectRevert(why);
        slashing.proveGemm(receipt, signature, fraud, SALT);
    }

    function refused(bytes memory signature, bytes4 why) private {
        refused(signature, abi.encodeWithSelector(why));
    }

    function refused(bytes memory why) private {
        refused(signed(PROVIDER_KEY, slashing.receiptDigest(receipt)), why);
    }

    function refused(bytes4 why) private {
        refused(abi.encodeWithSelector(why));
    }

    function testFuzz_aWrongElementIsPunishedOnce(uint8 precision, uint16 value) public {
        precision %= 5;
        uint16 truth = right(precision);
        if (value == truth) value++;
        prepare(precision, value);
        announced();
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        vm.expectEmit(address(registry));
        emit IRegistry.Slashed(provider, address(slashing), slashing.REASON(), ACCUSER, 500, 100, 400);
        vm.expectEmit(address(slashing));
        emit ISlashing.GemmFraudProven(provider, receipt.probeId, ACCUSER, value, truth);
        vm.prank(ACCUSER);
        slashing.proveGemm(receipt, signature, fraud, SALT);
        assertEq(registry.slashableOf(provider), 500);
        assertEq(token.balanceOf(ACCUSER), 100);
        assertTrue(slashing.isPunished(provider, receipt.probeId), "not punished");
        refused(signature, ISlashing.AlreadyPunished.selector);
    }

    /// M1: every challenge of a probe may be wrong; the probe costs its share once.
    function test_aProbeIsPunishedOnceWhateverItsChallenges() public {
        wrong();
        accuse();
        receipt.challenge = 4;
        refused(ISlashing.AlreadyPunished.selector);
        prepare(2, right(2) + 1);
        refused(ISlashing.AlreadyPunished.selector);
        assertEq(registry.slashableOf(provider), 500);
        // Another probe is another deed.
        receipt.probeId = keccak256("another probe");
        assertTrue(!slashing.isPunished(provider, receipt.probeId), "punished already");
        accuse();
        assertEq(registry.slashableOf(provider), 250);
    }

    /// M2: the first of 4,096 rounds is shown by a path of twelve.
    function test_fraudInAnyRoundIsOnePath() public {
        wrong();
        for (uint32 round = 0; round < 4096; round += 4095) {
            bytes32 node = keccak256(bytes.concat(hex"00", fraud.seed, fraud.root));
            bytes32[] memory path = new bytes32[](12);
            for (uint256 i = 0; i < 12; i++) {
                path[i] = keccak256(abi.encode("round", i));
                node = (round >> i) & 1 == 0 ? KeccakTree.node(node, path[i]) : KeccakTree.node(path[i], node);
            }
            (fraud.round, fraud.roundPath, receipt.rounds, receipt.tree) = (round, path, 4096, node);
            receipt.probeId = keccak256(abi.encode(round));
            accuse();
        }
        assertEq(registry.slashableOf(provider), 250);
    }

    function test_aRightElementIsNoFraud() public {
        for (uint8 precision = 0; precision < 5; precision++) {
            uint16 truth = right(precision);
            prepare(precision, truth);
            refused(abi.encodeWithSelector(ISlashing.ElementRight.selector, truth));
        }
        assertEq(registry.slashableOf(provider), 1000);
    }

    /// Every field of the receipt is signed.
    function test_noFieldOfAReceiptCanBeChanged() public {
        wrong();
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        for (uint256 field = 0; field < 9; field++) {
            wrong();
            if (field == 0) receipt.provider = validators[0];
            if (field == 1) receipt.probeId = keccak256("another");
            if (field == 2) receipt.challenge++;
            if (field == 3) receipt.precision++;
            if (field == 4) receipt.m++;
            if (field == 5) receipt.n += 512;
            if (field == 6) receipt.k += 128;
            if (field == 7) receipt.rounds++;
            if (field == 8) receipt.tree = keccak256("another");
            refused(signature, ISlashing.SignatureInvalid.selector);
        }
        wrong();
        refused(signed(keys[0], slashing.receiptDigest(receipt)), ISlashing.SignatureInvalid.selector);
        refused("", ISlashing.SignatureInvalid.selector);
        accuse();
    }

    /// And every part of the proof is bound to it.
    function test_noPartOfAProofCanBeChanged() public {
        bytes4 unknown = ISlashing.RoundUnknown.selector;
        for (uint256 part = 0; part < 6; part++) {
            wrong();
            if (part == 0) fraud.seed = keccak256("a seed that makes it wrong");
            if (part == 1) fraud.root = keccak256("another root");
            if (part == 2) fraud.round = 0;
            if (part == 3) fraud.round = 3;
            if (part == 4) fraud.roundPath.pop();
            if (part == 5) fraud.roundPath[1] = keccak256("another");
            refused(unknown);
        }
        for (uint256 part = 0; part < 5; part++) {
            wrong();
            if (part == 0) fraud.leaf = 4;
            if (part == 1) fraud.leaf = 8;
            if (part == 2) fraud.path.pop();
            if (part == 3) fraud.path[1] = keccak256("another sibling");
            if (part == 4) fraud.leafBytes[1000] = 0x01;
            refused(GemmOpening.RootMismatch.selector);
        }
        wrong();
        fraud.leafBytes.pop();
        refused(GemmOpening.PlaceInvalid.selector);
        wrong();
        fraud.column = 512;
        refused(GemmOpening.PlaceInvalid.selector);
        assertEq(registry.slashableOf(provider), 1000);
        wrong();
        accuse();
    }

    /// A node of the round tree is no leaf of it.
    function test_aNodeIsNoRound() public {
        wrong();
        bytes32 left = KeccakTree.node(fraud.roundPath[0], keccak256(bytes.concat(hex"00", fraud.seed, fraud.root)));
        assertEq(KeccakTree.node(left, fraud.roundPath[1]), receipt.tree);
        (fraud.seed, fraud.root, fraud.round) = (left, fraud.roundPath[1], 0);
        delete fraud.roundPath;
        receipt.rounds = 1;
        refused(ISlashing.RoundUnknown.selector);
    }

    /// Signed for one deployment on one chain, once: not elsewhere, and not again as the other signature of
    /// the same key.
    function test_signaturesDoNotTravel() public {
        wrong();
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        refused(mirrored(signature), ISlashing.SignatureInvalid.selector);
        refused(bytes.concat(signature, hex"00"), ISlashing.SignatureInvalid.selector);
        vm.chainId(block.chainid + 1);
        refused(signature, ISlashing.SignatureInvalid.selector);
        vm.chainId(block.chainid - 1);
        // The Registry's domain has the same name, and another address.
        IRegistry.DeviceStatement memory word =
            IRegistry.DeviceStatement(DeviceId.wrap("device"), provider, electorate, "schema", "evidence", 7);
        refused(signed(PROVIDER_KEY, registry.statementDigest(word)), ISlashing.SignatureInvalid.selector);
        Slashing another = Slashing(deployCode("Slashing", abi.encode(registry, slashing.params())));
        assertTrue(another.receiptDigest(receipt) != slashing.receiptDigest(receipt), "one digest for two contracts");
        accuse();
        assertEq(registry.slashableOf(provider), 500);
    }

    /// ATTACK: sign, then change the signer: what the old key signed stays the account's.
    function test_aChangeOfSignersDoesNotEscape() public {
        wrong();
        bytes memory old = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        uint256 nextKey = 0x52;
        bytes memory consent = signed(nextKey, registry.consentDigest(provider));
        vm.prank(provider);
        registry.setSigner(vm.addr(nextKey), consent);
        vm.prank(ACCUSER);
        slashing.proveGemm(receipt, old, fraud, SALT);
        receipt.probeId = keccak256("another probe");
        bytes memory signature = signed(nextKey, slashing.receiptDigest(receipt));
        vm.prank(ACCUSER);
        slashing.proveGemm(receipt, signature, fraud, SALT);
        assertEq(registry.slashableOf(provider), 250);
    }

    // Announcements

    /// L3: whoever copies the proof from the pool gets nothing, and nobody else either.
    function test_aCopiedProofPaysNobody() public {
        wrong();
        announced();
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        vm.prank(address(0xBAD));
        slashing.proveGemm(receipt, signature, fraud, SALT);
        assertEq(token.balanceOf(address(0xBAD)), 0);
        assertEq(token.balanceOf(ACCUSER), 0);
        assertEq(token.balanceOf(registry.BURN()), 500);
    }

    function unpaid() private {
        accuse();
        assertEq(token.balanceOf(ACCUSER), 0);
        assertEq(token.balanceOf(registry.BURN()), 500);
    }

    function test_withoutAnAnnouncementAllIsBurned() public {
        wrong();
        unpaid();
    }

    /// ATTACK: announce in the block in which the proof was seen.
    function test_anAnnouncementOfTheSameBlockIsNone() public {
        wrong();
        bytes32 hash = slashing.announcementOf(ACCUSER, slashing.deedOf(provider, receipt.probeId), SALT);
        slashing.announce(hash);
        unpaid();
    }

    function test_anAnnouncementIsOfOneDeedAndSalt() public {
        wrong();
        slashing.announce(slashing.announcementOf(ACCUSER, slashing.deedOf(provider, "another"), SALT));
        slashing.announce(slashing.announcementOf(ACCUSER, slashing.deedOf(ACCUSER, receipt.probeId), SALT));
        slashing.announce(slashing.announcementOf(ACCUSER, slashing.deedOf(provider, receipt.probeId), "salt"));
        vm.roll(block.number + 1);
        unpaid();
    }

    /// ATTACK: announce another's hash again, so that it looks younger.
    function test_theFirstAnnouncementCounts() public {
        wrong();
        bytes32 hash = slashing.announcementOf(ACCUSER, slashing.deedOf(provider, receipt.probeId), SALT);
        assertEq(slashing.announcedAt(hash), 0);
        announced();
        vm.prank(address(0xBAD));
        slashing.announce(hash);
        assertEq(slashing.announcedAt(hash), block.number - 1);
        accuse();
        assertEq(token.balanceOf(ACCUSER), 100);
    }

    /// Accused by a friend: half comes back at most, whatever the parameters.
    function test_accusingOneselfCosts() public {
        wrong();
        announced();
        accuse();
        uint256 back = token.balanceOf(ACCUSER);
        uint256 burned = token.balanceOf(registry.BURN());
        assertEq(back + burned, 500);
        assertTrue(burned >= back, "at least half is burned");
    }

    // Stake

    /// Left or leaving: the unbonding delay keeps it within reach.
    function test_leavingDoesNotHelp() public {
        wrong();
        vm.prank(provider);
        registry.unstake(1000);
        accuse();
        assertEq(registry.slashableOf(provider), 500);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(provider);
        receipt.probeId = keccak256("another probe");
        refused(abi.encodeWithSelector(ISlashing.NothingToSlash.selector, provider));
    }

    /// Who allows less loses what it allows; who allows nothing nothing. Validators score neither.
    function test_noMoreThanIsAllowed() public {
        address poor = vm.addr(0x57A);
        fund(poor);
        IRegistry.Registration memory entry = registration(poor, IRegistry.Role.Provider, 1000);
        entry.allowances = new IRegistry.Allowance[](0);
        vm.prank(poor);
        registry.register(entry);
        wrong();
        receipt.provider = poor;
        bytes memory signature = signed(0x57A, slashing.receiptDigest(receipt));
        refused(signature, abi.encodeWithSelector(ISlashing.NothingToSlash.selector, poor));
        assertTrue(!slashing.isPunished(poor, receipt.probeId), "punished for nothing");
        vm.prank(poor);
        registry.allow(IRegistry.Allowance(address(slashing), 100_000, 0));
        vm.prank(ACCUSER);
        slashing.proveGemm(receipt, signature, fraud, SALT);
        assertEq(registry.slashableOf(poor), 900);
    }

    /// Nobody speaks for an address that never registered a signer, least of all for the zero address.
    function test_strangersCannotBeAccused() public {
        wrong();
        receipt.provider = vm.addr(0x57A);
        refused(signed(0x57A, slashing.receiptDigest(receipt)), ISlashing.SignatureInvalid.selector);
        receipt.provider = address(0);
        refused(signed(0x57A, slashing.receiptDigest(receipt)), ISlashing.SignatureInvalid.selector);
    }

    function deployWith(ISlashing.Params memory params) external {
        deployCode("Slashing", abi.encode(registry, params));
    }

    function test_paramsWithoutAPunishmentAreRefused() public {
        this.deployWith(ISlashing.Params(1_000_000));
        vm.expectRevert(ISlashing.ParamsInvalid.selector);
        this.deployWith(ISlashing.Params(0));
        vm.expectRevert(ISlashing.ParamsInvalid.selector);
        this.deployWith(ISlashing.Params(1_000_001));
        assertEq(slashing.params().gemmSlashPpm, 500_000);
    }

    function test_oddSpecsAreRefused() public {
        wrong();
        receipt.n = 1000;
        refused(GemmOpening.SpecInvalid.selector);
        receipt.n = 1024;
        receipt.k = 100;
        refused(GemmOpening.SpecInvalid.selector);
        receipt.k = 128;
        receipt.precision = 5;
        refused(GemmOpening.SpecInvalid.selector);
    }

    function test_elementsOfOddProductsAreNotTold() public {
        vm.expectRevert(GemmOpening.SpecInvalid.selector);
        slashing.gemmElement(0, "seed", 100, 0, 0);
        vm.expectRevert(GemmOpening.SpecInvalid.selector);
        slashing.gemmElement(2, "seed", 16384, 0, 1 << 21);
        slashing.gemmElement(2, "seed", 16384, 0, (1 << 21) - 1);
    }
}
