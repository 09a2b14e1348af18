// SPDX-License-Identifier: BSD-3-Clause
// Pauses a core in a spin loop.
#pragma once

namespace shim::base {

/// Tell the processor that this thread spins: another hardware thread of the core runs meanwhile,
/// and the end of the loop costs no flush of the pipeline.
inline void spin_pause() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace shim::base
