// SPDX-License-Identifier: BSD-3-Clause
// Seal is authenticated encryption of control messages, by OpenSSL's libcrypto.
//
// libcrypto is loaded when a process first listens for other nodes. SECURITY.md states what this
// protects.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "shim/base/result.hpp"
#include "shim/transport/transport.hpp"

namespace shim::transport {

/// A random number used once, one from each end of a connection.
using Nonce = std::array<std::byte, 16>;
/// Draw a nonce. Errors: other.
base::Result<Nonce> random_nonce();

/// Bytes that sealing adds.
inline constexpr std::size_t kSealBytes = 16;

/// The functions of libcrypto.
class Crypto {
 public:
  /// Load libcrypto. Errors: other (not found; the text names the package).
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

/// The key of one connection, known only to its two ends. Each frame is sealed with its direction
/// and its number in that direction, so frames cannot be replayed, dropped or reordered. AES-256 in
/// Galois/counter mode (NIST SP 800-38D).
class Seal {
 public:
  enum class Side : std::uint8_t { caller, called };

  /// Derive the key from the called process's secret and both nonces: HMAC-SHA256. Errors: other
  /// (libcrypto fails).
  static base::Result<Seal> make(std::shared_ptr<const Crypto> crypto, Side own,
                                 std::uint64_t secret, const Nonce& of_caller,
                                 const Nonce& of_called);
  Seal(Seal&&) noexcept;
  Seal& operator=(Seal&&) noexcept;
  ~Seal();

  /// Return the encrypted bytes with their tag, kSealBytes longer. Errors: other (libcrypto fails).
  base::Result<Bytes> close(ConstSpan plain);
  /// Return the decrypted bytes; nullopt unless they are the peer's next frame. Tags are compared
  /// in constant time.
  std::optional<Bytes> open(ConstSpan sealed);

 private:
  struct State;
  explicit Seal(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace shim::transport
