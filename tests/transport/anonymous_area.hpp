// SPDX-License-Identifier: BSD-3-Clause
// AnonymousArea is a shared area over anonymous memory for tests and measurements. The threads of a
// program and its forked children share it.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>

#include "shim/base/shared_area.hpp"

namespace shim::transport::testing {

/// The memory: zeroed at the start, freed when the last process that maps it exits or unmaps it.
class AnonymousSegment {
 public:
  AnonymousSegment(std::uint32_t slots, std::size_t slot_bytes, std::size_t pair_bytes,
                   std::size_t store_bytes = 0, std::size_t cell_pool_bytes = 0)
      : slots_(slots),
        slot_bytes_(slot_bytes),
        pair_bytes_(pair_bytes),
        store_bytes_(store_bytes),
        cell_pool_bytes_(cell_pool_bytes) {
    void* memory = ::mmap(nullptr, total(), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1,
                          0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    memory_ = static_cast<std::byte*>(memory);
  }
  ~AnonymousSegment() { ::munmap(memory_, total()); }
  AnonymousSegment(const AnonymousSegment&) = delete;
  AnonymousSegment& operator=(const AnonymousSegment&) = delete;

  struct Flags {
    std::atomic<bool> ready;
    std::atomic<bool> dead;
    std::atomic<std::int32_t> pid;
    std::atomic<std::uint32_t> generation;
  };
  std::uint32_t slots() const { return slots_; }
  std::size_t slot_bytes() const { return slot_bytes_; }
  std::size_t pair_bytes() const { return pair_bytes_; }
  std::size_t store_bytes() const { return store_bytes_; }
  std::size_t cell_pool_bytes() const { return cell_pool_bytes_; }
  Flags& flags(std::uint32_t slot) { return reinterpret_cast<Flags*>(memory_)[slot]; }
  std::byte* slot(std::uint32_t index) { return memory_ + flag_bytes() + index * slot_bytes_; }
  std::byte* pair(std::uint32_t from, std::uint32_t to) {
    std::size_t number = std::size_t{from} * slots_ + to;
    return memory_ + flag_bytes() + slots_ * slot_bytes_ + number * pair_bytes_;
  }
  std::byte* store(std::uint32_t index) {
    return pair(0, 0) + std::size_t{slots_} * slots_ * pair_bytes_ + index * store_bytes_;
  }
  std::byte* cell_pool(std::uint32_t index) {
    return store(0) + slots_ * store_bytes_ + index * cell_pool_bytes_;
  }

 private:
  std::size_t flag_bytes() const { return (slots_ * sizeof(Flags) + 4095) / 4096 * 4096; }
  std::size_t total() const {
    return flag_bytes() +
           slots_ * (slot_bytes_ + slots_ * pair_bytes_ + store_bytes_ + cell_pool_bytes_);
  }
  std::uint32_t slots_;
  std::size_t slot_bytes_, pair_bytes_, store_bytes_, cell_pool_bytes_;
  std::byte* memory_;
};

/// The view of one process.
class AnonymousArea final : public base::SharedArea {
 public:
  AnonymousArea(std::shared_ptr<AnonymousSegment> segment, std::uint32_t own_slot)
      : segment_(std::move(segment)), own_slot_(own_slot) {}

  /// release: pairs with the acquire in is_ready.
  void set_ready() {
    segment_->flags(own_slot_).pid = ::getpid();
    segment_->flags(own_slot_).ready.store(true, std::memory_order_release);
  }
  /// Make later calls of back() fail with this error.
  void refuse_memory(base::ErrorClass error) { refusal_ = error; }
  void give_memory() { refusal_.reset(); }
  void set_processes_per_core(double number) { processes_per_core_ = number; }
  /// Return the bytes that successful calls of back() requested.
  std::size_t backed() const { return backed_; }

  std::uint32_t slot_count() const override { return segment_->slots(); }
  std::uint32_t own_slot() const override { return own_slot_; }
  std::byte* slot(std::uint32_t index) override { return segment_->slot(index); }
  std::size_t slot_bytes() const override { return segment_->slot_bytes(); }
  std::byte* store(std::uint32_t index) override { return segment_->store(index); }
  std::size_t store_bytes() const override { return segment_->store_bytes(); }
  std::byte* cell_pool(std::uint32_t index) override { return segment_->cell_pool(index); }
  std::size_t cell_pool_bytes() const override { return segment_->cell_pool_bytes(); }
  std::byte* pair(std::uint32_t from, std::uint32_t to) override {
    return segment_->pair(from, to);
  }
  std::size_t pair_bytes() const override { return segment_->pair_bytes(); }
  base::Status back(std::byte*, std::size_t bytes) override {
    if (refusal_) return base::Error(*refusal_, "the test has used up the memory");
    backed_ += bytes;
    return {};
  }
  base::Status back_spare(std::byte* begin, std::size_t bytes) override {
    return back(begin, bytes);
  }
  base::Status back_pair_to(std::uint32_t index) override {
    return back(pair(own_slot_, index), pair_bytes());
  }
  bool is_ready(std::uint32_t index) const override {
    return segment_->flags(index).ready.load(std::memory_order_acquire);
  }
  bool is_alive(std::uint32_t index) const override { return !segment_->flags(index).dead; }
  std::uint32_t slot_generation(std::uint32_t index) const override {
    return segment_->flags(index).generation;
  }
  double processes_per_core() const override { return processes_per_core_; }
  std::int32_t pid(std::uint32_t index) const override { return segment_->flags(index).pid; }

 private:
  std::shared_ptr<AnonymousSegment> segment_;
  std::uint32_t own_slot_;
  std::optional<base::ErrorClass> refusal_;
  std::size_t backed_ = 0;
  double processes_per_core_ = 1;
};

}  // namespace shim::transport::testing
