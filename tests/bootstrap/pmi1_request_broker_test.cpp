// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/request_broker.hpp"

#include <gmock/gmock.h>

#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

using ::testing::HasSubstr;

struct Pmi1RequestBroker : ::testing::Test {
  PendingRequestPtr submit(const std::string& text) {
    auto pending = std::make_shared<PendingRequest>(text + "\n");
    broker.submit(pending);
    return pending;
  }
  std::string sent() { return std::exchange(broker.to_server, {}); }
  std::string for_host() { return std::exchange(broker.to_host, {}); }
  static std::string port_in(const PendingRequestPtr& pending) {
    auto answer = pending->take();
    if (!answer) return "nothing yet";
    return *answer ? std::string((*answer)->value("port").value_or("none"))
                   : "error: " + answer->error().text();
  }
  RequestBroker broker;
};

TEST_F(Pmi1RequestBroker, ResponsesReachTheirRequester) {
  auto ours = submit("cmd=lookup_name service=a");
  broker.on_host_line("cmd=get kvsname=k key=x");
  EXPECT_EQ(sent(), "cmd=lookup_name service=a\ncmd=get kvsname=k key=x\n");
  broker.on_server_line("cmd=get_result rc=0 value=v");
  EXPECT_EQ(for_host(), "cmd=get_result rc=0 value=v\n");
  broker.on_server_line("cmd=lookup_result port=p rc=0");
  EXPECT_EQ(port_in(ours), "p");
  EXPECT_EQ(for_host(), "");
  EXPECT_TRUE(broker.is_idle());
}

