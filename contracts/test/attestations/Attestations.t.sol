// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Attestations} from "../../src/attestations/Attestations.sol";
import {Der} from "../../src/attestations/Der.sol";
import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {IntelReader} from "../../src/attestations/IntelReader.sol";
import {Cheats} from "../Cheats.sol";

/// The calls of contracts/vectors/attestations.json: minted quotes and collateral, each wrong in one thing.
contract AttestationsTest is Cheats {
    Attestations private book;
    bytes[] private base;
    bytes[] private calls;
    uint256[] private prefix;
    uint256[] private times;
    uint256[] private wanted;

    function setUp() public {
        string memory json = vm.readFile("contracts/vectors/attestations.json");
        base = vm.parseJsonBytesArray(json, ".base");
        calls = vm.parseJsonBytesArray(json, ".calls");
        prefix = vm.parseJsonUintArray(json, ".prefix");
        times = vm.parseJsonUintArray(json, ".times");
        wanted = vm.parseJsonUintArray(json, ".wanted");
        deployUntil(4_102_444_799);
    }

    function deployUntil(uint40 until) private {
        bytes32[] memory keys = vm.parseJsonBytes32Array(vm.readFile("contracts/vectors/attestations.json"), ".keys");
        address reader = deployCode("IntelReader", "");
        book = Attestations(deployCode("Attestations", abi.encode(keys[0], keys[1], until, reader)));
    }

    /// Each wrong call is tried after exactly the right ones that come before it.
    function test_everyCall() public {
        assertTrue(calls.length >= 40, "vectors");
        uint256 start = times[0];
        for (uint256 done = 0; done <= base.length; done++) {
            for (uint256 i = 0; i < calls.length; i++) {
                if (prefix[i] != done) continue;
                vm.warp(times[i]);
                (bool isTaken, bytes memory because) = address(book).call(calls[i]);
                assertTrue(!isTaken, vm.toString(i));
                assertEq(uint256(uint32(bytes4(because))), wanted[i]);
            }
            vm.warp(start);
            if (done == base.length) break;
            (bool isDone,) = address(book).call(base[done]);
            assertTrue(isDone, vm.toString(done));
        }
    }

    function unixOf(uint256 year, uint256 month, uint256 day) external pure returns (uint256) {
        return Der.unixOf(year, month, day);
    }

    /// Dates of certificates: each end of each part.
    function test_dates() public {
        assertEq(this.unixOf(1970, 1, 1), 0);
        assertEq(this.unixOf(2000, 2, 29), 951_782_400);
        assertEq(this.unixOf(2049, 12, 31), 2_524_521_600);
        uint16[3][5] memory wrong = [
            [uint16(1969), 12, 31],
            [uint16(2026), 0, 1],
            [uint16(2026), 13, 1],
            [uint16(2026), 1, 0],
            [uint16(2026), 1, 32]
        ];
        for (uint256 i = 0; i < wrong.length; i++) {
            vm.expectRevert(abi.encodeWithSelector(IAttestations.FormWrong.selector, wrong[i][0]));
            this.unixOf(wrong[i][0], wrong[i][1], wrong[i][2]);
        }
    }

    /// What is known is known: no right call works twice, but for a registration.
    function test_twice() public {
        vm.warp(times[0]);
        for (uint256 i = 0; i < base.length; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
            (bool isTaken, bytes memory because) = address(book).call(base[i]);
            assertTrue(isTaken == (i == 6), vm.toString(i));
            if (i == 6) continue;
            bytes4 due = i == 7 ? IAttestations.AlreadyAttested.selector : IAttestations.Older.selector;
            assertEq(bytes32(bytes4(because)), bytes32(due));
        }
        IAttestations.Authority memory issuer = book.authorityOf(1);
        assertTrue(issuer.isIssuer && !book.authorityOf(2).isIssuer && book.authorityCount() == 2, "authorities");
        assertEq(issuer.serial, 32);
        assertEq(book.numberOf(issuer.key), 1);
    }

    function test_littleGas() public {
        vm.warp(times[0]);
        for (uint256 i = 0; i < 7; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
        }
        // Too little gas never makes a true quote false.
        bool isTaken = false;
        for (uint256 gasLeft = 5_000; !isTaken; gasLeft += 1_000) {
            bytes memory because;
            (isTaken, because) = address(book).call{gas: gasLeft}(base[7]);
            assertTrue(isTaken || because.length == 0, vm.toString(gasLeft));
            assertTrue(gasLeft < 80_000, "enough gas");
        }
    }

    function argumentsOf(bytes calldata call) external pure returns (bytes calldata) {
        return call[4:];
    }

    function mustRefuse(bytes memory call, bytes memory due) private {
        (bool isTaken, bytes memory because) = address(book).call(call);
        assertTrue(!isTaken, "it was taken");
        assertEq(keccak256(because), keccak256(due));
    }

    function begun(uint256 count) private {
        vm.warp(times[0]);
        for (uint256 i = 0; i < count; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
        }
    }

    function form(uint256 place) private pure returns (bytes memory) {
        return abi.encodeWithSelector(IAttestations.FormWrong.selector, place);
    }

    /// Another check behind it would refuse many of these too; each is refused by its own, and told by its
    /// name.
    function test_quotesByName() public {
        begun(6);
        (IAttestations.Signed memory quote, IAttestations.Key memory key, bytes32 bind, bytes32 guest) =
            abi.decode(this.argumentsOf(base[7]), (IAttestations.Signed, IAttestations.Key, bytes32, bytes32));
        bytes memory right = quote.body;
        (bool isTaken, bytes memory because) = address(book).call(base[7]);
        assertTrue(!isTaken && bytes4(because) == IAttestations.KeyUnknown.selector, "not registered yet");
        (isTaken,) = address(book).call(base[6]);
        assertTrue(isTaken, "registered");
        for (uint256 length = 0; length < 632; length += 79) {
            quote.body = slice(right, 0, length);
            mustRefuse(abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)), form(length));
        }
        for (uint256 i = 0; i < 8; i++) {
            quote.body = slice(right, 0, 632);
            quote.body[i] ^= 0x02;
            mustRefuse(abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)), form(0));
        }
        bytes memory head = bytes.concat(hex"0500", slice(right, 2, 48));
        bytes memory rest = slice(right, 48, 632);
        quote.body = bytes.concat(head, hex"010048020000", rest);
        mustRefuse(abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)), form(48));
        quote.body = bytes.concat(head, hex"020048020001", rest);
        mustRefuse(abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)), form(48));
        quote.body = bytes.concat(head, hex"030088020000", rest);
        mustRefuse(abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)), form(638));
        quote.body = bytes.concat(head, hex"020048020000", rest, hex"00");
        mustRefuse(abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)), form(639));
        quote.body = right;
        quote.s = bytes32(0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551 - uint256(quote.s));
        mustRefuse(
            abi.encodeCall(IAttestations.attest, (quote, key, bind, guest)),
            abi.encodeWithSelector(IAttestations.SignatureHigh.selector)
        );
    }

    function slice(bytes memory of_, uint256 from, uint256 to) private pure returns (bytes memory part) {
        part = new bytes(to - from);
        for (uint256 i = from; i < to; i++) {
            part[i - from] = of_[i];
        }
    }

    /// An authority that is not there, and one that may do something else.
    function test_authoritiesByName() public {
        begun(7);
        bytes memory other = abi.encodeWithSelector(IAttestations.CertificateOther.selector);
        bytes memory none = abi.encodeWithSelector(IAttestations.AuthorityUnknown.selector, uint16(9));
        IAttestations.Signed memory signed;
        (, signed) = abi.decode(this.argumentsOf(base[3]), (uint16, IAttestations.Signed));
        mustRefuse(abi.encodeCall(IAttestations.list, (9, signed)), none);
        mustRefuse(abi.encodeCall(IAttestations.list, (2, signed)), other);
        (, signed) = abi.decode(this.argumentsOf(base[4]), (uint16, IAttestations.Signed));
        mustRefuse(abi.encodeCall(IAttestations.inform, (9, signed)), none);
        mustRefuse(abi.encodeCall(IAttestations.inform, (1, signed)), other);
        mustRefuse(abi.encodeCall(IAttestations.inform, (0, signed)), other);
        (, signed) = abi.decode(this.argumentsOf(base[5]), (uint16, IAttestations.Signed));
        mustRefuse(abi.encodeCall(IAttestations.identify, (9, signed)), none);
        mustRefuse(abi.encodeCall(IAttestations.identify, (1, signed)), other);
        IAttestations.Registration memory entry = abi.decode(this.argumentsOf(base[6]), (IAttestations.Registration));
        uint16 issuer = entry.authority;
        for (uint16 i = 0; i < 3; i++) {
            if (i == issuer) continue;
            entry.authority = i;
            mustRefuse(abi.encodeCall(IAttestations.register, (entry)), other);
        }
        entry.authority = 9;
        mustRefuse(abi.encodeCall(IAttestations.register, (entry)), none);
        entry.authority = issuer;
        bytes memory seam = entry.seam;
        entry.seam = slice(seam, 0, 55);
        mustRefuse(abi.encodeCall(IAttestations.register, (entry)), form(55));
        entry.seam = bytes.concat(seam, hex"00");
        mustRefuse(abi.encodeCall(IAttestations.register, (entry)), form(57));
        entry.seam = seam;
        (bool isDone,) = address(book).call(abi.encodeCall(IAttestations.register, (entry)));
        assertTrue(isDone, "the right one");
    }

    /// The root signed them, for something else.
    function test_oddCertificates() public {
        begun(3);
        bytes[] memory odd = vm.parseJsonBytesArray(vm.readFile("contracts/vectors/attestations.json"), ".odd");
        assertEq(odd.length, 3);
        for (uint256 i = 0; i < odd.length; i++) {
            mustRefuse(odd[i], abi.encodeWithSelector(IAttestations.CertificateOther.selector));
        }
        assertEq(book.authorityCount(), 2);
    }

    /// Certificates, lists and texts: one whose signature is another's is refused, in its place and by its
    /// name.
    function test_signatures() public {
        bytes memory due = abi.encodeWithSelector(IAttestations.SignatureWrong.selector);
        for (uint256 i = 0; i < 6; i++) {
            setUp();
            begun(i);
            if (i == 1 || i == 2) {
                IAttestations.Signed memory certificate = abi.decode(this.argumentsOf(base[i]), (IAttestations.Signed));
                certificate.r ^= bytes32(uint256(1));
                mustRefuse(abi.encodeCall(IAttestations.certify, (certificate)), due);
                continue;
            }
            (uint16 number, IAttestations.Signed memory signed) = abi.decode(this.argumentsOf(base[i]), (uint16, IAttestations.Signed));
            signed.r ^= bytes32(uint256(1));
            mustRefuse(bytes.concat(bytes4(base[i]), abi.encode(number, signed)), due);
        }
    }

    /// The last one that was certified too.
    function test_revokedLast() public {
        begun(2);
        bytes[] memory late = vm.parseJsonBytesArray(vm.readFile("contracts/vectors/attestations.json"), ".late");
        vm.warp(1_751_760_000); // 6 July 2025
        (bool isDone,) = address(book).call(late[8]);
        assertTrue(isDone && book.authorityOf(1).isRevoked, "the root's list");
    }

    /// Its lists and its platforms count no more, however new.
    function test_revokedIssuer() public {
        begun(7);
        bytes[] memory late = vm.parseJsonBytesArray(vm.readFile("contracts/vectors/attestations.json"), ".late");
        vm.warp(1_751_760_000); // 6 July 2025
        vm.expectEmit(address(book));
        emit IAttestations.CertificateRevoked(0, 32);
        (bool isDone,) = address(book).call(late[8]);
        assertTrue(isDone && book.authorityOf(1).isRevoked, "the root's list");
        bytes memory due = abi.encodeWithSelector(IAttestations.Revoked.selector, uint16(0), uint160(32));
        mustRefuse(late[3], due);
        mustRefuse(late[6], due);
        // Nor is its certificate taken once more.
        mustRefuse(base[1], due);
    }

    /// What is told of Intel's texts is what they said; the module is one that they name.
    function test_toldOfTexts() public {
        begun(6);
        bytes memory other = abi.encodeWithSelector(IAttestations.CollateralOther.selector);
        IAttestations.Registration memory entry = abi.decode(this.argumentsOf(base[6]), (IAttestations.Registration));
        entry.info.until++;
        mustRefuse(abi.encodeCall(IAttestations.register, (entry)), other);
        entry.info.until--;
        entry.info.levels[0].isAccepted = !entry.info.levels[0].isAccepted;
        mustRefuse(abi.encodeCall(IAttestations.register, (entry)), other);
        entry.info.levels[0].isAccepted = !entry.info.levels[0].isAccepted;
        entry.identity.evaluation++;
        mustRefuse(abi.encodeCall(IAttestations.register, (entry)), other);
        entry.identity.evaluation--;
        for (uint256 i = 0; i < 56; i++) {
            entry.seam[i] ^= 0x01;
            mustRefuse(abi.encodeCall(IAttestations.register, (entry)), abi.encodeWithSelector(IAttestations.TcbUnknown.selector));
            entry.seam[i] ^= 0x01;
        }
        (bool isDone,) = address(book).call(abi.encodeCall(IAttestations.register, (entry)));
        assertTrue(isDone, "the right one");
    }

    /// To the second, at both ends of each thing that holds for a time.
    function test_moments() public {
        IntelReader reader = new IntelReader();
        IAttestations.Signed memory signed = abi.decode(this.argumentsOf(base[1]), (IAttestations.Signed));
        IAttestations.Certificate memory issuer = reader.certificate(signed.body);
        vm.warp(issuer.from - 1);
        mustRefuse(base[1], abi.encodeWithSelector(IAttestations.NotYet.selector, issuer.from));
        // The root holds longer than what it certifies.
        deployUntil(uint40(issuer.until + 365 days));
        vm.warp(issuer.until + 1);
        mustRefuse(base[1], abi.encodeWithSelector(IAttestations.Ended.selector, issuer.until));
        uint256 moment = book.authorityCount() == 0 ? issuer.from : 0;
        assertTrue(moment != 0, "nobody yet");
        vm.warp(moment);
        (bool isDone,) = address(book).call(base[1]);
        assertTrue(isDone, "from its first second");
        setUp();
        vm.warp(issuer.until);
        (isDone,) = address(book).call(base[1]);
        assertTrue(isDone, "until its last");

        setUp();
        (, signed) = abi.decode(this.argumentsOf(base[0]), (uint16, IAttestations.Signed));
        (uint256 from, uint256 until,) = reader.crl(signed.body);
        vm.warp(from - 1 days - 1);
        mustRefuse(base[0], abi.encodeWithSelector(IAttestations.NotYet.selector, from));
        vm.warp(from - 1 days);
        (isDone,) = address(book).call(base[0]);
        assertTrue(isDone, "a list, a day early");
        setUp();
        vm.warp(until);
        (isDone,) = address(book).call(base[0]);
        assertTrue(isDone, "a list, in its last second");

        setUp();
        begun(4);
        (, signed) = abi.decode(this.argumentsOf(base[4]), (uint16, IAttestations.Signed));
        IAttestations.TcbInfo memory info = reader.tcbInfo(signed.body);
        vm.warp(info.until + 1);
        mustRefuse(base[4], abi.encodeWithSelector(IAttestations.Ended.selector, uint256(info.until)));
        vm.warp(info.from - 1 days - 1);
        mustRefuse(base[4], abi.encodeWithSelector(IAttestations.NotYet.selector, uint256(info.from)));
        vm.warp(info.from - 1 days);
        (isDone,) = address(book).call(base[4]);
        assertTrue(isDone, "a text, a day early");
        setUp();
        begun(4);
        vm.warp(info.until);
        (isDone,) = address(book).call(base[4]);
        assertTrue(isDone, "a text, in its last second");
    }

    /// A key ends with the first of what it stands on, and is not made after that.
    function test_keysEnd() public {
        begun(7);
        bytes32 id = vm.parseJsonBytes32Array(vm.readFile("contracts/vectors/attestations.json"), ".keys")[5];
        uint256 until = book.keyOf(id).until;
        vm.warp(until + 1);
        assertEq(book.keyOf(id).until, 0);
        mustRefuse(base[6], abi.encodeWithSelector(IAttestations.Ended.selector, until));
        mustRefuse(base[7], abi.encodeWithSelector(IAttestations.KeyEnded.selector, uint40(until)));
        vm.warp(until);
        assertEq(book.keyOf(id).until, until);
        (bool isDone,) = address(book).call(base[6]);
        assertTrue(isDone, "registered again in its last second");
        (isDone,) = address(book).call(base[7]);
        assertTrue(isDone, "in its last second");
    }

    /// To the second: an authority ends with the root that certified it.
    function test_authoritiesEnd() public {
        uint40 until = uint40(times[0] + 1 days);
        deployUntil(until);
        begun(3);
        assertEq(book.authorityOf(1).until, until);
        bytes memory due = abi.encodeWithSelector(IAttestations.Ended.selector, uint256(until));
        vm.warp(until + 1);
        for (uint256 i = 0; i < 6; i++) {
            mustRefuse(base[i], due);
        }
        vm.warp(until);
        for (uint256 i = 3; i < 6; i++) {
            (bool isDone,) = address(book).call(base[i]);
            assertTrue(isDone, vm.toString(i));
        }
    }
}
