#include "cli/plan.h"

#include <cstdio>
#include <fstream>

#include "cli/arena_svg.h"
#include "cli/exit.h"
#include "cli/nearest_fit.h"
#include "cli/plan_report.h"
#include "cli/startup.h"

namespace moxie::cli {
namespace {

Status WriteText(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  if (!(file << text).flush()) return Unavailable(path, ": cannot be written");
  return OkStatus();
}

// What fits is asked of settings that do not fit themselves, too.
Status PrintFits(const config::CommandLine& line, const StartFacts& facts) {
  MOXIE_ASSIGN_OR_RETURN(const auto config, ResolveLength(line.engine, facts));
  const auto fits = LargestFits(config, facts);
  std::fputs((line.json ? FitsJson(fits) : FitsText(fits)).c_str(), stdout);
  return OkStatus();
}

Status PrintPlan(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(const StartFacts facts, ReadStartFacts(line.engine));
  if (line.plan.fit) return PrintFits(line, facts);
  MOXIE_ASSIGN_OR_RETURN(const StartPlan plan, PlanStart(line.engine, facts));
  if (!line.plan.svg.empty()) {
    const std::string svg = ArenaSvg(plan.model.assignment, plan.model.model.architecture);
    MOXIE_RETURN_IF_ERROR(WriteText(line.plan.svg, svg));
  }
  std::string text = line.json ? PlanJson(plan) : PlanText(plan);
  if (line.plan.explain && !line.json) {
    MOXIE_ASSIGN_OR_RETURN(const auto config, ResolveLength(line.engine, facts));
    text += FormulasText(plan) + PeakText(plan) + WhatIfText(WhatIfs(config, facts), plan);
  }
  std::fputs(text.c_str(), stdout);
  return OkStatus();
}

}  // namespace

int Plan(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kPlan, args, PrintPlan);
}

}  // namespace moxie::cli
