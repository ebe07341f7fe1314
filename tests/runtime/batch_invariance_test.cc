// A sequence's logits do not depend on its neighbours, on how its prompt is cut, or on the thread
// count: bit for bit, prefill and decode mixed in one step.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>

#include "tests/runtime/model_harness.h"

namespace moxie::runtime {
namespace {

// One of several sequences that share steps; its blocks are interleaved with the others'.
struct Lane {
  std::vector<int32_t> ids;  // to be fed in this order
  std::vector<int64_t> blocks;
  int64_t done = 0;
  std::vector<std::vector<float>> logits;  // after each step that fed it
  std::vector<int64_t> lengths;            // tokens fed when those logits were made
};

// Feeds `take[i]` more tokens of each lane in one step.
void Step(CompiledModel& model, std::vector<Lane>& lanes, const std::vector<int64_t>& take) {
  StepInputs& in = model.inputs();
  const StepLimits& limits = model.limits();
  in.tokens = in.seqs = in.rows = 0;
  in.query_start[0] = 0;
  std::vector<Lane*> fed;
  for (size_t i = 0; i < lanes.size(); ++i) {
    Lane& lane = lanes[i];
    if (take[i] == 0) continue;
    for (int64_t k = 0; k < take[i]; ++k, ++lane.done) {
      const size_t row = static_cast<size_t>(in.tokens++);
      in.ids[row] = lane.ids[static_cast<size_t>(lane.done)];
      in.positions[row] = static_cast<int32_t>(lane.done);
      in.slots[row] =
          lane.blocks[static_cast<size_t>(lane.done / limits.block_tokens)] * limits.block_tokens +
          lane.done % limits.block_tokens;
    }
    const size_t s = static_cast<size_t>(in.seqs++);
    in.query_start[s + 1] = static_cast<int32_t>(in.tokens);
    in.context[s] = static_cast<int32_t>(lane.done);
    for (size_t b = 0; b < lane.blocks.size(); ++b) {
      in.block_tables[s * static_cast<size_t>(limits.table_width) + b] =
          static_cast<int32_t>(lane.blocks[b]);
    }
    in.logit_rows[static_cast<size_t>(in.rows++)] = static_cast<int32_t>(in.tokens - 1);
    fed.push_back(&lane);
  }
  auto logits = model.Run();
  ASSERT_TRUE(logits.ok()) << logits.status().message();
  for (size_t i = 0; i < fed.size(); ++i) {
    auto row = logits->row(static_cast<int64_t>(i));
    fed[i]->logits.emplace_back(row.begin(), row.end());
    fed[i]->lengths.push_back(fed[i]->done);
  }
}

class BatchInvariance : public testing::TestWithParam<std::tuple<std::string, std::string>> {};

TEST_P(BatchInvariance, MixedStepsEqualSoloStepsBitForBit) {
  const auto& [name, compute] = GetParam();
  std::mt19937 rng(11);
  std::vector<std::vector<int32_t>> prompts;
  for (int i = 0; i < 6; ++i) {
    std::vector<int32_t> ids(20 + rng() % 200);
    for (int32_t& id : ids) id = static_cast<int32_t>(3 + rng() % 250);
    prompts.push_back(std::move(ids));
  }
  // Logits after every prefix, one token a step, alone.
  std::vector<std::vector<std::vector<float>>> solo;
  for (int threads : {1, 2, 3, 7}) {
    config::EngineConfig engine = TestEngineConfig(compute);
    engine.threads = threads;
    engine.max_model_len = 256;
    auto model = LoadModel(std::filesystem::path(MOXIE_TEST_DATA) / "tiny" / name, engine,
                           int64_t{64} << 20);
    ASSERT_NE(model, nullptr);
    if (solo.empty()) {
      for (const auto& ids : prompts) {
        Sequence sequence(*model);
        auto& rows = solo.emplace_back();
        for (int32_t id : ids) rows.push_back(sequence.Feed({&id, 1}, 1)[0]);
      }
    }
    std::vector<Lane> lanes(prompts.size());
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i].ids = prompts[i];
      for (int64_t b = 0; b < 16; ++b)
        lanes[i].blocks.push_back(b * static_cast<int64_t>(lanes.size()) + static_cast<int64_t>(i));
    }
    auto left = [](const Lane& lane) { return static_cast<int64_t>(lane.ids.size()) - lane.done; };
    while (std::any_of(lanes.begin(), lanes.end(), [&](const Lane& l) { return left(l) > 0; })) {
      std::vector<int64_t> take;
      for (const Lane& lane : lanes) {
        const int64_t sizes[] = {0, 1, 1, 5, 17, 64};
        take.push_back(std::min<int64_t>(left(lane), sizes[rng() % 6]));
      }
      Step(*model, lanes, take);
    }
    for (size_t i = 0; i < lanes.size(); ++i) {
      for (size_t s = 0; s < lanes[i].logits.size(); ++s) {
        const auto& want = solo[i][static_cast<size_t>(lanes[i].lengths[s] - 1)];
        ASSERT_EQ(std::memcmp(want.data(), lanes[i].logits[s].data(), want.size() * sizeof(float)),
                  0)
            << "threads " << threads << ", sequence " << i << ", after " << lanes[i].lengths[s]
            << " tokens";
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Models, BatchInvariance,
                         testing::Combine(testing::Values("llama", "mistral-swa", "mixtral",
                                                          "mixtral-tp8"),
                                          testing::Values("f32", "bf16")),
                         [](const auto& info) {
                           std::string name =
                               std::get<0>(info.param) + "_" + std::get<1>(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

}  // namespace
}  // namespace moxie::runtime
