#include "cli/nearest_fit.h"

#include <algorithm>
#include <cstdio>
#include <functional>

#include "ir/spec.h"

namespace moxie::cli {
namespace {

using config::EngineConfig;

bool Fits(const EngineConfig& config, const StartFacts& facts) {
  return PlanFrom(config, facts).ok();
}

// A setting with a number to search over.
struct Knob {
  const char* flag;
  void (*set)(EngineConfig& config, int64_t value);
  int64_t (*get)(const EngineConfig& config, const StartFacts& facts);
  int64_t (*least)(const EngineConfig& config);
  int64_t (*most)(const EngineConfig& config, const StartFacts& facts);  // beyond: no use, no sense
};

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
int64_t One(const EngineConfig&) { return 1; }
int64_t Positions(const EngineConfig&, const StartFacts& facts) {
  return config::MaxPositions(facts.model);
}

constexpr Knob kLength = {"--max-model-len",
                          [](EngineConfig& c, int64_t v) { c.max_model_len = v; },
                          [](const EngineConfig& c, const StartFacts& facts) {
                            return c.max_model_len.value_or(config::MaxPositions(facts.model));
                          },
                          One, Positions};

constexpr Knob kKnobs[] = {
    kLength,
    {"--max-num-seqs", [](EngineConfig& c, int64_t v) { c.max_num_seqs = v; },
     [](const EngineConfig& c, const StartFacts&) { return c.max_num_seqs; }, One,
     [](const EngineConfig& c, const StartFacts&) {
       return std::min<int64_t>(c.max_num_batched_tokens, 65536);
     }},
    {"--max-num-batched-tokens", [](EngineConfig& c, int64_t v) { c.max_num_batched_tokens = v; },
     [](const EngineConfig& c, const StartFacts&) { return c.max_num_batched_tokens; },
     [](const EngineConfig& c) { return c.max_num_seqs; },
     [](const EngineConfig&, const StartFacts&) { return int64_t{1} << 20; }},
};

// More blocks than all sequences can use are of no use.
constexpr Knob kBlocks = {
    "--num-gpu-blocks-override",
    [](EngineConfig& c, int64_t v) {
      c.num_blocks_override = v;
      c.kv_cache_bytes.reset();
    },
    nullptr,
    [](const EngineConfig& c) { return CeilDiv(c.max_model_len.value_or(1), c.block_size); },
    [](const EngineConfig& c, const StartFacts& facts) {
      const int64_t length = c.max_model_len.value_or(config::MaxPositions(facts.model));
      return c.max_num_seqs * CeilDiv(length, c.block_size);
    }};

EngineConfig With(EngineConfig config, const Knob& knob, int64_t value) {
  knob.set(config, value);
  return config;
}

// The largest value in [least, most] that fits: its successor, where there is one, does not.
std::optional<int64_t> Largest(const EngineConfig& config, const StartFacts& facts,
                               const Knob& knob, int64_t least, int64_t most) {
  if (most < least || !Fits(With(config, knob, least), facts)) return std::nullopt;
  if (Fits(With(config, knob, most), facts)) return most;
  int64_t fits = least, over = most;
  while (over - fits > 1) {
    const int64_t middle = fits + (over - fits) / 2;
    (Fits(With(config, knob, middle), facts) ? fits : over) = middle;
  }
  return fits;
}

class Search {
 public:
  Search(const EngineConfig& config, const StartFacts& facts) : config_(config), facts_(facts) {}

  std::vector<std::string> Run() {
    for (const Knob& knob : kKnobs) {
      const int64_t now = knob.get(config_, facts_);
      auto value = Largest(config_, facts_, knob, knob.least(config_), now - 1);
      if (value) found_.push_back(StrCat(knob.flag, " ", *value));
    }
    TryKvType();
    TryKvSize();
    TryUtilization();
    if (found_.empty()) TryTogether();
    return std::move(found_);
  }

 private:
  void Offer(const EngineConfig& config, std::string flags) {
    if (Fits(config, facts_)) found_.push_back(std::move(flags));
  }

  void TryKvType() {
    EngineConfig config = config_;
    config.kv_cache_dtype = "bfloat16";
    Offer(config, "--kv-cache-dtype bfloat16");
  }

