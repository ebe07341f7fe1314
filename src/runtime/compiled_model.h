// CompiledModel: a planned model in memory, ready to run steps.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string_view>

#include "backend/cpu/executor.h"
#include "memory/arena.h"
#include "runtime/model_plan.h"
#include "runtime/step.h"
#include "weights/checkpoint.h"

namespace moxie::runtime {

class CompiledModel final : public StepRunner {
 public:
  // Maps the plan's arenas, loads the weights, links the program. REQUIRES: the KV cache is sized.
  // The load plan is made and checked before anything is mapped.
  static Result<std::unique_ptr<CompiledModel>> Load(ModelPlan plan,
                                                     const weights::Checkpoint& checkpoint,
                                                     const weights::ProgressFn& progress);

  const StepLimits& limits() const override { return plan_.limits; }
  StepInputs& inputs() override { return inputs_; }
  Result<LogitsView> Run() override;

  const ModelPlan& plan() const { return plan_; }

  // What was mapped, by owner, read off the arenas: to hold against the plan's reserved terms.
  struct Mapped {
    std::string_view owner;
    int64_t bytes;
  };
  std::array<Mapped, 4> mapped() const;

 private:
  explicit CompiledModel(ModelPlan plan) : plan_(std::move(plan)), pool_(plan_.threads) {}
  Status MapArenas();
  Status Link();

  ModelPlan plan_;
  ThreadPool pool_;
  memory::Arena weights_, kv_, temporaries_, step_;
  StepInputs inputs_;
  std::unique_ptr<cpu::Executor> executor_;
};

}  // namespace moxie::runtime
