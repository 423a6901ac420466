// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Reads one op of a program from its leaf, docs/work.md §6, from the first byte to the last. What a checker
/// would refuse when it reads reverts here, so that nobody is judged by it; of a map's instructions only the
/// judged one is looked at so, the others are passed over: to look at all of them would cost as much as to
/// judge. No checker takes such a program, so nobody who is honest has claimed it. Not here: whether the op
/// may run, what it computes. src/work/program/decode.ts is its twin.
library OpLeaf {
    uint8 internal constant MATMUL = 0;
    uint8 internal constant MAP = 1;
    uint8 internal constant REDUCE = 2;
    uint8 internal constant SCATTER_ADD = 3;
    /// Sources of operands; 4 is scratch.
    uint8 internal constant FROM_OP = 0;
    uint8 internal constant FROM_CONSTANT = 1;
    uint8 internal constant FROM_INPUT = 2;
    uint8 internal constant FROM_STATE = 3;

    uint256 internal constant NO_REGISTER = type(uint256).max;

    /// Bytes that a judge of a map gets: its leaf, 32 for the root of each operand, 8 for each register.
    uint256 private constant MOST_JUDGED = 2960;
    /// A turn is judged by two transcripts that tell the registers of before.
    uint256 private constant MOST_BEFORE_TURNS = 112;

    struct Tensor {
        /// Of an element.
        uint256 size;
        /// Elements.
        uint256 count;
        uint256[] dims;
    }

    struct Op {
        uint256 operator;
        uint256 phase;
        /// 65535: none.
        uint256 target;
        Tensor output;
        Tensor[] operands;
        /// docs/work.md §4, and the number of the op or tensor.
        uint256[] sources;
        uint256[] numbers;
        /// Of reduce.
        uint256 reduction;
        Code code;
    }

    /// Of map. Registers: those of before, one for each carried value, those of body, those of after.
    struct Code {
        uint256 turns;
        uint256 carried;
        uint256 before;
        uint256 body;
        uint256 rest;
        /// Where in the calldata the carried values are told, 18 bytes each.
        uint256 carryAt;
        uint256 registers;
        /// And the instruction that is wanted; 0: there is no such.
        uint256 at_;
    }

    struct Reader {
        uint256 at_;
        uint256 end;
    }

    /// @notice Thrown when the bytes are no op.
    error OpMalformed();

    /// Of a map, where the instruction of a register is, too.
    function decode(bytes calldata leaf, uint256 wanted) internal pure returns (Op memory op) {
        Reader memory reader;
        assembly ("memory-safe") {
            mstore(reader, leaf.offset)
            mstore(add(reader, 32), add(leaf.offset, leaf.length))
        }
        op.operator = below(take(reader, 1), 4);
        op.phase = below(take(reader, 1), 2);
        op.output = tensor(reader);
        // Its interval: the judge needs none.
        take(reader, 16);
        op.target = take(reader, 2);
        uint256 count = below(take(reader, 1), 9);
        op.operands = new Tensor[](count);
        op.sources = new uint256[](count);
        op.numbers = new uint256[](count);
        for (uint256 i = 0; i < count; i++) {
            op.sources[i] = below(take(reader, 1), 5);
            op.numbers[i] = take(reader, 2);
            op.operands[i] = tensor(reader);
        }
        if (op.operator == MAP) {
            readCode(reader, op, wanted);
            must(leaf.length + 32 * count + 8 * op.code.registers <= MOST_JUDGED);
        } else if (op.operator == REDUCE) op.reduction = below(take(reader, 1), 5);
        must(reader.at_ == reader.end);
    }

    /// Big-endian.
    function take(Reader memory reader, uint256 bytes_) internal pure returns (uint256 value) {
        unchecked {
            uint256 from = reader.at_;
            if (from + bytes_ > reader.end) revert OpMalformed();
            reader.at_ = from + bytes_;
            assembly ("memory-safe") {
                value := shr(sub(256, shl(3, bytes_)), calldataload(from))
            }
        }
    }

    function tensor(Reader memory reader) internal pure returns (Tensor memory read) {
        bool isSo;
        uint256[] memory dims;
        assembly ("memory-safe") {
            let at_ := mload(reader)
            let word := calldataload(at_)
            let rank := byte(1, word)
            isSo := and(lt(byte(0, word), 4), lt(sub(rank, 1), 6))
            at_ := add(at_, 2)
            dims := mload(0x40)
            mstore(dims, rank)
            let place := add(dims, 0x20)
            // Six axes below 2^31 do not overflow.
            let count := 1
            for { let end := add(place, shl(5, rank)) } lt(place, end) { place := add(place, 0x20) } {
                let dim := shr(224, calldataload(at_))
                isSo := and(isSo, lt(sub(dim, 1), 0x7fffffff))
                count := mul(count, dim)
                mstore(place, dim)
                at_ := add(at_, 4)
            }
            mstore(0x40, place)
            isSo := and(isSo, and(lt(count, 0x10000000001), iszero(gt(at_, mload(add(reader, 0x20))))))
            mstore(reader, at_)
            mstore(read, shl(byte(0, word), 1))
            mstore(add(read, 0x20), count)
        }
        must(isSo);
        read.dims = dims;
    }

    function must(bool isSo) private pure {
        if (!isSo) revert OpMalformed();
    }

    function below(uint256 value, uint256 limit) private pure returns (uint256) {
        if (value >= limit) revert OpMalformed();
        return value;
    }

    function readCode(Reader memory reader, Op memory op, uint256 wanted) private pure {
        unchecked {
            Code memory code = op.code;
            code.turns = below(take(reader, 2), 4097);
            code.carried = below(take(reader, 1), 17);
            code.before = take(reader, 2);
            code.body = take(reader, 2);
            code.rest = take(reader, 2);
            code.registers = code.before + code.carried + code.body + code.rest;
            must(code.registers <= 256 && code.before > 0);
            bool isRepeated = code.turns > 0;
            must(!isRepeated || code.before <= MOST_BEFORE_TURNS);
            uint256 count = op.operands.length;
            must((code.carried > 0) == isRepeated && (code.body > 0) == isRepeated && (code.rest > 0) == isRepeated);
            uint256 bodyFrom = code.before + code.carried;
            code.carryAt = reader.at_;
            must(areCarries(code));
            reader.at_ += 18 * code.carried;
            uint256 ranks = 0;
            for (uint256 i = 0; i < count; i++) ranks |= op.operands[i].dims.length << (4 * i);
            readTo(reader, code, ranks, 0, code.before, wanted);
            readTo(reader, code, ranks, bodyFrom, bodyFrom + code.body, wanted);
            readTo(reader, code, ranks, bodyFrom + code.body, code.registers, wanted);
            if (code.at_ != 0) mustBeInstruction(Reader(code.at_, reader.end), op, wanted);
        }
    }

    /// Registers of each are there. That the leaf has so many bytes shows at its end.
    function areCarries(Code memory code) private pure returns (bool areSo) {
        (uint256 at_, uint256 count, uint256 before) = (code.carryAt, code.carried, code.before);
        uint256 next = before + count + code.body;
        assembly ("memory-safe") {
            areSo := 1
            for {} count { count := sub(count, 1) } {
                let word := calldataload(at_)
                areSo := and(areSo, and(lt(byte(0, word), before), lt(byte(1, word), next)))
                at_ := add(at_, 18)
            }
        }
    }

    /// A section; where it has the wanted instruction, that is kept.
    function readTo(Reader memory reader, Code memory code, uint256 ranks, uint256 from, uint256 to, uint256 wanted)
        private
        pure
    {
        if (wanted >= from && wanted < to) {
            readSection(reader, ranks, wanted - from);
            (from, code.at_) = (wanted, reader.at_);
        }
        readSection(reader, ranks, to - from);
    }

    /// Bytes of an instruction, by its code. 0: a load, or none.
    uint256 private constant LENGTHS = 0x0009020101010603030302020303030303030303020203030303030404000000;

    /// So many instructions, to where the last one ends. A program may have 256 of them, and one of them is
    /// judged: what the others say is not looked at. `ranks`: axes of each operand, four bits each.
    function readSection(Reader memory reader, uint256 ranks, uint256 count) private pure {
        bool isSo;
        assembly ("memory-safe") {
            let at_ := mload(reader)
            let lengths := LENGTHS
            // Not 0 after a code that there is not, or an operand.
            let wrong := 0
            for {} count { count := sub(count, 1) } {
                let word := calldataload(at_)
                let length := byte(byte(0, word), lengths)
                if length {
                    at_ := add(at_, length)
                    continue
                }
                let axes := and(shr(shl(2, byte(1, word)), ranks), 15)
                wrong := or(wrong, or(byte(0, word), iszero(axes)))
                at_ := add(at_, 2)
                for {} axes { axes := sub(axes, 1) } {
                    word := calldataload(at_)
                    // With a register all is one byte later.
                    let more := shr(250, word)
                    at_ := add(add(at_, 6), add(more, mul(5, byte(add(5, more), word))))
                }
            }
            mstore(reader, at_)
            isSo := and(iszero(wrong), iszero(gt(at_, mload(add(reader, 0x20)))))
        }
        must(isSo);
    }

    /// Registers that an instruction names, two bits each: of codes 7 … 28.
    uint256 private constant REGISTERS = 0x3eaa5a95a5a8000;

    /// The one that is judged: all that it says is there.
    function mustBeInstruction(Reader memory reader, Op memory op, uint256 number) private pure {
        uint256 which = below(take(reader, 1), 29);
        if (which == 0) {
            uint256 rank = op.operands[take(reader, 1)].dims.length;
            for (uint256 axis = 0; axis < rank; axis++) mustBePlace(reader, op, number);
        } else if (which == 2) {
            below(take(reader, 1), op.output.dims.length);
        } else if (which == 5) {
            must(isOfBody(op.code, number));
        } else if (which >= 6) {
            uint256 count = which == 6 ? 1 : REGISTERS >> (2 * which) & 3;
            for (uint256 i = 0; i < count; i++) mustBeRegister(reader, op.code, number);
            if (which >= 14 && which <= 16) must(below(take(reader, 1), 63) > 0);
        }
    }

    function isOfBody(Code memory code, uint256 register) private pure returns (bool) {
        unchecked {
            uint256 from = code.before + code.carried;
            return register >= from && register < from + code.body;
        }
    }

    /// One before the instruction's own. What the body has is out of sight for what comes after it.
    function mustBeRegister(Reader memory reader, Code memory code, uint256 number) private pure {
        uint256 which = below(take(reader, 1), number);
        must(isOfBody(code, number) || !isOfBody(code, which));
    }

    function mustBePlace(Reader memory reader, Op memory op, uint256 number) private pure {
        unchecked {
            uint256 mode = below(take(reader, 1), 8);
            if (mode >= 4) mustBeRegister(reader, op.code, number);
            take(reader, 4);
            uint256 terms = below(take(reader, 1), 10);
            uint256 rank = op.output.dims.length;
            uint256 least = 0;
            for (uint256 i = 0; i < terms; i++) {
                uint256 variable = take(reader, 1);
                must(variable < rank || variable == 6 || variable == 7 || (variable == 8 && isOfBody(op.code, number)));
                must(variable >= least);
                least = variable + 1;
                must(take(reader, 4) != 0);
            }
        }
    }
}
