#include "text/tokenizer_parts.h"

#include <unordered_map>

namespace moxie::text {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁

// bos_token is "text" or {"content": "text", ...}.
std::optional<int32_t> IdOfName(const Json* name, const TokenizerParts& parts) {
  if (name && name->is_object()) name = name->get_object().if_contains("content");
  if (!name || !name->is_string()) return std::nullopt;
  std::string_view text = name->get_string();
  for (const AddedToken& t : parts.added.tokens()) {
    if (t.content == text) return t.id;
  }
  return parts.model->vocabulary().Find(text);
}

}  // namespace

Status SetAddedTokens(std::vector<AddedToken> tokens, const std::string& where,
                      TokenizerParts& parts) {
  const Vocabulary& vocabulary = parts.model->vocabulary();
  auto next = static_cast<int32_t>(vocabulary.size());
  std::unordered_map<std::string, int32_t> known;
  std::vector<AddedToken> kept;
  for (AddedToken& t : tokens) {
    if (t.content.empty()) continue;  // the reference leaves them out
    auto again = known.find(t.content);
    std::optional<int32_t> id = again != known.end() ? again->second : vocabulary.Find(t.content);
    if (!id) id = next++;
    if (*id != t.id) {
      return InvalidArgument(where, ": added token \"", t.content, "\" is said to have id ", t.id,
                             " but the vocabulary gives it ", *id);
    }
    if (again != known.end()) {
      std::erase_if(kept, [&](const AddedToken& k) { return k.id == t.id; });
    }
    known[t.content] = *id;
    kept.push_back(std::move(t));
  }
  Status status;
  auto normalize = [&](std::string_view content) {
    auto text = NormalizedText::Of(std::string(content), /*at_start=*/true);
    if (parts.normalizer && status.ok()) status = parts.normalizer->Apply(text);
    return text.text;
  };
  Result<AddedTokens> added = AddedTokens::Create(std::move(kept), normalize);
  if (!added.ok()) return std::move(added).status().WithContext(where);
  if (!status.ok()) return std::move(status).WithContext(where);
  parts.added = std::move(*added);
  return OkStatus();
}

void SplitAtSpaceMarks(TokenizerParts& parts) {
  if (parts.pre_tokenizer || !parts.model->SplitsBefore(kSpaceMark)) return;
  parts.pre_tokenizer = MakeSplitBefore(std::string(kSpaceMark));
}

void ApplyTokenizerConfig(const Json& config, bool sets_post_processor, TokenizerParts& parts) {
  const JsonObject* object = config.if_object();
  if (!object) return;
  if (auto id = IdOfName(object->if_contains("bos_token"), parts)) parts.bos_id = id;
  if (auto id = IdOfName(object->if_contains("eos_token"), parts)) parts.eos_id = id;
  if (!sets_post_processor) return;
  auto wants = [&](std::string_view field, bool fallback) {
    const Json* value = object->if_contains(field);
    return value && value->is_bool() ? value->get_bool() : fallback;
  };
  std::vector<int32_t> before, after;
  bool adds_bos = parts.post_processor.First().has_value();
  if (parts.bos_id && wants("add_bos_token", adds_bos)) before.push_back(*parts.bos_id);
  if (parts.eos_id && wants("add_eos_token", false)) after.push_back(*parts.eos_id);
  parts.post_processor = PostProcessor(std::move(before), std::move(after));
}

}  // namespace moxie::text
