// Hugging Face's tokenizer.json. Its "truncation" and "padding" are settings of a training run and
// change no text's ids: they are not applied.
#include "config/json_fields.h"
#include "text/bpe.h"
#include "text/tokenizer_parts.h"
#include "text/unigram.h"
#include "text/wordpiece.h"

namespace moxie::text {
namespace {

using config::JsonFields;
using Made = Result<std::unique_ptr<Model>>;

Result<Vocabulary> ReadVocabulary(const JsonFields& fields, const std::string& where) {
  const Json* vocab = fields.Find("vocab");
  if (!vocab || !vocab->is_object()) return InvalidArgument(where, ": \"vocab\" is not an object");
  Vocabulary vocabulary;
  vocabulary.Reserve(vocab->get_object().size(), 0);
  for (const auto& member : vocab->get_object()) {
    if (!member.value().is_int64()) {
      return InvalidArgument(where, ": token \"", std::string_view(member.key()),
                             "\" has an id that is ", JsonTypeName(member.value()));
    }
    Status added = vocabulary.Add(member.key(), member.value().get_int64());
    if (!added.ok()) return std::move(added).WithContext(where);
  }
  return vocabulary;
}

// A merge is "left right" or ["left", "right"].
bool SplitMerge(const Json& merge, std::string_view* left, std::string_view* right) {
  if (merge.is_string()) {
    std::string_view text = merge.get_string();
    size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos)
      return false;
    *left = text.substr(0, space);
    *right = text.substr(space + 1);
    return true;
  }
  const JsonArray* pair = merge.if_array();
  if (!pair || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_string())
    return false;
  *left = (*pair)[0].get_string();
  *right = (*pair)[1].get_string();
  return true;
}

// Looks up the parts of merges, a batch at a time: first all hashes, then all reads, so that they
// wait for memory together. Half a million merges take 0.1 s so, and 0.3 s one by one.
class MergeReader {
 public:
  MergeReader(const Vocabulary& vocabulary, size_t prefix, const std::string& where,
              MergeTable& merges)
      : vocabulary_(vocabulary), prefix_(prefix), where_(where), merges_(merges) {
    batch_.reserve(kBatch);
  }

  Status Add(const Json& merge) {
    std::string_view left, right;
    if (!SplitMerge(merge, &left, &right) || right.size() < prefix_) {
      // The first line of an old merges.txt.
      if (merge.is_string() && std::string_view(merge.get_string()).starts_with("#version"))
        return OkStatus();
      return InvalidArgument(where_, ": merge ", rank_,
                             " is not \"left right\" or [\"left\", \"right\"]");
    }
    Entry e{rank_++, {left, right, {}}, {}, {}};
    e.whole = left;
    e.whole += right.substr(prefix_);
    batch_.push_back(std::move(e));
    return batch_.size() < kBatch ? OkStatus() : Flush();
  }

  Status Flush() {
    for (Entry& e : batch_) {
      e.parts[2] = e.whole;
      for (int i = 0; i < 3; ++i) vocabulary_.Prefetch(e.hashes[i] = HashBytes(e.parts[i]));
    }
    for (Entry& e : batch_) {
      for (int i = 0; i < 3; ++i) {
        std::optional<int32_t> id = vocabulary_.Find(e.parts[i], e.hashes[i]);
        if (!id) {
          return InvalidArgument(where_, ": merge ", e.rank, ": token \"", e.parts[i],
                                 "\" is not in the vocabulary");
        }
        e.ids[i] = *id;
      }
      merges_.Prefetch(e.ids[0], e.ids[1]);
    }
    for (Entry& e : batch_) merges_.Add(e.ids[0], e.ids[1], {e.rank, e.ids[2]});
    batch_.clear();
    return OkStatus();
  }

