#include "text/unigram.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>

#include "text/unicode.h"

namespace moxie::text {
namespace {

constexpr double kUnknownPenalty = 10.0;
constexpr size_t kMaxWord = size_t{1} << 30;

}  // namespace

Result<std::unique_ptr<UnigramModel>> UnigramModel::Create(const std::vector<UnigramPiece>& pieces,
                                                           UnigramOptions options) {
  if (options.unk_id && static_cast<size_t>(*options.unk_id) >= pieces.size()) {
    return InvalidArgument("unk_id ", *options.unk_id, " is not in the vocabulary of ",
                           pieces.size(), " tokens");
  }
  Vocabulary vocabulary;
  vocabulary.Reserve(pieces.size(), 0);
  std::vector<double> scores;
  std::vector<std::pair<std::string_view, int32_t>> entries;
  for (size_t i = 0; i < pieces.size(); ++i) {
    if (!std::isfinite(pieces[i].score)) {
      return InvalidArgument("token \"", pieces[i].text,
                             "\" has a score that is not a finite number");
    }
    MOXIE_RETURN_IF_ERROR(vocabulary.Add(pieces[i].text, static_cast<int64_t>(i)));
    scores.push_back(pieces[i].score);
    if (pieces[i].usable) entries.emplace_back(pieces[i].text, static_cast<int32_t>(i));
  }
  std::unique_ptr<UnigramModel> model(new UnigramModel(
      std::move(vocabulary), Trie(std::move(entries)), std::move(scores), options));
  return model;
}

UnigramModel::UnigramModel(Vocabulary vocabulary, Trie trie, std::vector<double> scores,
                           UnigramOptions options)
    : Model(std::move(vocabulary)),
      trie_(std::move(trie)),
      scores_(std::move(scores)),
      options_(options),
      byte_tokens_(256) {
  double lowest = std::numeric_limits<double>::infinity();
  for (double s : scores_) lowest = std::min(lowest, s);
  unk_score_ = options_.unk_score.value_or(lowest - kUnknownPenalty);
  for (unsigned b = 0; b < 256; ++b) {
    char text[8];
    std::snprintf(text, sizeof text, "<0x%02X>", b);
    byte_tokens_[b] = vocabulary_.Find(text).value_or(-1);
  }
}

Status UnigramModel::Viterbi(std::string_view word, std::vector<Node>& best) const {
  best.assign(word.size() + 1, {});
  for (size_t begin = 0; begin < word.size();) {
    size_t length = CharLength(static_cast<unsigned char>(word[begin]));
    double here = best[begin].score;
    auto sum = [&](double score) {
      return options_.single_precision ? static_cast<float>(score + here) : score + here;
    };
    bool single = false;  // some token is exactly this character
    auto offer = [&](size_t end, double score, int32_t id) {
      Node& node = best[end];
      if (node.begin >= 0 && score <= node.score) return;
      node = {score, static_cast<int32_t>(begin), id};
    };
    trie_.ForEachPrefix(word.substr(begin), [&](size_t n, int32_t id) {
      offer(begin + n, sum(scores_[static_cast<size_t>(id)]), id);
      single = single || n == length;
    });
    if (!single) {
      if (!options_.unk_id) {
        return InvalidArgument(
            "the text has a character without a token, and the model has no unk_id");
      }
      offer(begin + length, sum(unk_score_), *options_.unk_id);
    }
    begin += length;
  }
  return OkStatus();
}

// A run of unknown characters: a token that happens to spell it, its bytes, or the unknown token.
void UnigramModel::EmitUnknown(std::string_view text, std::vector<int32_t>& ids) const {
  std::optional<int32_t> id;
  if (options_.look_up_unknown) id = vocabulary_.Find(text);
  if (id) {
    ids.push_back(*id);
    return;
  }
  auto has_token = [this](char b) { return byte_tokens_[static_cast<unsigned char>(b)] >= 0; };
  if (options_.byte_fallback && std::all_of(text.begin(), text.end(), has_token)) {
    for (char b : text) ids.push_back(byte_tokens_[static_cast<unsigned char>(b)]);
  } else {
    ids.push_back(*options_.unk_id);
  }
}

Status UnigramModel::Encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (word.size() > kMaxWord)
    return InvalidArgument("a word of ", word.size(), " bytes is too long");
  uint64_t hash = HashBytes(word);
  if (cache_.Find(word, hash, ids)) return OkStatus();
  std::vector<Node> best;
  MOXIE_RETURN_IF_ERROR(Viterbi(word, best));
  struct Cut {
    size_t begin;
    size_t end;
    int32_t id;
  };
  std::vector<Cut> cuts;  // last first; unknown ones joined
  auto is_unknown = [this](int32_t id) { return options_.unk_id && id == *options_.unk_id; };
  for (size_t end = word.size(); end > 0;) {
    const Node& node = best[end];
    auto begin = static_cast<size_t>(node.begin);
    if (is_unknown(node.id) && !cuts.empty() && is_unknown(cuts.back().id)) {
      cuts.back().begin = begin;
    } else {
      cuts.push_back({begin, end, node.id});
    }
    end = begin;
  }
  size_t first = ids.size();
  for (auto it = cuts.rbegin(); it != cuts.rend(); ++it) {
    if (is_unknown(it->id)) {
      EmitUnknown(word.substr(it->begin, it->end - it->begin), ids);
    } else {
      ids.push_back(it->id);
    }
  }
  cache_.Insert(word, hash, ids.data() + first, ids.size() - first);
  return OkStatus();
}

}  // namespace moxie::text
