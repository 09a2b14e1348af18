// SPDX-License-Identifier: BSD-3-Clause
// Tests external32 (MPI-4.1 §14.5.2): compares written bytes with the sizes and formats of
// table 14.2, and values that are read back with the original values.
#include "shim/types/external.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <limits>
#include <vector>

#include "shim/types/type_constructors.hpp"

namespace shim::types {
namespace {

const Type& named(const char* name) { return *find_predefined(name); }

std::vector<int> written(const Type& type, const void* items, std::uint64_t count = 1) {
  std::vector<std::byte> out(external_size(type, count));
  EXPECT_TRUE(pack_external(type, items, count, out));
  std::vector<int> bytes;
  for (std::byte byte : out) bytes.push_back(std::to_integer<int>(byte));
  return bytes;
}

template <typename T>
T round_trip(const Type& type, const T& value) {
  std::vector<std::byte> out(external_size(type, 1));
  EXPECT_TRUE(pack_external(type, &value, 1, out));
  T back{};
  EXPECT_TRUE(unpack_external(type, out, &back, 1));
  return back;
}

using Bytes = std::vector<int>;

TEST(External32, IsBigEndian) {
  const int value = 0x01020304;
  EXPECT_EQ(written(named("MPI_INT"), &value), (Bytes{1, 2, 3, 4}));
  const double one = 1.0;
  EXPECT_EQ(written(named("MPI_DOUBLE"), &one), (Bytes{0x3f, 0xf0, 0, 0, 0, 0, 0, 0}));
}

TEST(External32, HasLongsOfFourBytes) {
  const long value = -2;
  EXPECT_EQ(written(named("MPI_LONG"), &value), (Bytes{0xff, 0xff, 0xff, 0xfe}));
  EXPECT_EQ(round_trip(named("MPI_LONG"), value), value);
  const unsigned long most = 0xffffffffu;
  EXPECT_EQ(round_trip(named("MPI_UNSIGNED_LONG"), most), most);
  EXPECT_EQ(external_size(named("MPI_LONG_LONG_INT"), 3), 24u);
  EXPECT_EQ(external_size(named("MPI_WCHAR"), 3), 6u);
}

TEST(External32, RefusesNumbersThatDoNotFit) {
  for (const long value : {1L << 40, 1L << 31, -(1L << 31) - 1}) {
    std::vector<std::byte> out(4);
    auto status = pack_external(named("MPI_LONG"), &value, 1, out);
    ASSERT_FALSE(status) << value;
    EXPECT_EQ(status.error().error_class(), base::ErrorClass::conversion);
  }
}

TEST(External32, HasLongDoublesOfIeeeQuadPrecision) {
  const long double value = 1.0L;
  EXPECT_EQ(written(named("MPI_LONG_DOUBLE"), &value),
            (Bytes{0x3f, 0xff, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}));
  for (const long double number : {0.1L, -1e4000L, std::numeric_limits<long double>::denorm_min(),
                                   std::numeric_limits<long double>::infinity()})
    EXPECT_EQ(round_trip(named("MPI_LONG_DOUBLE"), number), number);
}

TEST(External32, WritesPairsAndComplexNumbersPartByPart) {
  struct {
    short value;
    int index;
  } pair{1, 2};
  EXPECT_EQ(written(named("MPI_SHORT_INT"), &pair), (Bytes{0, 1, 0, 0, 0, 2}));
  const float parts[] = {1.0f, 2.0f};
  EXPECT_EQ(written(named("MPI_C_COMPLEX"), parts), (Bytes{0x3f, 0x80, 0, 0, 0x40, 0, 0, 0}));
  EXPECT_EQ(external_size(named("MPI_LONG_INT"), 1), 8u);
  EXPECT_EQ(external_size(named("MPI_LONG_DOUBLE_INT"), 1), 20u);
}

TEST(External32, ConvertsDerivedTypesElementByElement) {
  struct Item {
    short first;
    double second[2];
    char last;
  };
  const Member members[] = {{offsetof(Item, first), 1, &named("MPI_SHORT")},
                            {offsetof(Item, second), 2, &named("MPI_DOUBLE")},
                            {offsetof(Item, last), 1, &named("MPI_CHAR")}};
  const Type type = *structure(members);
  ASSERT_EQ(type.extent, static_cast<std::int64_t>(sizeof(Item)));
  const Item items[] = {{1, {2, 3}, 'a'}, {4, {5, 6}, 'b'}};
  EXPECT_EQ(external_size(type, 2), 38u);
  std::vector<std::byte> out(38);
  ASSERT_TRUE(pack_external(type, items, 2, out));
  Item back[2] = {};
  ASSERT_TRUE(unpack_external(type, out, back, 2));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(back[i].first, items[i].first);
    EXPECT_EQ(back[i].second[1], items[i].second[1]);
    EXPECT_EQ(back[i].last, items[i].last);
  }
}

}  // namespace
}  // namespace shim::types
