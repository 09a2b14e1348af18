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
  const std::optional<Attribute> one = attributes.next_after(0),
                                 two = attributes.next_after(one->position);
  EXPECT_EQ(one->value.as_pointer(), &b);
  EXPECT_EQ(two->key, second);
  EXPECT_EQ(attributes.last()->key, second);
  EXPECT_FALSE(attributes.next_after(two->position));
  EXPECT_EQ(attributes.find(*first)->value.as_pointer(), &b);
  first.reset();  // freed by the user; the cached value stays
  EXPECT_EQ(attributes.find_number(7)->value.as_pointer(), &b);
  const Attribute gone = *attributes.find_number(7);
  EXPECT_TRUE(attributes.begin_deletion(gone));
  attributes.end_deletion(gone, true);
  EXPECT_FALSE(attributes.find_number(7));
  EXPECT_FALSE(attributes.begin_deletion(gone));
  EXPECT_EQ(attributes.next_after(0)->key, second);
}

TEST(Attributes, DeletionOfAValueRunsOnce) {
  Attributes attributes;
  int a = 0;
  attributes.set(key(7), &a);
  const Attribute attribute = *attributes.find_number(7);
  EXPECT_TRUE(attributes.begin_deletion(attribute));
  EXPECT_FALSE(attributes.begin_deletion(attribute));
  EXPECT_FALSE(attributes.last());
  EXPECT_TRUE(attributes.find_number(7));  // the delete function still sees it
  attributes.end_deletion(attribute, false);
  EXPECT_EQ(attributes.last()->value.as_pointer(), &a);
}

TEST(Attributes, DeletionKeepsAValueThatWasSetMeanwhile) {
  Attributes attributes;
  int a = 0, b = 0;
  const KeyPtr seven = key(7);
  attributes.set(seven, &a);
  const Attribute before = *attributes.find(*seven);
  EXPECT_TRUE(attributes.begin_deletion(before));
  attributes.set(seven, &b);
  attributes.end_deletion(before, true);
  EXPECT_EQ(attributes.last()->value.as_pointer(), &b);
}

TEST(Attributes, NumberIsReadByCThroughItsAddress) {
  Attributes attributes;
  int a = 0;
  attributes.set(key(7), AttributeValue::of_number(-5));
  attributes.set(key(8), &a);
  const Attribute number = *attributes.find_number(7), pointer = *attributes.find_number(8);
  EXPECT_EQ(*static_cast<std::intptr_t*>(number.value.as_pointer()), -5);
  EXPECT_EQ(*static_cast<std::int32_t*>(number.value.as_pointer()), -5);  // a default integer
  EXPECT_EQ(number.value.as_number(), -5);
  EXPECT_EQ(pointer.value.as_number(), reinterpret_cast<std::intptr_t>(&a));
}

// A native library may reuse the number of a freed key.
TEST(Attributes, OfTwoKeysWithOneNumberAreSeparate) {
  Attributes attributes;
  int a = 0, b = 0;
  KeyPtr old = key(7), recent = key(7);
  attributes.set(old, &a);
  EXPECT_FALSE(attributes.find(*recent));
  attributes.set(recent, &b);
  EXPECT_EQ(attributes.find(*old)->value.as_pointer(), &a);
  EXPECT_EQ(attributes.find(*recent)->value.as_pointer(), &b);
}

}  // namespace
}  // namespace shim::sessions
