// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Attestations} from "../../src/attestations/Attestations.sol";
import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {Cheats} from "../Cheats.sol";

interface P256Signer {
    function signP256(uint256 key, bytes32 digest) external pure returns (bytes32 r, bytes32 s);
}

/// Two guests with a key each answer binds in random order, with and without a flaw, while time passes and
/// Intel's lists and texts come in, renewed, late, or revoking one of them or both.
contract AttestationHandler is Cheats {
    uint256 private constant N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551;
    uint256 public constant BINDS = 4;
    uint256 public constant GUESTS = 3;
    Attestations public book;
    bytes[] private late;
    bytes[] private quotes;
    bytes32[] private keys;
    uint256[] private ends;
    uint256[2] public until;
    bool public isSecondRevoked;
    bool public isIssuerRevoked;
    uint40[2] public listFrom;
    bool[2] private isRenewed;
    mapping(bytes32 question => bytes32) public answers;
    uint256 public falseAnswers;
    uint256 public refusedAnswers;
    mapping(string => uint256) public seen;

    constructor() {
        string memory json = vm.readFile("contracts/vectors/attestations.json");
        bytes[] memory base = vm.parseJsonBytesArray(json, ".base");
        late = vm.parseJsonBytesArray(json, ".late");
        quotes = vm.parseJsonBytesArray(json, ".quotes");
        keys = vm.parseJsonBytes32Array(json, ".keys");
        ends = vm.parseJsonUintArray(json, ".ends");
        address reader = deployCode("IntelReader", "");
        book = Attestations(deployCode("Attestations", abi.encode(keys[0], keys[1], 4_102_444_799, reader)));
        vm.warp(vm.parseJsonUintArray(json, ".times")[0]);
        for (uint256 i = 0; i < 6; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, "base");
        }
        listFrom = [book.authorityOf(0).listFrom, book.authorityOf(1).listFrom];
    }

    function wait(uint32 seconds_) external {
        vm.warp(block.timestamp + seconds_ % 2 days);
    }

    /// Registrations (of 0, of 1), the root's list, the issuer's with a revocation, TCB info, identity,
    /// registrations anew, the root's with another.
    function bring(uint256 which) external {
        which %= late.length;
        (bool isDone,) = address(book).call(late[which]);
        if (!isDone) return;
        seen[vm.toString(which)]++;
        // As long as the texts and both lists.
        if (which < 2) until[which] = ends[0];
        if (which == 6 || which == 7) until[which - 6] = isRenewed[0] && isRenewed[1] ? ends[1] : ends[0];
        if (which == 2 || which == 8) (listFrom[0], isRenewed[0]) = (book.authorityOf(0).listFrom, true);
        if (which == 3) (listFrom[1], isRenewed[1], isSecondRevoked) = (book.authorityOf(1).listFrom, true, true);
        if (which == 8) isIssuerRevoked = true;
    }

    function idOf(uint256 who) public view returns (bytes32) {
        return keys[2 + 4 * who + 3];
    }

    function mayAnswer(uint256 who) public view returns (bool) {
        return until[who] >= block.timestamp && !isIssuerRevoked && !(who == 1 && isSecondRevoked);
    }

    function bindOf(uint256 number) public pure returns (bytes32) {
        return keccak256(abi.encode("bind", number % BINDS));
    }

    /// The body with this bind and guest; both have places of their own.
    function quoteOf(uint256 who, bytes32 bind, bytes32 set, uint256 guest) private view returns (bytes memory quote) {
        quote = quotes[who];
        assembly ("memory-safe") {
            mstore(add(quote, add(0x20, 568)), bind)
            mstore(add(quote, add(0x20, 600)), set)
            mstore8(add(quote, add(0x20, 184)), guest)
        }
    }

    function guestOf(bytes memory quote) private pure returns (bytes32 hash) {
        assembly ("memory-safe") {
            hash := keccak256(add(quote, add(0x20, 184)), 384)
        }
    }

    function guestNumbered(uint256 number) public view returns (bytes32) {
        return guestOf(quoteOf(0, 0, 0, number % GUESTS));
    }

    /// Half of them have no flaw.
    function attest(uint256 who, uint256 number, uint256 guest, uint256 flaw) external {
        who %= 2;
        flaw %= 16;
        bytes32 bind = bindOf(number);
        bytes32 set = flaw == 8 ? bytes32(0) : keccak256(abi.encode(number, who, block.timestamp));
        bytes memory quote = quoteOf(who, flaw == 9 ? bytes32(number) : bind, set, guest % GUESTS);
        bytes32 named = guestOf(quote);
        if (flaw == 10) quote[48 + 120] = 0x01;
        if (flaw == 11) quote = bytes.concat(quote, hex"00");
        if (flaw == 12) named = keccak256(abi.encode(named));
        IAttestations.Key memory key = IAttestations.Key(keys[2 + 4 * who], keys[3 + 4 * who]);
        uint256 secret = uint256(keys[4 + 4 * (flaw == 13 ? 1 - who : who)]);
        (bytes32 r, bytes32 s) = P256Signer(address(vm)).signP256(secret, sha256(quote));
        bool isHigh = uint256(s) > N / 2;
        if (isHigh != (flaw == 14)) s = bytes32(N - uint256(s));
        if (flaw == 15) quote[48] ^= 0x01;
        bytes32 question = keccak256(abi.encode(bind, named));
        bool isDue = flaw < 8 && mayAnswer(who) && answers[question] == 0;
        try book.attest(IAttestations.Signed(quote, r, s), key, bind, named) returns (bytes32 kept) {
            if (!isDue || kept != set) falseAnswers++;
            answers[question] = kept;
            seen["attest"]++;
        } catch {
            if (isDue) refusedAnswers++;
        }
    }
}

