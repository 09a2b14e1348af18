// SPDX-License-Identifier: BSD-3-Clause
// Tests addresses of processes over TCP, and the choice of network interfaces.
#include "shim/transport/net/address.hpp"

#include <gmock/gmock.h>

#include <vector>

#include "shim/transport/net/net.hpp"

namespace shim::transport::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(IpAddressTest, LocalAddressesAreRecognised) {
  for (const IpAddress& address : local_addresses(""))
    EXPECT_TRUE(is_local_address(address)) << address.text();
  EXPECT_TRUE(is_local_address({.bytes = {127, 3, 2, 1}}));
  EXPECT_FALSE(is_local_address({.bytes = {192, 0, 2, 1}}));
}

TEST(TcpAddresses, FitTheMaximumLength) {
  const std::vector<IpAddress> many(kMaxAddresses, {.bytes = {0xfd, 1}, .is_v6 = true});
  const Bytes bytes = TcpAddress{.cookie = 1, .port = 4711, .addresses = many}.to_bytes();
  EXPECT_EQ(bytes.size(), kMaxNetAddressBytes);
  EXPECT_TRUE(TcpAddress::from_bytes(bytes));
}

TEST(TcpAddresses, RoundTripThroughBytes) {
  TcpAddress address{.cookie = 0x0123456789abcdef,
                     .port = 4711,
                     .addresses = {{.bytes = {10, 1, 2, 3}}, {.bytes = {0xfd, 1}, .is_v6 = true}}};
  const Bytes bytes = address.to_bytes();
  EXPECT_EQ(bytes.size(), 12u + 5 + 17);
  const auto back = TcpAddress::from_bytes(bytes);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->cookie, address.cookie);
  EXPECT_EQ(back->addresses, address.addresses);
  EXPECT_EQ(back->text(), "10.1.2.3, fd01:: port 4711");
  for (std::size_t length = 0; length < bytes.size(); ++length)
    EXPECT_FALSE(TcpAddress::from_bytes(ConstSpan(bytes).first(length))) << length;
}

TEST(TcpAddresses, UnknownInterfaceNameIsIgnored) {
  EXPECT_EQ(local_addresses("mlx5_0"), local_addresses(""));
  EXPECT_THAT(local_addresses("127.0.0.1"), ElementsAre(IpAddress{.bytes = {127, 0, 0, 1}}));
}

TEST(TcpAddresses, UnknownInterfaceIsAnErrorWithoutFabric) {
  EXPECT_THAT(make_net({.interface = "nope0"}).error().text(),
              AllOf(HasSubstr("INTERSESSION_INTERFACE=nope0 is no interface or address"),
                    HasSubstr("lo 127.0.0.1")));
  EXPECT_TRUE(make_net({.interface = "127.0.0."}));
  EXPECT_TRUE(make_net({.interface = "nope0", .open_fabric = [] {
                          return FabricResult(base::Error(base::ErrorClass::other, ""));
                        }}));
}

}  // namespace
}  // namespace shim::transport::testing
