// SPDX-License-Identifier: BSD-3-Clause
// Implements reduction loops: one template over (operation, representation), instantiated into a
// table.
// Compiled with -O3, because GCC's -O2 does not vectorize loops of unknown length. On x86-64 all
// loops but those over pairs are compiled twice, for SSE2 and for AVX2, with identical results.
#include <array>
#include <complex>
#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>

#include "shim/types/quad.hpp"
#include "shim/types/types.hpp"

namespace shim::types {
namespace {

// std::complex is defined for the three standard floating types only.
struct QuadComplex {
  Quad re, im;
};
// MPI_BYTE and logical types allow fewer operations than integers of their size; these types keep
// them apart.
enum class Byte : std::uint8_t {};
template <typename T>
struct Logical {
  using type = T;
};
template <typename V, typename I>
struct Pair {
  V value;
  I index;
};
struct Nothing {};  // of Element::none: no operation is defined

// clang-format off
template <Element> struct Representation { using type = Nothing; };
template <> struct Representation<Element::int8> { using type = std::int8_t; };
template <> struct Representation<Element::int16> { using type = std::int16_t; };
template <> struct Representation<Element::int32> { using type = std::int32_t; };
template <> struct Representation<Element::int64> { using type = std::int64_t; };
template <> struct Representation<Element::uint8> { using type = std::uint8_t; };
template <> struct Representation<Element::uint16> { using type = std::uint16_t; };
template <> struct Representation<Element::uint32> { using type = std::uint32_t; };
template <> struct Representation<Element::uint64> { using type = std::uint64_t; };
template <> struct Representation<Element::float32> { using type = float; };
template <> struct Representation<Element::float64> { using type = double; };
template <> struct Representation<Element::float80> { using type = long double; };
template <> struct Representation<Element::float128> { using type = Quad; };
template <> struct Representation<Element::complex32> { using type = std::complex<float>; };
template <> struct Representation<Element::complex64> { using type = std::complex<double>; };
template <> struct Representation<Element::complex80> { using type = std::complex<long double>; };
template <> struct Representation<Element::complex128> { using type = QuadComplex; };
template <> struct Representation<Element::boolean8> { using type = Logical<std::uint8_t>; };
template <> struct Representation<Element::logical16> { using type = Logical<std::uint16_t>; };
template <> struct Representation<Element::logical32> { using type = Logical<std::uint32_t>; };
template <> struct Representation<Element::logical64> { using type = Logical<std::uint64_t>; };
template <> struct Representation<Element::byte> { using type = Byte; };
template <> struct Representation<Element::float_int> { using type = Pair<float, int>; };
template <> struct Representation<Element::double_int> { using type = Pair<double, int>; };
template <> struct Representation<Element::long_int> { using type = Pair<long, int>; };
template <> struct Representation<Element::two_int> { using type = Pair<int, int>; };
template <> struct Representation<Element::short_int> { using type = Pair<short, int>; };
template <> struct Representation<Element::long_double_int> { using type = Pair<long double, int>; };
template <> struct Representation<Element::two_float32> { using type = Pair<float, float>; };
template <> struct Representation<Element::two_float64> { using type = Pair<double, double>; };
// clang-format on

template <typename T>
inline constexpr bool kIsReal = std::is_arithmetic_v<T> || std::is_same_v<T, Quad>;
template <typename T>
inline constexpr bool kIsComplex = false;
template <typename T>
inline constexpr bool kIsComplex<std::complex<T>> = true;
template <>
inline constexpr bool kIsComplex<QuadComplex> = true;
template <typename T>
inline constexpr bool kIsLogical = false;
template <typename T>
inline constexpr bool kIsLogical<Logical<T>> = true;
template <typename T>
inline constexpr bool kIsPair = false;
template <typename V, typename I>
inline constexpr bool kIsPair<Pair<V, I>> = true;

// Return the operand for arithmetic: integers as unsigned, so that they wrap around without
// undefined overflow.
template <typename T>
auto wide(T a) {
  if constexpr (std::is_integral_v<T>)
    return static_cast<std::common_type_t<std::make_unsigned_t<T>, unsigned>>(a);
  else
    return a;
}

QuadComplex operator+(QuadComplex a, QuadComplex b) { return {a.re + b.re, a.im + b.im}; }
QuadComplex operator*(QuadComplex a, QuadComplex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
Byte operator&(Byte a, Byte b) {
  return static_cast<Byte>(static_cast<unsigned>(a) & static_cast<unsigned>(b));
}
Byte operator|(Byte a, Byte b) {
  return static_cast<Byte>(static_cast<unsigned>(a) | static_cast<unsigned>(b));
}
Byte operator^(Byte a, Byte b) {
  return static_cast<Byte>(static_cast<unsigned>(a) ^ static_cast<unsigned>(b));
}

// True if the operation is defined on the representation; is_allowed checks the family of types.
template <Operator code, typename T>
constexpr bool is_defined() {
  switch (code) {
    case Operator::max:
    case Operator::min:
      return kIsReal<T>;
    case Operator::sum:
    case Operator::prod:
      return kIsReal<T> || kIsComplex<T>;
    case Operator::land:
    case Operator::lor:
    case Operator::lxor:
      return std::is_integral_v<T> || kIsLogical<T>;
    case Operator::band:
    case Operator::bor:
    case Operator::bxor:
      return std::is_integral_v<T> || std::is_same_v<T, Byte>;
    case Operator::maxloc:
    case Operator::minloc:
      return kIsPair<T>;
    default:
      return false;
  }
}

template <Operator code, typename T>
T combine(T a, T b) {
  if constexpr (code == Operator::max)
    return a > b ? a : b;  // a NaN compares false: the second operand stays
  if constexpr (code == Operator::min) return a < b ? a : b;
  if constexpr (code == Operator::sum) return static_cast<T>(wide(a) + wide(b));
  if constexpr (code == Operator::prod) return static_cast<T>(wide(a) * wide(b));
  if constexpr (code == Operator::land) return static_cast<T>((a != 0) & (b != 0));
  if constexpr (code == Operator::lor) return static_cast<T>((a != 0) | (b != 0));
  if constexpr (code == Operator::lxor) return static_cast<T>((a != 0) ^ (b != 0));
  if constexpr (code == Operator::band) return static_cast<T>(a & b);
  if constexpr (code == Operator::bor) return static_cast<T>(a | b);
  if constexpr (code == Operator::bxor) return static_cast<T>(a ^ b);
}

// Items are accessed with memcpy, which costs nothing and allows any alignment.
template <typename T>
T load(const std::byte* from) {
  T value;
  std::memcpy(&value, from, sizeof value);
  return value;
}

template <Operator code, typename T>
[[gnu::always_inline]] inline void each_item(const void* in, void* inout, std::uint64_t count) {
  auto* __restrict a = static_cast<const std::byte*>(in);
  auto* __restrict b = static_cast<std::byte*>(inout);
  for (std::uint64_t i = 0; i < count; ++i) {
    T result = combine<code, T>(load<T>(a + i * sizeof(T)), load<T>(b + i * sizeof(T)));
    std::memcpy(b + i * sizeof(T), &result, sizeof result);
  }
}

template <Operator code, typename T, Registers>
struct Compiled {
  static void loop(const void* in, void* inout, std::uint64_t count) {
    each_item<code, T>(in, inout, count);
  }
};
#ifdef __x86_64__
// AVX2 without fused multiply-add, which would round differently.
template <Operator code, typename T>
struct Compiled<code, T, Registers::wide> {
  [[gnu::target("avx2")]] static void loop(const void* in, void* inout, std::uint64_t count) {
    each_item<code, T>(in, inout, count);
  }
};
#endif

// Add complex numbers as twice as many real ones, a loop that vectorizes.
template <typename T, Registers registers>
void complex_sum(const void* in, void* inout, std::uint64_t count) {
  Compiled<Operator::sum, T, registers>::loop(in, inout, 2 * count);
}

// MPI-4.1 §6.9.4: the better value with its index; of equal values the lower index. Padding in the
// result is not written.
template <Operator code, typename V, typename I>
void pair_loop(const void* in, void* inout, std::uint64_t count) {
  using Item = Pair<V, I>;
  auto* a = static_cast<const std::byte*>(in);
  auto* b = static_cast<std::byte*>(inout);
  for (std::uint64_t i = 0; i < count; ++i, a += sizeof(Item), b += sizeof(Item)) {
    V value = load<V>(a), best = load<V>(b);
    I index = load<I>(a + offsetof(Item, index)), best_index = load<I>(b + offsetof(Item, index));
    bool is_better = code == Operator::maxloc ? value > best : value < best;
    if (is_better || (value == best && index < best_index)) {
      std::memcpy(b, &value, sizeof value);
      std::memcpy(b + offsetof(Item, index), &index, sizeof index);
    }
  }
}

// The loop for an operation on a representation.
template <Operator code, typename T, Registers registers>
struct Loop {
  static constexpr Kernel function = Compiled<code, T, registers>::loop;
};
template <typename T, Registers registers>
struct Loop<Operator::sum, std::complex<T>, registers> {
  static constexpr Kernel function = complex_sum<T, registers>;
};
template <Operator code, typename T, Registers registers>
struct Loop<code, Logical<T>, registers> : Loop<code, T, registers> {};
template <Operator code, typename V, typename I, Registers registers>
struct Loop<code, Pair<V, I>, registers> {
  static constexpr Kernel function = pair_loop<code, V, I>;
};

using KernelsByElement = std::array<Kernel, kElements>;
using Table = std::array<KernelsByElement, kOperators>;

template <Operator code, Element element, Registers registers>
constexpr Kernel loop_for() {
  using T = typename Representation<element>::type;
  if constexpr (is_defined<code, T>())
    return Loop<code, T, registers>::function;
  else
    return nullptr;
}
template <Operator code, Registers registers, std::size_t... elements>
constexpr KernelsByElement row(std::index_sequence<elements...>) {
  return {loop_for<code, static_cast<Element>(elements), registers>()...};
}
template <Registers registers, std::size_t... codes>
constexpr Table table(std::index_sequence<codes...>) {
  return {row<static_cast<Operator>(codes), registers>(std::make_index_sequence<kElements>())...};
}
constexpr Table kCommon = table<Registers::common>(std::make_index_sequence<kOperators>());
constexpr Table kWide = table<Registers::wide>(std::make_index_sequence<kOperators>());

}  // namespace

Registers widest_registers() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2")) return Registers::wide;
#endif
  return Registers::common;
}

Kernel kernel(Operator code, Element element, Registers registers) {
  const Table& table = registers == Registers::wide ? kWide : kCommon;
  return table[static_cast<std::size_t>(code)][static_cast<std::size_t>(element)];
}

}  // namespace shim::types