 private:
  static constexpr size_t kBatch = 64;
  struct Entry {
    uint32_t rank;
    std::string_view parts[3];  // left, right, and what they merge to
    uint64_t hashes[3];
    int32_t ids[3];
    std::string whole{};
  };
  const Vocabulary& vocabulary_;
  const size_t prefix_;
  const std::string& where_;
  MergeTable& merges_;
  std::vector<Entry> batch_;
  uint32_t rank_ = 0;
};

Result<MergeTable> ReadMerges(const JsonFields& fields, const Vocabulary& vocabulary,
                              const std::string& prefix, const std::string& where) {
  const Json* list = fields.Find("merges");
  if (!list || !list->is_array()) return InvalidArgument(where, ": \"merges\" is not an array");
  MergeTable merges;
  merges.Reserve(list->get_array().size());
  MergeReader reader(vocabulary, prefix.size(), where, merges);
  for (const Json& merge : list->get_array()) MOXIE_RETURN_IF_ERROR(reader.Add(merge));
  MOXIE_RETURN_IF_ERROR(reader.Flush());
  return merges;
}

Made MakeBpe(JsonFields& fields, const std::string& where) {
  BpeOptions o;
  o.unk_token = fields.String("unk_token");
  o.continuing_subword_prefix = fields.String("continuing_subword_prefix").value_or("");
  o.end_of_word_suffix = fields.String("end_of_word_suffix").value_or("");
  o.fuse_unk = fields.Bool("fuse_unk").value_or(false);
  o.byte_fallback = fields.Bool("byte_fallback").value_or(false);
  o.ignore_merges = fields.Bool("ignore_merges").value_or(false);
  if (fields.Real("dropout", {.min = 0, .max = 1}).value_or(0) != 0) {
    return InvalidArgument(where, ": \"dropout\" makes ids random; it is for training");
  }
  MOXIE_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(fields, where));
  MOXIE_ASSIGN_OR_RETURN(MergeTable merges,
                         ReadMerges(fields, vocabulary, o.continuing_subword_prefix, where));
  return Made(std::make_unique<BpeModel>(std::move(vocabulary), std::move(merges), std::move(o)));
}

Made MakeUnigram(JsonFields& fields, const std::string& where) {
  const Json* vocab = fields.Find("vocab");
  if (!vocab || !vocab->is_array()) return InvalidArgument(where, ": \"vocab\" is not an array");
  std::vector<UnigramPiece> pieces;
  for (const Json& entry : vocab->get_array()) {
    const JsonArray* pair = entry.if_array();
    if (!pair || pair->size() != 2 || !(*pair)[0].is_string() || !(*pair)[1].is_number()) {
      return InvalidArgument(where, ": token ", pieces.size(), " is not [text, score]");
    }
    pieces.push_back({(*pair)[0].get_string(), (*pair)[1].to_number<double>(), true});
  }
  UnigramOptions o;
  if (auto id = fields.Int("unk_id", {.min = 0, .max = kMaxTokenId}))
    o.unk_id = static_cast<int32_t>(*id);
  o.byte_fallback = fields.Bool("byte_fallback").value_or(false);
  auto model = UnigramModel::Create(pieces, o);
  if (!model.ok()) return std::move(model).status().WithContext(where);
  return Made(std::move(*model));
}

Made MakeWordPiece(JsonFields& fields, const std::string& where) {
  WordPieceOptions o;
  o.unk_token = fields.String("unk_token").value_or(o.unk_token);
  o.continuing_subword_prefix =
      fields.String("continuing_subword_prefix").value_or(o.continuing_subword_prefix);
  o.max_input_chars_per_word =
      fields.IntOr("max_input_chars_per_word", {.min = 0}, o.max_input_chars_per_word);
  MOXIE_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(fields, where));
  return Made(std::make_unique<WordPieceModel>(std::move(vocabulary), std::move(o)));
}

Made MakeWordLevel(JsonFields& fields, const std::string& where) {
  MOXIE_ASSIGN_OR_RETURN(Vocabulary vocabulary, ReadVocabulary(fields, where));
  std::string unk = fields.String("unk_token").value_or("<unk>");
  return Made(std::make_unique<WordLevelModel>(std::move(vocabulary), std::move(unk)));
}

struct Kind {
  std::string_view name;
  Made (*make)(JsonFields&, const std::string&);
};
constexpr Kind kModels[] = {{"BPE", MakeBpe},
                            {"Unigram", MakeUnigram},
                            {"WordPiece", MakeWordPiece},
                            {"WordLevel", MakeWordLevel}};

