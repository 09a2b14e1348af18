// SPDX-License-Identifier: BSD-3-Clause
#include "shim/p2p/pool.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace shim::p2p {
namespace {

TEST(Pool, ReusesMemory) {
  Pool<std::string> pool;
  std::set<std::string*> seen;
  for (int i = 0; i < 1000; ++i) {
    std::string* made = pool.make("a text that is too long to be kept inside the object");
    seen.insert(made);
    pool.release(made);
  }
  EXPECT_EQ(seen.size(), 1u);
}

TEST(Pool, DestructorDestroysRemainingObjects) {
  struct Counted {
    explicit Counted(int& count) : living(count) { ++living; }
    ~Counted() { --living; }
    int& living;
  };
  int living = 0;
  {
    Pool<Counted> pool;
    for (int i = 0; i < 100; ++i) pool.make(living);
    pool.release(pool.make(living));
    EXPECT_EQ(living, 100);
  }
  EXPECT_EQ(living, 0);
}

TEST(IdTable, StaleIdFindsNothing) {
  IdTable<int> table;
  int one = 1, two = 2;
  std::uint64_t first = table.add(one);
  EXPECT_NE(first, 0u);
  EXPECT_EQ(table.find(first), &one);
  table.remove(first);
  EXPECT_EQ(table.find(first), nullptr);
  std::uint64_t second = table.add(two);
  EXPECT_NE(first, second);
  EXPECT_EQ(table.find(first), nullptr);
  EXPECT_EQ(table.find(second), &two);
  EXPECT_EQ(table.find(0), nullptr);
  EXPECT_EQ(table.find(~std::uint64_t{0}), nullptr);
}

}  // namespace
}  // namespace shim::p2p
