#include "cli/plan.h"

#include <cstdio>

#include "base/json.h"
#include "cli/exit.h"
#include "cli/startup.h"

namespace moxie::cli {
namespace {

std::string Summary(const runtime::ModelPlan& model) {
  const runtime::StepLimits& limits = model.limits;
  return StrCat("model            ", model.model.architecture, ", ", model.model.num_layers,
                " layers\n", "max_model_len    ", model.max_model_len, " tokens\n",
                "largest step     ", limits.max_tokens, " tokens of at most ", limits.max_seqs,
                " sequences\n", "KV cache         ", limits.num_blocks, " blocks of ",
                limits.block_tokens, " tokens, ", limits.num_blocks / limits.table_width,
                " sequences of full length\n");
}

Status PrintPlan(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(StartPlan plan, PlanStart(line.engine));
  const std::string text =
      line.json ? PlanJson(plan.memory) : Summary(plan.model) + plan.memory.Table(true);
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

Json LimitJson(const memory::Limit& limit) {
  return limit.exists() ? Json(limit.bytes) : Json(nullptr);
}

}  // namespace

std::string PlanJson(const memory::MemoryPlan& plan) {
  JsonArray footprints;
  for (const memory::Footprint& term : plan.footprints()) {
    footprints.push_back(JsonObject{{"owner", term.owner},
                                    {"name", term.name},
                                    {"pool", term.pool},
                                    {"bytes", term.bytes},
                                    {"address_space", term.address_space()},
                                    {"kind", memory::Name(term.kind)},
                                    {"formula", term.formula}});
  }
  const memory::Budget& budget = plan.budget();
  JsonObject line{{"budget_bytes", budget.bytes()},
                  {"limit_bytes", budget.memory.bytes},
                  {"limit_source", budget.memory.source},
                  {"utilization", budget.utilization},
                  {"address_space_limit_bytes", LimitJson(budget.address_space)},
                  {"resident_bytes", plan.resident()},
                  {"address_space_bytes", plan.address_space()},
                  {"left_bytes", plan.left()},
                  {"footprints", std::move(footprints)}};
  return DumpJson(line) + "\n";
}

int Plan(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kPlan, args, PrintPlan);
}

}  // namespace moxie::cli
