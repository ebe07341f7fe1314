#include "cli/bench.h"

#include <cstdio>
#include <vector>

#include "cli/bench_report.h"
#include "cli/bench_run.h"
#include "cli/exit.h"
#include "cli/startup.h"
#include "weights/load_plan.h"

namespace moxie::cli {
namespace {

int64_t Parameters(const runtime::ModelPlan& plan) {
  int64_t total = 0;
  for (const weights::WeightPlacement& weight : plan.placements) {
    int64_t elements = weight.count;
    for (int64_t size : weight.sizes) elements *= size;
    total += elements;
  }
  return total;
}

BenchSubject Subject(const runtime::ModelPlan& plan, const config::EngineConfig& engine) {
  return {.model = plan.model.model_type,
          .bytes = weights::WeightArenaBytes(plan.placements),
          .parameters = Parameters(plan),
          .backend = StrCat("cpu ", engine.compute),
          .threads = plan.threads};
}

std::vector<BenchTest> Tests(const config::BenchOptions& options) {
  std::vector<BenchTest> tests;
  for (int64_t tokens : options.pp) tests.push_back({.prompt = true, .tokens = tokens});
  for (int64_t tokens : options.tg) tests.push_back({.prompt = false, .tokens = tokens});
  return tests;
}

Status RunAll(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(StartPlan plan, PlanStart(line.engine));
  MOXIE_ASSIGN_OR_RETURN(auto model, LoadModel(line.engine, std::move(plan)));
  const BenchSubject subject = Subject(model->plan(), line.engine);
  std::vector<BenchResult> results;
  for (const BenchTest& test : Tests(line.bench)) {
    MOXIE_ASSIGN_OR_RETURN(BenchResult result, RunBench(test, line.bench.repetitions, *model));
    if (line.json) std::fputs(BenchJson(subject, result).c_str(), stdout);
    std::fflush(stdout);
    results.push_back(std::move(result));
  }
  if (!line.json) std::fputs(BenchTable(subject, results).c_str(), stdout);
  return OkStatus();
}

}  // namespace

int Bench(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kBench, args, RunAll);
}

}  // namespace moxie::cli
