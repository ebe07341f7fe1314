#include "server/metrics.h"

#include <charconv>
#include <string>

#include "base/status.h"

namespace moxie::server {
namespace {

using engine::EngineStats;

// One sample. Rows of one name stand together.
struct MetricRow {
  std::string_view name;
  std::string_view type;
  std::string_view help;
  std::string_view labels;  // besides model_name and engine: `,reason="x"`
  double (*value)(const EngineStats& stats);
};

template <int64_t EngineStats::*Member>
double Count(const EngineStats& stats) {
  return static_cast<double>(stats.*Member);
}

double CacheUsage(const EngineStats& stats) {
  if (stats.blocks_total == 0) return 0;
  return static_cast<double>(stats.blocks_used) / static_cast<double>(stats.blocks_total);
}

constexpr std::string_view kEnded = "Requests that have ended, by how.";
constexpr std::string_view kRefused = "Requests refused because the queue was full.";

constexpr MetricRow kMetrics[] = {
    {"vllm:num_requests_running", "gauge", "Requests in execution.", "",
     Count<&EngineStats::running>},
    {"vllm:num_requests_waiting", "gauge", "Requests in the queue, or preempted.", "",
     Count<&EngineStats::waiting>},
    {"vllm:kv_cache_usage_perc", "gauge", "Used part of the KV cache, 0 to 1.", "", CacheUsage},
    {"vllm:num_preemptions_total", "counter", "Requests that gave their blocks back for a while.",
     "", Count<&EngineStats::preemptions>},
    {"vllm:prefix_cache_queries_total", "counter", "Prompt tokens looked for in the prefix cache.",
     "", Count<&EngineStats::prefix_queries>},
    {"vllm:prefix_cache_hits_total", "counter", "Prompt tokens found in the prefix cache.", "",
     Count<&EngineStats::prefix_hits>},
    {"vllm:prompt_tokens_total", "counter", "Tokens of prompts that are done.", "",
     Count<&EngineStats::prompt_tokens>},
    {"vllm:prompt_tokens_cached_total", "counter", "Of those, found in the prefix cache.", "",
     Count<&EngineStats::prompt_tokens_cached>},
    {"vllm:generation_tokens_total", "counter", "Tokens generated.", "",
     Count<&EngineStats::generation_tokens>},
    {"vllm:request_success_total", "counter", kEnded, ",finished_reason=\"stop\"",
     Count<&EngineStats::finished_stop>},
    {"vllm:request_success_total", "counter", kEnded, ",finished_reason=\"length\"",
     Count<&EngineStats::finished_length>},
    {"vllm:request_success_total", "counter", kEnded, ",finished_reason=\"abort\"",
     Count<&EngineStats::finished_abort>},
    {"vllm:request_success_total", "counter", kEnded, ",finished_reason=\"error\"",
     Count<&EngineStats::finished_error>},
    {"vllm:admission_rejections_total", "counter", kRefused, ",reason=\"max_num_queued_reqs\"",
     Count<&EngineStats::refused_requests_full>},
    {"vllm:admission_rejections_total", "counter", kRefused, ",reason=\"max_num_queued_tokens\"",
     Count<&EngineStats::refused_tokens_full>},
    {"vllm:admission_rejections_total", "counter", kRefused, ",reason=\"max_request_heap\"",
     Count<&EngineStats::refused_bytes_full>},
    {"vllm:corrupted_requests_total", "counter", "Requests ended by a logit that is no number.", "",
     Count<&EngineStats::corrupted_requests>},
};

// As prometheus_client prints: 3.0, +Inf aside.
std::string Number(double value) {
  char buffer[40];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, value);
  std::string text(buffer, end);
  if (text.find_first_of(".e") == std::string::npos) text += ".0";
  return text;
}

class Page {
 public:
  explicit Page(std::string_view model_name)
      : labels_(StrCat("model_name=\"", EscapeLabel(model_name), "\",engine=\"0\"")) {}

  void Head(std::string_view name, std::string_view type, std::string_view help) {
    if (name == last_) return;
    last_ = name;
    text_ += StrCat("# HELP ", name, " ", help, "\n# TYPE ", name, " ", type, "\n");
  }
  void Sample(std::string_view name, std::string_view more_labels, double value) {
    text_ += StrCat(name, "{", labels_, more_labels, "} ", Number(value), "\n");
  }
  std::string Take() { return std::move(text_); }

 private:
  const std::string labels_;
  std::string_view last_;
  std::string text_;
};

// A histogram's buckets count all below their bound, too.
void AddStepTokens(const EngineStats& stats, Page& page) {
  page.Head("vllm:iteration_tokens_total", "histogram", "Tokens a step.");
  int64_t count = 0;
  for (size_t i = 0; i < stats.step_tokens.size(); ++i) {
    count += stats.step_tokens[i];
    const bool last = i == engine::kStepTokenBuckets.size();
    const std::string bound =
        last ? "+Inf" : Number(static_cast<double>(engine::kStepTokenBuckets[i]));
    page.Sample("vllm:iteration_tokens_total_bucket", StrCat(",le=\"", bound, "\""),
                static_cast<double>(count));
  }
  page.Sample("vllm:iteration_tokens_total_sum", "", static_cast<double>(stats.step_tokens_sum));
  page.Sample("vllm:iteration_tokens_total_count", "", static_cast<double>(count));
}

}  // namespace

std::string EscapeLabel(std::string_view value) {
  std::string out;
  for (char c : value) {
    if (c == '\n') {
      out += "\\n";
    } else {
      if (c == '"' || c == '\\') out += '\\';
      out += c;
    }
  }
  return out;
}

std::string MetricsText(const EngineStats& stats, std::string_view model_name) {
  Page page(model_name);
  for (const MetricRow& row : kMetrics) {
    page.Head(row.name, row.type, row.help);
    page.Sample(row.name, row.labels, row.value(stats));
  }
  AddStepTokens(stats, page);
  return page.Take();
}

}  // namespace moxie::server
