// Maps that run on a product's sums while they are still in registers: their code takes the place of a marker
// in the text of limb_wgmma.cu, once for every two neighbours that a thread has.
#include <cctype>

#include "cuda/work/ptx/kernel_emitter.hpp"

namespace assay::cuda {

using namespace work;

namespace {

// The code's registers beside those of the text around it, which has %r and %p too.
std::string renamed(const std::string& code) {
  std::string out;
  for (size_t i = 0; i < code.size(); ++i) {
    out += code[i];
    if (code[i] == '%' && i + 2 < code.size() && std::string("rdpfo").find(code[i + 1]) != std::string::npos &&
        (std::isdigit(static_cast<unsigned char>(code[i + 2])) || code[i + 2] == '<'))
      out += 'e';
  }
  return out;
}

void replace_all(std::string& text, const std::string& what, const std::string& with) {
  for (size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + with.size())) text.replace(at, what.size(), with);
}

// The marker's operands: two sums, the row over all batches, the first column.
std::vector<std::string> operands_of(const std::string& line) {
  std::vector<std::string> found;
  for (size_t at = line.find('%'); at != std::string::npos; at = line.find('%', at + 1)) {
    const size_t end = line.find_first_of(",;", at);
    found.push_back(line.substr(at, end - at));
  }
  return found;
}

}  // namespace

std::string KernelEmitter::on_pair(const std::string& name) {
  const Op& product = *plan_.ops[0].op;
  const std::string width = std::to_string(product.dims[2]);
  Value index = fresh(is_wide_);
  if (is_wide_) {
    const Value column = fresh(true);
    line("cvt.u64.u32 ", column.name, ", %column_of");
    line("mad.wide.u32 ", index.name, ", %row_of, ", width, ", ", column.name);
  } else line("mad.lo.u32 ", index.name, ", %row_of, ", width, ", %column_of");
  Frames start = frames_at(index, 2, true, 1), sums(2);
  for (Frame& frame : start) frame.row = {"%row_of", false};
  sums[0].values.push_back({"%sum_a", true});
  sums[1].values.push_back({"%sum_b", true});
  frames_of_[0] = {sums};
  store(0, {{index, {}, {}, {{"%sum_a", true}}, {}}, {start[1].index, {}, {}, {{"%sum_b", true}}, {}}}, true);
  for (size_t i = 1; i < plan_.ops.size(); ++i) {
    Frames frames = start;
    frames[0].coordinates[plan_.ops[i].op->dims.size() - 1] = {"%column_of", false};
    frames_of_[i] = {frames};
    run_op(i, frames_of_[i][0], 0, true);
  }
  std::string head = declarations() + "\t.reg .b32 %segment, %step, %when, %key0, %key1, %row_of, %column_of;\n\t.reg .b64 %moment, %sum_a, %sum_b";
  for (uint32_t i = 0; i < plan_.pointers; ++i) head += ", %o" + std::to_string(i);
  head += ";\n\tmov.b64 %sum_a, PAIR0;\n\tmov.b64 %sum_b, PAIR1;\n\tmov.b32 %row_of, PAIR2;\n\tmov.b32 %column_of, PAIR3;\n";
  const std::string pointers = name + "_param_2";
  for (uint32_t i = 0; i < plan_.pointers; ++i)
    head += "\tld.param.u64 %o" + std::to_string(i) + ", [" + pointers + "+" + std::to_string(8 * (i + 1)) + "];\n";
  static constexpr const char* kWords[] = {"%segment", "%step", "%when", "%key0", "%key1"};
  bool asks = false;
  for (uint32_t i = 0; i < 5; ++i) {
    if (text().find(kWords[i]) == std::string::npos) continue;
    if (!asks) head += "\tld.param.u64 %moment, [" + pointers + "];\n";
    asks = true;
    head += std::string("\tld.global.u32 ") + kWords[i] + ", [%moment+" + std::to_string(4 * i) + "];\n";
  }
  return renamed("\t{\n" + head + text() + "\t}\n");
}

std::string product_ptx(const std::string& limb_text, const KernelPlan& plan, const std::string& name) {
  std::string text = limb_text;
  replace_all(text, "limb_text", name);
  // The oldest that has all it needs, for drivers older than the compiler.
  if (const size_t version = text.find(".version "); version != std::string::npos)
    text.replace(version, text.find('\n', version) - version, ".version 8.4");
  const std::string code = KernelEmitter(plan).on_pair(name), marker = "//ASSAY_PAIR";
  std::string out;
  size_t from = 0;
  for (size_t at = text.find(marker); at != std::string::npos; at = text.find(marker, from)) {
    const size_t end = text.find('\n', at);
    std::string one = code;
    const auto operands = operands_of(text.substr(at, end - at));
    for (size_t i = 0; i < operands.size(); ++i) replace_all(one, "PAIR" + std::to_string(i), operands[i]);
    out += text.substr(from, at - from) + one;
    from = end;
  }
  return out + text.substr(from);
}

}  // namespace assay::cuda