TEST_F(Pmi1RequestBroker, SerializesRequestsOfOneKind) {
  auto first = submit("cmd=lookup_name service=a");
  broker.on_host_line("cmd=lookup_name service=b");
  auto third = submit("cmd=lookup_name service=c");
  EXPECT_EQ(sent(), "cmd=lookup_name service=a\n");
  broker.on_server_line("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(sent(), "cmd=lookup_name service=b\n");
  broker.on_server_line("cmd=lookup_result port=B rc=0");
  EXPECT_EQ(for_host(), "cmd=lookup_result port=B rc=0\n");
  EXPECT_EQ(sent(), "cmd=lookup_name service=c\n");
  broker.on_server_line("cmd=lookup_result port=C rc=0");
  EXPECT_EQ(port_in(first), "A");
  EXPECT_EQ(port_in(third), "C");
}

TEST_F(Pmi1RequestBroker, BarrierDoesNotDelayOtherRequests) {
  broker.on_host_line("cmd=barrier_in");
  auto fence = submit("cmd=barrier_in");
  auto pending = submit("cmd=lookup_name service=a");
  EXPECT_EQ(sent(), "cmd=barrier_in\ncmd=lookup_name service=a\n");
  broker.on_server_line("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(port_in(pending), "A");
  broker.on_server_line("cmd=barrier_out");
  EXPECT_EQ(for_host(), "cmd=barrier_out\n");
  EXPECT_EQ(sent(), "cmd=barrier_in\n");
  broker.on_server_line("cmd=barrier_out");
  EXPECT_TRUE(fence->take().has_value());
  EXPECT_EQ(for_host(), "");
}

TEST_F(Pmi1RequestBroker, GroupBarriersAreMatchedByTag) {
  auto one = submit("cmd=barrier_in group=0,1:5"), two = submit("cmd=barrier_in group=0,2:6");
  broker.on_host_line("cmd=barrier_in");
  broker.on_server_line("cmd=barrier_out tag=6");
  EXPECT_FALSE(one->take().has_value());
  EXPECT_TRUE(two->take().has_value());
  broker.on_server_line("cmd=barrier_out tag=0");
  EXPECT_EQ(for_host(), "cmd=barrier_out tag=0\n");
}

TEST_F(Pmi1RequestBroker, HostClientsFinalizeIsNotForwarded) {
  broker.on_host_line("cmd=finalize");
  EXPECT_EQ(sent(), "");
  EXPECT_EQ(for_host(), "cmd=finalize_ack\n");
  EXPECT_TRUE(broker.has_held_finalize());
}

TEST_F(Pmi1RequestBroker, MultilineRequestIsForwardedWhole) {
  broker.on_host_line("mcmd=spawn");
  for (const char* line : {"nprocs=1", "execname=cmd=finalize", "totspawns=2", "endcmd",
                           "mcmd=spawn", "nprocs=2", "endcmd"})
    broker.on_host_line(line);
  EXPECT_EQ(sent(),
            "mcmd=spawn\nnprocs=1\nexecname=cmd=finalize\ntotspawns=2\nendcmd\nmcmd=spawn\nnprocs="
            "2\nendcmd\n");
  EXPECT_FALSE(broker.is_idle());
  broker.on_server_line("cmd=spawn_result rc=0");
  EXPECT_EQ(for_host(), "cmd=spawn_result rc=0\n");
  EXPECT_TRUE(broker.is_idle());
}

TEST_F(Pmi1RequestBroker, SecondInitIsAnsweredLocally) {
  auto pending = submit("cmd=init pmi_version=1 pmi_subversion=1");
  broker.on_host_line("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(sent(), "cmd=init pmi_version=1 pmi_subversion=1\n");
  broker.on_server_line("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  EXPECT_EQ(sent(), "");
  EXPECT_EQ(for_host(), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  auto second = submit("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(sent(), "");
  EXPECT_TRUE(second->take().has_value());
  EXPECT_TRUE(broker.is_idle());
}

TEST_F(Pmi1RequestBroker, RefusedInitIsSentAgain) {
  auto pending = submit("cmd=init pmi_version=1 pmi_subversion=1");
  broker.on_server_line("cmd=response_to_init rc=-1");
  sent();
  broker.on_host_line("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(sent(), "cmd=init pmi_version=1 pmi_subversion=1\n");
}

TEST_F(Pmi1RequestBroker, RepeatableInitOfTheHostClientIsForwarded) {
  auto pending = submit("cmd=init pmi_version=1 pmi_subversion=1");
  broker.on_server_line("cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0");
  broker.allow_second_init();
  sent();
  broker.on_host_line("cmd=init pmi_version=1 pmi_subversion=2");
  EXPECT_EQ(sent(), "cmd=init pmi_version=1 pmi_subversion=2\n");
}

TEST_F(Pmi1RequestBroker, RefusesPmi2InitOfTheHostClient) {
  broker.on_host_line("cmd=init pmi_version=2 pmi_subversion=0");
  EXPECT_EQ(sent(), "");
  EXPECT_THAT(for_host(), HasSubstr("rc=-1"));
}

TEST_F(Pmi1RequestBroker, UnseenRequestOfTheHostClientIsAnswered) {
  broker.expect_unseen_request();
  auto fence = submit("cmd=barrier_in");
  auto pending = submit("cmd=lookup_name service=a");
  EXPECT_EQ(sent(), "cmd=lookup_name service=a\n") << "the host client may be in a barrier";
  EXPECT_TRUE(broker.may_block_long());
  broker.on_server_line("cmd=barrier_out");
  EXPECT_EQ(for_host(), "cmd=barrier_out\n");
  EXPECT_EQ(sent(), "cmd=barrier_in\n");
}

TEST_F(Pmi1RequestBroker, UnseenBarrierBelongsToTheHostClient) {
  auto pending = submit("cmd=lookup_name service=a");
  broker.on_server_line("cmd=barrier_out");
  EXPECT_EQ(for_host(), "cmd=barrier_out\n");
  broker.on_server_line("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(port_in(pending), "A");
}

TEST_F(Pmi1RequestBroker, UnexpectedResponseFailsTheConnection) {
  auto pending = submit("cmd=lookup_name service=a"), waiting = submit("cmd=lookup_name service=b");
  broker.on_server_line("cmd=maxes vallen_max=3");
  EXPECT_TRUE(broker.has_failed());
  EXPECT_THAT(port_in(pending), HasSubstr("cmd=maxes"));
  EXPECT_THAT(port_in(waiting), HasSubstr("cmd=maxes"));
  EXPECT_THAT(port_in(submit("cmd=lookup_name service=c")), HasSubstr("cmd=maxes"));
}

TEST_F(Pmi1RequestBroker, InvalidBytesFailTheConnection) {
  auto pending = submit("cmd=lookup_name service=a");
  broker.on_server_line("HTTP/1.1 400 Bad Request");
  EXPECT_THAT(port_in(pending), HasSubstr("invalid PMI-1 message: \"HTTP/1.1 400"));
}

TEST_F(Pmi1RequestBroker, AbandonedRequestIsNotSent) {
  auto first = submit("cmd=lookup_name service=a");
  submit("cmd=lookup_name service=b").reset();
  sent();
  broker.on_server_line("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(sent(), "");
  EXPECT_TRUE(broker.is_idle());
}

}  // namespace
}  // namespace shim::bootstrap::pmi1
