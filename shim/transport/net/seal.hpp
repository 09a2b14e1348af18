// SPDX-License-Identifier: BSD-3-Clause
// Authenticated encryption of what processes say to each other about themselves, by OpenSSL's libcrypto, which is loaded with the
// first connection. SECURITY.md says what this protects.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// A random number that is used once: each end of a connection makes one.
using Nonce = std::array<std::byte, 16>;
/// Errors: other.
base::Result<Nonce> random_nonce();

/// Bytes that sealing adds.
inline constexpr std::size_t kSealBytes = 16;

/// The functions of libcrypto.
class Crypto {
 public:
  /// Errors: other (no libcrypto; the text says what to install).
  static base::Result<std::shared_ptr<const Crypto>> load();

 private:
  friend class Seal;
  struct Functions;
  explicit Crypto(std::unique_ptr<Functions> functions);

 public:
  ~Crypto();

 private:
  std::unique_ptr<const Functions> functions_;
};

/// The keys of one connection, known to its two ends alone. Each frame is sealed with the number of its direction's frames so far, so that
/// none can be repeated, left out or exchanged; AES-256 in Galois/counter mode (NIST SP 800-38D).
class Seal {
 public:
  enum class End : std::uint8_t { caller, called };

  /// Derives the key from the secret of the process that was called and both nonces: HMAC-SHA256. Errors: other (libcrypto refuses).
  static base::Result<Seal> make(std::shared_ptr<const Crypto> crypto, End own, std::uint64_t secret, const Nonce& of_caller,
                                 const Nonce& of_called);
  Seal(Seal&&) noexcept;
  Seal& operator=(Seal&&) noexcept;
  ~Seal();

  /// Return the bytes, encrypted, with their tag: kSealBytes more. Errors: other (libcrypto refuses).
  base::Result<Bytes> close(ConstSpan plain);
  /// Return what the other end has sealed; nothing if it is not the other end's next frame. Tags are compared in constant time.
  std::optional<Bytes> open(ConstSpan sealed);

 private:
  struct State;
  explicit Seal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shim::transport
