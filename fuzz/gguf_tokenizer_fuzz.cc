// Any bytes as a GGUF file: its metadata, and the tokenizer in it.
#include "fuzz/use_tokenizer.h"
#include "text/gguf_vocabulary.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moxie::text;
  FuzzInput input = SplitInput(data, size);
  auto metadata = moxie::config::GgufMetadata::Parse(input.file, "fuzz");
  if (!metadata.ok()) return 0;
  auto vocabulary = ReadGgufVocabulary(*metadata);
  if (vocabulary.ok()) UseTokenizer(Tokenizer::FromGguf(*vocabulary, "fuzz"), input.text);
  return 0;
}
