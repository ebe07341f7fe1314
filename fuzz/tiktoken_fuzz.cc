// Any bytes as ranks of tiktoken; their names say which split they were trained with.
#include "fuzz/use_tokenizer.h"
#include "text/tokenizer_parts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moxie::text;
  FuzzInput input = SplitInput(data, size);
  // Beside them stands a tokenizer_config.json with a special token that may take the id of a rank.
  moxie::Json config = {{"added_tokens_decoder", {{"300", {{"content", "<s>"}}}}}};
  auto parts = PartsFromTiktoken(input.file, config, "cl100k", "fuzz");
  if (!parts.ok()) return 0;
  UseTokenizer(std::shared_ptr<const Tokenizer>(new Tokenizer(std::move(*parts))), input.text);
  return 0;
}
