// Mistral's tekken.json, and tiktoken's files of ranks.
#include <charconv>
#include <limits>

#include "config/json_fields.h"
#include "text/base64.h"
#include "text/rank_bpe.h"
#include "text/splits.h"
#include "text/tokenizer_parts.h"

namespace moxie::text {
namespace {

using config::JsonFields;

constexpr size_t kMaxTokens = 2'000'000;

AddedToken Special(int32_t id, std::string content) {
  AddedToken t;
  t.id = id;
  t.content = std::move(content);
  t.normalized = false;
  t.special = true;
  return t;
}

// "special_tokens" of a newer file: [{"rank": 0, "token_str": "<unk>", ...}]; the rest, up to
// `count`, are fillers.
Result<std::vector<AddedToken>> TekkenSpecials(const Json* list, int64_t count,
                                               const std::string& where) {
  // The first ones of the files that do not list them.
  static constexpr std::string_view kKnown[] = {"<unk>",
                                                "<s>",
                                                "</s>",
                                                "[INST]",
                                                "[/INST]",
                                                "[AVAILABLE_TOOLS]",
                                                "[/AVAILABLE_TOOLS]",
                                                "[TOOL_RESULTS]",
                                                "[/TOOL_RESULTS]",
                                                "[TOOL_CALLS]",
                                                "[IMG]",
                                                "<pad>",
                                                "[IMG_BREAK]",
                                                "[IMG_END]",
                                                "[PREFIX]",
                                                "[MIDDLE]",
                                                "[SUFFIX]"};
  std::vector<std::string> names(static_cast<size_t>(count));
  if (list && list->is_array()) {
    for (const Json& entry : list->get_array()) {
      if (!entry.is_object()) return InvalidArgument(where, ": an entry is not an object");
      JsonFields fields(entry.get_object(), where);
      int64_t rank = fields.IntOr("rank", {.min = 0, .max = count - 1}, std::nullopt);
      std::string name = fields.String("token_str").value_or("");
      MOXIE_RETURN_IF_ERROR(fields.status());
      names[static_cast<size_t>(rank)] = name;
    }
  } else {
    for (size_t i = 0; i < names.size() && i < std::size(kKnown); ++i) names[i] = kKnown[i];
  }
  std::vector<AddedToken> tokens;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i].empty()) names[i] = StrCat("<SPECIAL_", i, ">");
    tokens.push_back(Special(static_cast<int32_t>(i), names[i]));
  }
  return tokens;
}

Result<std::vector<std::string>> TekkenTokens(const Json* list, int64_t count,
                                              const std::string& where) {
  if (!list || !list->is_array() || list->get_array().size() < static_cast<size_t>(count)) {
    return InvalidArgument(where, ": expected an array of at least ", count, " tokens");
  }
  std::vector<std::string> tokens;
  for (const Json& entry : list->get_array()) {
    if (tokens.size() == static_cast<size_t>(count)) break;
    std::string at = StrCat(where, "[", tokens.size(), "]");
    if (!entry.is_object()) return InvalidArgument(at, ": expected an object");
    JsonFields fields(entry.get_object(), at);
    int64_t rank = fields.IntOr("rank", {.min = 0}, std::nullopt);
    std::optional<std::string> bytes = fields.String("token_bytes");
    if (!bytes) fields.Fail("token_bytes", "is missing");
    MOXIE_RETURN_IF_ERROR(fields.status());
    if (rank != static_cast<int64_t>(tokens.size()))
      return InvalidArgument(at, ": has rank ", rank);
    Result<std::string> decoded = DecodeBase64(*bytes);
    if (!decoded.ok()) return std::move(decoded).status().WithContext(at);
    if (decoded->empty()) return InvalidArgument(at, ": has no bytes");
    tokens.push_back(std::move(*decoded));
  }
  return tokens;
}

// Special tokens are found as they are; the vocabulary does not hold them.
Status SetSpecials(std::vector<AddedToken> specials, const std::string& where,
                   TokenizerParts& parts) {
  for (const AddedToken& t : specials) {
    if (parts.model->vocabulary().Piece(t.id)) {
      return InvalidArgument(where, ": special token \"", t.content, "\" has the id ", t.id,
                             " of another token");
    }
  }
  Result<AddedTokens> added =
      AddedTokens::Create(std::move(specials), [](std::string_view s) { return std::string(s); });
  if (!added.ok()) return std::move(added).status().WithContext(where);
  parts.added = std::move(*added);
  return OkStatus();
}

std::optional<int32_t> IdOf(const AddedTokens& added, std::string_view content) {
  for (const AddedToken& t : added.tokens()) {
    if (t.content == content) return t.id;
  }
  return std::nullopt;
}

// Lines "<base64> <rank>", ranks from 0 on, in order. Some may be missing, as where a special token
// has its id (p50k).
Result<std::vector<std::string>> ReadRanks(std::string_view text, const std::string& where) {
  std::vector<std::string> tokens;
  for (size_t line = 1; !text.empty(); ++line) {
    size_t end = std::min(text.find('\n'), text.size());
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (row.empty()) continue;
    size_t space = row.find(' ');
    uint32_t rank = std::numeric_limits<uint32_t>::max();
    if (space != std::string_view::npos)
      std::from_chars(row.data() + space + 1, row.data() + row.size(), rank);
    if (rank < tokens.size() || rank >= kMaxTokens || space == 0) {
      return InvalidArgument(where, ": line ", line,
                             ": expected \"<base64> <rank>\", the rank from ", tokens.size(),
                             " to ", kMaxTokens);
    }
    Result<std::string> bytes = DecodeBase64(row.substr(0, space));
    if (!bytes.ok()) return std::move(bytes).status().WithContext(StrCat(where, ": line ", line));
    tokens.resize(rank);
    tokens.push_back(std::move(*bytes));
  }
  return tokens;
}

