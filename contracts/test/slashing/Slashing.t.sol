// SPDX-License-Identifier: UNLICENSED
pragma solidity 0.8.37;

import {GemmOpening} from "../../src/slashing/GemmOpening.sol";
import {ISlashing} from "../../src/slashing/ISlashing.sol";
import {Slashing} from "../../src/slashing/Slashing.sol";
import {IRegistry} from "../../src/stake/IRegistry.sol";
import {Registry} from "../../src/stake/Registry.sol";
import {NetworkKit} from "../NetworkKit.sol";

/// Fraud that is one, and everything that only looks like it.
contract SlashingTest is NetworkKit {
    ISlashing.ProbeReceipt private receipt;
    ISlashing.GemmFraud private fraud;

    function setUp() public {
        deploy();
    }

    function tagged(string memory tag, bytes memory data) private pure returns (bytes32) {
        bytes32 digest = sha256(bytes(tag));
        return sha256(bytes.concat(digest, digest, data));
    }

    /// Two rounds of 4 × 1024 × 128. In round 0 leaf 5 (row 2, columns 512 …) holds `value` at column 7 and
    /// right elements nowhere else.
    function prepare(uint8 precision, uint16 value) private {
        bytes32 seed = keccak256(abi.encode("seed", precision));
        bytes memory leaf = new bytes(1024);
        (leaf[14], leaf[15]) = (bytes1(uint8(value)), bytes1(uint8(value >> 8)));
        bytes32[] memory path = new bytes32[](3);
        for (uint256 i = 0; i < 3; i++) path[i] = keccak256(abi.encode("sibling", i));
        bytes32 node = tagged("assay/leaf/1", leaf);
        node = tagged("assay/node/1", bytes.concat(path[0], node));
        node = tagged("assay/node/1", bytes.concat(node, path[1]));
        node = tagged("assay/node/1", bytes.concat(path[2], node));
        bytes32[] memory roots = new bytes32[](2);
        (roots[0], roots[1]) = (node, keccak256("root of round 1"));
        bytes32 end = tagged("assay/seed/1", bytes.concat(tagged("assay/seed/1", bytes.concat(seed, roots[0])), roots[1]));
        receipt = ISlashing.ProbeReceipt({
            provider: provider,
            probeId: keccak256("probe"),
            challenge: 3,
            precision: precision,
            m: 4,
            n: 1024,
            k: 128,
            rounds: 2,
            seed: seed,
            end: end
        });
        fraud = ISlashing.GemmFraud({seed: seed, roots: roots, leaf: 5, column: 7, leafBytes: leaf, path: path});
    }

    function right(uint8 precision) private view returns (uint16) {
        return slashing.gemmElement(precision, keccak256(abi.encode("seed", precision)), 128, 2, 519);
    }

    function accuse() private {
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        vm.prank(ACCUSER);
        slashing.proveGemm(receipt, signature, fraud);
    }

    function testFuzz_aWrongElementIsPunishedOnce(uint8 precision, uint16 value) public {
        precision %= 5;
        uint16 truth = right(precision);
        if (value == truth) value++;
        prepare(precision, value);
        accuse();
        assertEq(registry.slashableOf(provider), 500);
        assertEq(token.balanceOf(ACCUSER), 100);
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        vm.expectRevert(ISlashing.AlreadyPunished.selector);
        slashing.proveGemm(receipt, signature, fraud);
    }

    function test_aRightElementIsNoFraud() public {
        for (uint8 precision = 0; precision < 5; precision++) {
            uint16 truth = right(precision);
            prepare(precision, truth);
            bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
            vm.expectRevert(abi.encodeWithSelector(ISlashing.ElementRight.selector, truth));
            slashing.proveGemm(receipt, signature, fraud);
        }
        assertEq(registry.slashableOf(provider), 1000);
    }

    /// Every field of the receipt is signed, and every part of the proof is bound to it.
    function test_nothingCanBeChanged() public {
        prepare(0, right(0) + 1);
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        receipt.probeId = keccak256("another");
        refused(signature, ISlashing.SignatureInvalid.selector);
        prepare(0, right(0) + 1);
        receipt.k = 256;
        refused(signature, ISlashing.SignatureInvalid.selector);
        prepare(0, right(0) + 1);
        receipt.precision = 1;
        refused(signature, ISlashing.SignatureInvalid.selector);
        prepare(0, right(0) + 1);
        receipt.provider = validators[0];
        refused(signature, ISlashing.SignatureInvalid.selector);
        prepare(0, right(0) + 1);
        refused(signed(keys[0], slashing.receiptDigest(receipt)), ISlashing.SignatureInvalid.selector);
        refused("", ISlashing.SignatureInvalid.selector);
        fraud.seed = keccak256("a seed that makes it wrong");
        refused(signature, ISlashing.ChainMismatch.selector);
        prepare(0, right(0) + 1);
        fraud.roots[1] = keccak256("another root");
        refused(signature, ISlashing.ChainMismatch.selector);
        prepare(0, right(0) + 1);
        fraud.roots.pop();
        refused(signature, ISlashing.ChainMismatch.selector);
        fraud.roots.pop();
        refused(signature, ISlashing.RoundsInvalid.selector);
        prepare(0, right(0) + 1);
        fraud.leaf = 4;
        refused(signature, GemmOpening.RootMismatch.selector);
        fraud.leaf = 8;
        refused(signature, GemmOpening.RootMismatch.selector);
        prepare(0, right(0) + 1);
        fraud.path.pop();
        refused(signature, GemmOpening.RootMismatch.selector);
        prepare(0, right(0) + 1);
        fraud.path[1] = keccak256("another sibling");
        refused(signature, GemmOpening.RootMismatch.selector);
        prepare(0, right(0) + 1);
        fraud.leafBytes[1000] = 0x01;
        refused(signature, GemmOpening.RootMismatch.selector);
        fraud.leafBytes.pop();
        refused(signature, GemmOpening.PlaceInvalid.selector);
        prepare(0, right(0) + 1);
        fraud.column = 512;
        refused(signature, GemmOpening.PlaceInvalid.selector);
        assertEq(registry.slashableOf(provider), 1000);
        prepare(0, right(0) + 1);
        accuse();
    }

    function refused(bytes memory signature, bytes4 why) private {
        vm.prank(ACCUSER);
        vm.expectRevert(why);
        slashing.proveGemm(receipt, signature, fraud);
    }

    /// Signed for one deployment on one chain, once: not elsewhere, and not again as the other signature of
    /// the same key.
    function test_signaturesDoNotTravel() public {
        prepare(0, right(0) + 1);
        bytes memory signature = signed(PROVIDER_KEY, slashing.receiptDigest(receipt));
        refused(mirrored(signature), ISlashing.SignatureInvalid.selector);
        refused(bytes.concat(signature, hex"00"), ISlashing.SignatureInvalid.selector);
        vm.chainId(block.chainid + 1);
        refused(signature, ISlashing.SignatureInvalid.selector);
        vm.chainId(block.chainid - 1);
        // The Registry's domain has the same name, and another address.
        IRegistry.DeviceAttestation memory word = IRegistry.DeviceAttestation("device", provider, "evidence", 7);
        refused(signed(PROVIDER_KEY, registry.attestationDigest(word)), ISlashing.SignatureInvalid.selector);
        accuse();
        assertEq(registry.slashableOf(provider), 500);
    }

    function deployWith(ISlashing.Params memory params) external {
        address next = vm.computeCreateAddress(address(this), vm.getNonce(address(this)) + 1);
        new Slashing(new Registry(token, next, next, next, address(this), registry.params()), params);
    }

    function test_paramsWithoutAPunishmentAreRefused() public {
        this.deployWith(slashing.params());
        ISlashing.Params[4] memory bad = [
            ISlashing.Params(0, 1),
            ISlashing.Params(1, 0),
            ISlashing.Params(1_000_001, 1),
            ISlashing.Params(1, 1_000_001)
        ];
        for (uint256 i = 0; i < 4; i++) {
            vm.expectRevert(ISlashing.ParamsInvalid.selector);
            this.deployWith(bad[i]);
        }
        vm.expectRevert(ISlashing.ParamsInvalid.selector);
        new Slashing(registry, ISlashing.Params(1, 1));
    }

    /// Accused by a friend: half comes back at most, whatever the parameters.
    function test_accusingOneselfCosts() public {
        prepare(0, right(0) + 1);
        accuse();
        uint256 back = token.balanceOf(ACCUSER);
        uint256 burned = token.balanceOf(registry.BURN());
        assertEq(back + burned, 500);
        assertTrue(burned >= back, "at least half is burned");
    }

    function test_oddSpecsAreRefused() public {
        prepare(0, right(0) + 1);
        receipt.n = 1000;
        refused(signed(PROVIDER_KEY, slashing.receiptDigest(receipt)), GemmOpening.SpecInvalid.selector);
        receipt.n = 1024;
        receipt.k = 100;
        refused(signed(PROVIDER_KEY, slashing.receiptDigest(receipt)), GemmOpening.SpecInvalid.selector);
        receipt.k = 128;
        receipt.precision = 5;
        refused(signed(PROVIDER_KEY, slashing.receiptDigest(receipt)), GemmOpening.SpecInvalid.selector);
    }

    function test_elementsOfOddProductsAreNotTold() public {
        vm.expectRevert(GemmOpening.SpecInvalid.selector);
        slashing.gemmElement(0, "seed", 100, 0, 0);
        vm.expectRevert(GemmOpening.SpecInvalid.selector);
        slashing.gemmElement(2, "seed", 16384, 0, 1 << 21);
        slashing.gemmElement(2, "seed", 16384, 0, (1 << 21) - 1);
    }

    function test_whoHasNoStakeCannotBeSlashed() public {
        prepare(0, right(0) + 1);
        receipt.provider = vm.addr(0x57A);
        refused(
            signed(0x57A, slashing.receiptDigest(receipt)), ISlashing.NothingToSlash.selector, vm.addr(0x57A)
        );
    }

    function refused(bytes memory signature, bytes4 why, address whom) private {
        vm.expectRevert(abi.encodeWithSelector(why, whom));
        slashing.proveGemm(receipt, signature, fraud);
    }

    function stake() private view returns (uint128) {
        return registry.slashableOf(validators[0]);
    }

    function statement(bytes32 root, uint64 epoch) private view returns (ISlashing.ScoreReport memory) {
        return ISlashing.ScoreReport(validators[0], epoch, root);
    }

    function test_twoReportsForOneEpoch() public {
        ISlashing.ScoreReport memory one = statement("one", 4);
        ISlashing.ScoreReport memory two = statement("two", 4);
        bytes memory signOne = signed(keys[0], slashing.reportDigest(one));
        bytes memory signTwo = signed(keys[0], slashing.reportDigest(two));
        vm.expectRevert(ISlashing.NoConflict.selector);
        slashing.proveConflict(one, signOne, one, signOne);
        ISlashing.ScoreReport memory next = statement("two", 5);
        bytes memory signNext = signed(keys[0], slashing.reportDigest(next));
        vm.expectRevert(ISlashing.NoConflict.selector);
        slashing.proveConflict(one, signOne, next, signNext);
        ISlashing.ScoreReport memory others = ISlashing.ScoreReport(validators[1], 4, "two");
        bytes memory signOthers = signed(keys[1], slashing.reportDigest(others));
        vm.expectRevert(ISlashing.NoConflict.selector);
        slashing.proveConflict(one, signOne, others, signOthers);
        vm.expectRevert(ISlashing.SignatureInvalid.selector);
        slashing.proveConflict(one, signOne, two, signOthers);
        assertEq(stake(), STAKE);
        vm.prank(ACCUSER);
        slashing.proveConflict(one, signOne, two, signTwo);
        assertEq(stake(), 0);
        assertEq(token.balanceOf(ACCUSER), STAKE / 5);
        vm.expectRevert(ISlashing.AlreadyPunished.selector);
        slashing.proveConflict(two, signTwo, one, signOne);
    }

    function test_aSignedReportThatWasNotTheRevealedOne() public {
        bytes32 revealed = keccak256("revealed");
        ISlashing.ScoreReport memory other = statement("signed", 0);
        ISlashing.ScoreReport memory same = statement(revealed, 0);
        bytes memory signOther = signed(keys[0], slashing.reportDigest(other));
        bytes memory signSame = signed(keys[0], slashing.reportDigest(same));
        vm.expectRevert(ISlashing.NoConflict.selector);
        slashing.proveRevealConflict(other, signOther);
        report(0, [revealed, bytes32(0), bytes32(0)]);
        vm.expectRevert(ISlashing.NoConflict.selector);
        slashing.proveRevealConflict(same, signSame);
        slashing.proveRevealConflict(other, signOther);
        assertEq(stake(), 0);
    }

    /// Left or leaving: the unbonding delay keeps it within reach.
    function test_leavingDoesNotHelp() public {
        prepare(0, right(0) + 1);
        vm.prank(provider);
        registry.unstake(1000);
        accuse();
        assertEq(registry.slashableOf(provider), 500);
        vm.warp(block.timestamp + 7 days);
        vm.prank(provider);
        registry.withdraw(provider);
    }
}
