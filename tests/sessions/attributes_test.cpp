// SPDX-License-Identifier: BSD-3-Clause
#include "shim/sessions/attributes.hpp"

#include <gtest/gtest.h>

namespace shim::sessions {
namespace {

KeyPtr key(int number) { return std::make_shared<Key>(Key{.number = number}); }

TEST(Attributes, KeepTheirOrderAndTheirKeys) {
  Attributes attributes;
  int a = 0, b = 0;
  KeyPtr first = key(7), second = key(8);
  attributes.set(first, &a);
  attributes.set(second, &a);
  attributes.set(first, &b);
  ASSERT_EQ(attributes.all().size(), 2u);
  EXPECT_EQ(attributes.all()[0].value, &b);
  EXPECT_EQ(attributes.all()[1].key, second);
  EXPECT_EQ(attributes.find(*first)->value, &b);
  first.reset();  // freed by the user: what is cached under it stays
  EXPECT_EQ(attributes.find_number(7)->value, &b);
  attributes.erase(*attributes.find_number(7)->key);
  EXPECT_FALSE(attributes.find_number(7));
  EXPECT_EQ(attributes.all().size(), 1u);
}

TEST(Attributes, OfTwoKeysWithOneNumber) {  // a library below may use a freed key's number again
  Attributes attributes;
  int a = 0, b = 0;
  KeyPtr old = key(7), recent = key(7);
  attributes.set(old, &a);
  EXPECT_FALSE(attributes.find(*recent));
  attributes.set(recent, &b);
  EXPECT_EQ(attributes.find(*old)->value, &a);
  EXPECT_EQ(attributes.find(*recent)->value, &b);
}

}  // namespace
}  // namespace shim::sessions
