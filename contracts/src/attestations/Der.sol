// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {IAttestations} from "./IAttestations.sol";
import {Pck} from "./Pck.sol";

/// DER, X.509 certificates and lists of revoked ones, as far as Intel's need it. What is read here was signed
/// by Intel. The twin of src/verify/attestation/x509.
library Der {
    uint8 internal constant INTEGER = 0x02;
    uint8 internal constant BITS = 0x03;
    uint8 internal constant OCTETS = 0x04;
    uint8 internal constant OID = 0x06;
    uint8 internal constant SEQUENCE = 0x30;
    uint8 private constant BOOLEAN = 0x01;
    uint8 private constant SET = 0x31;
    uint8 private constant UTC_TIME = 0x17;
    uint8 private constant GENERAL_TIME = 0x18;
    uint256 private constant MOST_BYTES = 65_536;
    /// SEQUENCE {SEQUENCE {ecPublicKey, prime256v1}, BIT STRING {04 …
    bytes27 private constant P256_SPKI = hex"3059301306072a8648ce3d020106082a8648ce3d03010703420004";
    /// SEQUENCE {ecdsa-with-SHA256}
    bytes12 private constant ECDSA_SHA256 = hex"300a06082a8648ce3d040302";
    /// SEQUENCE {SEQUENCE {commonName, …
    bytes3 private constant COMMON_NAME = 0x550403;

    function wrong(uint256 place) private pure {
        revert IAttestations.FormWrong(place);
    }

    /// 32 bytes from here on, whatever they are behind the end.
    function wordAt(bytes calldata der, uint256 place) private pure returns (uint256 word) {
        assembly ("memory-safe") {
            word := calldataload(add(der.offset, place))
        }
    }

    /// An element of this tag (0: any): where its value begins and ends.
    function next(bytes calldata der, uint256 place, uint256 end, uint8 tag) internal pure returns (uint256 from, uint256 to) {
        unchecked {
            if (place + 2 > end || end > der.length) wrong(place);
            uint256 word = wordAt(der, place);
            if (tag != 0 && word >> 248 != tag) wrong(place);
            uint256 length = (word >> 240) & 0xff;
            from = place + 2;
            if (length >= 0x80) {
                uint256 count = length & 0x7f;
                if (count == 0 || count > 2 || from + count > end) wrong(place);
                length = count == 1 ? (word >> 232) & 0xff : (word >> 224) & 0xffff;
                if (length < 0x80 || (count == 2 && length < 0x100)) wrong(place);
                from += count;
            }
            to = from + length;
            if (to > end) wrong(place);
        }
    }

    /// All that the bytes are.
    function whole(bytes calldata der) internal pure returns (uint256 from, uint256 to) {
        if (der.length > MOST_BYTES) wrong(0);
        (from, to) = next(der, 0, der.length, SEQUENCE);
        if (to != der.length) wrong(to);
    }

    function number(bytes calldata der, uint256 from, uint256 to) internal pure returns (uint256 value) {
        unchecked {
            uint256 size = to - from;
            uint256 word = wordAt(der, from);
            if (size == 0 || size > 21 || word >> 255 != 0) wrong(from);
            // A zero before what needs none.
            if (size > 1 && word >> 247 == 0) wrong(from);
            value = word >> (256 - 8 * size);
            if (value > type(uint160).max) wrong(from);
        }
    }

    function digits(bytes calldata text, uint256 place, uint256 count) private pure returns (uint256 value) {
        uint256 word = wordAt(text, place);
        for (uint256 i = 0; i < count; i++) {
            uint256 digit = (word >> 248) - 48;
            if (digit > 9) wrong(place);
            value = value * 10 + digit;
            word <<= 8;
        }
    }

    /// YYMMDDHHMMSSZ or YYYYMMDDHHMMSSZ; seconds since 1970, and the place behind it.
    function time(bytes calldata der, uint256 place, uint256 end) internal pure returns (uint256 unix, uint256 to) {
        uint256 from;
        (from, to) = next(der, place, end, 0);
        uint8 tag = uint8(der[place]);
        uint256 year;
        if (tag == UTC_TIME && to - from == 13) {
            year = digits(der, from, 2);
            year += year < 50 ? 2000 : 1900;
            from += 2;
        } else if (tag == GENERAL_TIME && to - from == 15) {
            year = digits(der, from, 4);
            from += 4;
        } else {
            wrong(place);
        }
        if (der[to - 1] != "Z") wrong(place);
        unix = unixOf(year, digits(der, from, 2), digits(der, from + 2, 2)) + digits(der, from + 4, 2) * 3600
            + digits(der, from + 6, 2) * 60 + digits(der, from + 8, 2);
    }

    /// Days from civil, by Hinnant, in seconds. Years from 1970 on.
    function unixOf(uint256 year, uint256 month, uint256 day) internal pure returns (uint256) {
        if (year < 1970 || month == 0 || month > 12 || day == 0 || day > 31) wrong(year);
        uint256 y = month <= 2 ? year - 1 : year;
        uint256 yearOfEra = y % 400;
        uint256 dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1;
        uint256 days_ = (y / 400) * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear;
        return (days_ - 719_468) * 1 days;
    }

    function mustBeEcdsa(bytes calldata der, uint256 place, uint256 end) private pure returns (uint256 to) {
        (, to) = next(der, place, end, SEQUENCE);
        if (to - place != 12 || bytes12(der[place:to]) != ECDSA_SHA256) wrong(place);
    }

    /// The body of a certificate of version 3 whose key is on P-256.
    function certificate(bytes calldata der) internal pure returns (IAttestations.Certificate memory found) {
        (uint256 place, uint256 end) = whole(der);
        if (end - place < 5 || bytes5(der[place:place + 5]) != 0xa003020102) wrong(place);
        (uint256 from, uint256 to) = next(der, place + 5, end, INTEGER);
        found.serial = uint160(number(der, from, to));
        place = mustBeEcdsa(der, to, end);
        // The issuer's name: that its key signed says more.
        (, place) = next(der, place, end, SEQUENCE);
        (from, to) = next(der, place, end, SEQUENCE);
        (found.from, from) = time(der, from, to);
        (found.until, from) = time(der, from, to);
        if (from != to) wrong(from);
        (from, place) = next(der, to, end, SEQUENCE);
        found.name = commonName(der, from, place);
        (, to) = next(der, place, end, SEQUENCE);
        if (to - place != 91 || bytes27(der[place:place + 27]) != P256_SPKI) wrong(place);
        found.key = IAttestations.Key(bytes32(der[place + 27:place + 59]), bytes32(der[place + 59:place + 91]));
        (from, place) = next(der, to, end, 0xa3);
        if (place != end) wrong(place);
        (from, to) = next(der, from, end, SEQUENCE);
        if (to != end) wrong(to);
        readExtensions(der, from, to, found);
    }

    /// Keccak of the common name; 0 where there is none.
    function commonName(bytes calldata der, uint256 place, uint256 end) private pure returns (bytes32 name) {
        while (place < end) {
            (uint256 from, uint256 to) = next(der, place, end, SET);
            (from,) = next(der, from, to, SEQUENCE);
            (uint256 oid, uint256 value) = next(der, from, to, OID);
            if (value - oid == 3 && bytes3(der[oid:value]) == COMMON_NAME) {
                (from, to) = next(der, value, to, 0);
                name = keccak256(der[from:to]);
            }
            place = to;
        }
    }

    function readExtensions(bytes calldata der, uint256 place, uint256 end, IAttestations.Certificate memory found) private pure {
        found.usage = 0xff;
        while (place < end) {
            (uint256 oid, uint256 oidEnd, uint256 from, uint256 to, bool isCritical) = extension(der, place, end);
            (, place) = next(der, place, end, SEQUENCE);
            if (oidEnd - oid == 3 && bytes2(der[oid:oid + 2]) == 0x551d) {
                uint8 kind = uint8(der[oid + 2]);
                if (kind == 0x13) found.isCa = isAuthority(der, from, to);
                else if (kind == 0x0f) found.usage = usageOf(der, from, to);
                else if (isCritical && !isUnderstood(kind)) wrong(oid);
            } else if (oidEnd - oid == 9 && bytes9(der[oid:oidEnd]) == hex"2a864886f84d010d01") {
                if (isCritical || found.isPlatform) wrong(oid);
                Pck.read(der, from, to, found);
            } else if (isCritical) {
                wrong(oid);
            }
        }
    }

    function extension(bytes calldata der, uint256 place, uint256 end)
        private
        pure
        returns (uint256 oid, uint256 oidEnd, uint256 from, uint256 to, bool isCritical)
    {
        (place, end) = next(der, place, end, SEQUENCE);
        (oid, oidEnd) = next(der, place, end, OID);
        place = oidEnd;
        if (place < end && uint8(der[place]) == BOOLEAN) {
            (from, to) = next(der, place, end, BOOLEAN);
            isCritical = to - from != 1 || der[from] != 0;
            place = to;
        }
        (from, to) = next(der, place, end, OCTETS);
        if (to != end) wrong(to);
    }

    /// Key identifiers, alternative names, distribution points, policies, extended usage: told, not trusted.
    function isUnderstood(uint8 kind) private pure returns (bool) {
        return kind == 0x0e || kind == 0x11 || kind == 0x1f || kind == 0x20 || kind == 0x23 || kind == 0x25;
    }

    function isAuthority(bytes calldata der, uint256 place, uint256 end) private pure returns (bool) {
        (uint256 from, uint256 to) = next(der, place, end, SEQUENCE);
        if (to != end) wrong(to);
        if (from == to || uint8(der[from]) != BOOLEAN) return false;
        (from, to) = next(der, from, to, BOOLEAN);
        return to - from == 1 && der[from] == 0xff;
    }

    function usageOf(bytes calldata der, uint256 place, uint256 end) private pure returns (uint8) {
        (uint256 from, uint256 to) = next(der, place, end, BITS);
        if (to != end || to - from < 2) wrong(place);
        return uint8(der[from + 1]);
    }

    /// A list of version 2.
    function crl(bytes calldata der) internal pure returns (uint256 from, uint256 until, uint160[] memory serials) {
        (uint256 place, uint256 all) = whole(der);
        if (all - place < 3 || bytes3(der[place:place + 3]) != 0x020101) wrong(place);
        place = mustBeEcdsa(der, place + 3, all);
        (, place) = next(der, place, all, SEQUENCE);
        (from, place) = time(der, place, all);
        (until, place) = time(der, place, all);
        uint256 end = place;
        if (end < all && uint8(der[end]) == SEQUENCE) (place, end) = next(der, place, all, SEQUENCE);
        if (end < all) noCritical(der, end, all);
        serials = entries(der, place, end);
    }

    function entries(bytes calldata der, uint256 place, uint256 end) private pure returns (uint160[] memory serials) {
        // An entry has at least 20 bytes: serial number and time.
        serials = new uint160[]((end - place) / 20);
        uint256 count;
        // Most have the same time, of 15 bytes: it is read once. At first one that no such bytes are.
        uint256 good = type(uint256).max;
        while (place < end) {
            (uint256 from, uint256 to) = next(der, place, end, SEQUENCE);
            (uint256 number_, uint256 numberEnd) = next(der, from, to, INTEGER);
            uint256 bytes_ = wordAt(der, numberEnd) >> 136;
            if (bytes_ != good || numberEnd + 15 > to) {
                (, from) = time(der, numberEnd, to);
                if (from - numberEnd == 15) good = bytes_;
            }
            if (count == serials.length) wrong(place);
            serials[count++] = uint160(number(der, number_, numberEnd));
            place = to;
        }
        assembly ("memory-safe") {
            mstore(serials, count)
        }
    }

    /// One that narrows a list would make it say less than it seems to.
    function noCritical(bytes calldata der, uint256 place, uint256 end) private pure {
        (uint256 from, uint256 to) = next(der, place, end, 0xa0);
        if (to != end) wrong(to);
        (from, to) = next(der, from, end, SEQUENCE);
        if (to != end) wrong(to);
        while (from < to) {
            (uint256 oid,,,, bool isCritical) = extension(der, from, to);
            if (isCritical) wrong(oid);
            (, from) = next(der, from, to, SEQUENCE);
        }
    }
}
