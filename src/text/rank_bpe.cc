#include "text/rank_bpe.h"

#include "text/bpe.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

// Longer tokens could not be split into pairs in reasonable time; the longest known has 128 bytes.
constexpr size_t kMaxToken = 1024;

}  // namespace

Result<std::unique_ptr<Model>> MakeRankBpe(const std::vector<std::string>& tokens,
                                           int32_t first_id) {
  Vocabulary by_bytes, by_piece;
  by_bytes.Reserve(tokens.size(), 0);
  by_piece.Reserve(tokens.size(), 0);
  std::string piece;
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].empty()) continue;
    if (tokens[i].size() > kMaxToken) {
      return InvalidArgument("token ", i, " has ", tokens[i].size(), " bytes, expected 1 to ",
                             kMaxToken);
    }
    if (by_bytes.Find(tokens[i])) return InvalidArgument("token ", i, " has the bytes of another");
    MOXIE_RETURN_IF_ERROR(by_bytes.Add(tokens[i], static_cast<int64_t>(i)));
    piece.clear();
    AppendByteChars(piece, tokens[i]);
    MOXIE_RETURN_IF_ERROR(by_piece.Add(piece, first_id + static_cast<int64_t>(i)));
  }
  MergeTable merges;
  merges.Reserve(tokens.size() * 2);
  for (size_t i = 0; i < tokens.size(); ++i) {
    std::string_view token = tokens[i];
    for (size_t cut = 1; cut < token.size(); ++cut) {
      std::optional<int32_t> left = by_bytes.Find(token.substr(0, cut));
      if (!left) continue;
      std::optional<int32_t> right = by_bytes.Find(token.substr(cut));
      if (!right) continue;
      merges.Add(first_id + *left, first_id + *right,
                 {static_cast<uint32_t>(i), first_id + static_cast<int32_t>(i)});
    }
  }
  BpeOptions options;
  options.ignore_merges = true;
  return std::unique_ptr<Model>(
      std::make_unique<BpeModel>(std::move(by_piece), std::move(merges), std::move(options)));
}

}  // namespace moxie::text
