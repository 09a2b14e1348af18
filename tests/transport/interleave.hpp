// SPDX-License-Identifier: BSD-3-Clause
// Runs two pieces of code step by step in one thread, in every interleaving of their steps.
#pragma once

#include <gtest/gtest.h>
#include <ucontext.h>

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shim::transport::testing {

/// One of the two pieces: runs on its own stack and returns control before every step.
class Fiber {
 public:
  explicit Fiber(std::function<void()> body) : body_(std::move(body)), stack_(128 * 1024) {}
  Fiber(const Fiber&) = delete;
  Fiber& operator=(const Fiber&) = delete;

  bool is_done() const { return done_; }
  /// Run up to the next pause or the end.
  void resume() {
    if (!started_) start();
    running_ = this;
    ::swapcontext(&outside_, &inside_);
    running_ = nullptr;
  }
  /// Suspend the running fiber until it is resumed. No effect outside of fibers.
  static void pause() {
    if (running_) ::swapcontext(&running_->inside_, &running_->outside_);
  }
  static Fiber* running() { return running_; }

  /// Values that the piece has loaded since its current operation began; part of the state. The
  /// body clears them between operations.
  std::string seen;

 private:
  void start() {
    started_ = true;
    ::getcontext(&inside_);
    inside_.uc_stack.ss_sp = stack_.data();
    inside_.uc_stack.ss_size = stack_.size();
    inside_.uc_link = &outside_;
    ::makecontext(&inside_, &Fiber::enter, 0);
  }
  static void enter() {
    Fiber* self = running_;
    self->body_();
    self->done_ = true;
  }
  static inline Fiber* running_ = nullptr;
  std::function<void()> body_;
  std::vector<char> stack_;
  ucontext_t inside_{}, outside_{};
  bool started_ = false, done_ = false;
};

/// One run of the experiment, from the start.
struct Run {
  std::array<Fiber*, 2> fibers;
  std::function<std::string()> state;  ///< all data that determine the further run
};

struct Explored {
  std::size_t states = 0;
  std::size_t runs = 0;
  std::size_t complete = 0;  ///< runs in which both pieces ended
  std::size_t stuck = 0;     ///< states from which no interleaving reaches the end
};

/// The states seen, and their successors.
class StateGraph {
 public:
  static constexpr std::size_t kEnd = 0;  ///< both pieces have ended

  /// Return the state's number, and true if it is new.
  std::pair<std::size_t, bool> add(const std::string& state) {
    auto [position, added] = numbers_.try_emplace(state, predecessors_.size());
    if (added) predecessors_.emplace_back();
    return {position->second, added};
  }
  void connect(std::size_t from, std::size_t to) { predecessors_[to].push_back(from); }
  std::size_t size() const { return numbers_.size(); }
  std::size_t count_stuck() const {
    std::vector<char> leads_to_end(predecessors_.size());
    std::vector<std::size_t> open{kEnd};
    std::size_t good = 0;
    while (!open.empty()) {
      std::size_t state = open.back();
      open.pop_back();
      if (leads_to_end[state]) continue;
      leads_to_end[state] = 1;
      ++good;
      open.insert(open.end(), predecessors_[state].begin(), predecessors_[state].end());
    }
    return predecessors_.size() - good;
  }

 private:
  std::unordered_map<std::string, std::size_t> numbers_;
  std::vector<std::vector<std::size_t>> predecessors_{{}};
};

/// Explore every reachable state. `experiment` sets up a run and passes it to its argument, which
/// drives the run and returns true if both pieces ended; `experiment` then checks the result. A run
/// that reaches a known state is abandoned. Stop at the first failed assertion.
inline Explored explore(const std::function<void(const std::function<bool(Run&)>&)>& experiment) {
  struct Branch {
    std::vector<char> choices;  ///< the piece that made each step, from the start
    std::optional<std::size_t> from;
  };
  Explored result;
  StateGraph graph;
  std::vector<Branch> open(1);
  auto drive = [&](Run& run, Branch& branch) {
    for (Fiber* fiber : run.fibers)
      fiber->resume();  // up to the first step, which has no effect yet
    for (char choice : branch.choices) run.fibers[static_cast<std::size_t>(choice)]->resume();
    for (;;) {
      bool first_done = run.fibers[0]->is_done(), second_done = run.fibers[1]->is_done();
      bool end = first_done && second_done;
      auto [state, is_new] = end ? std::pair{StateGraph::kEnd, false} : graph.add(run.state());
      if (branch.from) graph.connect(*branch.from, state);
      if (end) return true;
      if (!is_new) return false;
      branch.from = state;
      char choice = first_done ? 1 : 0;
      if (!first_done && !second_done) {
        open.push_back(branch);
        open.back().choices.push_back(1);
      }
      branch.choices.push_back(choice);
      run.fibers[static_cast<std::size_t>(choice)]->resume();
    }
  };
  while (!open.empty() && !::testing::Test::HasFatalFailure()) {
    Branch branch = std::move(open.back());
    open.pop_back();
    ++result.runs;
    experiment([&](Run& run) {
      bool complete = drive(run, branch);
      result.complete += complete;
      return complete;
    });
  }
  result.states = graph.size();
  result.stuck = graph.count_stuck();
  return result;
}

}  // namespace shim::transport::testing
