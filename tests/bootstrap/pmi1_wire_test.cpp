// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/wire.hpp"

#include <gmock/gmock.h>

#include <random>

#include "shim/bootstrap/pmi1/process_mapping.hpp"
#include "shim/bootstrap/pmi1/published.hpp"
#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

using bootstrap::testing::error_of;
using bootstrap::testing::must;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(Pmi1Wire, ParsesALine) {
  const PmiLine line = must(PmiLine::parse("cmd=lookup_result port=a=b rc=0 msg=no such name"));
  EXPECT_EQ(line.command(), "lookup_result");
  EXPECT_EQ(line.value("port"), "a=b");
  EXPECT_EQ(line.number("rc"), 0u);
  EXPECT_EQ(line.value("msg"), "no such name");
  EXPECT_EQ(line.value("cmd"), std::nullopt);
  EXPECT_EQ(line.number("port"), std::nullopt);
  EXPECT_FALSE(line.begins_multiline());
  EXPECT_TRUE(must(PmiLine::parse("mcmd=spawn")).begins_multiline());
}

TEST(Pmi1Wire, ValuesMayBeUtf8) {
  EXPECT_EQ(must(PmiLine::parse("cmd=put key=P0-host value=k\xc3\xb6ln-01")).value("value"),
            "k\xc3\xb6ln-01");
}

TEST(Pmi1Wire, ErrorQuotesTheMalformedLine) {
  for (const char* text : {"", "garbage", "=x", "cmd=", "key=value", "cmd", "cmd=a\tb", "\x01\x02",
                           "cmd=a\x7f", "000123cmd=init"})
    EXPECT_THAT(error_of(PmiLine::parse(text)).text(), HasSubstr("invalid PMI-1 message")) << text;
}

TEST(Pmi1Wire, ArbitraryBytesDoNotCrashTheParser) {
  std::mt19937 random(1);
  const std::string alphabet = "cmd=get_result rc 01\n\t\xff(,)[]";
  for (int round = 0; round < 20'000; ++round) {
    std::string text;
    for (auto length = random() % 40; length > 0; --length)
      text += alphabet[random() % alphabet.size()];
    LineBuffer buffer;
    buffer.add(text);
    while (auto part = buffer.next()) {
      if (auto line = PmiLine::parse(*part)) kind_of(*line);
    }
    if (auto map = parse_process_mapping("(vector" + text, 3, "h")) {
      EXPECT_EQ(map->size(), 3u);
    }
  }
}

TEST(Pmi1Wire, AcceptsBothFormsOfSuccess) {
  EXPECT_TRUE(must(PmiLine::parse("cmd=x rc=0 info=fail")).is_success());
  EXPECT_FALSE(must(PmiLine::parse("cmd=x rc=-1")).is_success());
  EXPECT_FALSE(must(PmiLine::parse("cmd=x info=fail")).is_success());
  EXPECT_TRUE(must(PmiLine::parse("cmd=x")).is_success());
}

TEST(Pmi1Wire, ResponsesAreMatchedByKind) {
  const auto answer = [](const char* text) { return response_kind_of(must(PmiLine::parse(text))); };
  EXPECT_EQ(answer("cmd=init pmi_version=1"), "response_to_init");
  EXPECT_EQ(answer("cmd=put key=a"), "put_result");
  EXPECT_EQ(answer("mcmd=spawn"), "spawn_result");
  EXPECT_EQ(answer("cmd=abort exitcode=1"), std::nullopt);
  EXPECT_EQ(answer("cmd=barrier_in"), kind_of(must(PmiLine::parse("cmd=barrier_out"))));
  EXPECT_EQ(answer("cmd=barrier_in group=0,2:77"),
            kind_of(must(PmiLine::parse("cmd=barrier_out tag=77"))));
  EXPECT_NE(answer("cmd=barrier_in"), kind_of(must(PmiLine::parse("cmd=barrier_out tag=77"))));
}

TEST(Pmi1Wire, RequestsRoundTrip) {
  EXPECT_EQ(request("get_maxes"), "cmd=get_maxes\n");
  EXPECT_EQ(request("get", {{"kvsname", "k"}, {"key", "v"}}), "cmd=get kvsname=k key=v\n");
}

TEST(Pmi1Wire, ReassemblesFragmentedLines) {
  LineBuffer buffer;
  for (char c : std::string("cmd=a\ncmd=b x=1\ncm")) buffer.add({&c, 1});
  EXPECT_EQ(buffer.next(), "cmd=a");
  EXPECT_EQ(buffer.next(), "cmd=b x=1");
  EXPECT_EQ(buffer.next(), std::nullopt);
  EXPECT_EQ(buffer.rest(), "cm");
  EXPECT_FALSE(buffer.overflows());
  buffer.add(std::string(LineBuffer::kLongest, 'x'));
  EXPECT_TRUE(buffer.overflows());
}

TEST(Pmi1Wire, ShownTextIsShortAndPrintable) {
  EXPECT_EQ(shown("a\nb\x7f"), "a?b?");
  EXPECT_EQ(shown(std::string(500, 'x')).size(), 83u);
}

Bytes some_bytes(std::size_t length) {
  Bytes bytes;
  for (std::size_t i = 0; i < length; ++i) bytes.push_back(static_cast<std::byte>(i * 131 >> 3));
  return bytes;
}

