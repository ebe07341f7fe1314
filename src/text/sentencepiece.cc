#include "text/sentencepiece.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "text/bpe.h"
#include "text/unicode.h"
#include "text/unigram.h"

namespace moxie::text {
namespace {

constexpr std::string_view kSpaceMark = "\xE2\x96\x81";  // ▁
constexpr size_t kMaxPiece = 1024;

struct NormalizerOptions {
  bool add_dummy_prefix, remove_extra_whitespaces, escape_whitespaces, prefix_every_part;
};

// SentencePiece's own: the longest entry of the map at each place, user-defined pieces untouched,
// then spaces: a prefix, runs cut to one, written as "▁".
class SentencePieceNormalizer : public Normalizer {
 public:
  SentencePieceNormalizer(std::optional<CharsMap> map, std::vector<std::string> user_defined,
                          NormalizerOptions options)
      : map_(std::move(map)), user_defined_(std::move(user_defined)), options_(options) {
    std::vector<std::pair<std::string_view, int32_t>> entries;
    for (const std::string& s : user_defined_) entries.emplace_back(s, 0);
    user_ = Trie(std::move(entries));
  }

  Status Apply(NormalizedText& t) const override {
    if (t.text.empty()) return OkStatus();
    std::string_view space = options_.escape_whitespaces ? kSpaceMark : " ";
    std::string out;
    std::string_view rest = t.text;
    if (options_.remove_extra_whitespaces) {
      while (!rest.empty()) {
        Part part = Next(rest);
        if (part.text != " ") break;
        rest.remove_prefix(part.length);
      }
      if (rest.empty()) {
        t.text.clear();
        return OkStatus();
      }
    }
    if (options_.add_dummy_prefix && (t.at_start || options_.prefix_every_part)) out += space;
    bool after_space = options_.remove_extra_whitespaces;
    while (!rest.empty()) {
      Part part = Next(rest);
      rest.remove_prefix(part.length);
      while (after_space && part.text.starts_with(' ')) part.text.remove_prefix(1);
      for (char c : part.text) {
        if (c == ' ')
          out += space;
        else
          out += c;
      }
      if (!part.text.empty())
        after_space = options_.remove_extra_whitespaces && part.text.ends_with(' ');
    }
    while (options_.remove_extra_whitespaces && out.ends_with(space))
      out.resize(out.size() - space.size());
    t.text = std::move(out);
    return OkStatus();
  }

 private:
  struct Part {
    size_t length;          // of the input
    std::string_view text;  // what it becomes
  };
  Part Next(std::string_view rest) const {
    size_t user = 0;
    user_.ForEachPrefix(rest, [&](size_t n, int32_t) { user = n; });
    if (user > 0) return {user, rest.substr(0, user)};
    if (map_) {
      if (auto match = map_->LongestPrefix(rest)) return {match->length, match->replacement};
    }
    size_t n = CharLength(static_cast<unsigned char>(rest[0]));
    return {n, rest.substr(0, n)};
  }

  std::optional<CharsMap> map_;
  std::vector<std::string> user_defined_;
  Trie user_;
  NormalizerOptions options_;
};

bool TakesPart(PieceType type) {
  return type == PieceType::kNormal || type == PieceType::kUserDefined;
}

// Two neighbours merge when together they are a piece, the best score first.
Result<std::unique_ptr<Model>> MakeBpe(const SentencePieceModel& model,
                                       std::optional<std::string> unk) {
  Vocabulary all, mergeable;
  std::vector<std::pair<float, int32_t>> by_score;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    if (piece.text.size() > kMaxPiece || !std::isfinite(piece.score)) {
      return InvalidArgument("piece ", i, " is over ", kMaxPiece, " bytes or has no finite score");
    }
    if (piece.type == PieceType::kUnused) {
      return Unimplemented("piece ", i, " \"", piece.text,
                           "\" is unused; BPE models cannot have such");
    }
    MOXIE_RETURN_IF_ERROR(all.Add(piece.text, static_cast<int64_t>(i)));
    if (!TakesPart(piece.type)) continue;
    MOXIE_RETURN_IF_ERROR(mergeable.Add(piece.text, static_cast<int64_t>(i)));
    by_score.emplace_back(piece.score, static_cast<int32_t>(i));
  }
  std::stable_sort(by_score.begin(), by_score.end(),
                   [](auto& a, auto& b) { return a.first > b.first; });
  MergeTable merges;
  uint32_t rank = 0;
  for (size_t k = 0; k < by_score.size(); ++k) {
    if (k > 0 && by_score[k].first != by_score[k - 1].first)
      ++rank;  // equal scores: the leftmost first
    int32_t id = by_score[k].second;
    std::string_view text = model.pieces[static_cast<size_t>(id)].text;
    for (size_t cut = 1; cut < text.size(); ++cut) {
      if ((text[cut] & 0xC0) == 0x80) continue;
      std::optional<int32_t> left = mergeable.Find(text.substr(0, cut));
      std::optional<int32_t> right = left ? mergeable.Find(text.substr(cut)) : std::nullopt;
      if (right) merges.Add(*left, *right, {rank, id});
    }
  }
  BpeOptions options;
  options.unk_token = std::move(unk);
  options.fuse_unk = true;
  options.byte_fallback = model.byte_fallback;
  return std::unique_ptr<Model>(
      std::make_unique<BpeModel>(std::move(all), std::move(merges), std::move(options)));
}

// sentencepiece (0.2.3) gives a user-defined piece a tenth for each byte behind its first, whatever
// the model says: more than any log-probability, so that the longest is taken.
Result<std::unique_ptr<Model>> MakeUnigram(const SentencePieceModel& model,
                                           std::optional<int32_t> unk) {
  float lowest = std::numeric_limits<float>::max();
  for (const auto& piece : model.pieces) {
    if (piece.type != PieceType::kNormal) continue;
    lowest = std::min(lowest, piece.score);
  }
  std::vector<UnigramPiece> pieces;
  for (const auto& piece : model.pieces) {
    double score = piece.score;
    if (piece.type == PieceType::kUserDefined) {
      score = static_cast<float>(piece.text.size()) * 0.1f - 0.1f;
    }
    pieces.push_back({piece.text, score, TakesPart(piece.type)});
  }
  UnigramOptions options;
  options.unk_id = unk;
  options.byte_fallback = model.byte_fallback;
  options.look_up_unknown = false;
  options.single_precision = true;
  options.unk_score = lowest - 10.0f;
  MOXIE_ASSIGN_OR_RETURN(auto unigram, UnigramModel::Create(pieces, options));
  return std::unique_ptr<Model>(std::move(unigram));
}

}  // namespace

