// Generation: one HTTP request's answers, from the parsed body to the JSON of its reply. It submits
// an engine request a choice (prompts times n), reads their streams, and speaks of no socket.
//
// Not thread-safe; Wake comes from the engine's thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "api/body.h"
#include "api/reply.h"
#include "api/served_model.h"
#include "base/status.h"

namespace moxie::api {

class Generation {
 public:
  // Tokenises and submits; run it on a worker. `request_id` is the reply's id. Errors are those of
  // a client (field: ...), kNotFound for the model, and kResourceExhausted or kUnavailable when the
  // queue takes no more: then nothing of the request runs.
  static Result<std::unique_ptr<Generation>> Start(const ServedModel& model, Body body,
                                                   std::string request_id, int64_t created,
                                                   const engine::TokenStream::Wake& wake);
  // Ends what still runs.
  ~Generation();
  Generation(const Generation&) = delete;
  Generation& operator=(const Generation&) = delete;

  // Takes what came since the last call. For a stream: the chunks to send, at most one a choice,
  // and one to open it. For a whole reply the news is kept and nothing returned.
  std::vector<JsonObject> Read();
  // All choices have ended.
  bool done() const { return running_ == 0; }
  // Of the first choice that ended in an error, or was ended from the server's side.
  const Status& error() const { return error_; }

  // The whole reply. REQUIRES: done(), error() is OK, not a stream.
  JsonObject Reply();
  // A stream ends with a chunk of usage.
  bool wants_usage() const;
  JsonObject UsageChunk() const;

  const Body& body() const { return body_; }
  Usage usage() const;

 private:
  Generation(const ServedModel& model, Body body) : model_(model), body_(std::move(body)) {}
  Status Submit(std::vector<std::vector<int32_t>> prompts, const engine::TokenStream::Wake& wake);
  void Take(const engine::TokenEvent& event, Choice& choice);
  Delta Advance(Choice& choice, std::string& text);
  void AppendChunks(Choice& choice, const Delta& delta, std::vector<JsonObject>& chunks);
  JsonObject Chunk(JsonObject entry) const;

  const ServedModel& model_;
  const Body body_;
  ReplyHead head_;
  std::vector<std::vector<int32_t>> prompts_;
  std::vector<std::string> prompt_texts_;  // with echo
  std::vector<Choice> choices_;
  size_t running_ = 0;
  Status error_;
};

}  // namespace moxie::api
