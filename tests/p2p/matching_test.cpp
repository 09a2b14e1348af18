// SPDX-License-Identifier: BSD-3-Clause
// Matching against a slow, obvious model: two plain lists searched from the front.
#include "shim/p2p/matching.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <list>
#include <memory>
#include <random>
#include <vector>

namespace shim::p2p {
namespace {

struct Receive : Posted {
  int name = 0;
};
struct Mail : Arrived {
  int name = 0;
};

class Model {
 public:
  struct Entry {
    int source, tag, name;
  };
  static bool fits(const Entry& receive, const Entry& message) {
    return (receive.source == kAnySource || receive.source == message.source) &&
           (receive.tag == kAnyTag || receive.tag == message.tag);
  }
  /// Name of the receive that takes the message, -1 if it stays.
  int arrive(Entry message) {
    auto found = std::find_if(posted.begin(), posted.end(), [&](auto& receive) { return fits(receive, message); });
    if (found == posted.end()) {
      arrived.push_back(message);
      return -1;
    }
    int name = found->name;
    posted.erase(found);
    return name;
  }
  std::list<Entry>::iterator find(const Entry& receive) {
    return std::find_if(arrived.begin(), arrived.end(), [&](auto& message) { return fits(receive, message); });
  }

  std::list<Entry> posted, arrived;
};

class RandomMatching : public testing::TestWithParam<unsigned> {
 protected:
  static constexpr int kSources = 130;  // more than two chunks of the table of sources
  int any(int bound) { return static_cast<int>(random_() % static_cast<unsigned>(bound)); }
  // few of the sources, so that queues grow; now and then a wildcard
  int source() { return any(4) == 0 ? any(kSources) : any(3); }
  int source_or_any() { return any(3) == 0 ? kAnySource : source(); }
  int tag_or_any() { return any(4) == 0 ? kAnyTag : any(4); }

  void arrive(int name) {
    int from = source(), tag = any(4);
    int expected = model_.arrive({from, tag, name});
    Posted* taken = matching_.take_posted(from, tag);
    ASSERT_EQ(taken == nullptr ? -1 : static_cast<Receive*>(taken)->name, expected);
    if (taken != nullptr) return;
    mails_.push_back(std::make_unique<Mail>());
    Mail& mail = *mails_.back();
    mail.source = from;
    mail.tag = tag;
    mail.name = name;
    matching_.add(mail);
  }
  void receive(int name, bool post) {
    int from = source_or_any(), tag = tag_or_any();
    auto expected = model_.find({from, tag, name});
    Arrived* found = matching_.find_arrived(from, tag);
    ASSERT_EQ(found == nullptr ? -1 : static_cast<Mail*>(found)->name, expected == model_.arrived.end() ? -1 : expected->name);
    if (found != nullptr) {
      matching_.remove(*found);
      model_.arrived.erase(expected);
    } else if (post) {
      receives_.push_back(std::make_unique<Receive>());
      Receive& made = *receives_.back();
      made.source = from;
      made.tag = tag;
      made.name = name;
      matching_.post(made);
      model_.posted.push_back({from, tag, name});
    }
  }
  void cancel() {
    if (model_.posted.empty()) return;
    auto victim = std::next(model_.posted.begin(), any(static_cast<int>(model_.posted.size())));
    auto own = std::find_if(receives_.begin(), receives_.end(), [&](auto& made) { return made->name == victim->name; });
    matching_.remove(**own);
    model_.posted.erase(victim);
  }

  std::mt19937 random_{GetParam()};
  Matching matching_{kSources};
  Model model_;
  std::vector<std::unique_ptr<Mail>> mails_;
  std::vector<std::unique_ptr<Receive>> receives_;
};

TEST_P(RandomMatching, AgreesWithTheModel) {
  for (int name = 0; name < 4000; ++name) {
    int what = any(20);
    if (what < 9) arrive(name);
    else if (what < 18) receive(name, true);
    else if (what < 19) receive(name, false);
    else cancel();
    if (HasFatalFailure()) return;
    ASSERT_EQ(matching_.has_posted(), !model_.posted.empty());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomMatching, testing::Range(1u, 21u));

TEST(Matching, ForEachSourceNamesEachOnce) {
  Matching matching(200);
  Receive receives[4];
  int sources[] = {7, kAnySource, 150, 7};
  for (int i = 0; i < 4; ++i) {
    receives[i].source = sources[i];
    matching.post(receives[i]);
  }
  std::vector<int> seen;
  matching.for_each_source([&](int source) { seen.push_back(source); });
  EXPECT_EQ(seen, (std::vector<int>{kAnySource, 7, 150}));
}

}  // namespace
}  // namespace shim::p2p
