// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Der} from "./Der.sol";
import {IAttestations} from "./IAttestations.sol";
import {JsonText} from "./JsonText.sol";

/// What Intel signs, read: certificates, lists of revoked ones, TCB info of platforms with TDX (version 3),
/// the identity of the quoting enclave for TDX (version 2). A contract of its own, without state: one has no
/// room for all.
contract IntelReader {
    using JsonText for bytes;

    uint256 private constant MOST = 64;
    uint256 private constant COMPONENT = uint56(bytes7('{"svn":'));

    function certificate(bytes calldata der) external pure returns (IAttestations.Certificate memory) {
        return Der.certificate(der);
    }

    /// When a list holds, and whom it names. What its entries say beside does not matter: revoked is revoked.
    function crl(bytes calldata der) external pure returns (uint256 from, uint256 until, uint160[] memory serials) {
        return Der.crl(der);
    }

    /// Each is there once.
    function once(bytes memory all, uint256 place, uint256 seen, uint256 bit) private pure returns (uint256) {
        if (seen & (1 << bit) != 0) all.wrong(place);
        return seen | (1 << bit);
    }

    function tcbInfo(bytes calldata text) external pure returns (IAttestations.TcbInfo memory info) {
        (bytes memory all, uint256 place) = JsonText.open(text);
        uint256 seen;
        bool isMore;
        place = all.expect(place, "{");
        do {
            bytes32 name;
            (name, place) = all.name(place);
            if (name == "id") {
                (name, place) = all.short(place);
                if (name != "TDX") revert IAttestations.CollateralOther();
                seen = once(all, place, seen, 0);
            } else if (name == "version") {
                place = version(all, place, 3);
                seen = once(all, place, seen, 1);
            } else if (name == "issueDate") {
                (info.from, place) = time(all, place);
                seen = once(all, place, seen, 2);
            } else if (name == "nextUpdate") {
                (info.until, place) = time(all, place);
                seen = once(all, place, seen, 3);
            } else if (name == "fmspc") {
                (name, place) = all.hex_(place, 6);
                info.fmspc = bytes6(name);
                seen = once(all, place, seen, 4);
            } else if (name == "pceId") {
                (name, place) = all.hex_(place, 2);
                info.pceId = bytes2(name);
                seen = once(all, place, seen, 5);
            } else if (name == "tcbEvaluationDataNumber") {
                (info.evaluation, place) = uint32_(all, place);
                seen = once(all, place, seen, 6);
            } else if (name == "tdxModule") {
                (, place) = addModule(info, all, place);
                seen = once(all, place, seen, 7);
            } else if (name == "tdxModuleIdentities") {
                place = addModules(info, all, place);
                seen = once(all, place, seen, 8);
            } else if (name == "tcbLevels") {
                (info.levels, place) = levels(all, place, 0, readTcb);
                seen = once(all, place, seen, 9);
            } else {
                place = all.skip(place);
            }
            (isMore, place) = all.more(place, "}");
        } while (isMore);
        all.end(place);
        // Module identities may be missing.
        if (seen | 0x100 != 0x3ff) all.wrong(place);
    }

    function qeIdentity(bytes calldata text) external pure returns (IAttestations.QeIdentity memory found) {
        (bytes memory all, uint256 place) = JsonText.open(text);
        uint256 seen;
        bool isMore;
        place = all.expect(place, "{");
        do {
            bytes32 name;
            (name, place) = all.name(place);
            if (name == "id") {
                (name, place) = all.short(place);
                if (name != "TD_QE") revert IAttestations.CollateralOther();
                seen = once(all, place, seen, 0);
            } else if (name == "version") {
                place = version(all, place, 2);
                seen = once(all, place, seen, 1);
            } else if (name == "issueDate") {
                (found.from, place) = time(all, place);
                seen = once(all, place, seen, 2);
            } else if (name == "nextUpdate") {
                (found.until, place) = time(all, place);
                seen = once(all, place, seen, 3);
            } else if (name == "tcbEvaluationDataNumber") {
                (found.evaluation, place) = uint32_(all, place);
                seen = once(all, place, seen, 4);
            } else if (name == "miscselect") {
                (name, place) = all.hex_(place, 4);
                found.misc = bytes4(name);
                seen = once(all, place, seen, 5);
            } else if (name == "miscselectMask") {
                (name, place) = all.hex_(place, 4);
                found.miscMask = bytes4(name);
                seen = once(all, place, seen, 6);
            } else if (name == "attributes") {
                (name, place) = all.hex_(place, 16);
                found.attributes = bytes16(name);
                seen = once(all, place, seen, 7);
            } else if (name == "attributesMask") {
                (name, place) = all.hex_(place, 16);
                found.mask = bytes16(name);
                seen = once(all, place, seen, 8);
            } else if (name == "mrsigner") {
                (found.signer, place) = all.hex_(place, 32);
                seen = once(all, place, seen, 9);
            } else if (name == "isvprodid") {
                (found.product, place) = uint16_(all, place);
                seen = once(all, place, seen, 10);
            } else if (name == "tcbLevels") {
                (found.levels, place) = svnLevels(all, place);
                seen = once(all, place, seen, 11);
            } else {
                place = all.skip(place);
            }
            (isMore, place) = all.more(place, "}");
        } while (isMore);
        all.end(place);
        if (seen != 0xfff) all.wrong(place);
    }

    function version(bytes memory all, uint256 place, uint256 due) private pure returns (uint256) {
        (uint256 found, uint256 behind) = all.number(place, 1000);
        if (found != due) all.wrong(behind);
        return behind;
    }

    function uint32_(bytes memory all, uint256 place) private pure returns (uint32, uint256) {
        (uint256 value, uint256 behind) = all.number(place, type(uint32).max);
        return (uint32(value), behind);
    }

    function uint16_(bytes memory all, uint256 place) private pure returns (uint16, uint256) {
        (uint256 value, uint256 behind) = all.number(place, type(uint16).max);
        return (uint16(value), behind);
    }

    /// "2025-06-19T10:16:03Z"
    function time(bytes memory all, uint256 place) private pure returns (uint64, uint256 behind) {
        (uint256 from, uint256 to) = all.text(place);
        behind = to + 1;
        if (to - from != 20 || JsonText.letterAt(to - 1) != uint8(bytes1("Z"))) all.wrong(behind);
        uint256 unix = Der.unixOf(
            all.decimals(from, 4, behind), all.decimals(from + 5, 2, behind), all.decimals(from + 8, 2, behind)
        );
        unix += 3600 * all.decimals(from + 11, 2, behind) + 60 * all.decimals(from + 14, 2, behind);
        return (uint64(unix + all.decimals(from + 17, 2, behind)), behind);
    }

    /// Whether the policy accepts such a level: docs/attestation.md.
    function isAccepted(bytes memory all, uint256 place) private pure returns (bool, uint256 behind) {
        (uint256 from, uint256 to) = all.text(place);
        bytes32 hash;
        assembly ("memory-safe") {
            hash := keccak256(from, sub(to, from))
        }
        return (
            hash == keccak256("UpToDate") || hash == keccak256("SWHardeningNeeded")
                || hash == keccak256("ConfigurationNeeded") || hash == keccak256("ConfigurationAndSWHardeningNeeded"),
            to + 1
        );
    }

    function addModules(IAttestations.TcbInfo memory info, bytes memory all, uint256 place) private pure returns (uint256) {
        bool isMore;
        (isMore, place) = all.enter(place, "[", "]");
        while (isMore) {
            uint8 number;
            (number, place) = addModule(info, all, place);
            // Version 0 is tdxModule.
            if (number == 0) all.wrong(place);
            (isMore, place) = all.more(place, "]");
        }
        return place;
    }

    function addModule(IAttestations.TcbInfo memory info, bytes memory all, uint256 place)
        private
        pure
        returns (uint8, uint256 behind)
    {
        IAttestations.Module memory one;
        (one, behind) = module(all, place);
        IAttestations.Module[] memory longer = new IAttestations.Module[](info.modules.length + 1);
        for (uint256 i = 0; i < info.modules.length; i++) longer[i] = info.modules[i];
        longer[info.modules.length] = one;
        info.modules = longer;
        return (one.version, behind);
    }

    function module(bytes memory all, uint256 place) private pure returns (IAttestations.Module memory found, uint256) {
        uint256 seen;
        bool isMore;
        place = all.expect(place, "{");
        do {
            bytes32 name;
            (name, place) = all.name(place);
            if (name == "id") {
                // TDX_01
                (uint256 from, uint256 to) = all.text(place);
                place = to + 1;
                if (to - from != 6) all.wrong(place);
                found.version = hexByte(all, from + 4);
            } else if (name == "mrsigner") {
                (found.signer, place) = all.hex_(place, 48);
                seen = once(all, place, seen, 0);
            } else if (name == "attributes") {
                (name, place) = all.hex_(place, 8);
                found.attributes = bytes8(name);
                seen = once(all, place, seen, 1);
            } else if (name == "attributesMask") {
                (name, place) = all.hex_(place, 8);
                found.mask = bytes8(name);
                seen = once(all, place, seen, 2);
            } else if (name == "tcbLevels") {
                (found.levels, place) = svnLevels(all, place);
            } else {
                place = all.skip(place);
            }
            (isMore, place) = all.more(place, "}");
        } while (isMore);
        if (seen != 7) all.wrong(place);
        return (found, place);
    }

    function hexByte(bytes memory all, uint256 place) private pure returns (uint8 value) {
        for (uint256 i = 0; i < 2; i++) {
            uint8 letter = uint8(JsonText.letterAt(place + i));
            if (letter >= 48 && letter <= 57) letter -= 48;
            else letter = (letter | 0x20) - 87;
            if (letter > 15) all.wrong(place);
            value = value * 16 + letter;
        }
    }

    /// Levels with one number are read as the last two words of a platform's.
    function svnLevels(bytes memory all, uint256 place) private pure returns (IAttestations.SvnLevel[] memory found, uint256) {
        IAttestations.Level[] memory read;
        (read, place) = levels(all, place, 0x40, readSvn);
        assembly ("memory-safe") {
            found := read
        }
        return (found, place);
    }

    function readSvn(bytes memory all, uint256 place, IAttestations.Level memory found) private pure returns (uint256) {
        bytes32 name;
        (name, place) = all.name(all.expect(place, "{"));
        if (name != "isvsvn") all.wrong(place);
        (found.pceSvn, place) = uint16_(all, place);
        return all.expect(place, "}");
    }

    /// `tcb` reads what stands before a level's status. The list has their places, each `skipped` bytes on.
    function levels(
        bytes memory all,
        uint256 place,
        uint256 skipped,
        function(bytes memory, uint256, IAttestations.Level memory) pure returns (uint256) tcb
    ) private pure returns (IAttestations.Level[] memory found, uint256) {
        IAttestations.Level memory one;
        uint256 count;
        bool isMore;
        assembly ("memory-safe") {
            found := mload(0x40)
            mstore(0x40, add(found, mul(0x20, add(MOST, 1))))
        }
        (isMore, place) = all.enter(place, "[", "]");
        while (isMore) {
            if (count == MOST) all.wrong(place);
            // All that is used of it is written, or what was read is refused.
            assembly ("memory-safe") {
                one := mload(0x40)
                mstore(0x40, add(one, 0x80))
                count := add(count, 1)
                mstore(add(found, mul(0x20, count)), add(one, skipped))
            }
            place = level(all, place, one, tcb);
            (isMore, place) = all.more(place, "]");
        }
        assembly ("memory-safe") {
            mstore(found, count)
        }
        return (found, place);
    }

    function level(
        bytes memory all,
        uint256 place,
        IAttestations.Level memory found,
        function(bytes memory, uint256, IAttestations.Level memory) pure returns (uint256) tcb
    ) private pure returns (uint256) {
        uint256 seen;
        bool isMore;
        place = all.expect(place, "{");
        do {
            bytes32 name;
            (name, place) = all.name(place);
            if (name == "tcb") {
                place = tcb(all, place, found);
                seen = once(all, place, seen, 0);
            } else if (name == "tcbStatus") {
                (found.isAccepted, place) = isAccepted(all, place);
                seen = once(all, place, seen, 1);
            } else {
                place = all.skip(place);
            }
            (isMore, place) = all.more(place, "}");
        } while (isMore);
        if (seen != 3) all.wrong(place);
        return place;
    }

    function readTcb(bytes memory all, uint256 place, IAttestations.Level memory found) private pure returns (uint256) {
        uint256 seen;
        bool isMore;
        place = all.expect(place, "{");
        do {
            bytes32 name;
            (name, place) = all.name(place);
            if (name == "sgxtcbcomponents") {
                (found.sgx, place) = svns(all, place);
                seen = once(all, place, seen, 0);
            } else if (name == "tdxtcbcomponents") {
                (found.tdx, place) = svns(all, place);
                seen = once(all, place, seen, 1);
            } else if (name == "pcesvn") {
                (found.pceSvn, place) = uint16_(all, place);
                seen = once(all, place, seen, 2);
            } else {
                place = all.skip(place);
            }
            (isMore, place) = all.more(place, "}");
        } while (isMore);
        if (seen != 7) all.wrong(place);
        return place;
    }

    /// Exactly 16.
    function svns(bytes memory all, uint256 place) private pure returns (bytes16, uint256) {
        uint256 packed;
        uint256 count;
        bool isMore;
        place = all.expect(place, "[");
        do {
            uint256 svn;
            (svn, place) = component(all, place);
            unchecked {
                packed = (packed << 8) | svn;
                count++;
            }
            (isMore, place) = all.more(place, "]");
        } while (isMore);
        if (count != 16) all.wrong(place);
        return (bytes16(uint128(packed)), place);
    }

    /// An object with an SVN in it, of several the first. Most begin with one of a single digit, which is
    /// read by one word.
    function component(bytes memory all, uint256 place) private pure returns (uint256 svn, uint256) {
        uint256 word;
        assembly ("memory-safe") {
            word := mload(place)
        }
        bool isThere;
        bool isMore = true;
        unchecked {
            svn = ((word >> 192) & 0xff) - 48;
            uint256 following = (word >> 184) & 0xff;
            if (word >> 200 == COMPONENT && svn < 10) {
                if (following == uint8(bytes1("}"))) return (svn, place + 9);
                isThere = following == uint8(bytes1(","));
            }
            place = isThere ? place + 9 : all.expect(place, "{");
        }
        while (isMore) {
            bytes32 name;
            (name, place) = all.name(place);
            if (name == "svn" && !isThere) {
                (svn, place) = all.number(place, 255);
                isThere = true;
            } else {
                place = all.skip(place);
            }
            (isMore, place) = all.more(place, "}");
        }
        if (!isThere) all.wrong(place);
        return (svn, place);
    }
}
