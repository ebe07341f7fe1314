#include "runtime/compiled_model.h"

#include "runtime/step_tensors.h"

namespace moxie::runtime {

using tensor::DimVar;

Result<std::unique_ptr<CompiledModel>> CompiledModel::Load(ModelPlan plan,
                                                           const weights::Checkpoint& checkpoint,
                                                           const weights::ProgressFn& progress) {
  const std::vector<std::string> ignored = models::IgnoredTensors(plan.model);
  MOXIE_ASSIGN_OR_RETURN(weights::LoadPlan load,
                         weights::MakeLoadPlan(plan.graph, plan.placements, checkpoint, ignored));
  std::unique_ptr<CompiledModel> model(new CompiledModel(std::move(plan)));
  MOXIE_RETURN_IF_ERROR(model->MapArenas());
  const auto derive = [&](const std::string& name, std::span<float> out) {
    return models::FillDerived(model->plan_.model, name, out);
  };
  MOXIE_RETURN_IF_ERROR(weights::Load(load, model->plan_.placements, model->plan_.graph, checkpoint,
                                      derive, model->weights_, model->pool_, progress));
  MOXIE_RETURN_IF_ERROR(model->Link());
  return model;
}

Status CompiledModel::MapArenas() {
  memory::Footprint weights{"weights",
                            "all",
                            "host",
                            weights::WeightArenaBytes(plan_.placements),
                            memory::Kind::kReserved,
                            "sum of the weights"};
  MOXIE_ASSIGN_OR_RETURN(weights_, memory::Arena::Map(weights));
  MOXIE_ASSIGN_OR_RETURN(kv_, memory::Arena::Map(plan_.KvFootprint()));
  MOXIE_ASSIGN_OR_RETURN(temporaries_, memory::Arena::Map(plan_.ArenaFootprint()));
  MOXIE_ASSIGN_OR_RETURN(step_, memory::Arena::Map(plan_.StepInputsFootprint()));
  inputs_ = CutStepTensors(plan_.limits, step_);
  return {};
}

std::array<CompiledModel::Mapped, 4> CompiledModel::mapped() const {
  return {{{"weights", weights_.bytes()},
           {"kv_cache", kv_.bytes()},
           {"arena", temporaries_.bytes()},
           {"step_inputs", step_.bytes()}}};
}

Status CompiledModel::Link() {
  cpu::Executor::Memory memory;
  memory.arena = temporaries_.Span(0, temporaries_.bytes());
  for (const weights::WeightPlacement& p : plan_.placements) {
    memory.weights.push_back({weights_.data() + p.offset, p.stride});
  }
  const ir::StateSpec& kv = plan_.graph.states[0];
  memory.states.push_back({kv_.data(), kv.type.Bytes(plan_.bucket)});
  memory.inputs = InputAddresses(inputs_);
  MOXIE_ASSIGN_OR_RETURN(cpu::Executor executor,
                         cpu::Executor::Link(plan_.graph, plan_.selection, plan_.assignment, memory,
                                             &pool_, plan_.guard));
  executor_ = std::make_unique<cpu::Executor>(std::move(executor));
  return {};
}

Result<LogitsView> CompiledModel::Run() {
  tensor::Extents live = plan_.bucket;
  live[DimVar::kTokens] = inputs_.tokens;
  live[DimVar::kSeqs] = inputs_.seqs;
  live[DimVar::kBounds] = inputs_.seqs + 1;
  live[DimVar::kRows] = inputs_.rows;
  executor_->Run(live);
  if (plan_.guard) MOXIE_RETURN_IF_ERROR(executor_->guard_status());
  return LogitsView{executor_->output(0).as<float>(), inputs_.rows, plan_.limits.vocab_size};
}

}  // namespace moxie::runtime
