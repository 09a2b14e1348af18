// SPDX-License-Identifier: BSD-3-Clause
#include "pmpi_tools/timeline/recorder/file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

#include "pmpi_tools/timeline/recorder/process_facts.hpp"

namespace timeline {
namespace {

constexpr int kNone = -1;
constexpr int kMostFiles = 1000;

constinit std::mutex opening;
/// Process that has opened the file. Stored under the mutex, after the descriptor (release); loaded
/// without the mutex (acquire).
constinit std::atomic<pid_t> owner{0};
constinit std::atomic<int> descriptor{kNone};

void give_up(const std::string& what) {
  std::fprintf(stderr, "intersession-timeline: process %d records nothing%s\n",
               static_cast<int>(::getpid()), what.c_str());
}

std::string reason(const std::string& what) { return ": " + what + ": " + std::strerror(errno); }

/// Open a new file in the folder. Its name may exist, because containers on one host may have equal
/// process ids.
int open_in(const std::string& folder) {
  if (::mkdir(folder.c_str(), 0777) != 0 && errno != EEXIST) {
    give_up(reason("cannot create the folder " + folder));
    return kNone;
  }
  const std::string stem = folder + "/" + host_name() + "." + std::to_string(::getpid());
  for (int number = 0; number < kMostFiles; ++number) {
    const std::string name = stem + (number == 0 ? "" : "." + std::to_string(number)) + ".timeline";
    const int file = ::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0666);
    if (file >= 0 || errno != EEXIST) {
      if (file < 0) give_up(reason("cannot create the file " + name));
      return file;
    }
  }
  give_up(": " + folder + " has too many files of this process id; remove old files");
  return kNone;
}

void write_all(int file, const std::string& line) {
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t written = ::write(file, line.data() + done, line.size() - done);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) {
      int expected = file;
      if (descriptor.compare_exchange_strong(expected, kNone))
        give_up(" from here on" + reason("cannot write"));
      return;
    }
    done += static_cast<std::size_t>(written);
  }
}

int open_file(pid_t self) {
  std::lock_guard guard(opening);
  if (owner.load(std::memory_order_relaxed) == self)
    return descriptor.load(std::memory_order_relaxed);
  const char* folder = std::getenv("INTERSESSION_TIMELINE");
  int file = kNone;
  if (folder == nullptr || *folder == '\0')
    give_up(": INTERSESSION_TIMELINE is not set to a folder");
  else
    file = open_in(folder);
  descriptor.store(file, std::memory_order_relaxed);
  if (file != kNone) write_all(file, describe_process());
  owner.store(self, std::memory_order_release);
  return file;
}

}  // namespace

void write_line(const std::string& line) {
  const pid_t self = ::getpid();
  const int file = owner.load(std::memory_order_acquire) == self
                       ? descriptor.load(std::memory_order_relaxed)
                       : open_file(self);
  if (file != kNone) write_all(file, line);
}

bool has_file() {
  return owner.load(std::memory_order_acquire) == ::getpid() &&
         descriptor.load(std::memory_order_relaxed) != kNone;
}

}  // namespace timeline
