#include "cli/render.h"

#include <cstdio>
#include <optional>

#include "base/file.h"
#include "cli/exit.h"
#include "text/chat_template.h"

namespace moxie::cli {
namespace {

constexpr size_t kMaxInput = size_t{64} << 20;

constexpr std::string_view kHelp =
    R"(usage: moxie render --tokenizer DIR [options] [MESSAGES.json | -]

Renders a chat with the template of the model directory DIR and prints the prompt. The file (or standard
input) holds a list of messages, or a chat request: {"messages", "tools", "documents",
"chat_template_kwargs", "add_generation_prompt", "continue_final_message"}.

  --tokenizer DIR, --model DIR   where the template and the special tokens are
  --chat-template FILE_OR_TEXT   a template to use instead
  --trust-content                special tokens and marks spelled in messages count
  --json                         print [{"text", "from_template"}]: what the template wrote, and what is data
)";

struct RenderArgs {
  std::string dir, chat_template, input = "-";
  bool trust_content = false, json = false, help = false;
};

Result<RenderArgs> ParseArgs(std::span<const std::string> args) {
  RenderArgs out;
  std::optional<std::string> input;
  for (size_t i = 0; i < args.size(); ++i) {
    auto value = [&](std::string& to) {
      if (i + 1 == args.size()) return InvalidArgument(args[i], " needs a value");
      to = args[++i];
      return OkStatus();
    };
    const std::string& arg = args[i];
    if (arg == "--tokenizer" || arg == "--model") {
      MOXIE_RETURN_IF_ERROR(value(out.dir));
    } else if (arg == "--chat-template") {
      MOXIE_RETURN_IF_ERROR(value(out.chat_template));
    } else if (arg == "--trust-content") {
      out.trust_content = true;
    } else if (arg == "--json") {
      out.json = true;
    } else if (arg == "--help" || arg == "-h") {
      out.help = true;
    } else if ((arg == "-" || !arg.starts_with('-')) && !input) {
      input = arg;
    } else {
      return InvalidArgument("unknown argument \"", arg, "\"; see `moxie render --help`");
    }
  }
  if (input) out.input = *input;
  if (out.dir.empty() && out.chat_template.empty() && !out.help) {
    return InvalidArgument("--tokenizer DIR (or --chat-template) is required");
  }
  return out;
}

Result<std::string> ReadInput(const std::string& input) {
  if (input != "-") return ReadFile(input, kMaxInput);
  std::string text;
  char buffer[1 << 16];
  while (size_t got = std::fread(buffer, 1, sizeof buffer, stdin)) {
    text.append(buffer, got);
    if (text.size() > kMaxInput) {
      return InvalidArgument("standard input has more than ", kMaxInput, " bytes");
    }
  }
  return text;
}

Result<text::ChatTemplate> LoadTemplate(const RenderArgs& args) {
  text::ChatTemplateOptions options;
  options.trust_content = args.trust_content;
  if (args.chat_template.empty()) return text::ChatTemplate::Load(args.dir, options);
  text::ChatTemplate::SpecialTokens tokens;
  if (!args.dir.empty()) {
    MOXIE_ASSIGN_OR_RETURN(tokens, text::ChatTemplate::LoadSpecialTokens(args.dir));
  }
  return text::ChatTemplate::FromArgument(args.chat_template, tokens, options);
}

Status ReadFlag(const JsonObject& body, std::string_view name, bool& flag) {
  const Json* json = body.if_contains(name);
  if (json == nullptr || json->is_null()) return OkStatus();
  if (!json->is_bool()) return InvalidArgument(name, ": expected true or false");
  flag = json->get_bool();
  return OkStatus();
}

Result<text::ChatPrompt> RenderBody(const text::ChatTemplate& chat, const Json& json) {
  text::ChatRequest request;
  if (!json.is_object()) {
    request.messages = &json;
    return chat.Render(request);
  }
  const JsonObject& body = json.get_object();
  request.messages = body.if_contains("messages");
  request.tools = body.if_contains("tools");
  request.documents = body.if_contains("documents");
  request.kwargs = body.if_contains("chat_template_kwargs");
  MOXIE_RETURN_IF_ERROR(ReadFlag(body, "continue_final_message", request.continue_final_message));
  request.add_generation_prompt = !request.continue_final_message;
  MOXIE_RETURN_IF_ERROR(ReadFlag(body, "add_generation_prompt", request.add_generation_prompt));
  return chat.Render(request);
}

Status RunRender(const RenderArgs& args) {
  MOXIE_ASSIGN_OR_RETURN(text::ChatTemplate chat, LoadTemplate(args));
  MOXIE_ASSIGN_OR_RETURN(std::string input, ReadInput(args.input));
  auto json = ParseJson(input);
  if (!json.ok()) return std::move(json).status().WithContext(args.input);
  MOXIE_ASSIGN_OR_RETURN(text::ChatPrompt prompt, RenderBody(chat, *json));
  if (!args.json) {
    std::string text = prompt.Text();
    std::fwrite(text.data(), 1, text.size(), stdout);
    return OkStatus();
  }
  JsonArray segments;
  for (const text::ChatSegment& segment : prompt.segments) {
    segments.push_back(
        JsonObject{{"text", segment.text}, {"from_template", segment.from_template}});
  }
  std::fputs((DumpJson(segments) + "\n").c_str(), stdout);
  return OkStatus();
}

}  // namespace

int Render(std::span<const std::string> args) {
  auto parsed = ParseArgs(args);
  if (!parsed.ok()) return Fail(parsed.status(), kUsage);
  if (parsed->help) {
    std::fwrite(kHelp.data(), 1, kHelp.size(), stdout);
    return kOk;
  }
  Status status = RunRender(*parsed);
  return status.ok() ? kOk : Fail(status);
}

}  // namespace moxie::cli
