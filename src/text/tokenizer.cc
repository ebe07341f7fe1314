#include "text/tokenizer.h"

#include <algorithm>

#include "base/file.h"
#include "base/json.h"
#include "text/detokenizer.h"
#include "text/gguf_vocabulary.h"
#include "text/tokenizer_parts.h"
#include "text/unicode.h"

namespace moxie::text {
namespace {

using Loaded = Result<std::shared_ptr<const Tokenizer>>;
using Region = AddedTokens::Region;

constexpr size_t kMaxFileBytes = size_t{256} << 20;

Loaded Finish(Result<TokenizerParts> parts) {
  if (!parts.ok()) return std::move(parts).status();
  return std::shared_ptr<const Tokenizer>(std::make_shared<Tokenizer>(std::move(*parts)));
}

// The JSON object of a file beside the tokenizer, or null where there is none.
Result<Json> ReadBeside(const std::filesystem::path& path) {
  std::error_code ec;
  if (!std::filesystem::exists(path, ec)) return Json();
  return ReadJsonFile(path);
}

Result<TokenizerParts> PartsFromGgufFile(const std::filesystem::path& file) {
  MOXIE_ASSIGN_OR_RETURN(MappedFile map, MappedFile::Open(file));
  std::string_view bytes(reinterpret_cast<const char*>(map.bytes().data()), map.bytes().size());
  MOXIE_ASSIGN_OR_RETURN(auto metadata, config::GgufMetadata::Parse(bytes, file.string()));
  MOXIE_ASSIGN_OR_RETURN(GgufVocabulary vocabulary, ReadGgufVocabulary(metadata));
  return PartsFromGguf(vocabulary, file.string());
}

Result<TokenizerParts> PartsFromFile(const std::filesystem::path& file, const Json& config) {
  if (file.extension() == ".gguf") return PartsFromGgufFile(file);
  MOXIE_ASSIGN_OR_RETURN(std::string bytes, ReadFile(file, kMaxFileBytes));
  std::string name = file.filename().string();
  if (name == "tekken.json") return PartsFromTekken(bytes, file.string());
  if (name.ends_with(".json")) return PartsFromTokenizerJson(bytes, file.string());
  // Ranks are lines of base64 and a number; a protobuf has bytes that no such line has.
  bool is_text = std::all_of(bytes.begin(),
                             bytes.begin() + static_cast<long>(std::min<size_t>(bytes.size(), 64)),
                             [](char c) { return c == '\n' || (c >= ' ' && c <= '~'); });
  if (name.ends_with(".tiktoken") || is_text)
    return PartsFromTiktoken(bytes, config, name, file.string());
  return PartsFromSentencePiece(bytes, file.string());
}

Result<std::filesystem::path> FindTokenizerFile(const std::filesystem::path& dir) {
  std::error_code ec;
  for (const char* name : {"tokenizer.json", "tekken.json", "tokenizer.model", "tiktoken.model"}) {
    if (std::filesystem::is_regular_file(dir / name, ec)) return dir / name;
  }
  for (const auto& entry : std::filesystem::directory_iterator(dir, ec)) {
    if (entry.path().extension() == ".tiktoken") return entry.path();
  }
  return NotFound(dir.string(),
                  ": has no tokenizer.json, tekken.json, tokenizer.model or *.tiktoken");
}

// A text and where special tokens are recognised in it.
struct Input {
  std::string_view given;  // one segment that is valid as it is
  std::string joined;      // else all of them
  std::vector<Region> special;

