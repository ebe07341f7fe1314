#include "text/gguf_vocabulary.h"

#include "text/bpe.h"
#include "text/sentencepiece.h"
#include "text/splits.h"
#include "text/unicode.h"
#include "text/wordpiece.h"

namespace moxie::text {
namespace {

using Parts = Result<TokenizerParts>;

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁

std::optional<int32_t> CheckedId(std::optional<int64_t> id, const GgufVocabulary& v) {
  if (!id || *id < 0 || static_cast<size_t>(*id) >= v.tokens.size()) return std::nullopt;
  return static_cast<int32_t>(*id);
}

PieceType TypeOf(const GgufVocabulary& v, size_t i) {
  return i < v.token_type.size() ? static_cast<PieceType>(v.token_type[i]) : PieceType::kNormal;
}

// Control and unknown tokens are special; user-defined ones are found in any text.
Status SetAdded(const GgufVocabulary& v, TokenizerParts& parts) {
  std::vector<AddedToken> added;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    PieceType type = TypeOf(v, i);
    bool special = type == PieceType::kControl || type == PieceType::kUnknown;
    if (!special && type != PieceType::kUserDefined) continue;
    AddedToken t;
    t.id = static_cast<int32_t>(i);
    t.content = v.tokens[i];
    t.special = special;
    t.normalized = false;
    added.push_back(std::move(t));
  }
  MOXIE_ASSIGN_OR_RETURN(parts.added, AddedTokens::Create(std::move(added), [](std::string_view s) {
                           return std::string(s);
                         }));
  return OkStatus();
}

void SetEnds(const GgufVocabulary& v, bool add_bos, TokenizerParts& parts) {
  parts.bos_id = CheckedId(v.bos_token_id, v);
  parts.eos_id = CheckedId(v.eos_token_id, v);
  std::vector<int32_t> before, after;
  if (parts.bos_id && v.add_bos_token.value_or(add_bos)) before.push_back(*parts.bos_id);
  if (parts.eos_id && v.add_eos_token.value_or(false)) after.push_back(*parts.eos_id);
  parts.post_processor = PostProcessor(std::move(before), std::move(after));
}

// What the format does not say and the models' own files do, by the name of the split.
struct BpeHabits {
  std::string_view pre;
  bool ignore_merges = false, add_bos = false, nfc = false;
};
constexpr BpeHabits kHabits[] = {
    {.pre = "llama-bpe", .ignore_merges = true, .add_bos = true},
    {.pre = "llama3", .ignore_merges = true, .add_bos = true},
    {.pre = "llama-v3", .ignore_merges = true, .add_bos = true},
    {.pre = "falcon3", .ignore_merges = true, .add_bos = true},
    {.pre = "pixtral", .ignore_merges = true, .add_bos = true},
    {.pre = "tekken", .ignore_merges = true, .add_bos = true},
    {.pre = "qwen2", .nfc = true},
};

BpeHabits HabitsOf(std::string_view pre) {
  for (const BpeHabits& habits : kHabits) {
    if (habits.pre == pre) return habits;
  }
  return {};
}

Parts ByteLevelBpe(const GgufVocabulary& v) {
  Vocabulary vocabulary;
  vocabulary.Reserve(v.tokens.size(), 0);
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    MOXIE_RETURN_IF_ERROR(vocabulary.Add(v.tokens[i], static_cast<int64_t>(i)));
  }
  MergeTable merges;
  merges.Reserve(v.merges.size());
  for (size_t i = 0; i < v.merges.size(); ++i) {
    std::string_view merge = v.merges[i];
    size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos)
      return InvalidArgument("merge ", i, " is not \"left right\"");
    std::string whole(merge.substr(0, space));
    whole += merge.substr(space + 1);
    auto left = vocabulary.Find(merge.substr(0, space)),
         right = vocabulary.Find(merge.substr(space + 1));
    auto result = vocabulary.Find(whole);
    if (!left || !right || !result) {
      return InvalidArgument("merge ", i, " \"", merge,
                             "\" has a part that is not in the vocabulary");
    }
    merges.Add(*left, *right, {static_cast<uint32_t>(i), *result});
  }
  std::vector<std::string> regexes = SplitRegexes(v.pre.empty() ? "gpt2" : v.pre);
  if (regexes.empty()) return Unimplemented("pre \"", v.pre, "\" is a split that is not known");
  const BpeHabits habits = HabitsOf(v.pre);
  BpeOptions options;
  options.ignore_merges = habits.ignore_merges;
  TokenizerParts parts;
  parts.model =
      std::make_unique<BpeModel>(std::move(vocabulary), std::move(merges), std::move(options));
  MOXIE_ASSIGN_OR_RETURN(parts.pre_tokenizer, MakeByteLevelSplit(regexes));
  if (habits.nfc) {
    MOXIE_ASSIGN_OR_RETURN(parts.normalizer, NormalizerFromJson({{"type", "NFC"}}, "normalizer"));
  }
  parts.decoder = Decoder::ByteLevel();
  MOXIE_RETURN_IF_ERROR(SetAdded(v, parts));
  SetEnds(v, habits.add_bos, parts);
  return parts;
}