contract AttestationInvariantsTest is Cheats {
    AttestationHandler private handler;
    Attestations private book;

    function setUp() public {
        handler = new AttestationHandler();
        book = handler.book();
    }

    function targetContracts() public view returns (address[] memory list) {
        list = new address[](1);
        list[0] = address(handler);
    }

    function invariant_attestations() public view {
        this.onlyDueAnswersAreTaken();
        this.everyDueAnswerIsTaken();
        this.answersStayAndNothingElseIsAnswered();
        this.whatIsRevokedStaysRevoked();
        this.noKeyOutlivesWhatItRestsOn();
        this.nothingGoesBackwards();
        this.onlyTheRootMakesAuthorities();
    }

    function onlyDueAnswersAreTaken() external view {
        assertEq(handler.falseAnswers(), 0);
    }

    function everyDueAnswerIsTaken() external view {
        assertEq(handler.refusedAnswers(), 0);
    }

    function answersStayAndNothingElseIsAnswered() external view {
        for (uint256 i = 0; i < handler.BINDS(); i++) {
            for (uint256 j = 0; j < handler.GUESTS(); j++) {
                (bytes32 bind, bytes32 guest) = (handler.bindOf(i), handler.guestNumbered(j));
                assertEq(book.setOf(bind, guest), handler.answers(keccak256(abi.encode(bind, guest))));
            }
        }
    }

    function whatIsRevokedStaysRevoked() external view {
        assertTrue(book.isRevoked(1, 34) == handler.isSecondRevoked(), "a certificate");
        assertTrue(book.isRevoked(0, 32) == handler.isIssuerRevoked(), "an issuer");
        assertTrue(book.authorityOf(1).isRevoked == handler.isIssuerRevoked(), "its flag");
        assertTrue(!book.isRevoked(1, 33) && !book.authorityOf(2).isRevoked, "nobody else");
    }

    function noKeyOutlivesWhatItRestsOn() external view {
        for (uint256 who = 0; who < 2; who++) {
            uint40 until = book.keyOf(handler.idOf(who)).until;
            assertEq(until, handler.mayAnswer(who) ? handler.until(who) : 0);
            assertTrue(until <= book.authorityOf(1).until && until <= book.authorityOf(1).listUntil, "its issuer");
            assertTrue(until <= book.authorityOf(0).listUntil, "the root's list");
        }
    }

    function nothingGoesBackwards() external view {
        assertEq(book.authorityOf(0).listFrom, handler.listFrom(0));
        assertEq(book.authorityOf(1).listFrom, handler.listFrom(1));
    }

    function onlyTheRootMakesAuthorities() external view {
        assertEq(book.authorityCount(), 2);
        assertEq(book.authorityOf(1).serial, 32);
        assertEq(book.authorityOf(2).serial, 41);
    }

    /// So that a handler that always reverts cannot pass for a book that holds.
    function test_everyActHappens() public {
        handler.bring(0);
        handler.bring(1);
        handler.attest(0, 0, 0, 0);
        handler.attest(1, 1, 1, 1);
        for (uint256 flaw = 8; flaw < 16; flaw++) handler.attest(0, 2, 2, flaw);
        assertEq(handler.seen("attest"), 2);
        handler.wait(2 days - 1);
        handler.wait(2 days - 1);
        handler.wait(2 days - 1);
        for (uint256 i = 2; i < 8; i++) handler.bring(i);
        // The second one is revoked by now, and cannot be registered anew.
        for (uint256 i = 2; i < 7; i++) assertEq(handler.seen(vm.toString(i)), 1);
        assertEq(handler.seen("7"), 0);
        handler.attest(0, 2, 2, 0);
        handler.attest(1, 3, 2, 0);
        assertEq(handler.seen("attest"), 3);
        this.invariant_attestations();
        for (uint256 i = 0; i < 6; i++) handler.wait(2 days - 1);
        handler.bring(8);
        assertTrue(handler.isIssuerRevoked(), "the issuer");
        handler.attest(0, 3, 2, 0);
        assertEq(handler.seen("attest"), 3);
        this.invariant_attestations();
    }
}
