// Reads vectors/*.json: lists of flat objects of strings and whole numbers. Anything else is an error, not a
// guess.
#pragma once
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace assay_test {

class Row {
 public:
  const std::string& text(const std::string& key) const {
    const auto at = values_.find(key);
    if (at == values_.end()) throw std::runtime_error("a vector has no field " + key);
    return at->second;
  }
  bool has(const std::string& key) const { return values_.contains(key); }
  int64_t number(const std::string& key) const { return std::stoll(text(key)); }
  uint32_t u32(const std::string& key) const { return static_cast<uint32_t>(std::stoull(text(key))); }
  void set(const std::string& key, std::string value) { values_[key] = std::move(value); }

 private:
  std::map<std::string, std::string> values_;
};

class VectorReader {
 public:
  explicit VectorReader(std::string text) : text_(std::move(text)) {}
  std::vector<Row> rows() {
    std::vector<Row> rows;
    expect('[');
    if (peek() != ']') {
      do {
        rows.push_back(row());
      } while (accept(','));
    }
    expect(']');
    return rows;
  }

 private:
  char peek() {
    while (at_ < text_.size() && isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char c) { return peek() == c ? (++at_, true) : false; }
  void expect(char c) {
    if (!accept(c)) throw std::runtime_error(std::string("vectors: expected ") + c);
  }
  std::string string() {
    expect('"');
    const size_t end = text_.find('"', at_);
    if (end == std::string::npos || text_.substr(at_, end - at_).find('\\') != std::string::npos)
      throw std::runtime_error("vectors: a string with escapes or without end");
    const std::string s = text_.substr(at_, end - at_);
    at_ = end + 1;
    return s;
  }
  std::string number() {
    peek();
    const size_t end = text_.find_first_not_of("-0123456789", at_);
    if (end == at_) throw std::runtime_error("vectors: expected a whole number");
    const std::string s = text_.substr(at_, end - at_);
    at_ = end;
    return s;
  }
  Row row() {
    Row row;
    expect('{');
    do {
      const std::string key = string();
      expect(':');
      row.set(key, peek() == '"' ? string() : number());
    } while (accept(','));
    expect('}');
    return row;
  }
  std::string text_;
  size_t at_ = 0;
};

// Rows of vectors/<name>.json below the folder of the repository.
inline std::vector<Row> read_vectors(const std::string& folder, const std::string& name) {
  std::ifstream file(folder + "/" + name + ".json");
  if (!file) throw std::runtime_error("cannot read " + folder + "/" + name + ".json");
  std::stringstream text;
  text << file.rdbuf();
  return VectorReader(text.str()).rows();
}

}  // namespace assay_test