  std::string_view text() const { return joined.empty() ? given : std::string_view(joined); }
};

Result<Input> JoinSegments(std::span<const TextSegment> segments, size_t max_bytes) {
  Input input;
  size_t total = 0;
  for (const TextSegment& s : segments) total += s.text.size();
  if (total > max_bytes) {
    return InvalidArgument("a text of ", total, " bytes is over the limit of ", max_bytes);
  }
  bool as_given = segments.size() == 1 && IsValidUtf8(segments[0].text);
  if (as_given) {
    input.given = segments[0].text;
    if (segments[0].parse_special) input.special.push_back({0, total});
    return input;
  }
  for (const TextSegment& s : segments) {
    size_t begin = input.joined.size();
    if (IsValidUtf8(s.text))
      input.joined += s.text;
    else
      input.joined += RepairUtf8(s.text);
    if (!s.parse_special || s.text.empty()) continue;
    bool joins = !input.special.empty() && input.special.back().end == begin;
    if (joins)
      input.special.back().end = input.joined.size();
    else
      input.special.push_back({begin, input.joined.size()});
  }
  return input;
}

// Calls token(id) for each added token and words(Words) for each stretch between them, in order.
template <typename T, typename W>
Status WalkText(const TokenizerParts& parts, const Input& input, std::span<const int32_t> markers,
                T&& token, W&& words) {
  auto pre_tokenize = [&](std::string_view text, size_t first_end) -> Status {
    Words w;
    w.text = text;
    w.first_end = first_end;
    w.spans.push_back({0, static_cast<uint32_t>(text.size())});
    if (parts.pre_tokenizer) MOXIE_RETURN_IF_ERROR(parts.pre_tokenizer->Apply(w));
    return words(w);
  };
  for (const AddedTokens::Part& raw :
       parts.added.Split(input.text(), false, input.special, markers)) {
    if (raw.id >= 0) {
      token(raw.id);
      continue;
    }
    auto normalized = NormalizedText::Of(
        std::string(input.text().substr(raw.begin, raw.end - raw.begin)), raw.begin == 0);
    if (parts.normalizer) MOXIE_RETURN_IF_ERROR(parts.normalizer->Apply(normalized));
    // Special tokens that are looked for after normalising have no exact place in the given text:
    // they are honoured where the whole stretch is.
    std::vector<Region> special;
    for (const Region& r : input.special) {
      if (r.begin <= raw.begin && raw.end <= r.end) special = {{0, normalized.text.size()}};
    }
    for (const AddedTokens::Part& part :
         parts.added.Split(normalized.text, true, special, markers)) {
      if (part.id >= 0) {
        token(part.id);
        continue;
      }
      size_t first_end = raw.begin == 0 && part.begin < normalized.first_end
                             ? normalized.first_end - part.begin
                             : 0;
      MOXIE_RETURN_IF_ERROR(pre_tokenize(
          std::string_view(normalized.text).substr(part.begin, part.end - part.begin), first_end));
    }
  }
  return OkStatus();
}

}  // namespace

Tokenizer::Tokenizer(TokenizerParts parts)
    : parts_(std::make_unique<const TokenizerParts>(std::move(parts))) {}
Tokenizer::~Tokenizer() = default;

Loaded Tokenizer::Load(const std::filesystem::path& dir_or_file) {
  std::filesystem::path file = dir_or_file;
  std::error_code ec;
  if (std::filesystem::is_directory(file, ec)) {
    MOXIE_ASSIGN_OR_RETURN(file, FindTokenizerFile(file));
  }
  MOXIE_ASSIGN_OR_RETURN(Json config, ReadBeside(file.parent_path() / "tokenizer_config.json"));
  MOXIE_ASSIGN_OR_RETURN(TokenizerParts parts, PartsFromFile(file, config));
  if (file.extension() != ".gguf") {  // such a file says it all
    ApplyTokenizerConfig(config, file.extension() != ".json", parts);
  }
  return Finish(std::move(parts));
}

Loaded Tokenizer::FromJson(std::string_view json, std::string_view origin) {
  return Finish(PartsFromTokenizerJson(json, std::string(origin)));
}
Loaded Tokenizer::FromSentencePiece(std::string_view bytes, std::string_view origin) {
  return Finish(PartsFromSentencePiece(bytes, std::string(origin)));
}
Loaded Tokenizer::FromTekken(std::string_view json, std::string_view origin) {
  return Finish(PartsFromTekken(json, std::string(origin)));
}
Loaded Tokenizer::FromGguf(const GgufVocabulary& vocabulary, std::string_view origin) {
  return Finish(PartsFromGguf(vocabulary, std::string(origin)));
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::string_view text,
                                               const EncodeOptions& options) const {
  TextSegment segment{text, options.parse_special};
  return Encode(std::span(&segment, 1), options);
}

Result<std::vector<int32_t>> Tokenizer::Encode(std::span<const TextSegment> segments,
                                               const EncodeOptions& options) const {
  MOXIE_ASSIGN_OR_RETURN(Input input, JoinSegments(segments, options.max_bytes));
  std::vector<int32_t> ids;
  ids.reserve(input.text().size() / 3 + 8);
  MOXIE_RETURN_IF_ERROR(WalkText(
      *parts_, input, options.markers, [&](int32_t id) { ids.push_back(id); },
      [&](const Words& words) -> Status {
        for (Words::Span span : words.spans) {
          MOXIE_RETURN_IF_ERROR(parts_->model->Encode(words.word(span), ids));
        }
        return OkStatus();
      }));
  return parts_->post_processor.Apply(std::move(ids), options.add_special_tokens);
}

Result<std::vector<std::string>> Tokenizer::PreTokenize(std::string_view text) const {
  TextSegment segment{text, true};
  MOXIE_ASSIGN_OR_RETURN(Input input,
                         JoinSegments(std::span(&segment, 1), EncodeOptions().max_bytes));
  std::vector<std::string> out;
  MOXIE_RETURN_IF_ERROR(WalkText(
      *parts_, input, {}, [&](int32_t id) { out.emplace_back(TokenPiece(id)); },
      [&](const Words& words) {
        for (Words::Span span : words.spans) out.emplace_back(words.word(span));
        return OkStatus();
      }));
  return out;
}

std::string Tokenizer::Decode(std::span<const int32_t> ids, bool skip_special_tokens) const {
  IncrementalDetokenizer stream(*this, skip_special_tokens);
  std::string text;
  for (int32_t id : ids) stream.Push(id, text);
  text += stream.Flush();
  return text;
}

std::string_view Tokenizer::TokenPiece(int32_t id) const {
  std::string_view added = parts_->added.Piece(id);
  if (!added.empty()) return added;
  return parts_->model->vocabulary().Piece(id).value_or(std::string_view());
}

std::string Tokenizer::TokenString(int32_t id) const { return Decode(std::span(&id, 1)); }

std::string Tokenizer::TokenBytes(int32_t id) const {
  return parts_->decoder.BytesOf(TokenPiece(id));
}

size_t Tokenizer::MaxTokenBytes() const {
  size_t longest = 0;
  for (int32_t id = 0; id < vocab_size(); ++id) longest = std::max(longest, TokenPiece(id).size());
  return longest + 1;
}

int32_t Tokenizer::vocab_size() const {
  return std::max(parts_->model->vocabulary().id_end(), parts_->added.id_end());
}

bool Tokenizer::HasToken(int32_t id) const {
  return parts_->added.Find(id) || parts_->model->vocabulary().Piece(id);
}

bool Tokenizer::IsSpecial(int32_t id) const { return parts_->added.IsSpecial(id); }

std::optional<int32_t> Tokenizer::TokenToId(std::string_view piece) const {
  for (const AddedToken& t : parts_->added.tokens()) {
    if (t.content == piece) return t.id;
  }
  return parts_->model->vocabulary().Find(piece);
}

std::vector<SpecialToken> Tokenizer::SpecialTokens() const {
  std::vector<SpecialToken> specials;
  for (const AddedToken& t : parts_->added.tokens()) {
    if (t.special) specials.push_back({t.id, t.content});
  }
  return specials;
}

std::optional<int32_t> Tokenizer::bos_id() const { return parts_->bos_id; }
std::optional<int32_t> Tokenizer::eos_id() const { return parts_->eos_id; }

bool Tokenizer::AddsBos() const {
  std::optional<int32_t> first = parts_->post_processor.First();
  return first && (!parts_->bos_id || *first == *parts_->bos_id);
}

}  // namespace moxie::text