  // A KV cache of the operator's size: exactly one longest sequence, be that more or less.
  void TryKvSize() {
    auto model = runtime::PlanModel(facts_.model, config_);
    if (!model.ok()) return;
    const int64_t blocks = model->limits.table_width;
    const int64_t bytes = blocks * ir::BytesPerBlock(model->graph.states[0]);
    EngineConfig config = config_;
    if (config.num_blocks_override) {
      config.num_blocks_override = blocks;
      Offer(config, StrCat("--num-gpu-blocks-override ", blocks));
    } else if (config.kv_cache_bytes) {
      config.kv_cache_bytes = bytes;
      Offer(config, StrCat("--kv-cache-memory-bytes ", bytes));
    }
  }

  // The smallest whole percentage above the present one.
  void TryUtilization() {
    StartFacts facts = facts_;
    auto fits = [&](int percent) {
      facts.budget.utilization = percent / 100.0;
      return Fits(config_, facts);
    };
    int over = static_cast<int>(facts_.budget.utilization * 100), enough = 100;
    if (over >= enough || !fits(enough)) return;
    while (enough - over > 1) {
      const int middle = (over + enough) / 2;
      (fits(middle) ? enough : over) = middle;
    }
    char text[64];
    std::snprintf(text, sizeof text, "--gpu-memory-utilization %.2f", enough / 100.0);
    found_.push_back(text);
  }

  // Steps and sequences down together, a factor of two at a time, then the longest length.
  void TryTogether() {
    EngineConfig config = config_;
    config.num_blocks_override.reset();
    config.kv_cache_bytes.reset();
    while (config.max_num_batched_tokens > 1) {
      config.max_num_batched_tokens = std::max<int64_t>(config.max_num_batched_tokens / 2, 1);
      config.max_num_seqs =
          std::min(std::max<int64_t>(config.max_num_seqs / 2, 1), config.max_num_batched_tokens);
      auto length = Largest(config, facts_, kLength, 1, kLength.get(config_, facts_));
      if (!length) continue;
      found_.push_back(StrCat("--max-num-batched-tokens ", config.max_num_batched_tokens,
                              " --max-num-seqs ", config.max_num_seqs, " --max-model-len ",
                              *length));
      return;
    }
  }

  const EngineConfig& config_;
  const StartFacts& facts_;
  std::vector<std::string> found_;
};

}  // namespace

Result<EngineConfig> ResolveLength(const EngineConfig& config, const StartFacts& facts) {
  if (config.max_model_len != config::kAutoLength) return config;
  auto length = Largest(config, facts, kLength, 1, config::MaxPositions(facts.model));
  return With(config, kLength, length.value_or(1));  // at 1 the planner says why nothing fits
}

std::vector<std::string> NearestFits(const EngineConfig& config, const StartFacts& facts) {
  return Search(config, facts).Run();
}

std::string NearestFitsText(const EngineConfig& config, const StartFacts& facts) {
  const std::vector<std::string> found = NearestFits(config, facts);
  if (found.empty())
    return "no length, batch, number of sequences or type of KV cache makes it fit";
  std::string text = "nearest settings that fit:";
  for (const std::string& flags : found) text += StrCat(" [", flags, "]");
  return text;
}

std::vector<LargestFit> LargestFits(const EngineConfig& asked, const StartFacts& facts) {
  EngineConfig config = asked;
  if (!config.max_model_len) config.max_model_len = config::MaxPositions(facts.model);
  std::vector<LargestFit> out;
  auto add = [&](const Knob& knob) {
    const int64_t most = knob.most(config, facts);
    auto value = Largest(config, facts, knob, knob.least(config), most);
    out.push_back({knob.flag, value, value == most});
  };
  for (const Knob& knob : kKnobs) add(knob);
  add(kBlocks);
  return out;
}

std::vector<WhatIf> WhatIfs(const EngineConfig& config, const StartFacts& facts) {
  std::vector<WhatIf> out;
  auto add = [&](const EngineConfig& other, std::string flags) {
    auto plan = PlanFrom(other, facts);
    if (!plan.ok()) return;
    const memory::MemoryPlan& memory = plan->memory;
    out.push_back({std::move(flags), plan->model.assignment.arena_bytes,
                   memory.resident() - memory.OwnerBytes("kv_cache")});
  };
  for (const Knob& knob : kKnobs) {
    const int64_t half = knob.get(config, facts) / 2;
    if (half < knob.least(config)) continue;
    add(With(config, knob, half), StrCat(knob.flag, " ", half));
  }
  if (config.max_logprobs > 0) {
    EngineConfig fewer = config;
    fewer.max_logprobs = 0;
    add(fewer, "--max-logprobs 0");
  }
  EngineConfig narrow = config;
  narrow.compute = "bf16";
  if (config.compute != narrow.compute) add(narrow, "--compute bf16");
  return out;
}

}  // namespace moxie::cli
