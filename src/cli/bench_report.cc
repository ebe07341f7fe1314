#include "cli/bench_report.h"

#include <cmath>
#include <cstdio>
#include <numeric>

#include "base/json.h"
#include "memory/plan.h"

namespace moxie::cli {
namespace {

double Mean(const std::vector<double>& samples) {
  return std::accumulate(samples.begin(), samples.end(), 0.0) / static_cast<double>(samples.size());
}

// With n - 1, as llama-bench has it; 0 for one sample.
double StandardDeviation(const std::vector<double>& samples) {
  if (samples.size() < 2) return 0;
  const double mean = Mean(samples);
  double sum = 0;
  for (double sample : samples) sum += (sample - mean) * (sample - mean);
  return std::sqrt(sum / static_cast<double>(samples.size() - 1));
}

std::string Fixed(double value, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, value);
  return text;
}

// "134.52 M", "46.70 B"
std::string Parameters(int64_t count) {
  const double n = static_cast<double>(count);
  return n >= 1e9 ? StrCat(Fixed(n / 1e9, 2), " B") : StrCat(Fixed(n / 1e6, 2), " M");
}

}  // namespace

std::string BenchTable(const BenchSubject& subject, std::span<const BenchResult> results) {
  std::string text =
      "| model | size | params | backend | threads | test | t/s |\n"
      "| --- | ---: | ---: | --- | ---: | ---: | ---: |\n";
  for (const BenchResult& result : results) {
    text += StrCat("| ", subject.model, " | ", memory::FormatBytes(subject.bytes), " | ",
                   Parameters(subject.parameters), " | ", subject.backend, " | ", subject.threads,
                   " | ", result.test.Name(), " | ", Fixed(Mean(result.tokens_per_second), 2),
                   " ± ", Fixed(StandardDeviation(result.tokens_per_second), 2), " |\n");
  }
  return text;
}

std::string BenchJson(const BenchSubject& subject, const BenchResult& result) {
  JsonArray samples(result.tokens_per_second.begin(), result.tokens_per_second.end());
  JsonObject line{{"test", result.test.Name()},
                  {"tokens_per_second", std::move(samples)},
                  {"repetitions", result.tokens_per_second.size()},
                  {"model", subject.model},
                  {"size_bytes", subject.bytes},
                  {"parameters", subject.parameters},
                  {"backend", subject.backend},
                  {"threads", subject.threads}};
  return DumpJson(line) + "\n";
}

}  // namespace moxie::cli