TEST(Pmi1Published, ValuesOfAnyLengthRoundTrip) {
  for (std::size_t length : {0u, 1u, 2u, 3u, 4u, 63u, 64u, 500u, 758u, 759u, 760u, 761u, 5000u})
    for (std::size_t limit : {24u, 63u, 255u, 1023u}) {
      const Bytes value = some_bytes(length);
      auto published = publications_of("kvs", 3, "key", value, limit);
      ValueAssembler assembler;
      for (std::uint32_t part = 0; part < published.size(); ++part) {
        const auto& [name, port] = published[published.size() - 1 - part];
        EXPECT_EQ(name, part_name("kvs", 3, "key", part));
        EXPECT_LE(port.size(), limit);
        EXPECT_EQ(assembler.next_part(), part);
        EXPECT_FALSE(assembler.is_whole());
        EXPECT_TRUE(assembler.add(port));
      }
      EXPECT_TRUE(assembler.is_whole());
      EXPECT_EQ(assembler.value(), value) << length << " bytes, ports of " << limit;
    }
}

TEST(Pmi1Published, NamesUseOnlyProtocolCharacters) {
  EXPECT_EQ(part_name("kvs_1", 2, "intersession.fabric.0", 0), "kvs_1.2.intersession.fabric.0");
  EXPECT_EQ(part_name("kvs_1", 2, "a b=c/1\n%", 4), "kvs_1.2.a%20b%3Dc%2F1%0A%25/4");
}

TEST(Pmi1Published, ForeignValuesAreRefused) {
  for (const char* port : {"", "tag#0$description#host$", "x:QUJD", "0:QUJD", ":QUJD"})
    EXPECT_FALSE(ValueAssembler().add(port)) << port;
  ValueAssembler assembler;
  EXPECT_TRUE(assembler.add("1:no base64!"));
  EXPECT_EQ(assembler.value(), std::nullopt);
}

std::vector<std::uint32_t> nodes_of(const NodeMap& map) {
  std::vector<std::uint32_t> nodes;
  for (std::uint32_t rank = 0; rank < map.size(); ++rank) nodes.push_back(map.node_of(rank));
  return nodes;
}

TEST(Pmi1ProcessMapping, PlacesBlocksInTheirOrder) {
  const NodeMap map = must(parse_process_mapping("(vector,(0,1,1),(1,1,2))", 3, "here"));
  EXPECT_THAT(nodes_of(map), ElementsAre(0, 1, 1));
  EXPECT_EQ(map.host(0), "node0");
  EXPECT_EQ(map.host(1), "node1");
  EXPECT_EQ(map.local_rank(2), 1u);
  EXPECT_EQ(must(parse_process_mapping("(vector,(4,1,2))", 2, "here")).host(0), "here");
}

TEST(Pmi1ProcessMapping, BlocksRepeat) {
  EXPECT_THAT(nodes_of(must(parse_process_mapping("(vector,(0,3,2))", 8, "h"))),
              ElementsAre(0, 0, 1, 1, 2, 2, 0, 0));
  EXPECT_THAT(nodes_of(must(parse_process_mapping("(vector,(0,2,1),(0,2,1))", 3, "h"))),
              ElementsAre(0, 1, 0));
}

TEST(Pmi1ProcessMapping, ListsOfBlocksRepeatAsHydra5WritesThem) {
  EXPECT_THAT(nodes_of(must(parse_process_mapping("(vector,[(0,2,1)]x2)", 4, "h"))),
              ElementsAre(0, 1, 0, 1));
  EXPECT_THAT(nodes_of(must(parse_process_mapping("(vector,2,[(0,1,2),1]x2,3)", 8, "h"))),
              ElementsAre(2, 0, 0, 1, 0, 0, 1, 3));
  EXPECT_THAT(nodes_of(must(parse_process_mapping("(vector,[0,1]x2000000000)", 5, "h"))),
              ElementsAre(0, 1, 0, 1, 0));
}

TEST(Pmi1ProcessMapping, NodeNumbersMayBeSparseAndLarge) {
  const NodeMap map = must(
      parse_process_mapping("(vector,(2000000000,1,1),(7,1,2000000000))", 4, "h"));
  EXPECT_EQ(map.node_count(), 2u);
  EXPECT_THAT(nodes_of(map), ElementsAre(1, 0, 0, 0));
  EXPECT_EQ(map.host(0), "node7");
  EXPECT_EQ(map.host(1), "node2000000000");
}

TEST(Pmi1ProcessMapping, ErrorQuotesTheUnknownMapping) {
  for (const char* text :
       {"", "(vector)", "(vector,)", "(vector,(0,1,1)", "(vector,(0,1))", "(vector,(0,0,1))",
        "(vector,(0,1,0))", "(vector,(0,1,-1))", "(list,(0,1,1))", "(vector,(0,1,1))x",
        "(vector,[0)", "(vector,[0])", "(vector,[0]x)", "(vector,[0]x0)", "(vector,[]x2)",
        "(vector,[[0]x2]x2)", "(vector,(0,1,99999999999))"})
    EXPECT_THAT(error_of(parse_process_mapping(text, 2, "h")).text(),
                HasSubstr("PMI_process_mapping"))
        << text;
}

}  // namespace
}  // namespace shim::bootstrap::pmi1
