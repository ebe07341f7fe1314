#include "text/wordpiece.h"

#include <algorithm>

#include "text/unicode.h"

namespace moxie::text {
namespace {

int64_t CountCharacters(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; });
}

Status EmitUnknown(const Vocabulary& vocabulary, std::string_view unk, std::vector<int32_t>& ids) {
  std::optional<int32_t> id = vocabulary.Find(unk);
  if (!id) {
    return InvalidArgument("the text needs the unknown token \"", unk,
                           "\", which is not in the vocabulary");
  }
  ids.push_back(*id);
  return OkStatus();
}

}  // namespace

WordPieceModel::WordPieceModel(Vocabulary vocabulary, WordPieceOptions options)
    : Model(std::move(vocabulary)), options_(std::move(options)) {
  for (int32_t id = 0; id < vocabulary_.id_end(); ++id) {
    if (auto piece = vocabulary_.Piece(id)) longest_ = std::max(longest_, piece->size());
  }
}

bool WordPieceModel::Match(std::string_view word, std::vector<int32_t>& ids) const {
  size_t before = ids.size();
  std::string candidate;
  for (size_t begin = 0; begin < word.size();) {
    candidate = begin > 0 ? options_.continuing_subword_prefix : "";
    size_t prefix = candidate.size();
    candidate += word.substr(begin, longest_);  // a longer one is no token
    while (candidate.size() > prefix) {
      // Only whole characters: a token is valid UTF-8, so a cut one is not found.
      if (std::optional<int32_t> id = vocabulary_.Find(candidate)) {
        ids.push_back(*id);
        break;
      }
      candidate.pop_back();
    }
    if (candidate.size() == prefix) {
      ids.resize(before);
      return false;
    }
    begin += candidate.size() - prefix;
  }
  return true;
}

Status WordPieceModel::Encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (CountCharacters(word) <= options_.max_input_chars_per_word && Match(word, ids))
    return OkStatus();
  return EmitUnknown(vocabulary_, options_.unk_token, ids);
}

WordLevelModel::WordLevelModel(Vocabulary vocabulary, std::string unk_token)
    : Model(std::move(vocabulary)), unk_token_(std::move(unk_token)) {}

Status WordLevelModel::Encode(std::string_view word, std::vector<int32_t>& ids) const {
  if (std::optional<int32_t> id = vocabulary_.Find(word)) {
    ids.push_back(*id);
    return OkStatus();
  }
  return EmitUnknown(vocabulary_, unk_token_, ids);
}

}  // namespace moxie::text
