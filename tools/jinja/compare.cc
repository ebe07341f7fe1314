// compare_templates TEMPLATE_DIR CONVERSATIONS.json REFERENCE.jsonl: renders every row of the
// reference and prints what differs.
#include <cstdio>

#include "tests/jinja/golden.h"

int main(int argc, char** argv) {
  using namespace moxie::text::jinja;
  if (argc != 4) {
    std::fprintf(stderr, "usage: %s TEMPLATE_DIR CONVERSATIONS.json REFERENCE.jsonl\n", argv[0]);
    return 2;
  }
  auto set = ReadGoldens(argv[2], argv[3]);
  if (!set.ok()) {
    std::fprintf(stderr, "%s\n", set.status().message().c_str());
    return 2;
  }
  auto differences = CompareGoldens(*set, argv[1]);
  if (!differences.ok()) {
    std::fprintf(stderr, "%s\n", differences.status().message().c_str());
    return 2;
  }
  for (const std::string& difference : *differences) std::printf("%s\n\n", difference.c_str());
  std::printf("%zu of %zu renderings differ\n", differences->size(), set->cases.size());
  return differences->empty() ? 0 : 1;
}
