// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Der} from "./Der.sol";
import {IAttestations} from "./IAttestations.sol";
import {JsonText} from "./JsonText.sol";

/// What Intel signs, read: certificates, lists of revoked ones, TCB info of platforms with TDX (version 3), the identity of the quoting enclave
/// for TDX (version 2). A contract of its own, without state: one has no room for all.
contract IntelReader {
    using JsonText for JsonText.Cursor;

    uint256 private constant MOST = 64;

    function certificate(bytes calldata der) external pure returns (IAttestations.Certificate memory) {
        return Der.certificate(der);
    }

    /// When a list holds, and whom it names. What its entries say beside does not matter: revoked is revoked.
    function crl(bytes calldata der) external pure returns (uint256 from, uint256 until, uint160[] memory serials) {
        return Der.crl(der);
    }

    /// Each is there once.
    function once(JsonText.Cursor memory c, uint256 seen, uint256 bit) private pure returns (uint256) {
        if (seen & (1 << bit) != 0) c.wrong();
        return seen | (1 << bit);
    }

    function tcbInfo(bytes calldata text) external pure returns (IAttestations.TcbInfo memory info) {
        JsonText.Cursor memory c = JsonText.open(text);
        uint256 seen;
        c.expect("{");
        do {
            bytes32 name = c.name();
            if (name == "id") {
                if (c.short() != "TDX") revert IAttestations.CollateralOther();
                seen = once(c, seen, 0);
            } else if (name == "version") {
                if (c.number(1000) != 3) c.wrong();
                seen = once(c, seen, 1);
            } else if (name == "issueDate") {
                info.from = time(c);
                seen = once(c, seen, 2);
            } else if (name == "nextUpdate") {
                info.until = time(c);
                seen = once(c, seen, 3);
            } else if (name == "fmspc") {
                info.fmspc = bytes6(c.hex_(6));
                seen = once(c, seen, 4);
            } else if (name == "pceId") {
                info.pceId = bytes2(c.hex_(2));
                seen = once(c, seen, 5);
            } else if (name == "tcbEvaluationDataNumber") {
                info.evaluation = uint32(c.number(type(uint32).max));
                seen = once(c, seen, 6);
            } else if (name == "tdxModule") {
                addModule(info, module(c));
                seen = once(c, seen, 7);
            } else if (name == "tdxModuleIdentities") {
                if (c.enter("[", "]")) {
                    do {
                        IAttestations.Module memory one = module(c);
                        // Version 0 is tdxModule.
                        if (one.version == 0) c.wrong();
                        addModule(info, one);
                    } while (c.more("]"));
                }
                seen = once(c, seen, 8);
            } else if (name == "tcbLevels") {
                info.levels = levels(c);
                seen = once(c, seen, 9);
            } else {
                c.skip();
            }
        } while (c.more("}"));
        c.end();
        // Module identities may be missing.
        if (seen | 0x100 != 0x3ff) c.wrong();
    }

    function qeIdentity(bytes calldata text) external pure returns (IAttestations.QeIdentity memory found) {
        JsonText.Cursor memory c = JsonText.open(text);
        uint256 seen;
        c.expect("{");
        do {
            bytes32 name = c.name();
            if (name == "id") {
                if (c.short() != "TD_QE") revert IAttestations.CollateralOther();
                seen = once(c, seen, 0);
            } else if (name == "version") {
                if (c.number(1000) != 2) c.wrong();
                seen = once(c, seen, 1);
            } else if (name == "issueDate") {
                found.from = time(c);
                seen = once(c, seen, 2);
            } else if (name == "nextUpdate") {
                found.until = time(c);
                seen = once(c, seen, 3);
            } else if (name == "tcbEvaluationDataNumber") {
                found.evaluation = uint32(c.number(type(uint32).max));
                seen = once(c, seen, 4);
            } else if (name == "miscselect") {
                found.misc = bytes4(c.hex_(4));
                seen = once(c, seen, 5);
            } else if (name == "miscselectMask") {
                found.miscMask = bytes4(c.hex_(4));
                seen = once(c, seen, 6);
            } else if (name == "attributes") {
                found.attributes = bytes16(c.hex_(16));
                seen = once(c, seen, 7);
            } else if (name == "attributesMask") {
                found.mask = bytes16(c.hex_(16));
                seen = once(c, seen, 8);
            } else if (name == "mrsigner") {
                found.signer = c.hex_(32);
                seen = once(c, seen, 9);
            } else if (name == "isvprodid") {
                found.product = uint16(c.number(type(uint16).max));
                seen = once(c, seen, 10);
            } else if (name == "tcbLevels") {
                found.levels = svnLevels(c);
                seen = once(c, seen, 11);
            } else {
                c.skip();
            }
        } while (c.more("}"));
        c.end();
        if (seen != 0xfff) c.wrong();
    }

    /// "2025-06-19T10:16:03Z"
    function time(JsonText.Cursor memory c) private pure returns (uint64) {
        (uint256 from, uint256 to) = c.text();
        if (to - from != 20 || c.all[to - 1] != "Z") c.wrong();
        uint256 date = Der.unixOf(c.decimals(from, 4), c.decimals(from + 5, 2), c.decimals(from + 8, 2));
        return uint64(
            date + 3600 * c.decimals(from + 11, 2) + 60 * c.decimals(from + 14, 2) + c.decimals(from + 17, 2)
        );
    }

    /// Whether the policy accepts such a level: docs/attestation.md.
    function isAccepted(JsonText.Cursor memory c) private pure returns (bool) {
        (uint256 from, uint256 to) = c.text();
        bytes memory all = c.all;
        bytes32 hash;
        assembly ("memory-safe") {
            hash := keccak256(add(add(all, 0x20), from), sub(to, from))
        }
        return hash == keccak256("UpToDate") || hash == keccak256("SWHardeningNeeded")
            || hash == keccak256("ConfigurationNeeded") || hash == keccak256("ConfigurationAndSWHardeningNeeded");
    }

    function addModule(IAttestations.TcbInfo memory info, IAttestations.Module memory one) private pure {
        IAttestations.Module[] memory longer = new IAttestations.Module[](info.modules.length + 1);
        for (uint256 i = 0; i < info.modules.length; i++) longer[i] = info.modules[i];
        longer[info.modules.length] = one;
        info.modules = longer;
    }

    function module(JsonText.Cursor memory c) private pure returns (IAttestations.Module memory found) {
        uint256 seen;
        c.expect("{");
        do {
            bytes32 name = c.name();
            if (name == "id") {
                // TDX_01
                (uint256 from, uint256 to) = c.text();
                if (to - from != 6) c.wrong();
                uint256 place = c.place;
                c.place = from + 4;
                found.version = hexByte(c);
                c.place = place;
            } else if (name == "mrsigner") {
                found.signer = c.hex_(48);
                seen = once(c, seen, 0);
            } else if (name == "attributes") {
                found.attributes = bytes8(c.hex_(8));
                seen = once(c, seen, 1);
            } else if (name == "attributesMask") {
                found.mask = bytes8(c.hex_(8));
                seen = once(c, seen, 2);
            } else if (name == "tcbLevels") {
                found.levels = svnLevels(c);
            } else {
                c.skip();
            }
        } while (c.more("}"));
        if (seen != 7) c.wrong();
    }

    function hexByte(JsonText.Cursor memory c) private pure returns (uint8 value) {
        for (uint256 i = 0; i < 2; i++) {
            uint8 letter = uint8(c.all[c.place + i]);
            if (letter >= 48 && letter <= 57) letter -= 48;
            else letter = (letter | 0x20) - 87;
            if (letter > 15) c.wrong();
            value = value * 16 + letter;
        }
    }

    function svnLevels(JsonText.Cursor memory c) private pure returns (IAttestations.SvnLevel[] memory found) {
        IAttestations.SvnLevel[] memory all = new IAttestations.SvnLevel[](MOST);
        uint256 count;
        if (c.enter("[", "]")) {
            do {
                if (count == MOST) c.wrong();
                all[count++] = svnLevel(c);
            } while (c.more("]"));
        }
        found = all;
        assembly ("memory-safe") {
            mstore(found, count)
        }
    }

    function svnLevel(JsonText.Cursor memory c) private pure returns (IAttestations.SvnLevel memory found) {
        uint256 seen;
        c.expect("{");
        do {
            bytes32 name = c.name();
            if (name == "tcb") {
                c.expect("{");
                if (c.name() != "isvsvn") c.wrong();
                found.svn = uint16(c.number(type(uint16).max));
                c.expect("}");
                seen = once(c, seen, 0);
            } else if (name == "tcbStatus") {
                found.isAccepted = isAccepted(c);
                seen = once(c, seen, 1);
            } else {
                c.skip();
            }
        } while (c.more("}"));
        if (seen != 3) c.wrong();
    }

    function levels(JsonText.Cursor memory c) private pure returns (IAttestations.Level[] memory found) {
        IAttestations.Level[] memory all = new IAttestations.Level[](MOST);
        uint256 count;
        if (c.enter("[", "]")) {
            do {
                if (count == MOST) c.wrong();
                all[count++] = level(c);
            } while (c.more("]"));
        }
        found = all;
        assembly ("memory-safe") {
            mstore(found, count)
        }
    }

    function level(JsonText.Cursor memory c) private pure returns (IAttestations.Level memory found) {
        uint256 seen;
        c.expect("{");
        do {
            bytes32 name = c.name();
            if (name == "tcb") {
                readTcb(c, found);
                seen = once(c, seen, 0);
            } else if (name == "tcbStatus") {
                found.isAccepted = isAccepted(c);
                seen = once(c, seen, 1);
            } else {
                c.skip();
            }
        } while (c.more("}"));
        if (seen != 3) c.wrong();
    }

    function readTcb(JsonText.Cursor memory c, IAttestations.Level memory found) private pure {
        uint256 seen;
        c.expect("{");
        do {
            bytes32 name = c.name();
            if (name == "sgxtcbcomponents") {
                found.sgx = svns(c);
                seen = once(c, seen, 0);
            } else if (name == "tdxtcbcomponents") {
                found.tdx = svns(c);
                seen = once(c, seen, 1);
            } else if (name == "pcesvn") {
                found.pceSvn = uint16(c.number(type(uint16).max));
                seen = once(c, seen, 2);
            } else {
                c.skip();
            }
        } while (c.more("}"));
        if (seen != 7) c.wrong();
    }

    /// Exactly 16.
    function svns(JsonText.Cursor memory c) private pure returns (bytes16) {
        uint256 packed;
        uint256 count;
        c.expect("[");
        do {
            bool isThere = false;
            c.expect("{");
            do {
                if (c.name() == "svn" && !isThere) {
                    packed = (packed << 8) | c.number(255);
                    isThere = true;
                } else {
                    c.skip();
                }
            } while (c.more("}"));
            if (!isThere) c.wrong();
            count++;
        } while (c.more("]"));
        if (count != 16) c.wrong();
        return bytes16(uint128(packed));
    }
}
