// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Serial numbers that an issuer revoked: more and more of them, none less. A few are kept as a word each
/// (22,100 gas). Many that come at once are kept as the code of a contract that does nothing (4,000 gas a
/// serial), together with those that were kept so before.
library RevokedSerials {
    struct Serials {
        /// Its code: a zero, so that nobody can run it, and a table.
        address many;
        uint96 fewCount;
        mapping(uint160 serial => bool) few;
    }

    /// A table has a word of sixteen numbers of 16 bits, from the right: how many serials have this last hex
    /// digit or a lower one. Then the serials by their last digits, 20 bytes each.
    uint256 private constant ONES = 0x0001000100010001000100010001000100010001000100010001000100010001;
    /// Code has 24,576 bytes at most.
    uint256 private constant MOST = 1_200;
    /// Gas of a word; of a serial in code; of the contract, its table's head, and the word with its address.
    uint256 private constant WORD_GAS = 22_100;
    uint256 private constant SERIAL_GAS = 4_000;
    uint256 private constant CODE_GAS = 65_000;
    /// Returns what follows it: PUSH2 size, DUP1, PUSH1 10, PUSH0, CODECOPY, PUSH0, RETURN; and the zero.
    bytes8 private constant REST_OF_INIT = hex"80600a5f395ff300";

    function has(Serials storage all, uint160 serial) internal view returns (bool) {
        (address many, uint96 fewCount) = (all.many, all.fewCount);
        return (many != address(0) && isIn(load(many), serial)) || (fewCount > 0 && all.few[serial]);
    }

    /// How many were not known. `told` is called for each.
    function add(Serials storage all, uint16 authority, uint160[] memory serials, function(uint16, uint160) internal told)
        internal
        returns (uint256 fresh)
    {
        (address many, uint96 fewCount) = (all.many, all.fewCount);
        bytes memory old = many == address(0) ? new bytes(32) : load(many);
        uint256 count;
        for (uint256 i = 0; i < serials.length; i++) {
            uint160 serial = serials[i];
            if (isIn(old, serial) || (fewCount > 0 && all.few[serial])) continue;
            serials[count++] = serial;
        }
        assembly ("memory-safe") {
            mstore(serials, count)
        }
        uint256 total = (headOf(old) >> 240) + count;
        if (total > MOST || WORD_GAS * count <= CODE_GAS + SERIAL_GAS * total) {
            for (uint256 i = 0; i < count; i++) {
                // Named twice.
                if (all.few[serials[i]]) continue;
                all.few[serials[i]] = true;
                fresh++;
                told(authority, serials[i]);
            }
            all.fewCount = fewCount + uint96(fresh);
        } else {
            bytes memory table;
            (table, fresh) = merged(old, serials, total, authority, told);
            all.many = store(table);
        }
    }

    /// A table of all in `old` and all of these.
    function merged(
        bytes memory old,
        uint160[] memory serials,
        uint256 total,
        uint16 authority,
        function(uint16, uint160) internal told
    ) private returns (bytes memory table, uint256 fresh) {
        unchecked {
            // Where the next one of each digit goes: first how many there are of it.
            uint256 free = headOf(old) - (headOf(old) << 16);
            uint256 counts = free;
            for (uint256 i = 0; i < serials.length; i++) counts += 1 << shiftOf(serials[i]);
            // The product adds up all to the right of each. No sum is above 16 bits: there are no more than
            // MOST.
            table = copied(old, counts * ONES, total);
            uint256 first = (counts * ONES) << 16;
            free += first;
            for (uint256 i = 0; i < serials.length; i++) {
                uint160 serial = serials[i];
                uint256 shift = shiftOf(serial);
                // Not told again when the list names it twice.
                if (!isBetween(table, first >> shift, free >> shift, serial)) {
                    fresh++;
                    told(authority, serial);
                }
                put(table, free >> shift, serial);
                free += 1 << shift;
            }
        }
    }

    /// A table with this head, the serials of another one, and room for more behind those of each digit.
    function copied(bytes memory old, uint256 head, uint256 total) private pure returns (bytes memory table) {
        // A serial is written as a word.
        table = new bytes(64 + 20 * total);
        uint256 oldHead = headOf(old);
        assembly ("memory-safe") {
            mstore(table, add(0x20, mul(20, total)))
            mstore(add(table, 0x20), head)
            for { let shift := 0 } lt(shift, 256) { shift := add(shift, 16) } {
                let from := and(shr(shift, shl(16, oldHead)), 0xffff)
                let size := mul(20, sub(and(shr(shift, oldHead), 0xffff), from))
                let to := and(shr(shift, shl(16, head)), 0xffff)
                mcopy(add(add(table, 0x40), mul(20, to)), add(add(old, 0x40), mul(20, from)), size)
            }
        }
    }

    function shiftOf(uint160 serial) private pure returns (uint256) {
        unchecked {
            return 16 * (uint256(serial) & 15);
        }
    }

    function headOf(bytes memory table) private pure returns (uint256 head) {
        assembly ("memory-safe") {
            head := mload(add(table, 0x20))
        }
    }

    function isIn(bytes memory table, uint160 serial) private pure returns (bool) {
        uint256 head = headOf(table);
        return isBetween(table, (head << 16) >> shiftOf(serial), head >> shiftOf(serial), serial);
    }

    /// Whether it is one of these, by the lowest 16 bits of the numbers.
    function isBetween(bytes memory table, uint256 from, uint256 to, uint160 serial) private pure returns (bool found) {
        // Without whatever stands before its 160 bits.
        uint256 wanted = serial;
        assembly ("memory-safe") {
            let start := add(table, 0x40)
            let last := add(start, mul(20, and(to, 0xffff)))
            for { let place := add(start, mul(20, and(from, 0xffff))) } lt(place, last) { place := add(place, 20) } {
                if eq(shr(96, mload(place)), wanted) {
                    found := 1
                    break
                }
            }
        }
    }

    /// At this one of the places, by its lowest 16 bits. The 12 bytes behind it stay.
    function put(bytes memory table, uint256 at_, uint160 serial) private pure {
        assembly ("memory-safe") {
            let place := add(add(table, 0x40), mul(20, and(at_, 0xffff)))
            mstore(place, or(shl(96, serial), and(mload(place), 0xffffffffffffffffffffffff)))
        }
    }

    function load(address many) private view returns (bytes memory table) {
        uint256 size = many.code.length - 1;
        // And a word behind the last serial, which is read as one.
        table = new bytes(size + 32);
        assembly ("memory-safe") {
            mstore(table, size)
            extcodecopy(many, add(table, 0x20), 1, size)
        }
    }

    function store(bytes memory table) private returns (address many) {
        bytes memory init = abi.encodePacked(hex"61", uint16(table.length + 1), REST_OF_INIT, table);
        assembly ("memory-safe") {
            many := create(0, add(init, 0x20), mload(init))
        }
        // Not enough gas.
        assert(many != address(0));
    }
}
