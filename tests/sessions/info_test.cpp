// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/info.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace shim::sessions {
namespace {

using base::ErrorClass;

TEST(Info, KeepsKeysInTheOrderTheyWereFirstSet) {
  Info info;
  ASSERT_TRUE(info.set("one", "1"));
  ASSERT_TRUE(info.set("two", "2"));
  ASSERT_TRUE(info.set("one", "eins"));
  EXPECT_EQ(info.size(), 2u);
  EXPECT_EQ(*info.nth_key(0), "one");
  EXPECT_EQ(*info.nth_key(1), "two");
  EXPECT_EQ(info.get("one"), "eins");
  EXPECT_EQ(info.get("three"), std::nullopt);
  ASSERT_TRUE(info.erase("one"));
  EXPECT_EQ(*info.nth_key(0), "two");
}

TEST(Info, CopyIsIndependent) {
  Info info;
  ASSERT_TRUE(info.set("key", ""));
  InfoPtr copy = info.duplicate();
  ASSERT_TRUE(info.erase("key"));
  EXPECT_EQ(copy->get("key"), "");
  EXPECT_EQ(info.size(), 0u);
}

TEST(Info, MisuseReturnsTheErrorClassesOfTheStandard) {
  Info info;
  EXPECT_EQ(info.set("", "x").error().error_class(), ErrorClass::info_key);
  EXPECT_EQ(info.set(std::string(kMaxInfoKey + 1, 'k'), "x").error().error_class(),
            ErrorClass::info_key);
  EXPECT_EQ(info.set("k", std::string(kMaxInfoValue + 1, 'v')).error().error_class(),
            ErrorClass::info_value);
  EXPECT_TRUE(info.set(std::string(kMaxInfoKey, 'k'), std::string(kMaxInfoValue, 'v')));
  EXPECT_EQ(info.erase("none").error().error_class(), ErrorClass::info_nokey);
  EXPECT_EQ(info.nth_key(1).error().error_class(), ErrorClass::arg);
  EXPECT_EQ(info.nth_key(-1).error().error_class(), ErrorClass::arg);
}

TEST(Info, IsThreadSafe) {
  Info info;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&info, t] {
      std::string key = "key" + std::to_string(t);
      for (int i = 0; i < 200; ++i) {
        EXPECT_TRUE(info.set(key, std::to_string(i)));
        EXPECT_EQ(info.get(key), std::to_string(i));
        EXPECT_EQ(info.duplicate()->get(key), std::to_string(i));
        if (i < 199) {
          EXPECT_TRUE(info.erase(key));
        }
      }
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(info.size(), 4u);
}

}  // namespace
}  // namespace shim::sessions
