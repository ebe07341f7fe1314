#include "config/flags.h"

#include <algorithm>
#include <map>
#include <utility>

#include "config/flag_help.h"
#include "config/flag_table.h"
#include "config/flag_value.h"
#include "config/flag_words.h"

namespace moxie::config {
namespace {

// vLLM's default for a server without a large GPU.
constexpr int64_t kDefaultMaxNumSeqs = 256;

// ---- JSON flags: --x '{...}' and --x.a.b 1 build one object, in the order given

// A dotted value is JSON where it parses, else text.
Json DottedValue(const std::string& word) {
  auto json = ParseJson(word);
  return json.ok() ? std::move(*json) : Json(word);
}

Status StoreAtPath(const FlagUse& use, Json& root) {
  Json* place = &root;
  for (const std::string& key : use.json_path) {
    if (place->is_null()) place->emplace_object();
    if (!place->is_object())
      return InvalidArgument(use.row->name, ": \"", key, "\" is below a value");
    place = &place->get_object()[key];
  }
  if (!use.append) {
    *place = DottedValue(use.words[0]);
    return OkStatus();
  }
  if (place->is_null()) place->emplace_array();
  if (!place->is_array()) return InvalidArgument(use.row->name, ": + appends to a list only");
  for (const std::string& word : SplitFlagWords(use.words[0], ',')) {
    place->get_array().push_back(DottedValue(word));
  }
  return OkStatus();
}

Result<FlagValue> JsonValue(const FlagUse& use, const FlagValue& before) {
  if (use.json_path.empty() && !use.append) return ParseFlagValue(*use.row, use.words);
  const Json* old = std::get_if<Json>(&before);
  Json root = old != nullptr ? *old : Json();
  MOXIE_RETURN_IF_ERROR(StoreAtPath(use, root));
  return FlagValue(std::in_place_type<Json>, std::move(root));
}

// ---- Classes

bool IsHarmless(const FlagRow& row, const FlagValue& value) {
  if (std::holds_alternative<std::monostate>(value) || value == DefaultValue(row)) return true;
  for (const std::string& word : SplitFlagWords(row.harmless, '|')) {
    auto harmless = ParseFlagValue(row, {&word, 1});
    if (harmless.ok() && *harmless == value) return true;
  }
  return false;
}

// The flag as one would type it: --no-x, --x, --x value.
std::string AsTyped(const FlagRow& row, const FlagValue& value) {
  const bool* on = std::get_if<bool>(&value);
  if (on == nullptr) return StrCat(row.name, " ", ShowFlagValue(value));
  return *on ? std::string(row.name) : StrCat("--no-", row.name.substr(2));
}

Status Apply(const FlagRow& row, const FlagValue& value, CommandLine& line) {
  if (row.set != nullptr) {
    row.set(value, line);
    return OkStatus();
  }
  if (row.flag_class == FlagClass::kIgnore) {
    line.notes.push_back(StrCat(AsTyped(row, value), " is ignored: ", row.help));
    return OkStatus();
  }
  if (row.name == "--config" || IsHarmless(row, value)) return OkStatus();
  bool maybe_later = row.flag_class == FlagClass::kMust || row.flag_class == FlagClass::kLater;
  return Unimplemented(AsTyped(row, value),
                       maybe_later ? " is not supported yet: " : " is not supported: ", row.help);
}

void ApplyDefaults(Command command, CommandLine& line) {
  for (const FlagRow& row : FlagTable()) {
    if (row.set != nullptr && row.Takes(command)) row.set(DefaultValue(row), line);
  }
}

// Parses every use; the last one of a flag counts.
Result<std::map<const FlagRow*, FlagValue>> LastValues(const FlagWords& words, CommandLine& line) {
  std::map<const FlagRow*, FlagValue> values;
  for (const FlagUse& use : words.uses) {
    if (use.removed != nullptr) {
      line.notes.push_back(StrCat(use.removed->name, " is no longer a flag: ", use.removed->note));
      continue;
    }
    MOXIE_ASSIGN_OR_RETURN(FlagValue value, use.row->type == FlagType::kJson
                                                ? JsonValue(use, values[use.row])
                                                : ParseFlagValue(*use.row, use.words));
    values[use.row] = std::move(value);
  }
  return values;
}

// ---- Checks between flags

// A tokenizer by itself is enough for what needs nothing else.
bool NeedsModel(Command command, const CommandLine& line) {
  if (command == Command::kIr) return false;
  bool text_only = command == Command::kTokenize || command == Command::kDetokenize;
  return !text_only || line.engine.tokenizer.empty();
}

Status CheckModel(bool needed, const std::map<const FlagRow*, FlagValue>& values) {
  std::string model;
  for (const auto& [row, value] : values) {
    const auto* text = std::get_if<std::string>(&value);
    if (text == nullptr || (row->name != "--model" && row->name != "model_tag")) continue;
    if (!model.empty() && model != *text) {
      return InvalidArgument("the model is given twice: \"", model, "\" and \"", *text, "\"");
    }
    model = *text;
  }
  if (model.empty() && needed)
    return InvalidArgument("no model directory given: moxie COMMAND MODEL [flags]");
  return OkStatus();
}

Status CheckRequired(Command command, const std::map<const FlagRow*, FlagValue>& values) {
  for (const FlagRow& row : FlagTable()) {
    if (!row.required || !row.Takes(command) || values.contains(&row)) continue;
    return InvalidArgument(ShownName(row), " is missing: ", row.help);
  }
  return OkStatus();
}

Status ResolveCompute(CommandLine& line) {
  std::string& compute = line.engine.compute;
  if (!compute.empty() && !line.compute_by_dtype.empty() && compute != line.compute_by_dtype) {
    return InvalidArgument("--compute ", compute,
                           " and --dtype contradict each other; give one of them");
  }
  if (compute.empty()) compute = line.compute_by_dtype.empty() ? "bf16" : line.compute_by_dtype;
  return OkStatus();
}

Status ResolveMaxNumSeqs(EngineConfig& engine) {
  if (engine.max_num_seqs == 0) {
    engine.max_num_seqs = std::min(kDefaultMaxNumSeqs, engine.max_num_batched_tokens);
  }
  if (engine.max_num_batched_tokens >= engine.max_num_seqs) return OkStatus();
  return InvalidArgument("--max-num-batched-tokens ", engine.max_num_batched_tokens,
                         " is below --max-num-seqs ", engine.max_num_seqs,
                         ": a step holds a token of each sequence");
}

}  // namespace

Result<CommandLine> ParseCommandLine(Command command, std::span<const std::string> args) {
  CommandLine line;
  MOXIE_ASSIGN_OR_RETURN(FlagWords words, SplitCommandLine(command, args));
  if (words.wants_help) {
    MOXIE_ASSIGN_OR_RETURN(line.help, FlagHelp(command, words.help_topic));
    return line;
  }
  ApplyDefaults(command, line);
  MOXIE_ASSIGN_OR_RETURN(auto values, LastValues(words, line));
  for (const FlagRow& row :
       FlagTable()) {  // in the table's order, so that messages do not depend on addresses
    auto value = values.find(&row);
    if (value != values.end()) MOXIE_RETURN_IF_ERROR(Apply(row, value->second, line));
  }
  MOXIE_RETURN_IF_ERROR(CheckModel(NeedsModel(command, line), values));
  MOXIE_RETURN_IF_ERROR(CheckRequired(command, values));
  MOXIE_RETURN_IF_ERROR(ResolveCompute(line));
  MOXIE_RETURN_IF_ERROR(ResolveMaxNumSeqs(line.engine));
  return line;
}

}  // namespace moxie::config
