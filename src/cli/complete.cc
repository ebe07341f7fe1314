#include "cli/complete.h"

#include <cstdio>
#include <utility>

#include "api/served_model.h"
#include "cli/exit.h"
#include "cli/startup.h"

namespace moxie::cli {
namespace {

// The model's defaults, with what the command line says in their place.
engine::SamplingParams Sampling(const config::ModelConfig& model, const config::CommandLine& line) {
  engine::SamplingParams sampling = api::DefaultSampling(model);
  const config::CompleteOptions& options = line.complete;
  sampling.temperature = options.temperature.value_or(sampling.temperature);
  sampling.top_p = options.top_p.value_or(sampling.top_p);
  sampling.top_k = options.top_k.value_or(sampling.top_k);
  sampling.max_tokens = options.max_tokens;
  sampling.seed = line.engine.seed;
  return sampling;
}

// Prints text as it comes, to the answer's end.
Status Print(engine::TokenStream& stream) {
  while (true) {
    const engine::TokenEvent event = stream.WaitAndRead();
    std::fwrite(event.text.data(), 1, event.text.size(), stdout);
    std::fflush(stdout);
    if (event.finish == engine::FinishReason::kError) return event.error;
    if (event.finish != engine::FinishReason::kNone) break;
  }
  std::fputc('\n', stdout);
  return OkStatus();
}

Status CompletePrompt(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(StartPlan plan, PlanStart(line.engine));
  MOXIE_ASSIGN_OR_RETURN(Started started, LoadStart(line.engine, std::move(plan)));
  engine::Request request;
  request.id = "complete";
  request.sampling = Sampling(started.model->plan().model, line);
  MOXIE_ASSIGN_OR_RETURN(request.prompt_ids, started.tokenizer->Encode(line.complete.prompt));
  MOXIE_ASSIGN_OR_RETURN(auto stream, started.engine->Submit(std::move(request)));
  return Print(*stream);
}

}  // namespace

int Complete(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kComplete, args, CompletePrompt);
}

}  // namespace moxie::cli