// "added_tokens_decoder" of a tokenizer_config.json: {"151643": {"content": ...}, ...}.
Result<std::vector<AddedToken>> ConfigSpecials(const Json& config, const std::string& where) {
  std::vector<AddedToken> tokens;
  const JsonObject* object = config.if_object();
  const Json* decoder = object ? object->if_contains("added_tokens_decoder") : nullptr;
  if (!decoder || !decoder->is_object()) return tokens;
  for (const auto& member : decoder->get_object()) {
    std::string_view key = member.key();
    int32_t id = -1;
    auto [end, ec] = std::from_chars(key.data(), key.data() + key.size(), id);
    if (ec != std::errc() || end != key.data() + key.size() || id < 0 || id > kMaxTokenId ||
        !member.value().is_object()) {
      return InvalidArgument(where, ": added_tokens_decoder: \"", key,
                             "\" is no token id with an object");
    }
    JsonFields fields(member.value().get_object(), where + ": added_tokens_decoder");
    AddedToken t = Special(id, fields.String("content").value_or(""));
    t.special = fields.Bool("special").value_or(true);
    t.lstrip = fields.Bool("lstrip").value_or(false);
    t.rstrip = fields.Bool("rstrip").value_or(false);
    t.single_word = fields.Bool("single_word").value_or(false);
    MOXIE_RETURN_IF_ERROR(fields.status());
    tokens.push_back(std::move(t));
  }
  return tokens;
}

// The split that a file of ranks was trained with is known by its name only.
std::vector<std::string> RegexesOfFile(const std::string& name) {
  std::vector<std::string> exact = SplitRegexes(name);
  if (!exact.empty()) return exact;
  for (std::string_view known :
       {"o200k", "cl100k", "p50k", "r50k", "qwen", "gpt2", "llama3", "kimi-k2"}) {
    if (name.find(known) != std::string::npos) return SplitRegexes(known);
  }
  return {};
}

}  // namespace

Result<TokenizerParts> PartsFromTekken(std::string_view text, const std::string& where) {
  Result<Json> json = ParseJson(text, {.max_depth = 16, .max_bytes = size_t{256} << 20});
  if (!json.ok()) return std::move(json).status().WithContext(where);
  const JsonObject* object = json->if_object();
  const Json* config = object ? object->if_contains("config") : nullptr;
  if (!config || !config->is_object()) return InvalidArgument(where, ": has no \"config\" object");
  JsonFields fields(config->get_object(), where + ": config");
  std::optional<std::string> pattern = fields.String("pattern");
  if (!pattern) fields.Fail("pattern", "is missing");
  int64_t specials =
      fields.IntOr("default_num_special_tokens", {.min = 1, .max = 1 << 20}, std::nullopt);
  int64_t total = fields.IntOr("default_vocab_size", {.min = 1, .max = kMaxTokens}, std::nullopt);
  if (total <= specials)
    fields.Fail("default_vocab_size", "is not over default_num_special_tokens");
  MOXIE_RETURN_IF_ERROR(fields.status());
  MOXIE_ASSIGN_OR_RETURN(
      auto tokens, TekkenTokens(object->if_contains("vocab"), total - specials, where + ": vocab"));
  MOXIE_ASSIGN_OR_RETURN(auto added, TekkenSpecials(object->if_contains("special_tokens"), specials,
                                                    where + ": special_tokens"));
  TokenizerParts parts;
  Result<std::unique_ptr<Model>> model = MakeRankBpe(tokens, static_cast<int32_t>(specials));
  if (!model.ok()) return std::move(model).status().WithContext(where);
  parts.model = std::move(*model);
  auto split = MakeByteLevelSplit({*pattern});
  if (!split.ok()) return std::move(split).status().WithContext(where);
  parts.pre_tokenizer = std::move(*split);
  parts.decoder = Decoder::ByteLevel();
  MOXIE_RETURN_IF_ERROR(SetSpecials(std::move(added), where, parts));
  parts.bos_id = IdOf(parts.added, "<s>");
  parts.eos_id = IdOf(parts.added, "</s>");
  if (parts.bos_id) parts.post_processor = PostProcessor({*parts.bos_id}, {});
  return parts;
}

Result<TokenizerParts> PartsFromTiktoken(std::string_view ranks, const Json& config,
                                         const std::string& file_name, const std::string& where) {
  std::vector<std::string> regexes = RegexesOfFile(file_name);
  if (regexes.empty()) {
    return Unimplemented(where,
                         ": its name does not tell how it splits words; name it after one of "
                         "o200k, cl100k, p50k, r50k, gpt2, qwen, llama3, kimi-k2");
  }
  MOXIE_ASSIGN_OR_RETURN(auto tokens, ReadRanks(ranks, where));
  MOXIE_ASSIGN_OR_RETURN(auto specials, ConfigSpecials(config, where));
  TokenizerParts parts;
  Result<std::unique_ptr<Model>> model = MakeRankBpe(tokens, 0);
  if (!model.ok()) return std::move(model).status().WithContext(where);
  parts.model = std::move(*model);
  MOXIE_ASSIGN_OR_RETURN(parts.pre_tokenizer, MakeByteLevelSplit(regexes));
  parts.decoder = Decoder::ByteLevel();
  MOXIE_RETURN_IF_ERROR(SetSpecials(std::move(specials), where, parts));
  return parts;
}

}  // namespace moxie::text
