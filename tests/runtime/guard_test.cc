// Real graphs and kernels under the guard: the same bits, no damage; and no step allocates.
#include <gtest/gtest.h>

#include "tests/engine/allocation_counter.h"
#include "tests/runtime/model_harness.h"

namespace moxie::runtime {
namespace {

class Guard : public testing::TestWithParam<std::string> {
 protected:
  static std::unique_ptr<CompiledModel> Load(const char* compute, bool guard) {
    config::EngineConfig engine = TestEngineConfig(compute);
    engine.max_num_batched_tokens = 64;
    engine.max_num_seqs = 8;
    engine.guard_memory = guard;
    const auto dir = std::filesystem::path(MOXIE_TEST_DATA) / "tiny" / GetParam();
    return LoadModel(dir, engine, int64_t{16} << 20);
  }
  static std::vector<int32_t> Prompt(int32_t n) {
    std::vector<int32_t> ids;
    for (int32_t i = 0; i < n; ++i) ids.push_back(3 + i * 7 % 200);
    return ids;
  }
};

TEST_P(Guard, SameBitsAndNoDamage) {
  for (const char* compute : {"f32", "bf16"}) {
    auto plain = Load(compute, false), guarded = Load(compute, true);
    ASSERT_TRUE(plain && guarded);
    Sequence a(*plain), b(*guarded);
    for (int32_t n : {37, 1, 64, 1, 5}) {
      EXPECT_EQ(a.Feed(Prompt(n), 1), b.Feed(Prompt(n), 1)) << compute << " step of " << n;
    }
  }
}

TEST_P(Guard, AStepAllocatesNothing) {
  auto model = Load("bf16", false);
  ASSERT_NE(model, nullptr);
  Sequence sequence(*model);
  sequence.Feed(Prompt(64), 1);  // the inputs stand filled; the same step again
  const int64_t before = engine::Allocations();
  for (int i = 0; i < 5; ++i) ASSERT_TRUE(model->Run().ok());
  EXPECT_EQ(engine::Allocations() - before, 0);
  const Sequence another(*model);
  EXPECT_GT(engine::Allocations(), before) << "the counter counts";
}

INSTANTIATE_TEST_SUITE_P(Tiny, Guard,
                         testing::Values("llama", "llama-yarn", "llama3-rope", "mistral-swa",
                                         "mixtral", "mixtral-swa", "mixtral-tp8"),
                         [](const auto& info) {
                           std::string name = info.param;
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace moxie::runtime
