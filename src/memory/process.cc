#include "memory/process.h"

#include <malloc.h>
#include <pthread.h>
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>
#include <string>
#include <utility>

namespace moxie::memory {
namespace {

constexpr int64_t kPage = 4096;
constexpr int64_t kMiB = int64_t{1} << 20;

constexpr int kMallocArenas = 4;
constexpr int64_t kMallocArenaBytes = 64 * kMiB;  // HEAP_MAX_SIZE of 64-bit glibc
constexpr int64_t kHeapBase = 8 * kMiB;           // configuration, graph, tables of the libraries
constexpr int64_t kHeapSlackPercent = 15;         // of the bounded heap: headers, fragmentation

// Of each stack, what calls may touch. Kernels keep to a few KiB; parsers' depth is bounded. Where
// the system makes huge pages of everything, the first touch takes a whole one.
constexpr int64_t kTouchedStack = 256 << 10;
constexpr int64_t kHugePage = 2 * kMiB;
constexpr int64_t kKernelThread = 24 << 10;  // the kernel's own stack and descriptor of a thread
constexpr int64_t kTableBytes = 8;           // of a page table, for each page
constexpr int64_t kTableBase = kMiB;         // first and last tables of all mappings, partly used

constexpr int64_t kDefaultReceive = 131072;  // tcp_rmem, tcp_wmem of every kernel since 2.6
constexpr int64_t kDefaultSend = 16384;

// Sizes of the mappings that have a file behind them.
int64_t MappedFileBytes() {
  std::ifstream maps("/proc/self/maps");
  int64_t total = 0;
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (line.find('/') != std::string::npos &&
        std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) == 2) {
      total += static_cast<int64_t>(end - begin);
    }
  }
  return total;
}

// The second of the three numbers in such a file: what a socket begins with.
int64_t DefaultBuffer(const char* path, int64_t fallback) {
  std::ifstream file(path);
  int64_t least = 0, initial = 0;
  return file >> least >> initial ? initial : fallback;
}

bool HugePagesEverywhere() {
  std::ifstream file("/sys/kernel/mm/transparent_hugepage/enabled");
  std::string text;
  return std::getline(file, text) && text.find("[always]") != std::string::npos;
}

int64_t DefaultThreadStack() {
  pthread_attr_t attributes;
  size_t stack = 0, guard = 0;
  if (::pthread_getattr_default_np(&attributes) != 0) return 8 * kMiB + kPage;
  ::pthread_attr_getstacksize(&attributes, &stack);
  ::pthread_attr_getguardsize(&attributes, &guard);
  ::pthread_attr_destroy(&attributes);
  return static_cast<int64_t>(stack + guard);
}

Footprint Term(const char* owner, const char* name, int64_t resident, int64_t mapped,
               std::string formula) {
  Footprint term;
  term.owner = owner;
  term.name = name;
  term.bytes = resident;
  term.mapped = mapped;
  term.kind = Kind::kOverhead;
  term.formula = std::move(formula);
  return term;
}

Footprint Stacks(const ProcessFacts& facts, int64_t threads) {
  return Term("process", "stacks", threads * (facts.touched_stack + kKernelThread),
              facts.main_stack + (threads - 1) * facts.thread_stack,
              StrCat(threads, " threads x (", FormatBytes(facts.touched_stack), " touched of ",
                     FormatBytes(facts.thread_stack), " + ", FormatBytes(kKernelThread),
                     " of the kernel)"));
}

Footprint Allocator(const MemoryPlan& others) {
  int64_t bounded = 0;
  for (const Footprint& term : others.footprints()) {
    if (term.kind == Kind::kBounded) bounded += term.bytes;
  }
  const int64_t slack = kHeapBase + bounded / 100 * kHeapSlackPercent;
  return Term("process", "allocator", slack, slack + kMallocArenas * kMallocArenaBytes,
              StrCat("8 MiB + ", kHeapSlackPercent, " % of the heap's bounds; ", kMallocArenas,
                     " x 64 MiB of addresses"));
}

Footprint PageTables(const MemoryPlan& others, int64_t mapped) {
  const int64_t pages = (others.address_space() + mapped) / kPage;
  return Term(
      "kernel", "page_tables", kTableBase + pages * kTableBytes + pages * kTableBytes / 512, 0,
      StrCat(pages, " pages of addresses x ", kTableBytes, " B, their upper levels, 1 MiB"));
}

Footprint Sockets(const ProcessFacts& facts, int64_t connections) {
  return Term("kernel", "socket_buffers", connections * facts.socket_buffer, 0,
              StrCat(connections, " connections x ", FormatBytes(facts.socket_buffer),
                     ", the kernel's initial buffers"));
}

}  // namespace

void BoundMalloc() { ::mallopt(M_ARENA_MAX, kMallocArenas); }

ProcessFacts ReadProcessFacts() {
  ProcessFacts facts;
  facts.code = MappedFileBytes();
  facts.thread_stack = DefaultThreadStack();
  rlimit stack{};
  const bool bounded = ::getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur != RLIM_INFINITY;
  facts.main_stack = bounded ? static_cast<int64_t>(stack.rlim_cur) : facts.thread_stack;
  facts.touched_stack = HugePagesEverywhere() ? kHugePage : kTouchedStack;
  facts.socket_buffer = DefaultBuffer("/proc/sys/net/ipv4/tcp_rmem", kDefaultReceive) +
                        DefaultBuffer("/proc/sys/net/ipv4/tcp_wmem", kDefaultSend);
  return facts;
}

std::vector<Footprint> ProcessFootprints(const ProcessFacts& facts, const MemoryPlan& others,
                                         int64_t threads, int64_t connections) {
  std::vector<Footprint> terms;
  terms.push_back(Term("process", "code", facts.code, facts.code,
                       "mapped files of the program and its libraries"));
  terms.push_back(Stacks(facts, threads));
  terms.push_back(Allocator(others));
  int64_t mapped = 0;
  for (const Footprint& term : terms) mapped += term.address_space();
  terms.push_back(PageTables(others, mapped));
  terms.push_back(Sockets(facts, connections));
  return terms;
}

}  // namespace moxie::memory
