// SPDX-License-Identifier: BSD-3-Clause
// Fuzzes derived datatypes. Types with moderate numbers are compared with a literal model, packed
// in pieces and unpacked; types with arbitrary numbers must be either refused or described
// correctly.
#include <cstdlib>
#include <cstring>
#include <map>

#include "shim/types/external.hpp"
#include "shim/types/signature.hpp"
#include "tests/types/type_model.hpp"

namespace shim::types {
namespace {

void must(bool condition) {
  if (!condition) std::abort();
}

/// Reads numbers from the input; zeros after its end.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t size) : data_(data), size_(size) {}
  std::uint8_t byte() { return at_ < size_ ? data_[at_++] : 0; }
  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int i = 0; i < 8; ++i) value = value << 8 | byte();
    return value;
  }
  bool is_over() const { return at_ >= size_; }

 private:
  const std::uint8_t* data_;
  std::size_t size_, at_ = 0;
};

constexpr std::int64_t kMiddle = 1 << 13;  // larger types are skipped
constexpr std::uint64_t kItems = 2;

void check_against_model(Input& input) {
  TypeMaker maker([&input] { return input.byte(); });
  const auto [type, model] = maker.any(1 + input.byte() % 3);
  must(type.lower == model.lower() && type.extent == model.extent());
  std::vector<std::byte> memory(2 * kMiddle), expected;
  for (std::size_t i = 0; i < memory.size(); ++i)
    memory[i] = static_cast<std::byte>(i * 31 + i / 251);
  for (std::uint64_t item = 0; item < kItems; ++item)
    for (const auto& element : model.elements)
      for (std::int64_t i = 0; i < element.bytes; ++i) {
        const std::int64_t at = kMiddle + static_cast<std::int64_t>(item) * type.extent +
                                element.at + i;
        if (at < 0 || at >= 2 * kMiddle) return;
        expected.push_back(memory[static_cast<std::size_t>(at)]);
      }
  std::vector<std::byte> packed(expected.size());
  for (std::size_t first = 0; first < packed.size();) {
    const std::size_t piece = std::min<std::size_t>(packed.size() - first, 1 + input.byte() * 3u);
    pack(type, memory.data() + kMiddle, first, std::span(packed).subspan(first, piece));
    first += piece;
  }
  must(packed == expected);
  // Unpacking into the source buffer must change nothing, even if elements overlap.
  std::vector<std::byte> before = memory;
  unpack(type, packed, 0, memory.data() + kMiddle);
  must(memory == before);
  must(elements_in(type, type.size) == type.elements);
  std::vector<std::byte> outside(external_size(type, kItems));
  static_cast<void>(pack_external(type, memory.data() + kMiddle, kItems, outside));
}

/// Make a type with arbitrary numbers: overflows must be reported as errors.
void make_anything(Input& input) {
  std::deque<Type> made{*find_predefined("MPI_DOUBLE"), *find_predefined("MPI_SHORT_INT")};
  const auto any = [&]() -> const Type& { return made[input.byte() % made.size()]; };
  const auto offset = [&] { return static_cast<std::int64_t>(input.number()); };
  while (!input.is_over() && made.size() < 12) {
    base::Result<Type> next = base::Error(base::ErrorClass::arg, "");
    switch (input.byte() % 6) {
      case 0:
        next = contiguous(input.number(), any());
        break;
      case 1:
        next = vector(input.number(), input.number(), offset(), any());
        break;
      case 2: {
        const ItemBlock blocks[] = {{offset(), input.number()}, {offset(), input.number()}};
        next = indexed(blocks, any());
        break;
      }
      case 3: {
        const Member members[] = {{offset(), input.number(), &any()},
                                  {offset(), input.number(), &any()}};
        next = structure(members);
        break;
      }
      case 4:
        next = resized(offset(), offset(), any());
        break;
      default: {
        const SubarrayDimension ranges[] = {{input.number(), input.number(), input.number()},
                                            {input.number(), input.number(), input.number()}};
        next = subarray(ranges, any());
      }
    }
    if (next) made.push_back(*std::move(next));
  }
}

}  // namespace
}  // namespace shim::types

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  shim::types::Input input(data, size);
  if (input.byte() % 2 == 0)
    shim::types::check_against_model(input);
  else
    shim::types::make_anything(input);
  return 0;
}
