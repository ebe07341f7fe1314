#include "cli/serve.h"

#include <chrono>
#include <cstdio>
#include <ctime>
#include <utility>

#include "api/served_model.h"
#include "base/json.h"
#include "cli/exit.h"
#include "cli/startup.h"
#include "server/server.h"
#include "text/chat_template.h"

namespace moxie::cli {
namespace {

// --chat-template, else the one beside the tokenizer; None when there is none: then chat is
// refused.
Result<text::ChatTemplate> LoadChatTemplate(const config::EngineConfig& config) {
  text::ChatTemplateOptions options;
  const std::string& format = config.chat_template_content_format;
  if (format == "string") options.content_format = text::ContentFormat::kString;
  if (format == "openai") options.content_format = text::ContentFormat::kParts;
  if (!config.default_chat_template_kwargs.is_object()) {
    return InvalidArgument("--default-chat-template-kwargs: expected an object, got ",
                           JsonTypeName(config.default_chat_template_kwargs));
  }
  options.default_kwargs = config.default_chat_template_kwargs.get_object();
  options.trust_content = config.trust_content;
  const std::string& dir = config.tokenizer.empty() ? config.model : config.tokenizer;
  MOXIE_ASSIGN_OR_RETURN(auto tokens, text::ChatTemplate::LoadSpecialTokens(dir));
  if (!config.chat_template.empty()) {
    return text::ChatTemplate::FromArgument(config.chat_template, tokens, options);
  }
  auto loaded = text::ChatTemplate::Load(dir, options);
  if (loaded.code() == StatusCode::kNotFound) return text::ChatTemplate::None(tokens, options);
  return loaded;
}

api::ServedModel Served(const config::EngineConfig& config, const Started& started,
                        const text::ChatTemplate& chat_template) {
  api::ServedModel served;
  served.names = config.served_model_names;
  if (served.names.empty()) served.names.push_back(config.model);
  served.root = config.model;
  served.created = static_cast<int64_t>(std::time(nullptr));
  served.max_model_len = started.model->plan().max_model_len;
  served.defaults = api::DefaultSampling(started.model->plan().model);
  served.engine = started.engine.get();
  served.tokenizer = started.tokenizer.get();
  served.chat_template = &chat_template;
  served.trust_request_template = config.trust_request_chat_template;
  served.prompt_tokens_details = config.prompt_tokens_details;
  served.force_include_usage = config.force_include_usage;
  return served;
}

void Log(const std::string& line) { std::fprintf(stderr, "moxie: %s\n", line.c_str()); }

std::string Url(const std::string& host, int port) {
  if (host.empty()) return StrCat("http://localhost:", port);
  const bool v6 = host.find(':') != std::string::npos;
  return StrCat("http://", v6 ? "[" : "", host, v6 ? "]" : "", ":", port);
}

// One line of JSON, for whoever wants to hold it against `moxie plan --json`.
void LogMapped(const runtime::CompiledModel& model) {
  JsonObject bytes;
  for (const auto& arena : model.mapped()) bytes[arena.owner] = arena.bytes;
  Log(StrCat("mapped ", DumpJson(bytes)));
}

// The port is opened first, so that an occupied one is found before a model is loaded; it answers
// 503 until then.
Status RunServer(const config::CommandLine& line) {
  const config::EngineConfig& config = line.engine;
  MOXIE_ASSIGN_OR_RETURN(StartPlan plan, PlanStart(config));
  Log("memory plan");
  std::fputs(plan.memory.Table().c_str(), stderr);
  MOXIE_ASSIGN_OR_RETURN(const auto chat_template, LoadChatTemplate(config));
  MOXIE_ASSIGN_OR_RETURN(auto server, server::Server::Start(plan.server));
  MOXIE_ASSIGN_OR_RETURN(Started started, LoadStart(config, std::move(plan)));
  LogMapped(*started.model);
  server->CatchSignals();  // until here they end the process at once
  const api::ServedModel served = Served(config, started, chat_template);
  const std::string name = served.names.front();
  server->Serve(served);
  Log(StrCat("serving ", name, " on ", Url(config.host, server->port())));
  server->WaitForSignal();
  Log("stopping");
  server->Stop(std::chrono::seconds(config.shutdown_timeout_s));
  server.reset();  // it refers to the engine
  return OkStatus();
}

}  // namespace

int Serve(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kServe, args, RunServer);
}

}  // namespace moxie::cli
