// Drives a CompiledModel by hand: one sequence at a time, blocks in a scrambled order.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "runtime/compiled_model.h"

namespace moxie::runtime {

inline config::EngineConfig TestEngineConfig(std::string compute) {
  config::EngineConfig c;
  c.compute = std::move(compute);
  c.kv_cache_dtype = "auto";
  c.block_size = 16;
  c.max_num_batched_tokens = 1024;
  c.max_num_seqs = 64;
  c.max_model_len = std::nullopt;
  c.threads = 2;
  c.memory_utilization = 0.9;
  return c;
}

// Plans and loads; fails the test and returns null on an error.
inline std::unique_ptr<CompiledModel> LoadModel(const std::filesystem::path& directory,
                                                const config::EngineConfig& engine,
                                                int64_t kv_bytes) {
  auto load = [&]() -> Result<std::unique_ptr<CompiledModel>> {
    MOXIE_ASSIGN_OR_RETURN(auto config, config::LoadModelConfig(directory));
    MOXIE_ASSIGN_OR_RETURN(ModelPlan plan, PlanModel(config, engine));
    MOXIE_RETURN_IF_ERROR(SizeKvCache(engine, kv_bytes, plan));
    MOXIE_ASSIGN_OR_RETURN(auto checkpoint, weights::Checkpoint::Open(directory));
    return CompiledModel::Load(std::move(plan), checkpoint, nullptr);
  };
  auto model = load();
  EXPECT_TRUE(model.ok()) << model.status().message();
  return model.ok() ? *std::move(model) : nullptr;
}

// One sequence in a model of its own.
class Sequence {
 public:
  explicit Sequence(CompiledModel& model)
      : model_(model), blocks_(static_cast<size_t>(model.limits().table_width)) {
    // Backwards, so that a kernel that ignores the table is found out.
    std::iota(blocks_.rbegin(), blocks_.rend(), 0);
  }

  // Feeds tokens; returns the logits of the last `rows` of them.
  std::vector<std::vector<float>> Feed(std::span<const int32_t> ids, int64_t rows) {
    StepInputs& in = model_.inputs();
    const int64_t n = static_cast<int64_t>(ids.size()), b = model_.limits().block_tokens;
    in.tokens = n;
    in.seqs = 1;
    in.rows = rows;
    for (int64_t i = 0; i < n; ++i) {
      const int64_t position = length_ + i;
      const size_t k = static_cast<size_t>(i);
      in.ids[k] = ids[k];
      in.positions[k] = static_cast<int32_t>(position);
      in.slots[k] = blocks_[static_cast<size_t>(position / b)] * b + position % b;
    }
    in.query_start[0] = 0;
    in.query_start[1] = static_cast<int32_t>(n);
    length_ += n;
    in.context[0] = static_cast<int32_t>(length_);
    for (size_t i = 0; i < blocks_.size(); ++i)
      in.block_tables[i] = static_cast<int32_t>(blocks_[i]);
    for (int64_t r = 0; r < rows; ++r)
      in.logit_rows[static_cast<size_t>(r)] = static_cast<int32_t>(n - rows + r);
    auto logits = model_.Run();
    EXPECT_TRUE(logits.ok()) << logits.status().message();
    std::vector<std::vector<float>> out;
    for (int64_t r = 0; r < rows; ++r) {
      auto row = logits->row(r);
      out.emplace_back(row.begin(), row.end());
    }
    return out;
  }

 private:
  CompiledModel& model_;
  std::vector<int64_t> blocks_;
  int64_t length_ = 0;
};

}  // namespace moxie::runtime
