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
                                 two = attributes.next_after(one->place);
  EXPECT_EQ(one->value, &b);
  EXPECT_EQ(two->key, second);
  EXPECT_EQ(attributes.last()->key, second);
  EXPECT_FALSE(attributes.next_after(two->place));
  EXPECT_EQ(attributes.find(*first)->value, &b);
  first.reset();  // freed by the user: what is cached under it stays
  EXPECT_EQ(attributes.find_number(7)->value, &b);
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
  EXPECT_EQ(attributes.last()->value, &a);
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
  EXPECT_EQ(attributes.last()->value, &b);
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
