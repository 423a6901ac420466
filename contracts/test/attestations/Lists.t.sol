// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAttestations} from "../../src/attestations/IAttestations.sol";
import {IntelReader} from "../../src/attestations/IntelReader.sol";
import {Cheats} from "../Cheats.sol";

/// Lists whose entries have the same time, which is read once: one that is not a time, or not there, is
/// refused all the same.
contract ListsTest is Cheats {
    IntelReader private reader;
    bytes private constant TIME = hex"170d3235303630313030303030305a";
    /// 2025-06-01T00:00:00Z in fifteen letters.
    bytes private constant LONG_TIME = hex"180f32303235303630313030303030305a";

    function setUp() public {
        reader = IntelReader(deployCode("IntelReader", ""));
    }

    function tlv(uint8 tag, bytes memory value) private pure returns (bytes memory) {
        return value.length < 0x80
            ? abi.encodePacked(tag, uint8(value.length), value)
            : abi.encodePacked(tag, hex"82", uint16(value.length), value);
    }

    function entry(uint8 serial, bytes memory rest) private pure returns (bytes memory) {
        return tlv(0x30, abi.encodePacked(hex"0201", serial, rest));
    }

    /// With so much behind the entries that a list of 256 bytes comes about.
    function listOf(bytes memory entries) private pure returns (bytes memory) {
        return tlv(0x30, abi.encodePacked(hex"020101300a06082a8648ce3d0403023000", TIME, TIME, tlv(0x30, filled(entries))));
    }

    function filled(bytes memory entries) private pure returns (bytes memory all) {
        all = entries;
        while (all.length < 256) all = bytes.concat(all, entry(9, TIME));
    }

    function mustRefuse(bytes memory entries, string memory what) private view {
        try reader.crl(listOf(entries)) {
            assertTrue(false, what);
        } catch (bytes memory because) {
            assertTrue(bytes4(because) == IAttestations.FormWrong.selector, what);
        }
    }

    function test_sameTimes() public view {
        (uint256 from, uint256 until, uint160[] memory serials) =
            reader.crl(listOf(abi.encodePacked(entry(1, TIME), entry(2, TIME), entry(3, LONG_TIME), entry(4, LONG_TIME), entry(5, TIME))));
        assertTrue(from == 1_748_736_000 && until == from, "times");
        assertTrue(serials.length > 5 && serials[0] == 1 && serials[1] == 2 && serials[2] == 3 && serials[3] == 4 && serials[4] == 5, "serials");
        (,, serials) = reader.crl(listOf(abi.encodePacked(entry(1, TIME), entry(2, bytes.concat(TIME, hex"0500")), entry(3, TIME))));
        assertTrue(serials[1] == 2 && serials[2] == 3, "more behind a time");
    }

    function test_otherTimes() public view {
        bytes memory wrong = hex"170d3235313330313030303030305a";
        mustRefuse(abi.encodePacked(entry(1, wrong)), "a month too many");
        mustRefuse(abi.encodePacked(entry(1, TIME), entry(2, wrong)), "in the second");
        mustRefuse(abi.encodePacked(entry(1, TIME), entry(2, wrong), entry(3, wrong)), "twice");
        mustRefuse(abi.encodePacked(entry(1, TIME), entry(2, hex"000000000000000000000000000000")), "zeros");
        mustRefuse(abi.encodePacked(entry(1, hex"ffffffffffffffffffffffffffffff")), "ones");
        // The same fifteen bytes, and something else behind them.
        mustRefuse(abi.encodePacked(entry(1, LONG_TIME), entry(2, hex"180f323032353036303130303030303a5a")), "a long one's end");
        mustRefuse(abi.encodePacked(entry(1, LONG_TIME), entry(2, hex"180f32303235303630313030303030305b")), "a long one's last letter");
    }

    /// Its bytes are there, but of the next entry.
    function test_noRoom() public view {
        mustRefuse(abi.encodePacked(entry(1, TIME), hex"3003020102", TIME), "none");
        mustRefuse(abi.encodePacked(entry(1, TIME), hex"3011020102", TIME), "a byte too few");
        // The last two letters, "0Z", begin another entry, of 90 bytes.
        bytes memory other = abi.encodePacked(hex"020103", TIME, new bytes(72));
        mustRefuse(abi.encodePacked(entry(1, TIME), hex"3010020102", TIME, other), "two bytes too few");
    }
}
