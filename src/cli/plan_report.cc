#include "cli/plan_report.h"

#include <array>
#include <cstdio>

#include "base/json.h"
#include "memory/plan.h"

namespace moxie::cli {
namespace {

using memory::FormatBytes;

std::string Summary(const runtime::ModelPlan& model) {
  const runtime::StepLimits& limits = model.limits;
  return StrCat("model            ", model.model.architecture, ", ", model.model.num_layers,
                " layers\n", "max_model_len    ", model.max_model_len, " tokens\n",
                "largest step     ", limits.max_tokens, " tokens of at most ", limits.max_seqs,
                " sequences\n", "KV cache         ", limits.num_blocks, " blocks of ",
                limits.block_tokens, " tokens, ", limits.num_blocks / limits.table_width,
                " sequences of full length\n");
}

Json LimitJson(const memory::Limit& limit) {
  return limit.exists() ? Json(limit.bytes) : Json(nullptr);
}

JsonArray FootprintsJson(const memory::MemoryPlan& plan) {
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
  return footprints;
}

JsonObject SettingsJson(const runtime::ModelPlan& model) {
  return {{"max_model_len", model.max_model_len},
          {"max_num_seqs", model.limits.max_seqs},
          {"max_num_batched_tokens", model.limits.max_tokens},
          {"block_size", model.limits.block_tokens},
          {"num_blocks", model.limits.num_blocks},
          {"threads", model.threads}};
}

JsonObject PeakJson(const passes::BufferAssignment& assignment) {
  JsonArray values;
  for (const std::string& value : assignment.peak_values) values.emplace_back(value);
  return {{"arena_bytes", assignment.arena_bytes},
          {"lower_bound", assignment.lower_bound},
          {"op", assignment.peak_op},
          {"values", std::move(values)}};
}

// "-129 MiB", "+2 MiB", "no change"
std::string Difference(int64_t now, int64_t then) {
  if (now == then) return "no change";
  return StrCat(then > now ? "+" : "", FormatBytes(then - now));
}

std::string Padded(std::string text, size_t width) {
  if (text.size() < width) text.append(width - text.size(), ' ');
  return text;
}

}  // namespace

std::string PlanText(const StartPlan& plan) {
  return Summary(plan.model) + plan.memory.Table(true);
}

std::string PlanJson(const StartPlan& plan) {
  const memory::Budget& budget = plan.memory.budget();
  JsonObject line{{"budget_bytes", budget.bytes()},
                  {"limit_bytes", budget.memory.bytes},
                  {"limit_source", budget.memory.source},
                  {"utilization", budget.utilization},
                  {"address_space_limit_bytes", LimitJson(budget.address_space)},
                  {"resident_bytes", plan.memory.resident()},
                  {"address_space_bytes", plan.memory.address_space()},
                  {"left_bytes", plan.memory.left()},
                  {"settings", SettingsJson(plan.model)},
                  {"peak", PeakJson(plan.model.assignment)},
                  {"footprints", FootprintsJson(plan.memory)}};
  return DumpJson(line) + "\n";
}

std::string FormulasText(const StartPlan& plan) {
  std::string text = "\nHow each term comes about:\n";
  for (const memory::Footprint& term : plan.memory.footprints()) {
    text += StrCat("  ", Padded(StrCat(term.owner, " ", term.name), 28), " ",
                   Padded(FormatBytes(term.bytes), 9), " ", memory::Name(term.kind), ": ",
                   term.formula, "\n");
  }
  return text;
}

std::string PeakText(const StartPlan& plan) {
  const passes::BufferAssignment& assignment = plan.model.assignment;
  std::string text = StrCat("\nThe step's arena has ", FormatBytes(assignment.arena_bytes),
                            "; no packing needs less than ", FormatBytes(assignment.lower_bound),
                            ", alive at ", assignment.peak_op, ":\n");
  for (const std::string& value : assignment.peak_values) text += StrCat("  ", value, "\n");
  return text;
}

std::string WhatIfText(std::span<const WhatIf> what_ifs, const StartPlan& plan) {
  const int64_t arena = plan.model.assignment.arena_bytes;
  const int64_t rest = plan.memory.resident() - plan.memory.OwnerBytes("kv_cache");
  std::string text = "With other settings, the arena and all but the KV cache would take:\n";
  for (const WhatIf& what_if : what_ifs) {
    text += StrCat("  ", Padded(what_if.flags, 34), Padded(FormatBytes(what_if.arena), 9), " (",
                   Difference(arena, what_if.arena), "), ", FormatBytes(what_if.all_but_kv), " (",
                   Difference(rest, what_if.all_but_kv), ")\n");
  }
  return text;
}

std::string FitsText(std::span<const LargestFit> fits) {
  std::string text = "largest that fits, each with the other settings as they are\n";
  for (const LargestFit& fit : fits) {
    text += StrCat("  ", Padded(fit.flag, 28), fit.value ? StrCat(*fit.value) : "none",
                   fit.value && fit.is_limit ? ", more is of no use" : "", "\n");
  }
  return text;
}

std::string FitsJson(std::span<const LargestFit> fits) {
  JsonObject line;
  for (const LargestFit& fit : fits) {
    line[fit.flag] = JsonObject{{"value", fit.value ? Json(*fit.value) : Json(nullptr)},
                                {"is_limit", fit.is_limit}};
  }
  return DumpJson(line) + "\n";
}

}  // namespace moxie::cli
