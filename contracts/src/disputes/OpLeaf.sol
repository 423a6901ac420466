// SPDX-License-Identifier: Apache-2.0
pragma solidity 0.8.37;

/// Reads one op of a program from its leaf, docs/work.md §6: strictly, from the first byte to the last. What a checker
/// would refuse as malformed reverts here, so that nobody is judged by it. Not here: whether the op may run, what it
/// computes. src/work/program/decode.ts is its twin.
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
        /// And each instruction, by its register.
        uint256[] at_;
        /// Loads of before, body, after.
        uint256[3] loads;
    }

    struct Reader {
        uint256 at_;
        uint256 end;
    }

    /// @notice Thrown when the bytes are no op.
    error OpMalformed();

    function decode(bytes calldata leaf) internal pure returns (Op memory op) {
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
        if (op.operator == MAP) readCode(reader, op);
        else if (op.operator == REDUCE) op.reduction = below(take(reader, 1), 5);
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
        unchecked {
            read.size = 1 << below(take(reader, 1), 4);
            uint256 rank = take(reader, 1);
            must(rank >= 1 && rank <= 6);
            read.dims = new uint256[](rank);
            read.count = 1;
            for (uint256 i = 0; i < rank; i++) {
                uint256 dim = take(reader, 4);
                must(dim >= 1 && dim < 2 ** 31);
                read.dims[i] = dim;
                read.count *= dim;
                must(read.count <= 2 ** 40);
            }
        }
    }

    function must(bool isSo) private pure {
        if (!isSo) revert OpMalformed();
    }

    function below(uint256 value, uint256 limit) private pure returns (uint256) {
        if (value >= limit) revert OpMalformed();
        return value;
    }

    function readCode(Reader memory reader, Op memory op) private pure {
        unchecked {
            Code memory code = op.code;
            code.turns = below(take(reader, 2), 4097);
            code.carried = below(take(reader, 1), 17);
            code.before = take(reader, 2);
            code.body = take(reader, 2);
            code.rest = take(reader, 2);
            uint256 registers = code.before + code.carried + code.body + code.rest;
            must(registers <= 256 && code.before > 0);
            bool isRepeated = code.turns > 0;
            must((code.carried > 0) == isRepeated && (code.body > 0) == isRepeated && (code.rest > 0) == isRepeated);
            uint256 bodyFrom = code.before + code.carried;
            code.carryAt = reader.at_;
            for (uint256 i = 0; i < code.carried; i++) {
                below(take(reader, 1), code.before);
                below(take(reader, 1), bodyFrom + code.body);
                take(reader, 16);
            }
            code.at_ = new uint256[](registers);
            readSection(reader, op, 0, code.before, 0);
            readSection(reader, op, bodyFrom, bodyFrom + code.body, 1);
            readSection(reader, op, bodyFrom + code.body, registers, 2);
        }
    }

    /// Instructions of the registers [from, to).
    function readSection(Reader memory reader, Op memory op, uint256 from, uint256 to, uint256 section) private pure {
        unchecked {
            uint256[] memory places = op.code.at_;
            // What the body has is out of sight for what comes after it.
            uint256 hiddenTo = section == 2 ? from : 0;
            uint256 hiddenFrom = section == 2 ? from - op.code.body : 0;
            for (uint256 i = from; i < to; i++) {
                i = readArithmetic(reader, places, i, to, hiddenFrom, hiddenTo);
                if (i == to) break;
                places[i] = reader.at_;
                readInstruction(reader, op, i, section);
            }
        }
    }

    /// Registers that an instruction names, two bits each: of codes 7 … 28.
    uint256 private constant REGISTERS = 0x3eaa5a95a5a8000;

    /// All arithmetic from register `i` on, up to what is none: most of a program, which may have 256 instructions. Registers that one names come
    /// before its own, and are not hidden. Of a shift the bits follow, from 1 to 62.
    function readArithmetic(
        Reader memory reader,
        uint256[] memory places,
        uint256 i,
        uint256 to,
        uint256 hiddenFrom,
        uint256 hiddenTo
    ) private pure returns (uint256 next) {
        bool isSo = true;
        assembly ("memory-safe") {
            next := i
            let at_ := mload(reader)
            for {} lt(next, to) { next := add(next, 1) } {
                let word := calldataload(at_)
                let which := byte(0, word)
                let count := and(shr(shl(1, which), REGISTERS), 3)
                if iszero(count) { break }
                mstore(add(add(places, 0x20), shl(5, next)), at_)
                at_ := add(add(at_, 1), count)
                let one := byte(1, word)
                isSo := and(isSo, and(lt(one, next), or(lt(one, hiddenFrom), iszero(lt(one, hiddenTo)))))
                if gt(count, 1) {
                    one := byte(2, word)
                    isSo := and(isSo, and(lt(one, next), or(lt(one, hiddenFrom), iszero(lt(one, hiddenTo)))))
                    if gt(count, 2) {
                        one := byte(3, word)
                        isSo := and(isSo, and(lt(one, next), or(lt(one, hiddenFrom), iszero(lt(one, hiddenTo)))))
                    }
                    continue
                }
                if lt(sub(which, 14), 3) {
                    at_ := add(at_, 1)
                    isSo := and(isSo, lt(sub(byte(2, word), 1), 62))
                }
            }
            mstore(reader, at_)
            isSo := and(isSo, iszero(gt(at_, mload(add(reader, 32)))))
        }
        must(isSo);
    }

    function readInstruction(Reader memory reader, Op memory op, uint256 number, uint256 section) private pure {
        uint256 which = below(take(reader, 1), 7);
        if (which == 0) {
            op.code.loads[section]++;
            uint256 operand = below(take(reader, 1), op.operands.length);
            uint256 rank = op.operands[operand].dims.length;
            for (uint256 axis = 0; axis < rank; axis++) readPlace(reader, op, number, section);
        } else if (which == 1) {
            take(reader, 8);
        } else if (which == 2) {
            below(take(reader, 1), op.output.dims.length);
        } else if (which == 5) {
            must(section == 1);
        } else if (which == 6) {
            register(reader, op.code, number, section);
            take(reader, 4);
        }
    }

    function register(Reader memory reader, Code memory code, uint256 number, uint256 section) private pure {
        uint256 which = below(take(reader, 1), number);
        if (section != 2) return;
        uint256 bodyFrom = code.before + code.carried;
        must(which < bodyFrom || which >= bodyFrom + code.body);
    }

    function readPlace(Reader memory reader, Op memory op, uint256 number, uint256 section) private pure {
        unchecked {
            uint256 mode = below(take(reader, 1), 8);
            if (mode >= 4) register(reader, op.code, number, section);
            take(reader, 4);
            uint256 terms = below(take(reader, 1), 10);
            uint256 rank = op.output.dims.length;
            uint256 least = 0;
            for (uint256 i = 0; i < terms; i++) {
                uint256 variable = take(reader, 1);
                must(variable < rank || variable == 6 || variable == 7 || (variable == 8 && section == 1));
                must(variable >= least);
                least = variable + 1;
                must(take(reader, 4) != 0);
            }
        }
    }
}
