// Tokens back to text. A decoder is a chain of steps over the tokens' pieces, run as a stream:
// whole decoding is the stream of all tokens, so that the two cannot differ.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace moxie::text {

// One step at work on one stream. It is given tokens, in chunks, and gives tokens to the next.
class DecodeStage {
 public:
  virtual ~DecodeStage() = default;
  // A chunk of a token; `begins` and `ends` when it is the token's first and last one. All but the
  // chunks of a byte-level step's input are valid UTF-8.
  virtual void Push(std::string_view chunk, bool begins, bool ends) = 0;
  // The stream is over: gives all that was held back, and is as new.
  virtual void Finish() = 0;

  void set_next(DecodeStage* next) { next_ = next; }

 protected:
  DecodeStage& next() { return *next_; }

 private:
  DecodeStage* next_ = nullptr;
};

// The last stage: joins all chunks.
class DecodeOutput : public DecodeStage {
 public:
  void Push(std::string_view chunk, bool, bool) override { out_->append(chunk); }
  void Finish() override {}
  void set_out(std::string* out) { out_ = out; }

 private:
  std::string* out_ = nullptr;
};

// A step as configured; immutable.
class DecodeStep {
 public:
  virtual ~DecodeStep() = default;
  virtual std::unique_ptr<DecodeStage> MakeStage() const = 0;
  // What the step makes of one token's text in the middle of a stream.
  virtual std::string BytesOf(std::string piece) const { return piece; }
  // Whether all tokens leave it as one.
  virtual bool Fuses() const { return false; }
};

class Decoder {
 public:
  // No steps: the pieces joined as they are.
  Decoder() = default;
  // From the "decoder" value of a tokenizer.json; null joins the pieces with spaces.
  static Result<Decoder> FromJson(const Json& json, const std::string& where);
  // GPT-2's byte alphabet.
  static Decoder ByteLevel();
  // SentencePiece's: "▁" is a space, <0x..> a byte; one space at the front goes if `strip_first`.
  static Decoder SentencePiece(bool strip_first);
  // BERT's: "##" continues a word.
  static Decoder WordPiece(std::string prefix, bool cleanup);

  // A chain for one stream; tokens go to front(), and back() is a DecodeOutput.
  std::vector<std::unique_ptr<DecodeStage>> MakeStages() const;
  // The bytes that a token adds in the middle of a text.
  std::string BytesOf(std::string_view piece) const;

 private:
  std::vector<std::unique_ptr<const DecodeStep>> steps_;
};

}  // namespace moxie::text
