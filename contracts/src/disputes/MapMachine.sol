// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

import {Math} from "@openzeppelin/contracts/utils/math/Math.sol";
import {Philox} from "../trees/Philox.sol";
import {OpLeaf} from "./OpLeaf.sol";

/// One instruction of a `map`, docs/work.md §3, from the registers that a transcript tells. Those have 64
/// bits, so nothing overflows here; what false ones lead to that is not defined reverts.
/// src/work/operators/map-machine.ts is its twin.
library MapMachine {
    struct Machine {
        OpLeaf.Op op;
        uint256[] coordinates;
        uint256 segment;
        uint256 step;
        uint256 globalStep;
        bytes32 seed;
        uint256 turn;
        /// Where in the calldata registers are told, 8 bytes each: all that a turn sees; without a turn those
        /// of before, carried and after.
        uint256 turnAt;
        uint256 beforeAt;
        uint256 carriedAt;
        uint256 afterAt;
    }

    /// What a load reads.
    struct Load {
        uint256 operand;
        uint256 index;
        bool isOutside;
    }

    /// @notice Thrown when the words lead to what docs/work.md does not define: then an earlier one is false.
    error NotDefined();

    uint256 internal constant LOAD = 0;

    /// Value number `i` of i64 numbers from a place of the calldata.
    function number(uint256 from, uint256 i) internal pure returns (int256 value) {
        assembly ("memory-safe") {
            value := sar(192, calldataload(add(from, shl(3, i))))
        }
    }

    /// What was told of a register.
    function register(Machine memory machine, uint256 i) internal pure returns (int256) {
        unchecked {
            if (machine.turnAt > 0) return number(machine.turnAt, i);
            OpLeaf.Code memory code = machine.op.code;
            if (i < code.before) return number(machine.beforeAt, i);
            i -= code.before;
            if (i < code.carried) return number(machine.carriedAt, i);
            return number(machine.afterAt, i - code.carried - code.body);
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

    /// Code of the instruction that is wanted, with its fields behind it.
    function instruction(Machine memory machine) internal pure returns (uint256 which, uint256 word) {
        uint256 place = machine.op.code.at_;
        assembly ("memory-safe") {
            word := calldataload(place)
            which := byte(0, word)
        }
    }

    /// What an instruction other than a load gives.
    function valueOf(Machine memory machine, uint256 which, uint256 word) internal pure returns (int256) {
        if (which == 1) return int64(uint64(word >> 184));
        if (which == 2) return int256(machine.coordinates[uint8(word >> 240)]);
        if (which == 3) return int256(machine.segment);
        if (which == 4) return int256(machine.step);
        if (which == 5) return int256(machine.turn);
        int256 a = register(machine, uint8(word >> 240));
        if (which == 6) return int256(randomWord(machine, uint256(a), uint32(word >> 208)));
        uint256 field = uint8(word >> 232);
        if (which == 10) return -a;
        if (which == 11) return a < 0 ? -a : a;
        if (which == 14) return a * int256(1 << field);
        if (which == 15) return a >> field;
        if (which == 16) return (a + int256(1 << (field - 1))) >> field;
        if (which == 20) {
            if (a < 0) revert NotDefined();
            return int256(Math.sqrt(uint256(a)));
        }
        if (which == 21) return a == 0 ? int256(0) : int256(Math.log2(uint256(a < 0 ? -a : a)) + 1);
        int256 b = register(machine, field);
        return ofTwo(which, a, b, which < 27 ? int256(0) : register(machine, uint8(word >> 224)));
    }

    /// Of two registers, or three.
    function ofTwo(uint256 which, int256 a, int256 b, int256 c) private pure returns (int256) {
        if (which == 7) return a + b;
        if (which == 8) return a - b;
        if (which == 9) return a * b;
        if (which == 12) return a < b ? a : b;
        if (which == 13) return a > b ? a : b;
        if (which == 17) return shiftedBy(a, b);
        if (which == 18) return floorDiv(a, b);
        if (which == 19) return floorDiv(2 * a + b, 2 * b);
        if (which == 22) return a == b ? int256(1) : int256(0);
        if (which == 23) return a < b ? int256(1) : int256(0);
        if (which == 24) return a & b;
        if (which == 25) return a | b;
        if (which == 26) return a ^ b;
        if (which == 27) return a != 0 ? b : c;
        int256 raised = a > b ? a : b;
        return raised < c ? raised : c;
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

    /// Where the load that is wanted reads.
    function loadOf(Machine memory machine) internal pure returns (Load memory load) {
        uint256 at_ = machine.op.code.at_ + 1;
        uint256 operand;
        assembly ("memory-safe") {
            operand := byte(0, calldataload(at_))
        }
        load.operand = operand;
        at_++;
        uint256[] memory dims = machine.op.operands[operand].dims;
        for (uint256 axis = 0; axis < dims.length; axis++) {
            uint256 mode;
            int256 p;
            (mode, p, at_) = placeOf(machine, at_);
            int256 dim = int256(dims[axis]);
            if (p < 0 || p >= dim) {
                uint256 edge = mode & 3;
                if (edge == 0) revert NotDefined();
                if (edge == 1) load.isOutside = true;
                p = edge == 2 ? ((p % dim) + dim) % dim : p < 0 ? int256(0) : dim - 1;
            }
            load.index = load.index * uint256(dim) + uint256(p);
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
            p = register(machine, word >> 248);
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

    /// First word of the Philox block of docs/work.md §3.4.
    function randomWord(Machine memory machine, uint256 a, uint256 domain) private pure returns (uint256 first) {
        (uint256 low, uint256 high) = (a & 0xffffffff, a >> 32 & 0xffffffff);
        (first,,,) = Philox.words(machine.seed, low, high, machine.globalStep, domain);
    }
}
