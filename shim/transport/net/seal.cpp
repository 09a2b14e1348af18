// SPDX-License-Identifier: BSD-3-Clause
#include "shim/transport/net/seal.hpp"

#include <dlfcn.h>
#include <sys/random.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <span>
#include <string>

#include "shim/base/descriptor.hpp"

namespace shim::transport {
namespace {

using base::Error;
using base::ErrorClass;
using base::Result;

/// Versions in which the functions below are equal (OpenSSL 3 and 1.1), newest first.
constexpr const char* kNames[] = {"libcrypto.so.3", "libcrypto.so.1.1"};
constexpr std::size_t kKeyBytes = 32, kCounterBytes = 12;
// OpenSSL, evp.h.
constexpr int kGetTag = 0x10, kSetTag = 0x11;
// OpenSSL, crypto.h.
constexpr std::uint64_t kInitNoAtexit = 0x0008'0000;
constexpr char kPurpose[] = "Intersession connection 2";

template <typename Function>
bool find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  return function != nullptr;
}

unsigned char* raw(std::byte* bytes) { return reinterpret_cast<unsigned char*>(bytes); }
const unsigned char* raw(const std::byte* bytes) {
  return reinterpret_cast<const unsigned char*>(bytes);
}

}  // namespace

/// OpenSSL's declarations, with its types as void.
struct Crypto::Functions {
  unsigned char* (*hmac)(const void* digest, const void* key, int key_bytes,
                         const unsigned char* data, std::size_t bytes, unsigned char* into,
                         unsigned* into_bytes) = nullptr;
  const void* (*sha256)() = nullptr;
  const void* (*aes_256_gcm)() = nullptr;
  void* (*make)() = nullptr;
  void (*free)(void* context) = nullptr;
  int (*control)(void* context, int what, int bytes, void* with) = nullptr;
  int (*begin_sealing)(void* context, const void* cipher, void* engine, const unsigned char* key,
                       const unsigned char* counter) = nullptr;
  int (*seal)(void* context, unsigned char* into, int* into_bytes, const unsigned char* from,
              int bytes) = nullptr;
  int (*end_sealing)(void* context, unsigned char* into, int* into_bytes) = nullptr;
  int (*begin_opening)(void* context, const void* cipher, void* engine, const unsigned char* key,
                       const unsigned char* counter) = nullptr;
  int (*open)(void* context, unsigned char* into, int* into_bytes, const unsigned char* from,
              int bytes) = nullptr;
  int (*end_opening)(void* context, unsigned char* into, int* into_bytes) = nullptr;
  void (*cleanse)(void* memory, std::size_t bytes) = nullptr;
  int (*init)(std::uint64_t options, const void* settings) = nullptr;

  /// False once an exit handler of OpenSSL has run, if the program used OpenSSL before this
  /// library: its functions crash then.
  bool is_usable() const { return init(0, nullptr) == 1; }

  bool find_all(void* library) {
    return find(library, "HMAC", hmac) && find(library, "EVP_sha256", sha256) &&
           find(library, "EVP_aes_256_gcm", aes_256_gcm) &&
           find(library, "EVP_CIPHER_CTX_new", make) &&
           find(library, "EVP_CIPHER_CTX_free", free) &&
           find(library, "EVP_CIPHER_CTX_ctrl", control) &&
           find(library, "EVP_EncryptInit_ex", begin_sealing) &&
           find(library, "EVP_EncryptUpdate", seal) &&
           find(library, "EVP_EncryptFinal_ex", end_sealing) &&
           find(library, "EVP_DecryptInit_ex", begin_opening) &&
           find(library, "EVP_DecryptUpdate", open) &&
           find(library, "EVP_DecryptFinal_ex", end_opening) &&
           find(library, "OPENSSL_cleanse", cleanse) && find(library, "OPENSSL_init_crypto", init);
  }
};

static Error has_ended() {
  return {ErrorClass::other,
          "connections between processes are closed, because the exit handlers of libcrypto have "
          "run; finalize sessions before the program exits"};
}

Result<Nonce> random_nonce() {
  Nonce nonce;
  if (::getrandom(nonce.data(), nonce.size(), 0) != static_cast<ssize_t>(nonce.size()))
    return base::system_error(errno, "cannot create the nonce of a connection (getrandom)");
  return nonce;
}

Crypto::Crypto(std::unique_ptr<Functions> functions) : functions_(std::move(functions)) {}
Crypto::~Crypto() = default;

