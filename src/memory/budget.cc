// The limits that the system sets: physical memory, that of the NUMA nodes we are bound to, cgroups
// of both versions with all their parents, and the process's own address space.
#include "memory/budget.h"

#include <linux/mempolicy.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <filesystem>
#include <fstream>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

namespace moxie::memory {
namespace {

namespace fs = std::filesystem;

constexpr size_t kMaxBytes = size_t{64} << 10;  // of a file in /proc or /sys

// A place where limits are: how its line in /proc/self/cgroup is told, where the tree is mounted,
// and which file holds the limit.
struct CgroupTree {
  std::string_view controller;  // second field of the line; empty in version 2
  std::string_view mount;
  std::string_view file;
};
constexpr CgroupTree kTrees[] = {
    {"", "sys/fs/cgroup", "memory.max"},
    {"", "sys/fs/cgroup", "memory.high"},         // over it, a process is slowed to a crawl
    {"", "sys/fs/cgroup/unified", "memory.max"},  // beside version 1
    {"", "sys/fs/cgroup/unified", "memory.high"},
    {"memory", "sys/fs/cgroup/memory", "memory.limit_in_bytes"},
};

class Tightest {
 public:
  void Offer(int64_t bytes, std::string source) {
    if (bytes < limit_.bytes) limit_ = Limit{bytes, std::move(source)};
  }
  const Limit& limit() const { return limit_; }

 private:
  Limit limit_;
};

// The whole text, empty when there is none; files of /proc and /sys do not tell their size.
std::string ReadSystemFile(const fs::path& path) {
  std::ifstream in(path);
  std::string text(kMaxBytes, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  return text;
}

// The number at the start of `text`, blanks skipped; none for "max" or "unlimited". Version 1 of
// cgroups writes "no limit" as a number near 2^63, which is never the tightest.
std::optional<int64_t> ParseNumber(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  int64_t value = 0;
  auto [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc() || value < 0) return std::nullopt;
  return value;
}

// What follows `label` at the start of a line.
std::optional<int64_t> NumberAfter(const std::string& text, std::string_view label) {
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with(label)) return ParseNumber(std::string_view(line).substr(label.size()));
  }
  return std::nullopt;
}

// Offers the limit of the group at `path` ("/a/b") and of its parents. A container may see a path
// of its host here; groups that do not exist below the mount set no limit that we could read.
void OfferCgroup(const fs::path& root, const CgroupTree& tree, std::string_view path,
                 Tightest& tightest) {
  fs::path group = fs::path(path).relative_path().lexically_normal();
  while (true) {
    const bool outside = !group.empty() && *group.begin() == "..";
    auto limit = ParseNumber(outside ? "" : ReadSystemFile(root / tree.mount / group / tree.file));
    if (limit)
      tightest.Offer(*limit, StrCat("cgroup ", (fs::path("/") / group / tree.file).string()));
    if (group.empty()) return;
    group = group.parent_path();
  }
}

// Lines of /proc/self/cgroup are "number:controllers:path".
void OfferCgroups(const fs::path& root, Tightest& tightest) {
  std::istringstream lines(ReadSystemFile(root / "proc/self/cgroup"));
  for (std::string line; std::getline(lines, line);) {
    const size_t first = line.find(':');
    const size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    for (const CgroupTree& tree : kTrees) {
      if (controllers == tree.controller) {
        OfferCgroup(root, tree, std::string_view(line).substr(second + 1), tightest);
      }
    }
  }
}

// Numbers of "0-2,5".
std::vector<int> ParseList(std::string_view text) {
  constexpr int kMaxNodes = 1024;
  std::vector<int> out;
  std::istringstream parts{std::string(text)};
  for (std::string part; std::getline(parts, part, ',');) {
    const auto first = ParseNumber(part);
    const size_t dash = part.find('-');
    const auto last = dash == std::string::npos ? first : ParseNumber(part.substr(dash + 1));
    if (!first || !last || *last >= kMaxNodes) return {};
    for (int64_t node = *first; node <= *last; ++node) out.push_back(static_cast<int>(node));
  }
  return out;
}

// The nodes that `numactl --membind` left; empty: no such policy.
std::vector<int> BoundNodes() {
  std::array<unsigned long, 16> mask{};
  constexpr size_t kBits = 8 * sizeof(unsigned long);
  int mode = MPOL_DEFAULT;
  std::vector<int> nodes;
  if (::syscall(SYS_get_mempolicy, &mode, mask.data(), mask.size() * kBits, nullptr, 0) != 0 ||
      mode != MPOL_BIND) {
    return nodes;
  }
  for (size_t node = 0; node < mask.size() * kBits; ++node) {
    if (mask[node / kBits] >> (node % kBits) & 1) nodes.push_back(static_cast<int>(node));
  }
  return nodes;
}

// Offers the memory of the nodes we may allocate on, where those are not all of the machine's.
void OfferNodes(const fs::path& root, Tightest& tightest) {
  std::vector<int> nodes = root == "/" ? BoundNodes() : std::vector<int>();
  if (nodes.empty()) {
    std::istringstream lines(ReadSystemFile(root / "proc/self/status"));
    constexpr std::string_view kLabel = "Mems_allowed_list:";
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with(kLabel)) nodes = ParseList(line.substr(kLabel.size()));
    }
  }
  int64_t total = 0;
  std::string names;
  for (int node : nodes) {
    const fs::path meminfo = root / StrCat("sys/devices/system/node/node", node) / "meminfo";
    const auto kib = NumberAfter(ReadSystemFile(meminfo), StrCat("Node ", node, " MemTotal:"));
    if (!kib) return;  // the kernel has no NUMA, or we may not look
    total += *kib * 1024;
    names += StrCat(names.empty() ? "" : ", ", node);
  }
  if (total > 0) tightest.Offer(total, StrCat("NUMA node ", names));
}

}  // namespace

Result<Budget> DetectBudget(double utilization, const fs::path& root) {
  if (!(utilization > 0 && utilization <= 1)) {
    return InvalidArgument("memory utilization ", utilization, " is not in (0, 1]");
  }
  const fs::path meminfo = root / "proc/meminfo";
  auto physical = NumberAfter(ReadSystemFile(meminfo), "MemTotal:");
  if (!physical) return NotFound(meminfo.string(), ": has no MemTotal");
  Tightest tightest;
  tightest.Offer(*physical * 1024, "MemTotal");
  OfferNodes(root, tightest);
  OfferCgroups(root, tightest);
  Budget budget{tightest.limit(), {}, utilization};
  auto address_space = NumberAfter(ReadSystemFile(root / "proc/self/limits"), "Max address space");
  if (address_space) budget.address_space = {*address_space, "RLIMIT_AS"};
  return budget;
}

}  // namespace moxie::memory
