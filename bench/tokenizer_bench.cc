// Encoding, decoding and loading of one tokenizer. bench/tokenizers_compare.py runs it beside the
// tokenizers package. MOXIE_BENCH_TOKENIZER: a directory or file; MOXIE_BENCH_TEXT: a file.
#include <benchmark/benchmark.h>

#include <cstdlib>

#include "base/file.h"
#include "text/tokenizer.h"

namespace moxie::text {
namespace {

const char* Variable(benchmark::State& state, const char* name) {
  const char* value = std::getenv(name);
  if (!value) state.SkipWithError((std::string(name) + " is not set").c_str());
  return value;
}

std::shared_ptr<const Tokenizer> Load(benchmark::State& state) {
  const char* path = Variable(state, "MOXIE_BENCH_TOKENIZER");
  if (!path) return nullptr;
  auto tokenizer = Tokenizer::Load(path);
  if (!tokenizer.ok()) state.SkipWithError(tokenizer.status().message().c_str());
  return tokenizer.ok() ? *tokenizer : nullptr;
}

std::string ReadText(benchmark::State& state) {
  const char* path = Variable(state, "MOXIE_BENCH_TEXT");
  auto text = ReadFile(path ? path : "", size_t{64} << 20);
  if (!text.ok()) state.SkipWithError(text.status().message().c_str());
  return text.ok() ? *text : "";
}

void BM_Load(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(Load(state));
}
BENCHMARK(BM_Load)->Unit(benchmark::kMillisecond);

void BM_Encode(benchmark::State& state) {
  auto tokenizer = Load(state);
  std::string text = ReadText(state);
  if (!tokenizer || text.empty()) return;
  size_t ids = 0;
  for (auto _ : state) {
    auto encoded = tokenizer->Encode(text, {.add_special_tokens = false});
    ids = encoded.ok() ? encoded->size() : 0;
  }
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
  state.counters["ids"] = static_cast<double>(ids);
}
BENCHMARK(BM_Encode)->Unit(benchmark::kMillisecond);

void BM_Decode(benchmark::State& state) {
  auto tokenizer = Load(state);
  std::string text = ReadText(state);
  if (!tokenizer || text.empty()) return;
  auto ids = tokenizer->Encode(text, {.add_special_tokens = false});
  if (!ids.ok()) return;
  for (auto _ : state) benchmark::DoNotOptimize(tokenizer->Decode(*ids));
  state.SetBytesProcessed(static_cast<int64_t>(state.iterations() * text.size()));
}
BENCHMARK(BM_Decode)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace moxie::text