Result<std::shared_ptr<const Crypto>> Crypto::load() {
  const base::StandardStreamsHeld streams;
  void* library = nullptr;
  std::string reasons;
  for (const char* name : kNames) {
    if ((library = ::dlopen(name, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) != nullptr) break;
    const char* reason = ::dlerror();
    reasons += (reasons.empty() ? "" : "; ") + std::string(reason != nullptr ? reason : name);
  }
  if (library == nullptr)
    return Error(
        ErrorClass::other,
        "connections between processes need OpenSSL's libcrypto, which cannot be loaded (" +
            reasons + "); install OpenSSL (libssl3) on every node");
  auto functions = std::make_unique<Functions>();
  const bool is_complete = functions->find_all(library);
  ::dlclose(library);  // RTLD_NODELETE keeps it loaded
  if (!is_complete)
    return Error(
        ErrorClass::other,
        "the installed libcrypto lacks a function of OpenSSL 1.1; install OpenSSL 3 (libssl3)");
  // sessions may live until the program's destructors have run, after its exit handlers
  if (functions->init(kInitNoAtexit, nullptr) != 1) return has_ended();
  return std::shared_ptr<const Crypto>(new Crypto(std::move(functions)));
}

struct Seal::State {
  std::shared_ptr<const Crypto> crypto;
  void* context = nullptr;
  std::array<unsigned char, kKeyBytes> key{};
  Side own = Side::caller;
  std::uint64_t closed = 0, opened = 0;  ///< frames

  ~State() {
    const Functions& functions = *crypto->functions_;
    functions.cleanse(key.data(), key.size());
    if (functions.is_usable()) functions.free(context);
  }
  using Functions = Crypto::Functions;
  /// Return the initialization vector of Galois/counter mode for a frame.
  static std::array<unsigned char, kCounterBytes> counter(Side by, std::uint64_t number) {
    std::array<unsigned char, kCounterBytes> bytes{};
    bytes[0] = static_cast<unsigned char>(by);
    std::memcpy(bytes.data() + 4, &number, sizeof number);
    return bytes;
  }
};

Seal::Seal(std::unique_ptr<State> state) : state_(std::move(state)) {}
Seal::Seal(Seal&&) noexcept = default;
Seal& Seal::operator=(Seal&&) noexcept = default;
Seal::~Seal() = default;

Result<Seal> Seal::make(std::shared_ptr<const Crypto> crypto, Side own, std::uint64_t secret,
                        const Nonce& of_caller, const Nonce& of_called) {
  const Crypto::Functions& functions = *crypto->functions_;
  if (!functions.is_usable()) return has_ended();
  auto state = std::make_unique<State>();
  state->crypto = std::move(crypto);
  state->own = own;
  state->context = functions.make();
  std::array<std::byte, sizeof kPurpose + 2 * sizeof(Nonce)> data;
  auto* end = std::ranges::copy(std::as_bytes(std::span(kPurpose)), data.data()).out;
  std::ranges::copy(of_called, std::ranges::copy(of_caller, end).out);
  unsigned bytes = 0;
  const auto* made = functions.hmac(functions.sha256(), &secret, sizeof secret, raw(data.data()),
                                    data.size(), state->key.data(), &bytes);
  if (state->context == nullptr || made == nullptr || bytes != kKeyBytes)
    return Error(ErrorClass::other, "libcrypto cannot compute HMAC-SHA256");
  return Seal(std::move(state));
}

// OpenSSL 1.1 ends the encryption at a null input, so empty input is skipped.

Result<Bytes> Seal::close(ConstSpan plain) {
  const Crypto::Functions& functions = *state_->crypto->functions_;
  if (!functions.is_usable()) return has_ended();
  const auto counter = State::counter(state_->own, state_->closed++);
  Bytes sealed(plain.size() + kSealBytes);
  int bytes = 0, rest = 0;
  const bool is_done = functions.begin_sealing(state_->context, functions.aes_256_gcm(), nullptr,
                                               state_->key.data(), counter.data()) == 1 &&
                       (plain.empty() ||
                        functions.seal(state_->context, raw(sealed.data()), &bytes,
                                       raw(plain.data()), static_cast<int>(plain.size())) == 1) &&
                       functions.end_sealing(state_->context, raw(sealed.data()) + bytes, &rest) ==
                           1 &&
                       functions.control(state_->context, kGetTag, static_cast<int>(kSealBytes),
                                         sealed.data() + plain.size()) == 1;
  if (!is_done) return Error(ErrorClass::other, "libcrypto cannot encrypt with AES-256-GCM");
  return sealed;
}

std::optional<Bytes> Seal::open(ConstSpan sealed) {
  const Crypto::Functions& functions = *state_->crypto->functions_;
  if (sealed.size() < kSealBytes || !functions.is_usable()) return std::nullopt;
  const Side other = state_->own == Side::caller ? Side::called : Side::caller;
  const auto counter = State::counter(other, state_->opened++);
  const ConstSpan text = sealed.first(sealed.size() - kSealBytes);
  std::array<std::byte, kSealBytes> tag;
  std::ranges::copy(sealed.last(kSealBytes), tag.begin());
  Bytes plain(text.size());
  int bytes = 0, rest = 0;
  const bool is_genuine = functions.begin_opening(state_->context, functions.aes_256_gcm(), nullptr,
                                                  state_->key.data(), counter.data()) == 1 &&
                          (text.empty() ||
                           functions.open(state_->context, raw(plain.data()), &bytes,
                                          raw(text.data()), static_cast<int>(text.size())) == 1) &&
                          functions.control(state_->context, kSetTag, static_cast<int>(kSealBytes),
                                            tag.data()) == 1 &&
                          functions.end_opening(state_->context, raw(plain.data()) + bytes,
                                                &rest) == 1;
  if (!is_genuine) return std::nullopt;
  return plain;
}

}  // namespace shim::transport
