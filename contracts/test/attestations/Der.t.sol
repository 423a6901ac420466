// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Der} from "../../src/attestations/Der.sol";
import {TdQuote} from "../../src/attestations/TdQuote.sol";
import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {Cheats} from "../Cheats.sol";

/// The reader of certificates and lists, byte by byte: what it takes at each limit, and what it refuses one
/// step beyond. Who signed is judged elsewhere.
contract DerTest is Cheats {
    bytes private constant ECDSA = hex"300a06082a8648ce3d040302";
    bytes private constant SPKI = hex"3059301306072a8648ce3d020106082a8648ce3d03010703420004";
    bytes private constant KEY =
        hex"11111111111111111111111111111111111111111111111111111111111111112222222222222222222222222222222222222222222222222222222222222222";
    /// 2025-01-02T03:04:05Z and 2049-12-31T23:59:59Z
    bytes private constant FROM = hex"170d3235303130323033303430355a";
    bytes private constant UNTIL = hex"170d3439313233313233353935395a";
    uint256 private constant FROM_S = 1_735_787_045;
    uint256 private constant UNTIL_S = 2_524_607_999;

    function certificate(bytes calldata der) external pure returns (IAttestations.Certificate memory) {
        return Der.certificate(der);
    }

    function crl(bytes calldata der) external pure returns (uint256, uint256, uint160[] memory) {
        return Der.crl(der);
    }

    function next(bytes calldata der, uint256 place, uint256 end, uint8 tag) external pure returns (uint256, uint256) {
        return Der.next(der, place, end, tag);
    }

    function tlv(uint8 tag, bytes memory value) private pure returns (bytes memory) {
        if (value.length < 0x80) return abi.encodePacked(tag, uint8(value.length), value);
        if (value.length < 0x100) return abi.encodePacked(tag, uint8(0x81), uint8(value.length), value);
        return abi.encodePacked(tag, uint8(0x82), uint16(value.length), value);
    }

    function seq(bytes memory value) private pure returns (bytes memory) {
        return tlv(0x30, value);
    }

    /// `value` is what the extension holds; `flag` stands between its name and that.
    function extension(bytes memory oid, bytes memory flag, bytes memory value) private pure returns (bytes memory) {
        return seq(abi.encodePacked(tlv(0x06, oid), flag, tlv(0x04, value)));
    }

    function bodyOf(bytes memory serial, bytes memory times, bytes memory extensions) private pure returns (bytes memory) {
        bytes memory head = abi.encodePacked(hex"a003020102", tlv(0x02, serial), ECDSA, seq(hex"310130"), seq(times));
        // A country before the common name.
        bytes memory subject = seq(abi.encodePacked(tlv(0x31, seq(hex"060355040613025553")), tlv(0x31, seq(abi.encodePacked(hex"0603550403", tlv(0x0c, "a name"))))));
        return seq(abi.encodePacked(head, subject, SPKI, KEY, tlv(0xa3, seq(extensions))));
    }

    function withSerial(bytes memory serial) private pure returns (bytes memory) {
        return bodyOf(serial, abi.encodePacked(FROM, UNTIL), "");
    }

    function withTimes(bytes memory from, bytes memory until) private pure returns (bytes memory) {
        return bodyOf(hex"01", abi.encodePacked(from, until), "");
    }

    function withExtension(bytes memory one) private pure returns (bytes memory) {
        return bodyOf(hex"01", abi.encodePacked(FROM, UNTIL), one);
    }

    function refused(bytes memory der, string memory what) private view {
        try this.certificate(der) {
            assertTrue(false, what);
        } catch {}
    }

    function test_certificate() public view {
        IAttestations.Certificate memory found = this.certificate(withSerial(hex"0102"));
        assertEq(found.serial, 0x0102);
        assertEq(found.from, FROM_S);
        assertEq(found.until, UNTIL_S);
        assertTrue(found.name == keccak256("a name"), "name");
        assertTrue(uint256(found.key.x) % 256 == 0x11 && uint256(found.key.y) % 256 == 0x22, "key");
        assertTrue(!found.isCa && !found.isPlatform && found.usage == 0xff, "no extension");
    }

    function test_wholeAndCut() public view {
        bytes memory right = withSerial(hex"01");
        refused(abi.encodePacked(right, hex"00"), "something behind it");
        for (uint256 cut = 1; cut < 12; cut++) {
            bytes memory less = new bytes(right.length - cut);
            for (uint256 i = 0; i < less.length; i++) less[i] = right[i];
            refused(less, "cut");
        }
        // Each byte of version, algorithm and key's kind.
        bytes memory marks = abi.encodePacked(hex"a003020102", ECDSA, SPKI);
        uint256 seen;
        for (uint256 i = 2; i + 27 < right.length; i++) {
            for (uint256 part = 0; part < 3; part++) {
                (uint256 from, uint256 size) = part == 0 ? (0, 5) : part == 1 ? (5, 12) : (17, 27);
                bool isHere = true;
                for (uint256 j = 0; j < size && isHere; j++) isHere = right[i + j] == marks[from + j];
                if (!isHere) continue;
                seen++;
                for (uint256 j = 0; j < size; j++) {
                    right[i + j] ^= 0x01;
                    refused(right, vm.toString(j));
                    right[i + j] ^= 0x01;
                }
            }
        }
        assertEq(seen, 3);
        this.certificate(right);
    }

    function test_serials() public view {
        bytes memory most = hex"00ffffffffffffffffffffffffffffffffffffffff";
        assertEq(this.certificate(withSerial(most)).serial, type(uint160).max);
        assertEq(this.certificate(withSerial(hex"00")).serial, 0);
        assertEq(this.certificate(withSerial(hex"0080")).serial, 0x80);
        assertEq(this.certificate(withSerial(hex"7f")).serial, 0x7f);
        refused(withSerial(hex""), "empty");
        refused(withSerial(hex"80"), "negative");
        refused(withSerial(hex"007f"), "a zero too many");
        refused(withSerial(hex"010000000000000000000000000000000000000000"), "above 20 bytes");
        refused(withSerial(hex"00ffffffffffffffffffffffffffffffffffffffffff"), "22 bytes");
    }

    function test_times() public view {
        // Two digits: from 1970 to 2049. Four digits: any year from 1970 on.
        assertEq(this.certificate(withTimes(hex"170d3730303130313030303030315a", UNTIL)).from, 1);
        assertEq(this.certificate(withTimes(FROM, hex"180f32303939313233313233353935395a")).until, 4_102_444_799);
        refused(withTimes(hex"170d3530303130313030303030305a", UNTIL), "1950");
        refused(withTimes(hex"180f31393639313233313233353935395a", UNTIL), "1969");
        refused(withTimes(hex"180d3235303130323033303430355a", UNTIL), "two digits with the tag of four");
        refused(withTimes(hex"170f32303939313233313233353935395a", UNTIL), "four digits with the tag of two");
        refused(withTimes(hex"170c32353031303230333034305a", UNTIL), "short");
        refused(withTimes(hex"170d3235303130323033303430352b", UNTIL), "no Z");
        refused(withTimes(hex"170d3235303130323033303a30355a", UNTIL), "a colon");
        refused(withTimes(hex"170d3235303130323033302f30355a", UNTIL), "a slash");
        refused(withTimes(hex"040d3235303130323033303430355a", UNTIL), "no time");
        refused(withTimes(FROM, ""), "one time");
    }

    function test_lengths() public view {
        (uint256 from, uint256 to) = this.next(hex"0401aa", 0, 3, 0x04);
        assertTrue(from == 2 && to == 3, "short");
        (from, to) = this.next(abi.encodePacked(hex"048180", new bytes(128)), 0, 131, 0);
        assertTrue(from == 3 && to == 131, "one byte of length");
        (from, to) = this.next(abi.encodePacked(hex"04820100", new bytes(256)), 0, 260, 0x04);
        assertTrue(from == 4 && to == 260, "two bytes of length");
        (from, to) = this.next(hex"ff0400", 1, 3, 0x04);
        assertTrue(from == 3 && to == 3, "nothing in it");
        far(hex"0401aa", 0, 3, 0x05, "another tag");
        far(hex"0401aa", 0, 2, 0x04, "behind its end");
        far(hex"0401aa", 0, 4, 0x04, "an end behind the bytes");
        far(hex"0400", 1, 2, 0x00, "no room for a length");
        far(hex"0480", 0, 2, 0x04, "no length");
        far(hex"04810a", 0, 3, 0x04, "behind its end");
        far(abi.encodePacked(hex"04817f", new bytes(127)), 0, 130, 0x04, "long for no reason");
        far(abi.encodePacked(hex"048200ff", new bytes(255)), 0, 259, 0x04, "two bytes for no reason");
        far(abi.encodePacked(hex"0483000100", new bytes(256)), 0, 261, 0x04, "three bytes");
        far(hex"048201", 0, 3, 0x04, "a length that is cut");
    }

    function far(bytes memory der, uint256 place, uint256 end, uint8 tag, string memory what) private view {
        try this.next(der, place, end, tag) {
            assertTrue(false, what);
        } catch {}
    }

    function test_criticalExtensions() public view {
        bytes memory critical = hex"0101ff";
        bytes memory understood = hex"0e111f202325";
        for (uint256 i = 0; i < understood.length; i++)
            this.certificate(withExtension(extension(abi.encodePacked(hex"551d", understood[i]), critical, hex"0500")));
        // Names, mappings, and the neighbours of what is understood.
        bytes memory others = hex"1e21240d1012222601";
        for (uint256 i = 0; i < others.length; i++) {
            bytes memory oid = abi.encodePacked(hex"551d", others[i]);
            refused(withExtension(extension(oid, critical, hex"0500")), vm.toString(uint8(others[i])));
            this.certificate(withExtension(extension(oid, "", hex"0500")));
            this.certificate(withExtension(extension(oid, hex"010100", hex"0500")));
            refused(withExtension(extension(oid, hex"01020000", hex"0500")), "a flag of two bytes");
        }
        for (uint256 i = 0; i < 3; i++) {
            bytes memory oid = i == 0 ? bytes(hex"551e0e") : i == 1 ? bytes(hex"551d0e01") : bytes(hex"551d");
            refused(withExtension(extension(oid, critical, hex"0500")), "another name");
            this.certificate(withExtension(extension(oid, "", hex"0500")));
        }
        refused(withExtension(extension(hex"2a864886f84d010d01", critical, hex"3000")), "Intel's own is not critical");
        refused(withExtension(seq(hex"0603551d1e04020500ff")), "something behind its value");
    }

    function test_authorities() public view {
        assertTrue(this.certificate(withExtension(extension(hex"551d13", "", hex"30030101ff"))).isCa, "an authority");
        assertTrue(this.certificate(withExtension(extension(hex"551d13", hex"0101ff", hex"30060101ff020100"))).isCa, "with a length of paths");
        assertTrue(!this.certificate(withExtension(extension(hex"551d13", "", hex"3000"))).isCa, "said of none");
        assertTrue(!this.certificate(withExtension(extension(hex"551d13", "", hex"3003010101"))).isCa, "another truth");
        assertTrue(!this.certificate(withExtension(extension(hex"551d13", "", hex"30040102ffff"))).isCa, "two bytes");
        assertTrue(!this.certificate(withExtension(extension(hex"551d13", "", hex"3003020101"))).isCa, "a number");
        refused(withExtension(extension(hex"551d13", "", hex"30030101ff00")), "something behind it");
        assertEq(this.certificate(withExtension(extension(hex"551d0f", "", hex"03020106"))).usage, 0x06);
        refused(withExtension(extension(hex"551d0f", "", hex"030101")), "no bits");
        refused(withExtension(extension(hex"551d0f", "", hex"0302010600")), "something behind them");
    }

    /// By its own error and at its place, not by bytes that are not there.
    function refusedAt(bytes memory der, uint256 place, bool isList, string memory what) private view {
        bytes memory call = isList ? abi.encodeCall(this.crl, (der)) : abi.encodeCall(this.certificate, (der));
        (bool isTaken, bytes memory because) = address(this).staticcall(call);
        assertTrue(!isTaken, what);
        assertEq(keccak256(because), keccak256(abi.encodeWithSelector(IAttestations.FormWrong.selector, place)));
    }

    function test_places() public view {
        refusedAt(hex"3003a00302", 2, false, "a cut version");
        refusedAt(hex"3003020101", 5, true, "a version alone");
        refusedAt(hex"30020201", 2, true, "a cut version");
        refusedAt(abi.encodePacked(hex"3082fffd", new bytes(65_533)), 0, false, "longer than any");
        refusedAt(abi.encodePacked(hex"3082fffd", new bytes(65_533)), 0, true, "longer than any");
        refusedAt(abi.encodePacked(hex"3082fffc", new bytes(65_532)), 4, true, "as long as one may be");
        refused(withTimes(FROM, abi.encodePacked(UNTIL, hex"0500")), "something behind its times");
        bytes memory right = withSerial(hex"01");
        // Its length has two bytes.
        bytes memory inner = new bytes(right.length - 3);
        for (uint256 i = 0; i < inner.length; i++) inner[i] = right[i + 3];
        assertEq(keccak256(seq(inner)), keccak256(right));
        bytes memory longer = seq(abi.encodePacked(inner, hex"0500"));
        refusedAt(longer, longer.length - 2, false, "something behind its extensions");
        // An outer length that ends before the inner one.
        inner[inner.length - 3] = 0x00;
        refusedAt(seq(inner), right.length - 2, false, "extensions longer than what holds them");
        // Nothing but a name, at the end of all.
        bytes memory bare = withExtension(seq(hex"0603551d0f"));
        refusedAt(bare, bare.length, false, "an extension without a value");
        bytes memory usage = withExtension(extension(hex"551d0f", "", hex"030101"));
        refusedAt(usage, usage.length - 3, false, "no bits at the end of all");
    }

    function pair(uint8 arc, bytes memory value) private pure returns (bytes memory) {
        return seq(abi.encodePacked(tlv(0x06, abi.encodePacked(hex"2a864886f84d010d01", arc)), value));
    }

    /// Sixteen components, the PCE's, and all of it once more; `other` in place of one.
    function tcb(uint256 which, bytes memory other) private pure returns (bytes memory all) {
        for (uint256 arc = 1; arc <= 17; arc++) {
            bytes memory value = arc == which ? other : abi.encodePacked(hex"0201", uint8(arc));
            all = abi.encodePacked(all, seq(abi.encodePacked(tlv(0x06, abi.encodePacked(hex"2a864886f84d010d0102", uint8(arc))), value)));
        }
        bytes memory last = seq(abi.encodePacked(tlv(0x06, hex"2a864886f84d010d010212"), tlv(0x04, new bytes(16))));
        return pair(2, seq(abi.encodePacked(all, last)));
    }

    function platform(bytes memory pce, bytes memory fmspc, bytes memory levels) private pure returns (bytes memory) {
        return extension(hex"2a864886f84d010d01", "", seq(abi.encodePacked(pair(1, tlv(0x04, new bytes(16))), levels, pair(3, pce), pair(4, fmspc))));
    }

    function test_platforms() public view {
        (bytes memory pce, bytes memory fmspc) = (tlv(0x04, hex"0102"), tlv(0x04, hex"a1a2a3a4a5a6"));
        bytes memory right = platform(pce, fmspc, tcb(0, ""));
        IAttestations.Certificate memory found = this.certificate(withExtension(right));
        assertTrue(found.isPlatform && found.pceId == 0x0102 && found.fmspc == 0xa1a2a3a4a5a6 && found.pceSvn == 17, "platform");
        assertTrue(found.components == 0x0102030405060708090a0b0c0d0e0f10, "components");
        refused(withExtension(abi.encodePacked(right, right)), "twice");
        bytes memory critical = right;
        refused(withExtension(markedCritical(critical)), "critical");
        refused(withExtension(platform(tlv(0x04, hex"010203"), fmspc, tcb(0, ""))), "three bytes");
        refused(withExtension(platform(tlv(0x04, hex"01"), fmspc, tcb(0, ""))), "one byte");
        refused(withExtension(platform(pce, tlv(0x04, hex"a1a2a3a4a5a6a7"), tcb(0, ""))), "seven bytes");
        refused(withExtension(platform(pce, tlv(0x04, hex"a1a2a3a4a5"), tcb(0, ""))), "five bytes");
        refused(withExtension(platform(abi.encodePacked(pce, hex"0500"), fmspc, tcb(0, ""))), "something behind it");
        this.certificate(withExtension(platform(pce, fmspc, tcb(16, hex"020200ff"))));
        this.certificate(withExtension(platform(pce, fmspc, tcb(17, hex"020300ffff"))));
        refused(withExtension(platform(pce, fmspc, tcb(16, hex"02020100"))), "a component above 255");
        refused(withExtension(platform(pce, fmspc, tcb(17, hex"0203010000"))), "the PCE's above 65,535");
    }

    /// Each part once, and nothing behind any of them.
    function test_platformParts() public view {
        (bytes memory pce, bytes memory fmspc) = (pair(3, tlv(0x04, hex"0102")), pair(4, tlv(0x04, hex"a1a2a3a4a5a6")));
        bytes memory levels = tcb(0, "");
        bytes memory none;
        for (uint256 missing = 0; missing < 4; missing++) {
            bytes memory parts =
                abi.encodePacked(missing == 0 ? none : levels, missing == 1 ? none : pce, missing == 2 ? none : fmspc);
            bytes memory der = withExtension(extension(hex"2a864886f84d010d01", "", seq(parts)));
            if (missing == 3) this.certificate(der);
            else refusedAt(der, der.length, false, "a part is missing");
        }
        bytes memory all = abi.encodePacked(levels, pce, fmspc);
        // A fourth part behind the sequence would be read as one of it.
        bytes memory behind = withExtension(extension(hex"2a864886f84d010d01", "", abi.encodePacked(seq(abi.encodePacked(levels, pce)), fmspc)));
        refusedAt(behind, behind.length - fmspc.length, false, "a part behind the others");
        this.certificate(withExtension(extension(hex"2a864886f84d010d01", "", seq(all))));
        bytes memory values = componentsOf(1, 17);
        for (uint256 gone = 0; gone <= 17; gone++) {
            bytes memory some = gone == 0 ? values : abi.encodePacked(componentsOf(1, gone - 1), componentsOf(gone + 1, 17));
            bytes memory der = withExtension(extension(hex"2a864886f84d010d01", "", seq(abi.encodePacked(pce, fmspc, pair(2, seq(some))))));
            if (gone == 0) this.certificate(der);
            else refusedAt(der, der.length, false, "a component is missing");
        }
        bytes memory split = pair(2, abi.encodePacked(seq(componentsOf(1, 16)), componentsOf(17, 17)));
        bytes memory cut = withExtension(extension(hex"2a864886f84d010d01", "", seq(abi.encodePacked(pce, fmspc, split))));
        refusedAt(cut, cut.length - componentsOf(17, 17).length, false, "a component behind the others");
    }

    function componentsOf(uint256 from, uint256 to) private pure returns (bytes memory all) {
        for (uint256 arc = from; arc <= to; arc++) {
            bytes memory oid = tlv(0x06, abi.encodePacked(hex"2a864886f84d010d0102", uint8(arc)));
            all = abi.encodePacked(all, seq(abi.encodePacked(oid, hex"020101")));
        }
    }

    /// Names of three bytes that are no common name, and longer ones that begin like it; an extension of nine
    /// bytes that is not Intel's.
    function test_otherNames() public view {
        bytes[3] memory oids = [bytes(hex"550404"), hex"55040301", hex"5504"];
        for (uint256 i = 0; i < oids.length; i++) {
            bytes memory subject = seq(tlv(0x31, seq(abi.encodePacked(tlv(0x06, oids[i]), tlv(0x0c, "a name")))));
            bytes memory head = abi.encodePacked(hex"a003020102", hex"020101", ECDSA, seq(hex"310130"), seq(abi.encodePacked(FROM, UNTIL)));
            bytes memory der = seq(abi.encodePacked(head, subject, SPKI, KEY, tlv(0xa3, seq(""))));
            assertEq(this.certificate(der).name, bytes32(0));
        }
        assertTrue(!this.certificate(withExtension(extension(hex"2a864886f84d010d02", "", hex"0500"))).isPlatform, "a neighbour");
        assertTrue(!this.certificate(withExtension(extension(hex"2a864886f84d010d0101", "", hex"0500"))).isPlatform, "a longer one");
    }

    /// Told at their place, and not by what a later check makes of them.
    function test_morePlaces() public view {
        bytes memory odd = withTimes(hex"040d3235303130323033303430355a", UNTIL);
        bytes memory right = withTimes(FROM, UNTIL);
        uint256 place;
        for (uint256 i = 0; i < right.length && place == 0; i++) if (right[i] != odd[i]) place = i;
        refusedAt(odd, place, false, "no time");
        // Extensions that end before what holds them does.
        bytes memory head = abi.encodePacked(hex"a003020102", hex"020101", ECDSA, seq(hex"310130"), seq(abi.encodePacked(FROM, UNTIL)), seq(""));
        bytes memory loose = seq(abi.encodePacked(head, SPKI, KEY, tlv(0xa3, hex"30000500")));
        refusedAt(loose, loose.length - 2, false, "something behind the extensions");
        // A body of five bytes is looked at whole.
        refusedAt(hex"3005a003020102", 7, false, "a version alone");
        refusedAt(hex"3004a0030201", 2, false, "less than a version");
        // A length of 0x80 says that it is not told.
        far(abi.encodePacked(hex"0480", new bytes(128)), 0, 130, 0x04, "an indefinite length");
        far(hex"ffff0481", 2, 4, 0x04, "a length that is cut, further on");
        far(hex"ffff048280", 2, 5, 0x04, "a length of which one byte is left");
    }

    function markedCritical(bytes memory of_) private pure returns (bytes memory) {
        // SEQUENCE {identifier of 11 bytes, …: three bytes of head, as its length is above 127.
        bytes memory value = new bytes(of_.length - 4 - 11);
        for (uint256 i = 0; i < value.length; i++) value[i] = of_[i + 4 + 11];
        return seq(abi.encodePacked(tlv(0x06, hex"2a864886f84d010d01"), hex"0101ff", value));
    }

    function guarded(bytes calldata body) external pure {
        TdQuote.mustBeGuarded(body);
    }

    /// A TD of 1.5 says whether a service TD is bound to it: in two fields.
    function test_serviceTds() public {
        for (uint256 length = 584; length <= 648; length += 64) {
            bytes memory body = new bytes(length);
            body[123] = 0x10;
            this.guarded(body);
            for (uint256 place = 600; place < length; place++) {
                body[place] = 0x01;
                vm.expectRevert(IAttestations.GuestPolicy.selector);
                this.guarded(body);
                body[place] = 0;
            }
        }
    }

    /// Bit by bit: what must be set, what may be, and what nobody may set.
    function test_attributes() public {
        bytes memory body = new bytes(584);
        vm.expectRevert(IAttestations.GuestPolicy.selector);
        this.guarded(body);
        body[123] = 0x10;
        for (uint256 bit = 0; bit < 64; bit++) {
            (uint256 place, bytes1 before) = (120 + bit / 8, body[120 + bit / 8]);
            body[place] = before ^ bytes1(uint8(1 << (bit % 8)));
            // Keys for supervisors, key locker, performance counters.
            bool isFree = bit == 30 || bit == 31 || bit == 63;
            if (!isFree) vm.expectRevert(bit < 8 ? IAttestations.GuestDebug.selector : IAttestations.GuestPolicy.selector);
            this.guarded(body);
            body[place] = before;
        }
    }

    function listOf(bytes memory entries, bytes memory tail) private pure returns (bytes memory) {
        return seq(abi.encodePacked(hex"020101", ECDSA, seq(hex"310130"), FROM, UNTIL, entries, tail));
    }

    function entry(bytes memory serial) private pure returns (bytes memory) {
        return seq(abi.encodePacked(tlv(0x02, serial), FROM));
    }

    function refusedList(bytes memory der, string memory what) private view {
        try this.crl(der) {
            assertTrue(false, what);
        } catch {}
    }

    function test_lists() public view {
        (uint256 from, uint256 until, uint160[] memory serials) = this.crl(listOf("", ""));
        assertTrue(from == FROM_S && until == UNTIL_S && serials.length == 0, "nobody");
        (,, serials) = this.crl(listOf(seq(abi.encodePacked(entry(hex"07"), entry(hex"0102"))), ""));
        assertTrue(serials.length == 2 && serials[0] == 7 && serials[1] == 0x0102, "two");
        bytes memory plain = extension(hex"551d14", "", hex"020101");
        bytes memory narrow = extension(hex"551d1c", hex"0101ff", hex"3000");
        (,, serials) = this.crl(listOf(seq(entry(hex"07")), tlv(0xa0, seq(plain))));
        assertEq(serials.length, 1);
        (,, serials) = this.crl(listOf("", tlv(0xa0, seq(plain))));
        assertEq(serials.length, 0);
        refusedList(listOf("", tlv(0xa0, seq(abi.encodePacked(plain, narrow)))), "one that narrows it");
        refusedList(listOf(seq(entry(hex"07")), tlv(0xa0, seq(narrow))), "one that narrows it");
        refusedList(listOf("", tlv(0xa1, seq(plain))), "something else behind it");
        refusedList(listOf("", abi.encodePacked(tlv(0xa0, seq(plain)), hex"0500")), "something behind all");
        refusedList(listOf("", tlv(0xa0, abi.encodePacked(seq(plain), hex"0500"))), "something behind the extensions");
        refusedList(listOf("", abi.encodePacked(hex"a002", seq(plain))), "extensions longer than what holds them");
        refusedList(listOf(seq(hex"0500"), ""), "no entry");
        refusedList(listOf(seq(seq(hex"020107")), ""), "an entry without a time");
        refusedList(seq(abi.encodePacked(hex"020100", ECDSA, seq(hex"310130"), FROM, UNTIL)), "version 1");
        refusedList(seq(abi.encodePacked(hex"020101", hex"300a06082a8648ce3d040303", seq(hex"310130"), FROM, UNTIL)), "another algorithm");
    }
}
