// SPDX-License-Identifier: BSD-3-Clause
#include "shim/bootstrap/pmi1/exchange.hpp"

#include <gmock/gmock.h>

#include "tests/bootstrap/helpers.hpp"

namespace shim::bootstrap::pmi1 {
namespace {

using ::testing::HasSubstr;

struct Pmi1Exchange : ::testing::Test {
  QuestionPtr ask(const std::string& text) {
    auto question = std::make_shared<Question>(text + "\n");
    exchange.ask(question);
    return question;
  }
  std::string sent() { return std::exchange(exchange.to_server, {}); }
  std::string for_guest() { return std::exchange(exchange.to_guest, {}); }
  static std::string port_in(const QuestionPtr& question) {
    auto answer = question->take();
    if (!answer) return "nothing yet";
    return *answer ? std::string((*answer)->value("port").value_or("none")) : "error: " + answer->error().text();
  }
  Exchange exchange;
};

TEST_F(Pmi1Exchange, EachGetsItsOwnAnswers) {
  auto ours = ask("cmd=lookup_name service=a");
  exchange.guest_said("cmd=get kvsname=k key=x");
  EXPECT_EQ(sent(), "cmd=lookup_name service=a\ncmd=get kvsname=k key=x\n");
  exchange.server_said("cmd=get_result rc=0 value=v");
  EXPECT_EQ(for_guest(), "cmd=get_result rc=0 value=v\n");
  exchange.server_said("cmd=lookup_result port=p rc=0");
  EXPECT_EQ(port_in(ours), "p");
  EXPECT_EQ(for_guest(), "");
  EXPECT_TRUE(exchange.is_idle());
}

TEST_F(Pmi1Exchange, RequestsOfOneKindWaitForEachOther) {
  auto first = ask("cmd=lookup_name service=a");
  exchange.guest_said("cmd=lookup_name service=b");
  auto third = ask("cmd=lookup_name service=c");
  EXPECT_EQ(sent(), "cmd=lookup_name service=a\n");
  exchange.server_said("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(sent(), "cmd=lookup_name service=b\n");
  exchange.server_said("cmd=lookup_result port=B rc=0");
  EXPECT_EQ(for_guest(), "cmd=lookup_result port=B rc=0\n");
  EXPECT_EQ(sent(), "cmd=lookup_name service=c\n");
  exchange.server_said("cmd=lookup_result port=C rc=0");
  EXPECT_EQ(port_in(first), "A");
  EXPECT_EQ(port_in(third), "C");
}

TEST_F(Pmi1Exchange, ABarrierKeepsNobodyElse) {
  exchange.guest_said("cmd=barrier_in");
  auto fence = ask("cmd=barrier_in");
  auto question = ask("cmd=lookup_name service=a");
  EXPECT_EQ(sent(), "cmd=barrier_in\ncmd=lookup_name service=a\n");
  exchange.server_said("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(port_in(question), "A");
  exchange.server_said("cmd=barrier_out");
  EXPECT_EQ(for_guest(), "cmd=barrier_out\n");
  EXPECT_EQ(sent(), "cmd=barrier_in\n");
  exchange.server_said("cmd=barrier_out");
  EXPECT_TRUE(fence->take().has_value());
  EXPECT_EQ(for_guest(), "");
}

TEST_F(Pmi1Exchange, BarriersOfGroupsAreToldApartByTheirTags) {
  auto one = ask("cmd=barrier_in group=0,1:5"), two = ask("cmd=barrier_in group=0,2:6");
  exchange.guest_said("cmd=barrier_in");
  exchange.server_said("cmd=barrier_out tag=6");
  EXPECT_FALSE(one->take().has_value());
  EXPECT_TRUE(two->take().has_value());
  exchange.server_said("cmd=barrier_out tag=0");
  EXPECT_EQ(for_guest(), "cmd=barrier_out tag=0\n");
}

TEST_F(Pmi1Exchange, TheGuestsFinalizeIsHeldBack) {
  exchange.guest_said("cmd=finalize");
  EXPECT_EQ(sent(), "");
  EXPECT_EQ(for_guest(), "cmd=finalize_ack\n");
  EXPECT_TRUE(exchange.has_held_finalize());
}

TEST_F(Pmi1Exchange, ARequestOfSeveralLinesPassesWhole) {
  exchange.guest_said("mcmd=spawn");
  for (const char* line : {"nprocs=1", "execname=cmd=finalize", "totspawns=2", "endcmd", "mcmd=spawn", "nprocs=2", "endcmd"})
    exchange.guest_said(line);
  EXPECT_EQ(sent(), "mcmd=spawn\nnprocs=1\nexecname=cmd=finalize\ntotspawns=2\nendcmd\nmcmd=spawn\nnprocs=2\nendcmd\n");
  EXPECT_FALSE(exchange.is_idle());
  exchange.server_said("cmd=spawn_result rc=0");
  EXPECT_EQ(for_guest(), "cmd=spawn_result rc=0\n");
  EXPECT_TRUE(exchange.is_idle());
}

TEST_F(Pmi1Exchange, ASecondInitIsAnsweredFromTheFirst) {
  auto question = ask("cmd=init pmi_version=1 pmi_subversion=1");
  exchange.guest_said("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(sent(), "cmd=init pmi_version=1 pmi_subversion=1\n");
  exchange.server_said("cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0");
  EXPECT_EQ(sent(), "");
  EXPECT_EQ(for_guest(), "cmd=response_to_init pmi_version=1 pmi_subversion=1 rc=0\n");
  auto second = ask("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(sent(), "");
  EXPECT_TRUE(second->take().has_value());
  EXPECT_TRUE(exchange.is_idle());
}

TEST_F(Pmi1Exchange, AnInitThatWasRefusedIsSentAgain) {
  auto question = ask("cmd=init pmi_version=1 pmi_subversion=1");
  exchange.server_said("cmd=response_to_init rc=-1");
  sent();
  exchange.guest_said("cmd=init pmi_version=1 pmi_subversion=1");
  EXPECT_EQ(sent(), "cmd=init pmi_version=1 pmi_subversion=1\n");
}

TEST_F(Pmi1Exchange, TheGuestsInitIsSentToALauncherThatAnswersItAgain) {
  auto question = ask("cmd=init pmi_version=1 pmi_subversion=1");
  exchange.server_said("cmd=response_to_init pmi_version=1 pmi_subversion=2 rc=0");
  exchange.allow_second_init();
  sent();
  exchange.guest_said("cmd=init pmi_version=1 pmi_subversion=2");
  EXPECT_EQ(sent(), "cmd=init pmi_version=1 pmi_subversion=2\n");
}

TEST_F(Pmi1Exchange, AnotherProtocolIsRefusedToTheGuest) {
  exchange.guest_said("cmd=init pmi_version=2 pmi_subversion=0");
  EXPECT_EQ(sent(), "");
  EXPECT_THAT(for_guest(), HasSubstr("rc=-1"));
}

TEST_F(Pmi1Exchange, WhatTheGuestAskedUnseenIsAnswered) {
  exchange.expect_unseen();
  auto fence = ask("cmd=barrier_in");
  auto question = ask("cmd=lookup_name service=a");
  EXPECT_EQ(sent(), "cmd=lookup_name service=a\n") << "the guest may be in a barrier";
  EXPECT_TRUE(exchange.may_last());
  exchange.server_said("cmd=barrier_out");
  EXPECT_EQ(for_guest(), "cmd=barrier_out\n");
  EXPECT_EQ(sent(), "cmd=barrier_in\n");
}

TEST_F(Pmi1Exchange, ABarrierThatNobodyHasSeenIsTheGuests) {
  auto question = ask("cmd=lookup_name service=a");
  exchange.server_said("cmd=barrier_out");
  EXPECT_EQ(for_guest(), "cmd=barrier_out\n");
  exchange.server_said("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(port_in(question), "A");
}

TEST_F(Pmi1Exchange, AWrongAnswerEndsTheConversation) {
  auto question = ask("cmd=lookup_name service=a"), waiting = ask("cmd=lookup_name service=b");
  exchange.server_said("cmd=maxes vallen_max=3");
  EXPECT_TRUE(exchange.is_broken());
  EXPECT_THAT(port_in(question), HasSubstr("cmd=maxes"));
  EXPECT_THAT(port_in(waiting), HasSubstr("cmd=maxes"));
  EXPECT_THAT(port_in(ask("cmd=lookup_name service=c")), HasSubstr("cmd=maxes"));
}

TEST_F(Pmi1Exchange, GarbageEndsTheConversation) {
  auto question = ask("cmd=lookup_name service=a");
  exchange.server_said("HTTP/1.1 400 Bad Request");
  EXPECT_THAT(port_in(question), HasSubstr("not PMI-1: \"HTTP/1.1 400"));
}

TEST_F(Pmi1Exchange, AQuestionThatNobodyWaitsForIsNotSent) {
  auto first = ask("cmd=lookup_name service=a");
  ask("cmd=lookup_name service=b").reset();
  sent();
  exchange.server_said("cmd=lookup_result port=A rc=0");
  EXPECT_EQ(sent(), "");
  EXPECT_TRUE(exchange.is_idle());
}

}  // namespace
}  // namespace shim::bootstrap::pmi1
