// SPDX-License-Identifier: BSD-3-Clause
// What the descriptions of providers that are not here would come to, as their man pages have them; and the order of frames.
#include "shim/transport/ofi/traits.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "shim/transport/ofi/in_order.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport {
namespace {

constexpr std::uint64_t kReads = FI_RMA | FI_READ | FI_REMOTE_READ;

/// A description with what it points to.
struct Described {
  std::string name;
  fi_tx_attr tx = {};
  fi_rx_attr rx = {};
  fi_ep_attr ep = {};
  fi_domain_attr domain = {};
  fi_fabric_attr fabric = {};
  fi_info info = {};

  explicit Described(std::string provider) : name(std::move(provider)) {
    fabric.prov_name = name.data();
    tx.msg_order = rx.msg_order = FI_ORDER_SAS;
    tx.size = rx.size = 1024;
    ep.max_msg_size = std::size_t{1} << 30;
    info.caps = FI_MSG | kReads;
    info.tx_attr = &tx;
    info.rx_attr = &rx;
    info.ep_attr = &ep;
    info.domain_attr = &domain;
    info.fabric_attr = &fabric;
  }
  Traits traits(const OfiTuning& tuning = {}) const { return traits_of(info, tuning); }
};

TEST(OfiTraits, VerbsWantsBuffersRegisteredAndReadsByAddressWithItsKeys) {
  Described verbs("verbs;ofi_rxm");
  verbs.domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  verbs.tx.inject_size = 16384;
  const Traits traits = verbs.traits();
  EXPECT_TRUE(traits.registers_buffers && traits.reads_by_address && traits.picks_keys && traits.keeps_order);
  EXPECT_FALSE(traits.binds_memory);
  EXPECT_EQ(traits.inject_bytes, 0u) << "the layer above it tells nobody of injected messages that were lost";
  EXPECT_GT(traits.read_bytes, 0u);
}

TEST(OfiTraits, CxiWantsMemoryBoundToTheEndpoint) {
  Described cxi("cxi");
  cxi.domain.mr_mode = FI_MR_ENDPOINT | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  cxi.tx.inject_size = 192;
  const Traits traits = cxi.traits();
  EXPECT_TRUE(traits.binds_memory && traits.picks_keys);
  EXPECT_FALSE(traits.registers_buffers || traits.reads_by_address);
  EXPECT_EQ(traits.inject_bytes, 192u);
}

TEST(OfiTraits, EfaMayHaveNoInjection) {
  Described efa("efa");
  const Traits traits = efa.traits();
  EXPECT_EQ(traits.inject_bytes, 0u);
  EXPECT_EQ(traits.frame_bytes, kFrameBytes);
}

TEST(OfiTraits, EfaDirectKeepsNoOrderAndItsMessagesAreShort) {
  Described efa("efa");
  efa.tx.msg_order = efa.rx.msg_order = FI_ORDER_NONE;
  efa.ep.max_msg_size = 8760;
  efa.domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  const Traits traits = efa.traits();
  EXPECT_FALSE(traits.keeps_order);
  EXPECT_EQ(traits.frame_bytes, 8760u);
  EXPECT_LE(traits.read_bytes, 8760u);
}

TEST(OfiTraits, Psm2WithoutReadsIsNotAskedForThem) {
  Described psm2("psm2");
  psm2.info.mode = FI_CONTEXT;
  psm2.info.caps = FI_MSG;
  EXPECT_EQ(psm2.traits().read_bytes, 0u);
}

TEST(OfiTraits, APrefixCountsOnlyWhereItIsAskedFor) {
  Described provider("usnic;ofi_rxd");
  provider.ep.msg_prefix_size = 64;
  EXPECT_EQ(provider.traits().prefix_bytes, 0u);
  provider.info.mode = FI_MSG_PREFIX;
  EXPECT_EQ(provider.traits().prefix_bytes, 64u);
}

TEST(OfiTraits, ShortQueuesAreNotOverfilled) {
  Described provider("other");
  provider.tx.size = 16;
  provider.rx.size = 32;
  EXPECT_EQ(provider.traits().sends, 16u);
  EXPECT_EQ(provider.traits().receives, 32u);
  EXPECT_GT(provider.traits({.longest_frame = 1024}).sends, 2 * 16u) << "parts of two packets";
}

TEST(OfiInOrder, AreTakenAsSentWhateverTheOrderTheyComeIn) {
  InOrder order;
  std::vector<std::uint32_t> taken;
  auto add = [&](std::uint32_t number) {
    order.add(number, testing::bytes_of(number), [&](ConstSpan bytes) {
      taken.emplace_back();
      std::memcpy(&taken.back(), bytes.data(), sizeof(std::uint32_t));
    });
  };
  std::mt19937 random(3);
  std::vector<std::uint32_t> numbers(1000);
  for (std::uint32_t i = 0; i < numbers.size(); ++i) numbers[i] = i;
  for (auto begin = numbers.begin(); begin != numbers.end(); begin += 50) std::shuffle(begin, begin + 50, random);
  for (std::uint32_t number : numbers) add(number);
  std::ranges::sort(numbers);
  EXPECT_EQ(taken, numbers);
}

}  // namespace
}  // namespace shim::transport
