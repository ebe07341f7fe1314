// Any bytes as a tekken.json.
#include "fuzz/use_tokenizer.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace moxie::text;
  FuzzInput input = SplitInput(data, size);
  UseTokenizer(Tokenizer::FromTekken(input.file, "fuzz"), input.text);
  return 0;
}
