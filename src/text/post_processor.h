// What is put around the ids of a text: BOS, EOS, [CLS] and [SEP].
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/json.h"
#include "base/status.h"

namespace moxie::text {

class PostProcessor {
 public:
  PostProcessor() = default;
  PostProcessor(std::vector<int32_t> before, std::vector<int32_t> after);
  // From the "post_processor" object of a tokenizer.json.
  static Result<PostProcessor> FromJson(const Json& json, const std::string& where);

  // `ids` as they are, or with the special ones; the template may also repeat or drop the text.
  std::vector<int32_t> Apply(std::vector<int32_t> ids, bool add_special_tokens) const;
  // The id that comes first when special tokens are added, if one does.
  std::optional<int32_t> First() const;

 private:
  struct Item {
    bool is_text = false;
    int32_t id = 0;
  };
  using Template = std::vector<Item>;
  static Result<Template> Parse(const Json& json, const std::string& where, int depth);
  static Result<Template> ParseTemplate(const JsonObject& object, const std::string& where);
  static Result<Template> ParsePair(const JsonObject& object, const std::string& where);

  Template template_ = {{.is_text = true}};
};

}  // namespace moxie::text