Result<TokenizerParts> PartsFromSentencePieceModel(SentencePieceModel model,
                                                   const std::string& where) {
  if (model.treat_whitespace_as_suffix) {
    return Unimplemented(where, ": treat_whitespace_as_suffix is not supported");
  }
  std::optional<int32_t> unk;
  std::vector<AddedToken> added;
  std::vector<std::string> user_defined;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto& piece = model.pieces[i];
    auto id = static_cast<int32_t>(i);
    if (piece.type == PieceType::kUnknown) unk = id;
    bool special = piece.type == PieceType::kUnknown || piece.type == PieceType::kControl;
    bool user = piece.type == PieceType::kUserDefined;
    if (user) user_defined.push_back(piece.text);
    // A Unigram model finds user-defined pieces by itself.
    if (!special && (!user || model.kind == SentencePieceModel::Kind::kUnigram)) continue;
    AddedToken t;
    t.id = id;
    t.content = piece.text;
    t.special = special;
    // User-defined pieces are found after spaces became marks.
    t.normalized = user && !model.cuts_user_defined;
    added.push_back(std::move(t));
  }
  TokenizerParts parts;
  std::optional<std::string> unk_text;
  if (unk) unk_text = model.pieces[static_cast<size_t>(*unk)].text;
  Result<std::unique_ptr<Model>> made = model.kind == SentencePieceModel::Kind::kBpe
                                            ? MakeBpe(model, unk_text)
                                            : MakeUnigram(model, unk);
  if (!made.ok()) return std::move(made).status().WithContext(where);
  parts.model = std::move(*made);
  std::optional<CharsMap> map;
  if (!model.charsmap.empty()) {
    Result<CharsMap> parsed = CharsMap::Parse(model.charsmap);
    if (!parsed.ok()) return std::move(parsed).status().WithContext(where);
    map = std::move(*parsed);
  }
  parts.normalizer = std::make_unique<SentencePieceNormalizer>(
      std::move(map), std::move(user_defined),
      NormalizerOptions{model.add_dummy_prefix, model.remove_extra_whitespaces,
                        model.escape_whitespaces, model.cuts_user_defined});
  parts.decoder = Decoder::SentencePiece(model.add_dummy_prefix);
  Result<AddedTokens> tokens =
      AddedTokens::Create(std::move(added), [](std::string_view s) { return std::string(s); });
  if (!tokens.ok()) return std::move(tokens).status().WithContext(where);
  parts.added = std::move(*tokens);
  auto known = [&](int32_t id) { return id >= 0 && static_cast<size_t>(id) < model.pieces.size(); };
  if (known(model.bos_id)) parts.bos_id = model.bos_id;
  if (known(model.eos_id)) parts.eos_id = model.eos_id;
  if (parts.bos_id) parts.post_processor = PostProcessor({*parts.bos_id}, {});
  if (model.kind == SentencePieceModel::Kind::kBpe) SplitAtSpaceMarks(parts);
  return parts;
}

Result<TokenizerParts> PartsFromSentencePiece(std::string_view bytes, const std::string& where) {
  MOXIE_ASSIGN_OR_RETURN(SentencePieceModel model, ParseSentencePieceModel(bytes, where));
  return PartsFromSentencePieceModel(std::move(model), where);
}

}  // namespace moxie::text