Parts SentencePiece(const GgufVocabulary& v, SentencePieceModel::Kind kind) {
  if (v.scores.size() != v.tokens.size() || v.token_type.size() != v.tokens.size()) {
    return InvalidArgument("has ", v.tokens.size(), " tokens but ", v.scores.size(), " scores and ",
                           v.token_type.size(), " types");
  }
  SentencePieceModel model;
  model.kind = kind;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (v.token_type[i] < 1 || v.token_type[i] > 6)
      return InvalidArgument("token ", i, " has an unknown type");
    model.pieces.push_back({v.tokens[i], v.scores[i], TypeOf(v, i)});
    model.byte_fallback = model.byte_fallback || TypeOf(v, i) == PieceType::kByte;
  }
  model.cuts_user_defined = kind == SentencePieceModel::Kind::kBpe;
  model.charsmap.assign(v.precompiled_charsmap.begin(), v.precompiled_charsmap.end());
  model.add_dummy_prefix = v.add_space_prefix.value_or(true);
  model.remove_extra_whitespaces = v.remove_extra_whitespaces.value_or(false);
  MOXIE_ASSIGN_OR_RETURN(TokenizerParts parts,
                         PartsFromSentencePieceModel(std::move(model), "vocabulary"));
  SetEnds(v, kind == SentencePieceModel::Kind::kBpe, parts);
  return parts;
}

// Tokens that start a word carry "▁" here and nothing in a vocab.txt; the others nothing here and
// "##" there.
Parts Bert(const GgufVocabulary& v) {
  Vocabulary vocabulary;
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    std::string_view token = v.tokens[i];
    bool plain = TypeOf(v, i) != PieceType::kNormal;
    std::string piece = plain ? std::string(token)
                        : token.starts_with(kSpaceMark)
                            ? std::string(token.substr(kSpaceMark.size()))
                            : "##" + std::string(token);
    MOXIE_RETURN_IF_ERROR(vocabulary.Add(piece, static_cast<int64_t>(i)));
  }
  WordPieceOptions options;
  if (auto unk = CheckedId(v.unknown_token_id, v))
    options.unk_token = v.tokens[static_cast<size_t>(*unk)];
  TokenizerParts parts;
  parts.model = std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(options));
  Json bert = {{"type", "BertNormalizer"}};
  MOXIE_ASSIGN_OR_RETURN(parts.normalizer, NormalizerFromJson(bert, "normalizer"));
  parts.pre_tokenizer = MakeBertPreTokenizer();
  parts.decoder = Decoder::WordPiece("##", true);
  MOXIE_RETURN_IF_ERROR(SetAdded(v, parts));
  auto cls = CheckedId(v.cls_token_id ? v.cls_token_id : v.bos_token_id, v);
  auto sep = CheckedId(v.separator_token_id ? v.separator_token_id : v.eos_token_id, v);
  parts.bos_id = cls;
  parts.eos_id = sep;
  if (cls && sep) parts.post_processor = PostProcessor({*cls}, {*sep});
  return parts;
}

Parts MakeParts(const GgufVocabulary& v) {
  for (size_t i = 0; i < v.tokens.size(); ++i) {
    if (!IsValidUtf8(v.tokens[i])) return InvalidArgument("token ", i, " is not valid UTF-8");
  }
  if (v.tokens.empty()) return InvalidArgument("has no tokens");
  if (v.model == "gpt2") return ByteLevelBpe(v);
  if (v.model == "llama") return SentencePiece(v, SentencePieceModel::Kind::kBpe);
  if (v.model == "t5") return SentencePiece(v, SentencePieceModel::Kind::kUnigram);
  if (v.model == "bert") return Bert(v);
  return Unimplemented("model \"", v.model, "\" is unknown; gpt2, llama, t5 and bert are known");
}

}  // namespace

Result<GgufVocabulary> ReadGgufVocabulary(config::GgufMetadata& m) {
  GgufVocabulary v;
  auto key = [](std::string_view field) { return StrCat("tokenizer.ggml.", field); };
  v.model = m.String(key("model")).value_or("");
  v.pre = m.String(key("pre")).value_or("");
  for (std::string_view token : m.Strings(key("tokens"))) v.tokens.emplace_back(token);
  for (std::string_view merge : m.Strings(key("merges"))) v.merges.emplace_back(merge);
  v.scores = m.Floats(key("scores"));
  v.token_type = m.Ints(key("token_type"));
  v.precompiled_charsmap = m.Bytes(key("precompiled_charsmap"));
  v.bos_token_id = m.Int(key("bos_token_id"));
  v.eos_token_id = m.Int(key("eos_token_id"));
  v.unknown_token_id = m.Int(key("unknown_token_id"));
  v.cls_token_id = m.Int(key("cls_token_id"));
  v.separator_token_id = m.Int(key("seperator_token_id"));  // so the format spells it
  v.add_bos_token = m.Bool(key("add_bos_token"));
  v.add_eos_token = m.Bool(key("add_eos_token"));
  v.add_space_prefix = m.Bool(key("add_space_prefix"));
  v.remove_extra_whitespaces = m.Bool(key("remove_extra_whitespaces"));
  MOXIE_RETURN_IF_ERROR(m.status());
  return v;
}

Result<TokenizerParts> PartsFromGguf(const GgufVocabulary& v, const std::string& where) {
  Parts parts = MakeParts(v);
  if (!parts.ok()) return std::move(parts).status().WithContext(where + ": tokenizer.ggml");
  return parts;
}

}  // namespace moxie::text
