// SPDX-License-Identifier: BSD-3-Clause
// Tests the traits derived from descriptions (fi_info) of providers that this machine lacks,
// written after their man pages; and the order of frames.
#include "shim/transport/ofi/traits.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "shim/transport/ofi/frame_order.hpp"
#include "shim/transport/ofi/provider_warning.hpp"
#include "tests/transport/rig.hpp"

namespace shim::transport {
namespace {

constexpr std::uint64_t kReads = FI_RMA | FI_READ | FI_REMOTE_READ;

/// A fi_info and the structures that it points to.
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

/// Return the description of a provider that can match, with matching requested.
Described matching(const char* provider, std::uint64_t format = ~std::uint64_t{0}) {
  Described described(provider);
  described.info.caps |= FI_TAGGED | FI_DIRECTED_RECV | FI_SOURCE;
  described.ep.mem_tag_format = format;
  return described;
}

TEST(OfiTraits, MatchingProviderDividesItsTagBits) {
  EXPECT_TRUE(matching("verbs;ofi_rxm").traits().match_bits->names_sender());
  EXPECT_FALSE(matching("sockets").traits().match_bits->names_sender());
  EXPECT_EQ(matching("cxi", (std::uint64_t{1} << 48) - 1).traits().match_bits->number(),
            8u << 16 | 8u << 8);
  EXPECT_EQ(matching("sockets").traits().match_bits->number(), 10u << 16 | 10u << 8 | 12u);
  EXPECT_FALSE(matching("few", (std::uint64_t{1} << 38) - 1).traits().match_bits);
  Described described = matching("verbs;ofi_rxm");
  described.rx.size = 101;
  EXPECT_EQ(described.traits().receives, 50u)
      << "half are for packets, and one is the drain's receive";
}

TEST(OfiTraits, UnorderedOrFragmentingProviderDoesNotMatch) {
  Described described = matching("verbs;ofi_rxm");
  EXPECT_FALSE(described.traits({.longest_frame = 4000}).match_bits);
  EXPECT_FALSE(described.traits({.orders_itself = true}).match_bits);
  described.info.caps &= ~FI_TAGGED;
  EXPECT_FALSE(described.traits().match_bits);
}

TEST(MatchBits, AreEqualOnlyForEqualEnvelopes) {
  const MatchBits bits = *MatchBits::of(64, false);
  const Envelope one{std::uint64_t{5} << 32 | 3 << 1 | 1, 7, 0x7fffffff};
  EXPECT_EQ(bits.of(one), std::uint64_t{5} << 54 | std::uint64_t{3} << 44 | std::uint64_t{1} << 43 |
                              std::uint64_t{7} << 31 | 0x7fffffff);
  for (const Envelope& other :
       {Envelope{one.context ^ 1, 7, one.tag}, Envelope{one.context ^ 2, 7, one.tag},
        Envelope{one.context ^ std::uint64_t{1} << 32, 7, one.tag},
        Envelope{one.context, 6, one.tag}, Envelope{one.context, 7, 1}})
    EXPECT_NE(bits.of(other), bits.of(one));
  const Envelope every_tag{one.context, 7, kMatchAnyTag};
  EXPECT_EQ(bits.of(every_tag), bits.of(one) & ~MatchBits::ignored(every_tag));
  EXPECT_EQ(MatchBits::ignored(one), 0u);
}

TEST(MatchBits, AcceptEnvelopesThatFit) {
  const MatchBits by_rank = *MatchBits::of(64, false), by_sender = *MatchBits::of(64, true);
  const auto context = [](std::uint64_t base, std::uint64_t path) {
    return base << 32 | path << 1;
  };
  EXPECT_TRUE(by_rank.takes(context(1023, 1023), 4095));
  EXPECT_FALSE(by_rank.takes(context(1024, 1), 0));
  EXPECT_FALSE(by_rank.takes(context(1, 1024), 0));
  EXPECT_FALSE(by_rank.takes(context(1, 1), 4096));
  EXPECT_FALSE(by_rank.takes(context(1, 1), -1));
  EXPECT_TRUE(by_sender.takes(context(65535, 65535), 1'000'000));
  EXPECT_FALSE(by_sender.takes(context(65536, 1), 0));
}

TEST(OfiTraits, VerbsRegistersBuffersAndReadsByAddressWithProviderKeys) {
  Described verbs("verbs;ofi_rxm");
  verbs.domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  verbs.tx.inject_size = 16384;
  const Traits traits = verbs.traits();
  EXPECT_TRUE(traits.registers_buffers && traits.reads_by_address && traits.picks_keys &&
              traits.keeps_order);
  EXPECT_FALSE(traits.binds_memory);
  EXPECT_EQ(traits.inject_bytes, 0u)
      << "rxm, the layer above verbs, does not report lost injected messages";
  EXPECT_GT(traits.read_bytes, 0u);
}

TEST(OfiTraits, CxiBindsMemoryToTheEndpoint) {
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

TEST(OfiTraits, EfaDirectHasNoOrderAndShortMessages) {
  Described efa("efa");
  efa.tx.msg_order = efa.rx.msg_order = FI_ORDER_NONE;
  efa.ep.max_msg_size = 8760;
  efa.domain.mr_mode = FI_MR_LOCAL | FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY;
  const Traits traits = efa.traits();
  EXPECT_FALSE(traits.keeps_order);
  EXPECT_EQ(traits.frame_bytes, 8760u);
  EXPECT_LE(traits.read_bytes, 8760u);
}

TEST(OfiTraits, ReadsAreNotRequestedFromPsm2WithoutReads) {
  Described psm2("psm2");
  psm2.info.mode = FI_CONTEXT;
  psm2.info.caps = FI_MSG;
  EXPECT_EQ(psm2.traits().read_bytes, 0u);
}

TEST(OfiTraits, InOrderCompletionLimitsFramesToInjectSize) {
  Described shm("shm");
  shm.tx.inject_size = 4096;
  EXPECT_EQ(shm.traits().frame_bytes, 4096u);
  EXPECT_GE(shm.traits().sends, 2 * kFrameBytes / 4096) << "packets are sent as fragments";
}

TEST(OfiTraits, PrefixCountsOnlyIfRequested) {
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
  EXPECT_GT(provider.traits({.longest_frame = 1024}).sends, 2 * 16u) << "fragments of two packets";
}

TEST(FrameOrder, DeliversFramesInSendOrder) {
  FrameOrder order;
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
  for (auto begin = numbers.begin(); begin != numbers.end(); begin += 50)
    std::shuffle(begin, begin + 50, random);
  for (std::uint32_t number : numbers) add(number);
  std::ranges::sort(numbers);
  EXPECT_EQ(taken, numbers);
}

TEST(ProviderWarning, WarnsAboutSocketsOnly) {
  const std::string warning = provider_warning("sockets", 131'072);
  for (const char* word :
       {"sockets", "131072", "net.ipv4.tcp_rmem", "1048576", "INTERSESSION_PROVIDER"})
    EXPECT_NE(warning.find(word), std::string::npos) << word;
  EXPECT_EQ(provider_warning("sockets", 1 << 20), "");
  EXPECT_EQ(provider_warning("sockets", std::nullopt), "");
  EXPECT_EQ(provider_warning("tcp;ofi_rxm", 131'072), "");
}

}  // namespace
}  // namespace shim::transport
