// SPDX-License-Identifier: BSD-3-Clause
// Compares the kernels with plain loops, for lengths around the vector widths and for unaligned
// arrays.
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <vector>

#include "shim/types/quad.hpp"
#include "shim/types/types.hpp"

namespace shim::types {
namespace {

constexpr std::size_t kLengths[] = {0, 1, 2, 3, 7, 15, 16, 17, 31, 33, 64, 100};

// Runs the kernel at an odd address, so that it must not rely on alignment, and compares item by
// item.
template <typename T>
void check_one(Operator code, Element element, Registers registers,
               const std::function<T(T, T)>& expected, const std::function<T()>& next) {
  Kernel run = kernel(code, element, registers);
  ASSERT_NE(run, nullptr);
  for (std::size_t length : kLengths) {
    std::vector<T> a(length), b(length);
    for (auto& x : a) x = next();
    for (auto& x : b) x = next();
    std::vector<std::byte> in(length * sizeof(T) + 2),
        inout(length * sizeof(T) + 2, std::byte{0x5a});
    if (length > 0) std::memcpy(in.data() + 1, a.data(), length * sizeof(T));
    if (length > 0) std::memcpy(inout.data() + 1, b.data(), length * sizeof(T));
    run(in.data() + 1, inout.data() + 1, length);
    for (std::size_t i = 0; i < length; ++i) {
      T result;
      std::memcpy(&result, inout.data() + 1 + i * sizeof(T), sizeof(T));
      EXPECT_EQ(result, expected(a[i], b[i]))
          << predefined(code).name << " item " << i << " of " << length;
    }
    EXPECT_EQ(inout.front(), std::byte{0x5a});
    EXPECT_EQ(inout.back(), std::byte{0x5a});
  }
}

// Check with all vector register sizes of this processor.
template <typename T>
void check(Operator code, Element element, const std::function<T(T, T)>& expected,
           const std::function<T()>& next) {
  check_one<T>(code, element, Registers::common, expected, next);
  if (widest_registers() != Registers::common)
    check_one<T>(code, element, widest_registers(), expected, next);
}

template <typename T>
constexpr Element kElementOf = Element::none;
template <>
constexpr Element kElementOf<std::int8_t> = Element::int8;
template <>
constexpr Element kElementOf<std::int16_t> = Element::int16;
template <>
constexpr Element kElementOf<std::int32_t> = Element::int32;
template <>
constexpr Element kElementOf<std::int64_t> = Element::int64;
template <>
constexpr Element kElementOf<std::uint8_t> = Element::uint8;
template <>
constexpr Element kElementOf<std::uint16_t> = Element::uint16;
template <>
constexpr Element kElementOf<std::uint32_t> = Element::uint32;
template <>
constexpr Element kElementOf<std::uint64_t> = Element::uint64;
template <>
constexpr Element kElementOf<float> = Element::float32;
template <>
constexpr Element kElementOf<double> = Element::float64;
template <>
constexpr Element kElementOf<long double> = Element::float80;
template <>
constexpr Element kElementOf<std::complex<float>> = Element::complex32;
template <>
constexpr Element kElementOf<std::complex<double>> = Element::complex64;
template <>
constexpr Element kElementOf<std::complex<long double>> = Element::complex80;

template <typename T>
class Integers : public testing::Test {};
using IntegerTypes = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t,
                                    std::uint8_t, std::uint16_t, std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(Integers, IntegerTypes);

TYPED_TEST(Integers, AllOperationsMatchAndSumsWrapAround) {
  using T = TypeParam;
  using U = std::uint64_t;  // computed modulo 2^64, then truncated to the type
  std::mt19937_64 random(1);
  auto next = [&] { return random() % 4 == 0 ? T{0} : static_cast<T>(random()); };
  Element e = kElementOf<T>;
  check<T>(
      Operator::max, e, [](T a, T b) { return std::max(a, b); }, next);
  check<T>(
      Operator::min, e, [](T a, T b) { return std::min(a, b); }, next);
  check<T>(
      Operator::sum, e,
      [](T a, T b) { return static_cast<T>(static_cast<U>(a) + static_cast<U>(b)); }, next);
  check<T>(
      Operator::prod, e,
      [](T a, T b) { return static_cast<T>(static_cast<U>(a) * static_cast<U>(b)); }, next);
  check<T>(
      Operator::land, e, [](T a, T b) { return static_cast<T>(a && b); }, next);
  check<T>(
      Operator::lor, e, [](T a, T b) { return static_cast<T>(a || b); }, next);
  check<T>(
      Operator::lxor, e, [](T a, T b) { return static_cast<T>(!a != !b); }, next);
  check<T>(
      Operator::band, e, [](T a, T b) { return static_cast<T>(a & b); }, next);
  check<T>(
      Operator::bor, e, [](T a, T b) { return static_cast<T>(a | b); }, next);
  check<T>(
      Operator::bxor, e, [](T a, T b) { return static_cast<T>(a ^ b); }, next);
}

template <typename T>
class Reals : public testing::Test {};
using RealTypes = testing::Types<float, double, long double>;
TYPED_TEST_SUITE(Reals, RealTypes);

TYPED_TEST(Reals, ArithmeticAndOrderMatch) {
  using T = TypeParam;
  std::mt19937 random(2);
  std::uniform_real_distribution<T> distribution(-10, 10);
  auto next = [&] { return distribution(random); };
  Element e = kElementOf<T>;
  check<T>(
      Operator::max, e, [](T a, T b) { return std::max(a, b); }, next);
  check<T>(
      Operator::min, e, [](T a, T b) { return std::min(a, b); }, next);
  check<T>(
      Operator::sum, e, [](T a, T b) { return a + b; }, next);
  check<T>(
      Operator::prod, e, [](T a, T b) { return a * b; }, next);
}

TYPED_TEST(Reals, ComplexSumAndProductMatch) {
  using C = std::complex<TypeParam>;
  std::mt19937 random(3);
  std::uniform_int_distribution<int> small(
      -50, 50);  // exact in every precision, whatever the order of rounding
  auto next = [&] {
    return C(static_cast<TypeParam>(small(random)), static_cast<TypeParam>(small(random)));
  };
  check<C>(
      Operator::sum, kElementOf<C>, [](C a, C b) { return a + b; }, next);
  check<C>(
      Operator::prod, kElementOf<C>, [](C a, C b) { return a * b; }, next);
  EXPECT_EQ(kernel(Operator::max, kElementOf<C>), nullptr);
}

TYPED_TEST(Reals, NaNLosesNoOperandButComparesFalse) {
  using T = TypeParam;
  T nan = std::numeric_limits<T>::quiet_NaN();
  T in[] = {nan, 1}, inout[] = {2, nan};
  kernel(Operator::max, kElementOf<T>)(in, inout, 2);
  EXPECT_EQ(inout[0], 2);
  EXPECT_TRUE(std::isnan(inout[1]));
}

TEST(Quad, SumAndComplexProductMatch) {
  Quad in[] = {3, 4}, inout[] = {5, 6};
  kernel(Operator::prod, Element::complex128)(in, inout, 1);
  EXPECT_TRUE(inout[0] == 3 * 5 - 4 * 6);
  EXPECT_TRUE(inout[1] == 3 * 6 + 4 * 5);
  Quad tiny = 1;
  for (int i = 0; i < 100; ++i) tiny /= 2;  // too small for float80 to add to 1
  Quad one = 1;
  kernel(Operator::sum, Element::float128)(&tiny, &one, 1);
  EXPECT_TRUE(one > 1 && one - 1 == tiny);
}

TEST(Logicals, AnyNonZeroIsTrueAndResultsAreOneOrZero) {
  std::uint32_t in[] = {0, 7, 0, 0xffffffff}, inout[] = {0, 0, 9, 2};
  kernel(Operator::lxor, Element::logical32)(in, inout, 4);
  EXPECT_EQ(std::vector<std::uint32_t>(inout, inout + 4), (std::vector<std::uint32_t>{0, 1, 1, 0}));
  std::uint8_t a[] = {0, 1, 1}, b[] = {1, 1, 0};
  kernel(Operator::land, Element::boolean8)(a, b, 3);
  EXPECT_EQ(std::vector<int>(b, b + 3), (std::vector<int>{0, 1, 0}));
  EXPECT_EQ(kernel(Operator::sum, Element::logical32), nullptr);
}

template <typename V, typename I>
void check_pairs(Element element) {
  struct Item {
    V value;
    I index;
  };
  const Item in[] = {{3, 7}, {1, 7}, {2, 7}, {2, 1}, {2, 4}};
  const Item start[] = {{1, 9}, {3, 9}, {2, 9}, {2, 9}, {2, 4}};
  const V best[] = {3, 3, 2, 2, 2}, least[] = {1, 1, 2, 2, 2};
  const I at_best[] = {7, 9, 7, 1, 4}, at_least[] = {9, 7, 7, 1, 4};
  for (bool maximum : {true, false}) {
    Item inout[5];
    std::memset(static_cast<void*>(inout), 0x5a, sizeof inout);
    for (int i = 0; i < 5; ++i) {
      inout[i].value = start[i].value;
      inout[i].index = start[i].index;
    }
    kernel(maximum ? Operator::maxloc : Operator::minloc, element)(in, inout, 5);
    for (int i = 0; i < 5; ++i) {
      EXPECT_EQ(inout[i].value, maximum ? best[i] : least[i]) << i;
      EXPECT_EQ(inout[i].index, maximum ? at_best[i] : at_least[i]) << i;
      auto* bytes = reinterpret_cast<const unsigned char*>(&inout[i]);
      for (std::size_t hole = offsetof(Item, index) + sizeof(I); hole < sizeof(Item); ++hole)
        EXPECT_EQ(bytes[hole], 0x5a);
    }
  }
}

TEST(Pairs, SelectsTheBetterValueAndForEqualValuesTheLowerIndex) {
  check_pairs<float, int>(Element::float_int);
  check_pairs<double, int>(Element::double_int);
  check_pairs<long, int>(Element::long_int);
  check_pairs<int, int>(Element::two_int);
  check_pairs<short, int>(Element::short_int);
  check_pairs<long double, int>(Element::long_double_int);
  check_pairs<float, float>(Element::two_float32);
  check_pairs<double, double>(Element::two_float64);
}

}  // namespace
}  // namespace shim::types
