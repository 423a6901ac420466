// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {OpLeaf} from "./OpLeaf.sol";
import {TensorTree} from "./TensorTree.sol";

/// `map` for one element, docs/work.md §3: places, instructions, one section at a time. Loads come from a transcript. Registers
/// have 256 bits, so nothing of a checked program overflows; what false words lead to that is not defined, or has no room,
/// reverts. src/work/operators/map-machine.ts is its twin.
library MapMachine {
    struct Machine {
        OpLeaf.Op op;
        int256[] registers;
        uint256[] coordinates;
        uint256 segment;
        uint256 step;
        uint256 globalStep;
        bytes32 seed;
        uint256 turn;
        /// Where in the calldata the next load's value is told, and how many come before the one that is looked for.
        uint256 wordAt;
        uint256 left;
        /// That one: its operand and place, or outside of it.
        bool isFound;
        uint256 operand;
        uint256 index;
        bool isOutside;
    }

    /// @notice Thrown when the words lead to what docs/work.md does not define: then an earlier one is false.
    error NotDefined();

    uint256 internal constant ALL = type(uint256).max;

    /// Runs the instructions of registers [from, to). Stops before the load number `left`, if that comes.
    function run(Machine memory machine, uint256 from, uint256 to, uint256 wordAt, uint256 left) internal pure {
        machine.wordAt = wordAt;
        machine.left = left;
        uint256[] memory places = machine.op.code.at_;
        int256[] memory registers = machine.registers;
        // OpLeaf has seen to it that every register of an instruction is there.
        for (uint256 i = from; i < to;) {
            uint256 word;
            uint256 place;
            assembly ("memory-safe") {
                place := mload(add(add(places, 0x20), shl(5, i)))
                word := calldataload(place)
            }
            uint256 which = word >> 248;
            if (which >= 7) {
                int256 value = evaluate(registers, which, word);
                assembly ("memory-safe") {
                    mstore(add(add(registers, 0x20), shl(5, i)), value)
                }
            } else if (which == 0) {
                registers[i] = load(machine, place + 1);
                if (machine.isFound) return;
            } else if (which == 1) {
                registers[i] = int64(uint64(word >> 184));
            } else if (which == 2) {
                registers[i] = int256(machine.coordinates[uint8(word >> 240)]);
            } else if (which == 3) {
                registers[i] = int256(machine.segment);
            } else if (which == 4) {
                registers[i] = int256(machine.step);
            } else if (which == 5) {
                registers[i] = int256(machine.turn);
            } else {
                int256 a = registers[uint8(word >> 240)];
                registers[i] = int256(randomWord(machine, uint256(a), uint32(word >> 208)));
            }
            unchecked {
                i++;
            }
        }
    }

    /// Value number `i` of i64 numbers from a place of the calldata.
    function number(uint256 from, uint256 i) internal pure returns (int256 value) {
        assembly ("memory-safe") {
            value := sar(192, calldataload(add(from, shl(3, i))))
        }
    }

    /// Of the carried value number `i`: the registers `from` and `next`, lo and hi.
    function carry(OpLeaf.Code memory code, uint256 i)
        internal
        pure
        returns (uint256 from, uint256 next, int256 lo, int256 hi)
    {
        uint256 place = code.carryAt + 18 * i;
        assembly ("memory-safe") {
            let word := calldataload(place)
            from := byte(0, word)
            next := byte(1, word)
            lo := sar(192, shl(16, word))
            hi := sar(192, shl(80, word))
        }
    }

    function clamp(int256 value, int256 lo, int256 hi) internal pure returns (int256) {
        return value < lo ? lo : value > hi ? hi : value;
    }

    /// The next value that the transcript says, unless it is the load that is looked for.
    function load(Machine memory machine, uint256 place) private pure returns (int256) {
        uint256 operand;
        assembly ("memory-safe") {
            operand := byte(0, calldataload(place))
        }
        (uint256 index, bool isOutside) = indexOf(machine, machine.op.operands[operand].dims, place + 1);
        if (machine.left == 0) {
            (machine.isFound, machine.operand, machine.index, machine.isOutside) = (true, operand, index, isOutside);
            return 0;
        }
        machine.left--;
        uint256 wordAt = machine.wordAt;
        machine.wordAt = wordAt + 8;
        return number(wordAt, 0);
    }

    /// Flat index in an operand of these dims.
    function indexOf(Machine memory machine, uint256[] memory dims, uint256 at_)
        private
        pure
        returns (uint256 index, bool isOutside)
    {
        for (uint256 axis = 0; axis < dims.length; axis++) {
            uint256 mode;
            int256 p;
            (mode, p, at_) = placeOf(machine, at_);
            int256 dim = int256(dims[axis]);
            if (p < 0 || p >= dim) {
                uint256 edge = mode & 3;
                if (edge == 0) revert NotDefined();
                if (edge == 1) isOutside = true;
                p = edge == 2 ? ((p % dim) + dim) % dim : p < 0 ? int256(0) : dim - 1;
            }
            index = index * uint256(dim) + uint256(p);
        }
    }

    function placeOf(Machine memory machine, uint256 at_) private pure returns (uint256 mode, int256 p, uint256 next) {
        uint256 word;
        assembly ("memory-safe") {
            word := calldataload(at_)
        }
        mode = word >> 248;
        (word, next) = (word << 8, at_ + 1);
        if (mode >= 4) {
            p = machine.registers[word >> 248];
            (word, next) = (word << 8, next + 1);
        }
        p += int32(uint32(word >> 224));
        uint256 terms = uint8(word >> 216);
        next += 5;
        for (uint256 i = 0; i < terms; i++) {
            assembly ("memory-safe") {
                word := calldataload(next)
            }
            p += int256(int32(uint32(word >> 216))) * variable(machine, word >> 248);
            next += 5;
        }
    }

    function variable(Machine memory machine, uint256 which) private pure returns (int256) {
        if (which < 6) return int256(machine.coordinates[which]);
        return int256(which == 6 ? machine.segment : which == 7 ? machine.step : machine.turn);
    }

    /// Arithmetic: `which` is 7 … 28, the fields follow in the word.
    function evaluate(int256[] memory registers, uint256 which, uint256 word) private pure returns (int256) {
        uint256 field = uint8(word >> 232);
        int256 a = read(registers, uint8(word >> 240));
        if (which < 10) {
            int256 b = read(registers, field);
            return which == 7 ? a + b : which == 8 ? a - b : a * b;
        }
        if (which < 12) return which == 10 || a < 0 ? -a : a;
        if (which == 14) return a * int256(1 << field);
        if (which == 15) return a >> field;
        if (which == 16) return (a + int256(1 << (field - 1))) >> field;
        if (which == 20) {
            if (a < 0) revert NotDefined();
            return int256(Math.sqrt(uint256(a)));
        }
        if (which == 21) {
            if (a == 0) return 0;
            return int256(Math.log2(uint256(a < 0 ? -a : a)) + 1);
        }
        return evaluateTwo(a, read(registers, field), which, which < 27 ? int256(0) : read(registers, uint8(word >> 224)));
    }

    /// Of two registers, or three.
    function evaluateTwo(int256 a, int256 b, uint256 which, int256 c) private pure returns (int256) {
        if (which < 20) {
            if (which == 12) return a < b ? a : b;
            if (which == 13) return a > b ? a : b;
            if (which == 17) return shiftedBy(a, b);
            if (which == 18) return floorDiv(a, b);
            return floorDiv(2 * a + b, 2 * b);
        }
        if (which == 22) return a == b ? int256(1) : int256(0);
        if (which == 23) return a < b ? int256(1) : int256(0);
        if (which == 24) return a & b;
        if (which == 25) return a | b;
        if (which == 26) return a ^ b;
        if (which == 27) return a != 0 ? b : c;
        int256 raised = a > b ? a : b;
        return raised < c ? raised : c;
    }

    function read(int256[] memory registers, uint256 i) private pure returns (int256 value) {
        assembly ("memory-safe") {
            value := mload(add(add(registers, 0x20), shl(5, i)))
        }
    }

    function shiftedBy(int256 a, int256 b) private pure returns (int256) {
        if (b < -31 || b > 62) revert NotDefined();
        if (b <= 0) return a * int256(1 << uint256(-b));
        return (a + int256(1 << (uint256(b) - 1))) >> uint256(b);
    }

    function floorDiv(int256 a, int256 b) private pure returns (int256 quotient) {
        if (b < 1) revert NotDefined();
        quotient = a / b;
        if (a < 0 && quotient * b != a) quotient--;
    }

    /// First word of the Philox block of docs/work.md §3.4: Philox4x32-10; the key is the first 8 bytes of the seed as two little-endian words.
    function randomWord(Machine memory machine, uint256 a, uint256 domain) private pure returns (uint256 x0) {
        (uint256 x2, bytes32 seed) = (machine.globalStep, machine.seed);
        assembly ("memory-safe") {
            function word(bytes_, from) -> v {
                v := or(or(byte(from, bytes_), shl(8, byte(add(from, 1), bytes_))),
                    or(shl(16, byte(add(from, 2), bytes_)), shl(24, byte(add(from, 3), bytes_))))
            }
            let mask := 0xffffffff
            x0 := and(a, mask)
            let x1 := and(shr(32, a), mask)
            let x3 := domain
            let k0 := word(seed, 0)
            let k1 := word(seed, 4)
            for { let round := 0 } lt(round, 10) { round := add(round, 1) } {
                let p0 := mul(x0, 0xD2511F53)
                let p1 := mul(x2, 0xCD9E8D57)
                x0 := xor(xor(shr(32, p1), x1), k0)
                x1 := and(p1, mask)
                x2 := xor(xor(shr(32, p0), x3), k1)
                x3 := and(p0, mask)
                k0 := and(add(k0, 0x9E3779B9), mask)
                k1 := and(add(k1, 0xBB67AE85), mask)
            }
        }
    }
}