// Files older than the "type" field are told apart by what they have.
std::string ModelType(JsonFields& fields) {
  if (auto type = fields.String("type")) return *type;
  if (fields.Find("merges")) return "BPE";
  if (fields.Find("unk_id")) return "Unigram";
  return fields.Find("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

Made ReadModel(const Json* json, const std::string& where) {
  if (!json || !json->is_object()) return InvalidArgument(where, ": expected an object");
  JsonFields fields(json->get_object(), where);
  std::string type = ModelType(fields);
  for (const Kind& kind : kModels) {
    if (kind.name != type) continue;
    Made made = kind.make(fields, where);
    MOXIE_RETURN_IF_ERROR(fields.status());
    return made;
  }
  return Unimplemented(where, ": model \"", type, "\" is unknown");
}

Result<std::vector<AddedToken>> ReadAddedTokens(const Json* list, const std::string& where) {
  std::vector<AddedToken> tokens;
  if (!list || list->is_null()) return tokens;
  if (!list->is_array()) return InvalidArgument(where, ": expected an array");
  for (const Json& entry : list->get_array()) {
    std::string at = StrCat(where, "[", tokens.size(), "]");
    if (!entry.is_object()) return InvalidArgument(at, ": expected an object");
    JsonFields fields(entry.get_object(), at);
    AddedToken t;
    t.id = static_cast<int32_t>(fields.IntOr("id", {.min = 0, .max = kMaxTokenId}, std::nullopt));
    t.content = fields.String("content").value_or("");
    t.single_word = fields.Bool("single_word").value_or(false);
    t.lstrip = fields.Bool("lstrip").value_or(false);
    t.rstrip = fields.Bool("rstrip").value_or(false);
    t.normalized = fields.Bool("normalized").value_or(true);
    t.special = fields.Bool("special").value_or(false);
    MOXIE_RETURN_IF_ERROR(fields.status());
    tokens.push_back(std::move(t));
  }
  return tokens;
}

}  // namespace

Result<TokenizerParts> PartsFromTokenizerJson(std::string_view text, const std::string& where) {
  Result<Json> json = ParseJson(text, {.max_depth = 64, .max_bytes = size_t{256} << 20});
  if (!json.ok()) return std::move(json).status().WithContext(where);
  const JsonObject* object = json->if_object();
  if (!object) return InvalidArgument(where, ": expected an object, got ", JsonTypeName(*json));
  JsonFields fields(*object, where);
  if (fields.String("version").value_or("1.0") != "1.0") fields.Fail("version", "expected \"1.0\"");
  MOXIE_RETURN_IF_ERROR(fields.status());
  TokenizerParts parts;
  MOXIE_ASSIGN_OR_RETURN(parts.model, ReadModel(fields.Find("model"), where + ": model"));
  if (const Json* j = fields.Find("normalizer")) {
    MOXIE_ASSIGN_OR_RETURN(parts.normalizer, NormalizerFromJson(*j, where + ": normalizer"));
  }
  if (const Json* j = fields.Find("pre_tokenizer")) {
    MOXIE_ASSIGN_OR_RETURN(parts.pre_tokenizer,
                           PreTokenizerFromJson(*j, where + ": pre_tokenizer"));
  }
  if (const Json* j = fields.Find("post_processor")) {
    MOXIE_ASSIGN_OR_RETURN(parts.post_processor,
                           PostProcessor::FromJson(*j, where + ": post_processor"));
  }
  const Json* decoder = fields.Find("decoder");
  MOXIE_ASSIGN_OR_RETURN(parts.decoder,
                         Decoder::FromJson(decoder ? *decoder : Json(), where + ": decoder"));
  MOXIE_ASSIGN_OR_RETURN(auto added,
                         ReadAddedTokens(fields.Find("added_tokens"), where + ": added_tokens"));
  MOXIE_RETURN_IF_ERROR(SetAddedTokens(std::move(added), where, parts));
  SplitAtSpaceMarks(parts);
  return parts;
}

}  // namespace moxie::text
