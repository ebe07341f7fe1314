// Real chat templates against jinja2's renderings. The templates belong to their makers and are
// fetched.
#include "tests/jinja/golden.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace moxie::text::jinja {
namespace {

const std::filesystem::path kData = MOXIE_TEST_DATA;

// Whether the fetched templates are there; fails, or skips when missing data is allowed.
bool HaveTemplates() {
  if (std::filesystem::exists(kData / "fetched/chat/templates")) return true;
  const char* allowed = std::getenv("MOXIE_ALLOW_MISSING_DATA");
  if (allowed != nullptr && std::string(allowed) == "1") {
    std::fprintf(stderr,
                 "SKIPPED: no tests/data/fetched/chat/templates; run tools/fetch_text_data\n");
    return false;
  }
  ADD_FAILURE() << "no tests/data/fetched/chat/templates: run tools/fetch_text_data, or set "
                   "MOXIE_ALLOW_MISSING_DATA=1 to go without";
  return false;
}

TEST(GoldenTest, RealTemplatesRenderAsJinja2DoesErrorsIncluded) {
  if (!HaveTemplates()) GTEST_SKIP() << "run tools/fetch_text_data";
  auto set = ReadGoldens(kData / "chat/conversations.json", kData / "chat/golden.jsonl");
  ASSERT_TRUE(set.ok()) << set.status().message();
  EXPECT_EQ(set->cases.size(), 990u);
  auto differences = CompareGoldens(*set, kData / "fetched/chat/templates");
  ASSERT_TRUE(differences.ok()) << differences.status().message();
  for (const std::string& difference : *differences) ADD_FAILURE() << difference;
}

}  // namespace
}  // namespace moxie::text::jinja
