// SPDX-License-Identifier: BSD-3-Clause
#include "shim/info/report.hpp"

#include <gmock/gmock.h>

#include <array>

namespace shim::info {
namespace {

Section one(const std::string& label, const std::string& text) {
  Section section{"title", {}};
  section.add(label, text);
  return section;
}

std::string text_of_one(const std::string& label, const std::string& text) {
  const std::array sections = {one(label, text)};
  return text_of(sections);
}

TEST(Report, TextsOfASectionStartInOneColumn) {
  Section section{"nodes", {}};
  section.add("node0:", "0-3");
  section.add("node10:", "4-7");
  const std::array sections = {section, one("a", "b")};
  EXPECT_EQ(text_of(sections),
            "nodes\n"
            "  node0:   0-3\n"
            "  node10:  4-7\n"
            "\n"
            "title\n"
            "  a  b\n");
}

TEST(Report, LongTextIsFoldedAtBlanks) {
  const std::string word(29, 'w');
  EXPECT_EQ(text_of_one("label", word + " " + word + " " + word + " " + word),
            "title\n  label  " + word + " " + word + " " + word + "\n         " + word + "\n");
}

TEST(Report, LineMayUseTheLastColumn) {
  const std::string word(kColumns - 9 - 2, 'w');
  EXPECT_EQ(text_of_one("label", word + " x"), "title\n  label  " + word + " x\n");
  EXPECT_EQ(text_of_one("label", word + " xx"), "title\n  label  " + word + "\n         xx\n");
}

TEST(Report, TextWithoutBlanksIsNotFolded) {
  const std::string path = "/" + std::string(200, 'p');
  EXPECT_EQ(text_of_one("file", path), "title\n  file  " + path + "\n");
  EXPECT_EQ(text_of_one("file", "at " + path), "title\n  file  at\n        " + path + "\n");
}

TEST(Report, BlanksInsideALineAreKept) {
  EXPECT_EQ(text_of_one("a", "default      7"), "title\n  a  default      7\n");
}

TEST(Report, CharactersOfSeveralBytesCountOnce) {
  Section section{"t", {}};
  section.add("é", "1");
  section.add("ab", "2");
  const std::array sections = {section};
  EXPECT_EQ(text_of(sections), "t\n  é   1\n  ab  2\n");
}

TEST(Report, EmptyTextIsOneLine) { EXPECT_EQ(text_of_one("a", ""), "title\n  a  \n"); }

TEST(Report, ConsecutiveRanksAreMerged) {
  EXPECT_EQ(ranks_text(std::array<std::uint32_t, 4>{0, 1, 2, 3}), "0-3");
  EXPECT_EQ(ranks_text(std::array<std::uint32_t, 1>{7}), "7");
  EXPECT_EQ(ranks_text(std::array<std::uint32_t, 5>{0, 1, 2, 7, 9}), "0-2, 7, 9");
  EXPECT_EQ(ranks_text({}), "");
}

TEST(Report, FirstLineHasNoControlCharacters) {
  EXPECT_EQ(first_line("Version:\t4.0\nmore"), "Version: 4.0");
  EXPECT_EQ(first_line("a\x1b[1mb\r\n"), "a [1mb");
  EXPECT_EQ(first_line(""), "");
}

}  // namespace
}  // namespace shim::info
