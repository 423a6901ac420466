// A `map` of docs/work.md §3 as numbers that the interpreter (interpret.cu) reads: what one thread runs for
// each element where the driver compiles no PTX, and what tests compare the compiled maps with. For checked
// programs only.
#pragma once
#include <cstdint>
#include <vector>

namespace assay::work {
struct Op;
}

namespace assay::cuda {

// Everything of a map's code in one piece of memory: the head, then tables that begin `…_at` bytes after it.
struct MapHead {
  uint64_t count;  // elements
  uint32_t dims[6], rank, type;
  uint32_t turns, before, body, after, carried;  // instructions of each section
  uint32_t may_settle;                           // once a turn changes nothing no later one will
  uint32_t instructions_at, places_at, terms_at, carried_at;
};
struct MapInstruction {
  int64_t value;
  uint32_t domain, first_place;  // of a load: its operand's first axis
  uint32_t operand_type, axes;
  uint8_t code, a, b, c, operand, axis, bits, unused;
};
struct MapPlace {
  uint32_t dim;  // of the operand along this axis
  int32_t constant;
  uint32_t first_term, terms;
  uint32_t edge;
  int32_t reg;  // -1: none
};
struct MapTerm {
  uint32_t of;
  int32_t times;
};
struct MapCarried {
  int64_t lo, hi;
  uint32_t from, next;
};

std::vector<uint8_t> encode_map(const work::Op& op);

}  // namespace assay::cuda
