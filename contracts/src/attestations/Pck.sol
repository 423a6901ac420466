// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Der} from "./Der.sol";
import {IAttestations} from "./IAttestations.sol";

/// What a PCK certificate says of its platform: Intel's extension 1.2.840.113741.1.13.1. The twin of
/// src/verify/attestation/intel/pck.ts.
library Pck {
    uint256 private constant ALL = 7;

    /// `place` and `end` are those of the extension's value.
    function read(bytes calldata der, uint256 place, uint256 end, IAttestations.Certificate memory found) internal pure {
        found.isPlatform = true;
        uint256 to;
        (place, to) = Der.next(der, place, end, Der.SEQUENCE);
        if (to != end) revert IAttestations.FormWrong(to);
        uint256 seen;
        while (place < end) {
            (uint256 arc, uint256 value, uint256 pairEnd) = pair(der, place, end);
            if (arc == 2) {
                readTcb(der, value, pairEnd, found);
                seen |= 1;
            } else if (arc == 3) {
                found.pceId = bytes2(octets(der, value, pairEnd, 2));
                seen |= 2;
            } else if (arc == 4) {
                found.fmspc = bytes6(octets(der, value, pairEnd, 6));
                seen |= 4;
            }
            place = pairEnd;
        }
        if (seen != ALL) revert IAttestations.FormWrong(place);
    }

    /// SEQUENCE {identifier, value}: its last arc, and where its value's element begins and ends.
    function pair(bytes calldata der, uint256 place, uint256 end) private pure returns (uint256 arc, uint256 value, uint256 to) {
        (place, to) = Der.next(der, place, end, Der.SEQUENCE);
        (place, value) = Der.next(der, place, to, Der.OID);
        arc = uint8(der[value - 1]);
    }

    function octets(bytes calldata der, uint256 place, uint256 end, uint256 size) private pure returns (bytes calldata) {
        (uint256 from, uint256 to) = Der.next(der, place, end, Der.OCTETS);
        if (to != end || to - from != size) revert IAttestations.FormWrong(place);
        return der[from:to];
    }

    /// Sixteen components, the PCE's SVN, and all of it once more.
    function readTcb(bytes calldata der, uint256 place, uint256 end, IAttestations.Certificate memory found) private pure {
        uint256 to;
        (place, to) = Der.next(der, place, end, Der.SEQUENCE);
        if (to != end) revert IAttestations.FormWrong(to);
        uint256 seen;
        uint128 components;
        while (place < end) {
            (uint256 arc, uint256 value, uint256 pairEnd) = pair(der, place, end);
            if (arc >= 1 && arc <= 17) {
                (value, to) = Der.next(der, value, pairEnd, Der.INTEGER);
                uint256 svn = Der.number(der, value, to);
                if (svn > (arc == 17 ? 65_535 : 255)) revert IAttestations.FormWrong(value);
                if (arc == 17) found.pceSvn = svn;
                else components |= uint128(svn) << uint128(8 * (16 - arc));
                seen |= 1 << arc;
            }
            place = pairEnd;
        }
        if (seen != 0x3fffe) revert IAttestations.FormWrong(place);
        found.components = bytes16(components);
    }
}
