// SPDX-License-Identifier: BSD-3-Clause
// A shared area over anonymous memory, for tests and measurements: shared by the threads of a program and its forked children.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>

#include "shim/base/shared_area.hpp"

namespace shim::transport::testing {

/// The memory. Zero at the start; stays until the last process that has it ends or destroys it.
class AnonymousGround {
 public:
  AnonymousGround(std::uint32_t slots, std::size_t slot_bytes, std::size_t pair_bytes, std::size_t store_bytes = 0, std::size_t depot_bytes = 0)
      : slots_(slots), slot_bytes_(slot_bytes), pair_bytes_(pair_bytes), store_bytes_(store_bytes), depot_bytes_(depot_bytes) {
    void* memory = ::mmap(nullptr, total(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
  }
  ~AnonymousGround() { ::munmap(memory_, total()); }
  AnonymousGround(const AnonymousGround&) = delete;
  AnonymousGround& operator=(const AnonymousGround&) = delete;

  struct Flags {
    std::atomic<bool> ready;
    std::atomic<bool> dead;
    std::atomic<std::int32_t> pid;
  };
  std::uint32_t slots() const { return slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::size_t pair_bytes() const { return pair_bytes_; }
  std::size_t store_bytes() const { return store_bytes_; }
  std::size_t depot_bytes() const { return depot_bytes_; }
  Flags& flags(std::uint32_t slot) { return reinterpret_cast<Flags*>(memory_)[slot]; }
  std::byte* slot(std::uint32_t index) { return memory_ + flag_bytes() + index * slot_bytes_; }
  std::byte* pair(std::uint32_t from, std::uint32_t to) {
    std::size_t number = std::size_t{from} * slots_ + to;
    return memory_ + flag_bytes() + slots_ * slot_bytes_ + number * pair_bytes_;
  }
  std::byte* store(std::uint32_t index) { return pair(0, 0) + std::size_t{slots_} * slots_ * pair_bytes_ + index * store_bytes_; }
  std::byte* depot(std::uint32_t index) { return store(0) + slots_ * store_bytes_ + index * depot_bytes_; }

 private:
  std::size_t flag_bytes() const { return (slots_ * sizeof(Flags) + 4095) / 4096 * 4096; }
  std::size_t total() const {
    return flag_bytes() + slots_ * (slot_bytes_ + slots_ * pair_bytes_ + store_bytes_ + depot_bytes_);
  }
  std::uint32_t slots_;
  std::size_t slot_bytes_, pair_bytes_, store_bytes_, depot_bytes_;
  std::byte* memory_;
};

/// One process's view.
class AnonymousArea final : public base::SharedArea {
 public:
  AnonymousArea(std::shared_ptr<AnonymousGround> ground, std::uint32_t own_slot)
      : ground_(std::move(ground)), own_slot_(own_slot) {}

  /// release: pairs with the acquire in is_ready.
  void set_ready() {
    ground_->flags(own_slot_).pid = ::getpid();
    ground_->flags(own_slot_).ready.store(true, std::memory_order_release);
  }
  /// From now on back() fails with this error.
  void refuse_memory(base::ErrorClass error) { refusal_ = error; }
  void give_memory() { refusal_.reset(); }
  void set_processes_per_core(double number) { processes_per_core_ = number; }
  /// Bytes that back() was asked for and did not refuse.
  std::size_t backed() const { return backed_; }

  std::uint32_t slot_count() const override { return ground_->slots(); }
  std::uint32_t own_slot() const override { return own_slot_; }
  std::byte* slot(std::uint32_t index) override { return ground_->slot(index); }
  std::size_t slot_bytes() const override { return ground_->slot_bytes(); }
  std::byte* store(std::uint32_t index) override { return ground_->store(index); }
  std::size_t store_bytes() const override { return ground_->store_bytes(); }
  std::byte* depot(std::uint32_t index) override { return ground_->depot(index); }
  std::size_t depot_bytes() const override { return ground_->depot_bytes(); }
  std::byte* pair(std::uint32_t from, std::uint32_t to) override { return ground_->pair(from, to); }
  std::size_t pair_bytes() const override { return ground_->pair_bytes(); }
  base::Status back(std::byte*, std::size_t bytes) override {
    if (refusal_) return base::Error(*refusal_, "the test says that memory is used up");
    backed_ += bytes;
    return {};
  }
  base::Status back_spare(std::byte* begin, std::size_t bytes) override { return back(begin, bytes); }
  base::Status back_pair_to(std::uint32_t index) override { return back(pair(own_slot_, index), pair_bytes()); }
  bool is_ready(std::uint32_t index) const override { return ground_->flags(index).ready.load(std::memory_order_acquire); }
  bool is_alive(std::uint32_t index) const override { return !ground_->flags(index).dead; }
  double processes_per_core() const override { return processes_per_core_; }
  std::int32_t pid(std::uint32_t index) const override { return ground_->flags(index).pid; }

 private:
  std::shared_ptr<AnonymousGround> ground_;
  std::uint32_t own_slot_;
  std::optional<base::ErrorClass> refusal_;
  std::size_t backed_ = 0;
  double processes_per_core_ = 1;
};

}  // namespace shim::transport::testing
