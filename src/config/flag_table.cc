#include "config/flag_table.h"

#include <algorithm>
#include <type_traits>
#include <utility>

namespace moxie::config {
namespace {

using enum FlagClass;
using enum FlagType;

// ---- Domains

constexpr int64_t kInt32Max = std::numeric_limits<int32_t>::max();
constexpr FlagDomain Between(int64_t min, int64_t max) {
  return {.min = static_cast<double>(min), .max = static_cast<double>(max)};
}
constexpr FlagDomain OneOf(std::string_view choices) { return {.choices = choices}; }
constexpr FlagDomain kAny{};
constexpr FlagDomain kNonNegative{.min = 0};
constexpr FlagDomain kAtLeastOne{.min = 1};
constexpr FlagDomain kAboveZero{.min = 0, .min_open = true};
constexpr FlagDomain kFraction{.min = 0, .max = 1, .min_open = true};
constexpr FlagDomain kBelowOne{.min = 0, .max = 1, .max_open = true};
constexpr FlagDomain kLengthOrAuto{.min = 1, .max = 1 << 28, .choices = "auto|-1"};
constexpr FlagDomain kBytes = Between(1, int64_t{1} << 50);

// ---- Commands

constexpr uint8_t Only(Command a) { return static_cast<uint8_t>(a); }
constexpr uint8_t kCompleteOnly = Only(Command::kComplete);
constexpr uint8_t kPlanOnly = Only(Command::kPlan);
constexpr uint8_t kBenchOnly = Only(Command::kBench);
constexpr uint8_t kIrOnly = Only(Command::kIr);
constexpr uint8_t kReports = Only(Command::kPlan) | Only(Command::kBench) | kIrOnly;
constexpr uint8_t kGraphCommands = kEngineCommands | kIrOnly;
constexpr uint8_t kTokenizeOnly = Only(Command::kTokenize);
constexpr uint8_t kDetokenizeOnly = Only(Command::kDetokenize);
constexpr uint8_t kAllCommands = kEngineCommands | kTokenizeOnly | kDetokenizeOnly;

// ---- Setters: absent leaves the member as it is

template <typename Member>
void Assign(const FlagValue& value, Member& member) {
  if (const auto* same = std::get_if<Member>(&value)) member = *same;
}
template <typename Member>
void Assign(const FlagValue& value, std::optional<Member>& member) {
  if (const auto* same = std::get_if<Member>(&value)) member = *same;
}
void Assign(const FlagValue& value, int& member) {
  if (const auto* wide = std::get_if<int64_t>(&value)) member = static_cast<int>(*wide);
}

EngineConfig& Part(CommandLine& line, std::type_identity<EngineConfig>) { return line.engine; }
CompleteOptions& Part(CommandLine& line, std::type_identity<CompleteOptions>) {
  return line.complete;
}
PlanOptions& Part(CommandLine& line, std::type_identity<PlanOptions>) { return line.plan; }
BenchOptions& Part(CommandLine& line, std::type_identity<BenchOptions>) { return line.bench; }
TextOptions& Part(CommandLine& line, std::type_identity<TextOptions>) { return line.text; }
IrOptions& Part(CommandLine& line, std::type_identity<IrOptions>) { return line.ir; }
CommandLine& Part(CommandLine& line, std::type_identity<CommandLine>) { return line; }

template <typename Owner, typename Member>
Owner OwnerOf(Member Owner::*);

// Stores the value in the part of the command line that has this member.
template <auto member>
void Set(const FlagValue& value, CommandLine& line) {
  using Owner = decltype(OwnerOf(member));
  Assign(value, Part(line, std::type_identity<Owner>{}).*member);
}

void SetDtype(const FlagValue& value, CommandLine& line) {
  const auto& dtype = std::get<std::string>(value);
  if (dtype == "auto") return;
  line.compute_by_dtype = dtype == "bfloat16" ? "bf16" : "f32";
}

void SetMaxModelLen(const FlagValue& value, CommandLine& line) {
  if (std::holds_alternative<std::string>(value)) line.engine.max_model_len = kAutoLength;
  Assign(value, line.engine.max_model_len);
}

// ---- What is not there, in words used by several rows

constexpr std::string_view kCuda = "CUDA graphs, streams and allocators do not exist here";
constexpr std::string_view kKernels = "kernels are chosen by --compute and the CPU";
constexpr std::string_view kComm = "ranks share one process and one reduction";
constexpr std::string_view kProcess = "moxie is one process";
constexpr std::string_view kPython = "it would load Python code, and there is no Python here";
constexpr std::string_view kMedia = "images, audio and video are not taken";
constexpr std::string_view kMachines = "moxie serves from one machine";
constexpr std::string_view kMamba = "no model with a recurrent state is served yet";
constexpr std::string_view kLora = "LoRA adapters";
constexpr std::string_view kSpec = "speculative decoding";
constexpr std::string_view kPool = "pooling and embedding models";
constexpr std::string_view kOffload = "weights or keys and values outside main memory";
constexpr std::string_view kTransfer = "moving keys and values or weights between servers";
constexpr std::string_view kLog = "it changes only what vLLM logs";
constexpr std::string_view kTls = "TLS; put a reverse proxy in front";
constexpr std::string_view kEplb = "balancing experts over ranks at run time";

// ---- The table

// A row is a line.
// clang-format off
constexpr FlagRow kTable[] = {
    // moxie's own
    {"--compute", "", kString, "", OneOf("bf16|f32"), "", "Moxie", kMust, Set<&EngineConfig::compute>, "Type of activations entering a matrix product; absent: as --dtype says, bf16"},
    {"--threads", "", kInt, "0", Between(0, 1024), "", "Moxie", kMust, Set<&EngineConfig::threads>, "Threads of the kernels; 0: all cores that this process may use", kGraphCommands},
    {"--device", "", kString, "cpu", OneOf("auto|cpu"), "auto", "Moxie", kTrivial, nullptr, "Where the model runs; cpu is the only one"},
    {"--prompt", "", kString, "", kAny, "", "moxie complete", kMust, Set<&CompleteOptions::prompt>, "Text to continue", kCompleteOnly, true},
    {"--max-tokens", "", kInt, "16", Between(1, 1 << 28), "", "moxie complete", kMust, Set<&CompleteOptions::max_tokens>, "Tokens to generate at most", kCompleteOnly},
    {"--temperature", "", kReal, "", Between(0, 2), "", "moxie complete", kMust, Set<&CompleteOptions::temperature>, "0: the likeliest token; absent: the model's default", kCompleteOnly},
    {"--top-p", "", kReal, "", kFraction, "", "moxie complete", kMust, Set<&CompleteOptions::top_p>, "Choose among the likeliest tokens that together have this probability", kCompleteOnly},
    {"--top-k", "", kInt, "", Between(-1, kInt32Max), "", "moxie complete", kMust, Set<&CompleteOptions::top_k>, "Choose among so many likeliest tokens; 0 and -1: all", kCompleteOnly},
    {"--pp", "", kInts, "512", Between(1, 1 << 20), "", "moxie bench", kMust, Set<&BenchOptions::pp>, "Prompt lengths to measure", kBenchOnly},
    {"--tg", "", kInts, "128", Between(1, 1 << 20), "", "moxie bench", kMust, Set<&BenchOptions::tg>, "Numbers of generated tokens to measure", kBenchOnly},
    {"--repetitions", "", kInt, "5", Between(1, 1000), "", "moxie bench", kMust, Set<&BenchOptions::repetitions>, "Runs of each test", kBenchOnly},
    {"--json", "", kBool, "false", kAny, "", "moxie plan, moxie bench, moxie ir", kMust, Set<&CommandLine::json>, "Print JSON, one object a line", kReports},
    {"--fit", "", kBool, "false", kAny, "", "moxie plan", kMust, Set<&PlanOptions::fit>, "Print the largest length, number of sequences, batch and KV cache that fit, each with the other settings as they are", kPlanOnly},
    {"--explain", "", kBool, "false", kAny, "", "moxie plan", kMust, Set<&PlanOptions::explain>, "Also print each term's formula, which op and values make the step's peak, and what other settings would do", kPlanOnly},
    {"--svg", "", kString, "", kAny, "", "moxie plan", kMust, Set<&PlanOptions::svg>, "File for a picture of the step's memory over its ops", kPlanOnly},
    {"--extents", "", kStrings, "", kAny, "", "moxie ir", kMust, Set<&IrOptions::extents>, "The largest step, such as T=64 S=4: tokens T, sequences S, logit rows R, block table width W, KV blocks N; others are 1", kIrOnly},
    {"--run", "", kBool, "false", kAny, "", "moxie ir", kMust, Set<&IrOptions::run>, "Also run the program, on floats made up from --seed and integers and state that are 0", kIrOnly},
    {"--max-request-heap", "", kHumanInt, "64M", Between(1 << 16, int64_t{1} << 40), "", "Moxie", kMust, Set<&EngineConfig::max_request_heap>, "Bytes of prompts and fields of all requests that wait or run; more are answered with 503"},
    {"--max-request-bytes", "", kHumanInt, "4M", Between(1024, int64_t{1} << 30), "", "Moxie", kMust, Set<&EngineConfig::max_request_bytes>, "Bytes of a request's body; what parsing such bodies can take is planned"},
    {"--guard-memory", "", kBool, "false", kAny, "", "Moxie", kMust, Set<&EngineConfig::guard_memory>, "Poison the step's memory between owners and check it after every op: finds broken kernels, slowly"},
    {"--trust-content", "", kBool, "false", kAny, "", "Moxie", kMust, Set<&EngineConfig::trust_content>, "Special tokens and the marks of the template spelled inside messages are tokens, as in vLLM; else they are text"},
    {"--text", "", kString, "", kAny, "", "moxie tokenize", kMust, Set<&TextOptions::text>, "Text to tokenize; absent: standard input", kTokenizeOnly},
    {"--file", "", kString, "", kAny, "", "moxie tokenize", kMust, Set<&TextOptions::file>, "File of the text to tokenize; - is standard input", kTokenizeOnly},
    {"--add-special-tokens", "", kBool, "true", kAny, "", "moxie tokenize", kMust, Set<&TextOptions::add_special_tokens>, "Also the tokens that the model puts around a text", kTokenizeOnly},
    {"--ids", "", kInts, "", Between(0, kInt32Max), "", "moxie detokenize", kMust, Set<&TextOptions::ids>, "Token ids; absent: standard input, as tokenize prints them", kDetokenizeOnly},
    {"--skip-special-tokens", "", kBool, "true", kAny, "", "moxie detokenize", kMust, Set<&TextOptions::skip_special_tokens>, "Special tokens give no text", kDetokenizeOnly},
    // ModelConfig
    {"--model", "", kString, "", kAny, "", "ModelConfig", kMust, Set<&EngineConfig::model>, "Directory of the model; the positional argument is the usual way", kAllCommands},
    {"--runner", "", kString, "auto", kAny, "generate", "ModelConfig", kLater, nullptr, kPool},
    {"--convert", "", kString, "auto", kAny, "none", "ModelConfig", kLater, nullptr, kPool},
    {"--tokenizer", "", kString, "", kAny, "", "ModelConfig", kMust, Set<&EngineConfig::tokenizer>, "Directory of the tokenizer; absent: the model's", kAllCommands},
    {"--tokenizer-mode", "", kString, "auto", kAny, "hf", "ModelConfig", kMust, nullptr, "other tokenizers than tokenizer.json"},
    {"--trust-remote-code", "", kBool, "false", kAny, "true", "ModelConfig", kMust, nullptr, "no model brings code of its own"},
    {"--dtype", "", kString, "auto", OneOf("auto|bfloat16|float|float32"), "", "ModelConfig", kMust, SetDtype, "Same as --compute: bfloat16 or float32; auto is bfloat16"},
    {"--seed", "", kInt, "0", kAny, "", "ModelConfig", kMust, Set<&EngineConfig::seed>, "Seed of requests that bring none; of the numbers that moxie ir makes up", kGraphCommands},
    {"--hf-config-path", "", kString, "", kAny, "", "ModelConfig", kLater, nullptr, "a config.json outside the model directory"},
    {"--allowed-local-media-path", "", kString, "", kAny, "", "ModelConfig", kRefuse, nullptr, kMedia},
    {"--allowed-media-domains", "", kStrings, "", kAny, "", "ModelConfig", kIgnore, nullptr, kMedia},
    {"--revision", "", kString, "", kAny, "", "ModelConfig", kMust, nullptr, "revisions of a model hub"},
    {"--code-revision", "", kString, "", kAny, "", "ModelConfig", kRefuse, nullptr, kPython},
    {"--tokenizer-revision", "", kString, "", kAny, "", "ModelConfig", kMust, nullptr, "revisions of a model hub"},
    {"--max-model-len", "", kHumanInt, "", kLengthOrAuto, "", "ModelConfig", kMust, SetMaxModelLen, "Tokens of prompt and answer together; absent: what the model's positions allow; auto: the most that fit in memory"},
    {"--quantization", "-q", kString, "", kAny, "", "ModelConfig", kMust, nullptr, "quantised weights"},
    {"--quantization-config", "", kJson, "", kAny, "", "ModelConfig", kLater, nullptr, "quantised weights"},
    {"--allow-deprecated-quantization", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "quantised weights"},
    {"--enforce-eager", "", kBool, "false", kAny, "", "ModelConfig", kIgnore, nullptr, kCuda},
    {"--enable-return-routed-experts", "", kBool, "false", kAny, "", "ModelConfig", kMust, nullptr, "routed_experts in answers"},
    {"--return-sampling-mask", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "sampling masks in answers"},
    {"--max-logprobs", "", kInt, "20", Between(0, 1000), "", "ModelConfig", kMust, Set<&EngineConfig::max_logprobs>, "Alternatives a position that a request may ask for"},
    {"--logprobs-mode", "", kString, "raw_logprobs", kAny, "", "ModelConfig", kMust, nullptr, "logprobs other than raw_logprobs"},
    {"--use-fp64-gumbel", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "another way of drawing random numbers"},
    {"--enable-trace-replay", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "replaying traces"},
    {"--disable-sliding-window", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "attention beyond a model's sliding window"},
    {"--disable-cascade-attn", "", kBool, "", kAny, "", "ModelConfig", kIgnore, nullptr, kKernels},
    {"--skip-tokenizer-init", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "serving without a tokenizer"},
    {"--enable-prompt-embeds", "", kBool, "false", kAny, "", "ModelConfig", kRefuse, nullptr, "embeddings cannot be given as prompts"},
    {"--served-model-name", "", kStrings, "", kAny, "", "ModelConfig", kMust, Set<&EngineConfig::served_model_names>, "Names under which the API knows the model; absent: its directory as given"},
    {"--config-format", "", kString, "auto", kAny, "hf", "ModelConfig", kLater, nullptr, "other formats than config.json"},
    {"--hf-token", "", kOptionalString, "", kAny, "", "ModelConfig", kMust, nullptr, "fetching models from a hub"},
    {"--hf-overrides", "", kJson, "{}", kAny, "", "ModelConfig", kMust, nullptr, "overriding fields of config.json"},
    {"--model-class-overrides", "", kJson, "{}", kAny, "", "ModelConfig", kRefuse, nullptr, kPython},
    {"--pooler-config", "", kJson, "", kAny, "", "ModelConfig", kRefuse, nullptr, kPool},
    {"--generation-config", "", kString, "auto", kAny, "", "ModelConfig", kMust, Set<&EngineConfig::generation_config>, "Sampling defaults and further end tokens: auto (the model's generation_config.json), vllm (none) or a directory"},
    {"--override-generation-config", "", kJson, "{}", kAny, "", "ModelConfig", kMust, nullptr, "overriding fields of generation_config.json"},
    {"--enable-sleep-mode", "", kBool, "false", kAny, "", "ModelConfig", kLater, nullptr, "giving memory back while idle"},
    {"--sleep-mode-offload-cudagraph", "", kBool, "false", kAny, "", "ModelConfig", kIgnore, nullptr, kCuda},
    {"--sleep-preserve-parameter-names", "", kStrings, "", kAny, "", "ModelConfig", kIgnore, nullptr, kCuda},
    {"--enable-cumem-allocator", "", kBool, "false", kAny, "", "ModelConfig", kIgnore, nullptr, kCuda},
    {"--enable-nccl-comm-suspend", "", kBool, "false", kAny, "", "ModelConfig", kIgnore, nullptr, kCuda},
    {"--model-impl", "", kString, "auto", kAny, "vllm", "ModelConfig", kTrivial, nullptr, "only moxie's own models"},
    {"--logits-processors", "", kStrings, "", kAny, "", "ModelConfig", kRefuse, nullptr, kPython},
    {"--io-processor-plugin", "", kString, "", kAny, "", "ModelConfig", kRefuse, nullptr, kPython},
    {"--renderer-num-workers", "", kInt, "1", kAny, "", "ModelConfig", kTrivial, nullptr, "only one renderer"},
    // LoadConfig
    {"--load-format", "", kString, "auto", kAny, "safetensors", "LoadConfig", kMust, nullptr, "other weights than safetensors"},
    {"--download-dir", "", kString, "", kAny, "", "LoadConfig", kMust, nullptr, "fetching models from a hub"},
    {"--safetensors-load-strategy", "", kString, "", kAny, "", "LoadConfig", kLater, nullptr, "choosing how files are read"},
    {"--safetensors-prefetch-num-threads", "", kInt, "", kAny, "", "LoadConfig", kLater, nullptr, "choosing how files are read"},
    {"--safetensors-prefetch-block-size", "", kInt, "", kAny, "", "LoadConfig", kLater, nullptr, "choosing how files are read"},
    {"--model-loader-extra-config", "", kJson, "{}", kAny, "", "LoadConfig", kIgnore, nullptr, kPython},
    {"--ignore-patterns", "", kStrings, "original/**/*", kAny, "", "LoadConfig", kLater, nullptr, "fetching models from a hub"},
    {"--use-tqdm-on-load", "", kBool, "true", kAny, "", "LoadConfig", kIgnore, nullptr, kLog},
    {"--pt-load-map-location", "", kString, "cpu", kAny, "", "LoadConfig", kIgnore, nullptr, "safetensors are mapped, not unpickled"},
    // AttentionConfig
    {"--attention-backend", "", kString, "", kAny, "", "AttentionConfig", kIgnore, nullptr, kKernels},
    // MambaConfig
    {"--mamba-backend", "", kString, "triton", kAny, "", "MambaConfig", kIgnore, nullptr, kMamba},
    {"--mamba-ssu-algorithm", "", kString, "", kAny, "", "MambaConfig", kIgnore, nullptr, kMamba},
    {"--enable-mamba-cache-stochastic-rounding", "", kBool, "false", kAny, "", "MambaConfig", kIgnore, nullptr, kMamba},
    {"--mamba-cache-philox-rounds", "", kInt, "0", kAny, "", "MambaConfig", kIgnore, nullptr, kMamba},
    // StructuredOutputsConfig
    {"--reasoning-parser", "", kString, "", kAny, "", "StructuredOutputsConfig", kMust, nullptr, "splitting reasoning from answers"},
    {"--reasoning-parser-plugin", "", kString, "", kAny, "", "StructuredOutputsConfig", kRefuse, nullptr, kPython},
    // ParallelConfig
    {"--distributed-executor-backend", "", kString, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kProcess},
    {"--pipeline-parallel-size", "-pp", kInt, "1", kAtLeastOne, "", "ParallelConfig", kTrivial, nullptr, "only one stage: layers are not split over machines"},
    {"--master-addr", "", kString, "127.0.0.1", kAny, "", "ParallelConfig", kIgnore, nullptr, kMachines},
    {"--master-port", "", kInt, "29501", kAny, "", "ParallelConfig", kIgnore, nullptr, kMachines},
    {"--nnodes", "-n", kInt, "1", kAtLeastOne, "", "ParallelConfig", kTrivial, nullptr, kMachines},
    {"--node-rank", "-r", kInt, "0", kNonNegative, "", "ParallelConfig", kTrivial, nullptr, kMachines},
    {"--distributed-timeout-seconds", "", kInt, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--cpu-distributed-timeout-seconds", "", kInt, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--numa-bind", "", kBool, "false", kAny, "", "ParallelConfig", kMust, nullptr, "binding memory and threads to NUMA nodes"},
    {"--numa-bind-nodes", "", kInts, "", kAny, "", "ParallelConfig", kMust, nullptr, "binding memory and threads to NUMA nodes"},
    {"--numa-bind-cpus", "", kStrings, "", kAny, "", "ParallelConfig", kMust, nullptr, "binding memory and threads to NUMA nodes"},
    {"--device-ids", "", kString, "", kAny, "", "ParallelConfig", kLater, nullptr, "choosing devices"},
    {"--tensor-parallel-size", "-tp", kInt, "1", kAtLeastOne, "", "ParallelConfig", kMust, nullptr, "sharding a model over ranks; 1 works today"},
    {"--decode-context-parallel-size", "-dcp", kInt, "1", kAtLeastOne, "", "ParallelConfig", kTrivial, nullptr, "one rank holds the whole context"},
    {"--dcp-comm-backend", "", kString, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--dcp-q-replicate", "", kBool, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--dcp-kv-cache-interleave-size", "", kInt, "1", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--cp-kv-cache-interleave-size", "", kInt, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--prefill-context-parallel-size", "-pcp", kInt, "1", kAtLeastOne, "", "ParallelConfig", kTrivial, nullptr, "one rank holds the whole context"},
    {"--data-parallel-size", "-dp", kInt, "1", kAtLeastOne, "", "ParallelConfig", kMust, nullptr, "replicas of the model in one server; start more servers"},
    {"--data-parallel-rank", "-dpn", kInt, "", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    {"--data-parallel-start-rank", "-dpr", kInt, "", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    {"--data-parallel-size-local", "-dpl", kInt, "", kAny, "1", "ParallelConfig", kTrivial, nullptr, kMachines},
    {"--data-parallel-address", "-dpa", kString, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kMachines},
    {"--data-parallel-rpc-port", "-dpp", kInt, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kMachines},
    {"--data-parallel-backend", "-dpb", kString, "mp", kAny, "", "ParallelConfig", kIgnore, nullptr, kMachines},
    {"--data-parallel-hybrid-lb", "-dph", kBool, "false", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    {"--data-parallel-external-lb", "-dpe", kBool, "false", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    {"--data-parallel-multi-port-external-lb", "-dpm", kBool, "false", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    {"--enable-hc-sp", "", kBool, "false", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--enable-expert-parallel", "-ep", kBool, "false", kAny, "", "ParallelConfig", kMust, nullptr, "sharding experts over ranks"},
    {"--enable-batch-sharded-sampling", "", kBool, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--enable-ep-weight-filter", "", kBool, "false", kAny, "", "ParallelConfig", kLater, nullptr, "sharding experts over ranks"},
    {"--all2all-backend", "", kString, "allgather_reducescatter", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--enable-dbo", "", kBool, "false", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--enable-shm-tensor-arena", "", kBool, "false", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--ubatch-size", "", kInt, "0", kNonNegative, "", "ParallelConfig", kTrivial, nullptr, "a step is one batch"},
    {"--enable-elastic-ep", "", kBool, "false", kAny, "", "ParallelConfig", kRefuse, nullptr, "the number of ranks is fixed at start"},
    {"--elastic-ep-max-dp-size", "", kInt, "", kAtLeastOne, "", "ParallelConfig", kTrivial, nullptr, "the number of ranks is fixed at start"},
    {"--dbo-decode-token-threshold", "", kInt, "32", kNonNegative, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--dp-sync-interval", "", kInt, "16", kAtLeastOne, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--dbo-prefill-token-threshold", "", kInt, "512", kNonNegative, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--disable-nccl-for-dp-synchronization", "", kBool, "", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--enable-eplb", "", kBool, "false", kAny, "", "ParallelConfig", kLater, nullptr, kEplb},
    {"--eplb-config", "", kJson, "{}", kAny, "", "ParallelConfig", kLater, nullptr, kEplb},
    {"--expert-placement-strategy", "", kString, "linear", kAny, "", "ParallelConfig", kMust, nullptr, "sharding experts over ranks"},
    {"--max-parallel-loading-workers", "", kInt, "", kAtLeastOne, "", "ParallelConfig", kIgnore, nullptr, kProcess},
    {"--ray-workers-use-nsight", "", kBool, "false", kAny, "", "ParallelConfig", kRefuse, nullptr, kProcess},
    {"--disable-custom-all-reduce", "", kBool, "false", kAny, "", "ParallelConfig", kIgnore, nullptr, kComm},
    {"--worker-cls", "", kString, "auto", kAny, "", "ParallelConfig", kRefuse, nullptr, kPython},
    {"--worker-extension-cls", "", kString, "", kAny, "", "ParallelConfig", kRefuse, nullptr, kPython},
    {"--enable-fault-tolerance", "", kBool, "false", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    {"--fault-tolerance-config", "", kJson, "{}", kAny, "", "ParallelConfig", kRefuse, nullptr, kMachines},
    // CacheConfig
    {"--block-size", "", kInt, "16", Between(1, 1024), "", "CacheConfig", kMust, Set<&EngineConfig::block_size>, "Tokens in a block of the KV cache"},
    {"--gpu-memory-utilization", "--device-memory-utilization", kReal, "0.92", kFraction, "", "CacheConfig", kMust, Set<&EngineConfig::memory_utilization>, "Share of this machine's (or cgroup's) memory that the whole server may use"},
    {"--kv-cache-memory-bytes", "", kHumanInt, "", kBytes, "", "CacheConfig", kMust, Set<&EngineConfig::kv_cache_bytes>, "Bytes of the KV cache; absent: what --gpu-memory-utilization leaves"},
    {"--kv-cache-dtype", "", kString, "auto", OneOf("auto|bfloat16|float32"), "", "CacheConfig", kMust, Set<&EngineConfig::kv_cache_dtype>, "How keys and values are stored"},
    {"--num-gpu-blocks-override", "", kInt, "", Between(1, kInt32Max), "", "CacheConfig", kMust, Set<&EngineConfig::num_blocks_override>, "Blocks of the KV cache, whatever the memory allows"},
    {"--enable-prefix-caching", "", kBool, "true", kAny, "", "CacheConfig", kMust, Set<&EngineConfig::prefix_caching>, "Prompts that begin alike share the blocks of the KV cache"},
    {"--prefix-caching-hash-algo", "", kString, "sha256", OneOf("sha256|sha256_cbor|xxhash|xxhash_cbor"), "", "CacheConfig", kIgnore, nullptr, "prefixes are compared in full, so no hash decides what is shared"},
    {"--prefix-cache-retention-interval", "", kInt, "0", kNonNegative, "", "CacheConfig", kLater, nullptr, "sharing the blocks of equal prompt beginnings"},
    {"--kv-cache-dtype-skip-layers", "", kStrings, "", kAny, "", "CacheConfig", kLater, nullptr, "several types of keys and values in one model"},
    {"--kv-sharing-fast-prefill", "", kBool, "false", kAny, "", "CacheConfig", kIgnore, nullptr, kKernels},
    {"--swa-bounded-replay", "", kBool, "true", kAny, "", "CacheConfig", kLater, nullptr, "sharing the blocks of equal prompt beginnings"},
    {"--mamba-cache-dtype", "", kString, "auto", kAny, "", "CacheConfig", kLater, nullptr, "models with a recurrent state"},
    {"--mamba-ssm-cache-dtype", "", kString, "auto", kAny, "", "CacheConfig", kLater, nullptr, "models with a recurrent state"},
    {"--mamba-block-size", "", kInt, "", kAtLeastOne, "", "CacheConfig", kLater, nullptr, "models with a recurrent state"},
    {"--prefix-match-unit", "", kInt, "", kAtLeastOne, "", "CacheConfig", kLater, nullptr, "sharing the blocks of equal prompt beginnings"},
    {"--mamba-cache-mode", "", kString, "none", kAny, "", "CacheConfig", kLater, nullptr, "models with a recurrent state"},
    {"--enable-mamba-shared-prefix-checkpoint", "", kBool, "false", kAny, "", "CacheConfig", kIgnore, nullptr, kMamba},
    {"--replayssm-buffer-len", "", kInt, "16", kAtLeastOne, "", "CacheConfig", kIgnore, nullptr, kMamba},
    {"--use-replayssm", "", kBool, "false", kAny, "", "CacheConfig", kIgnore, nullptr, kMamba},
    {"--kv-offloading-size", "", kReal, "", kAny, "", "CacheConfig", kLater, nullptr, kOffload},
    {"--kv-offloading-backend", "", kString, "native", kAny, "", "CacheConfig", kLater, nullptr, kOffload},
    // OffloadConfig
    {"--offload-backend", "", kString, "auto", kAny, "", "OffloadConfig", kLater, nullptr, kOffload},
    {"--cpu-offload-gb", "", kReal, "0", kNonNegative, "", "OffloadConfig", kLater, nullptr, kOffload},
    {"--cpu-offload-params", "", kStrings, "", kAny, "", "OffloadConfig", kLater, nullptr, kOffload},
    {"--offload-group-size", "", kInt, "0", kNonNegative, "", "OffloadConfig", kLater, nullptr, kOffload},
    {"--offload-num-in-group", "", kInt, "1", kAtLeastOne, "", "OffloadConfig", kLater, nullptr, kOffload},
    {"--offload-prefetch-step", "", kInt, "1", kNonNegative, "", "OffloadConfig", kLater, nullptr, kOffload},
    {"--offload-params", "", kStrings, "", kAny, "", "OffloadConfig", kLater, nullptr, kOffload},
    // MultiModalConfig
    {"--language-model-only", "", kBool, "false", kAny, "", "MultiModalConfig", kLater, nullptr, "the text part of a multimodal model"},
    {"--limit-mm-per-prompt", "", kJson, "{}", kAny, "", "MultiModalConfig", kLater, nullptr, kMedia},
    {"--enable-mm-embeds", "", kBool, "false", kAny, "", "MultiModalConfig", kRefuse, nullptr, kMedia},
    {"--media-io-kwargs", "", kJson, "{}", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-processor-kwargs", "", kJson, "", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-processor-cache-gb", "", kReal, "4", kNonNegative, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-processor-cache-type", "", kString, "lru", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-hasher-algorithm", "", kString, "blake3", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-shm-cache-max-object-size-mb", "", kInt, "128", kNonNegative, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-encoder-only", "", kBool, "false", kAny, "", "MultiModalConfig", kRefuse, nullptr, kMedia},
    {"--mm-encoder-tp-mode", "", kString, "weights", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-encoder-attn-backend", "", kString, "", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-encoder-attn-dtype", "", kString, "", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-encoder-fp8-scale-path", "", kString, "", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-encoder-fp8-scale-save-path", "", kString, "", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-encoder-fp8-scale-save-margin", "", kReal, "1.5", kAboveZero, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--interleave-mm-strings", "", kBool, "false", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--skip-mm-profiling", "", kBool, "false", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--video-pruning-rate", "", kReal, "", kBelowOne, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--video-pruning-method", "", kString, "evs", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-tensor-ipc", "", kString, "direct_rpc", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-processor-device", "", kString, "auto", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-ipc-gpu-memory-gb", "", kReal, "0", kNonNegative, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    {"--mm-device-do-normalize", "", kBool, "", kAny, "", "MultiModalConfig", kIgnore, nullptr, kMedia},
    // LoRAConfig
    {"--enable-lora", "", kBool, "", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--max-loras", "", kInt, "1", kAtLeastOne, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--max-lora-rank", "", kInt, "16", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--lora-dtype", "", kString, "auto", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--enable-tower-connector-lora", "", kBool, "false", kAny, "", "LoRAConfig", kRefuse, nullptr, kMedia},
    {"--max-cpu-loras", "", kInt, "", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--fully-sharded-loras", "", kBool, "false", kAny, "", "LoRAConfig", kIgnore, nullptr, kLora},
    {"--lora-target-modules", "", kStrings, "", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--default-mm-loras", "", kJson, "", kAny, "", "LoRAConfig", kRefuse, nullptr, kMedia},
    {"--specialize-active-lora", "", kBool, "false", kAny, "", "LoRAConfig", kIgnore, nullptr, kLora},
    {"--enable-mixed-moe-lora-format", "", kBool, "false", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--enable-moe-shared-loras", "", kBool, "false", kAny, "", "LoRAConfig", kLater, nullptr, kLora},
    {"--max-lora-cls-labels", "", kInt, "", kAtLeastOne, "", "LoRAConfig", kRefuse, nullptr, kPool},
    // LoggingConfig
    {"--logging-config", "", kJson, "{}", kAny, "", "LoggingConfig", kLater, nullptr, "choosing log formats"},
    {"--log-level", "", kString, "info", OneOf("debug|info|warning|error|critical"), "", "LoggingConfig", kMust, nullptr, "how much is logged"},
    {"--log-config-file", "", kJson, "", kAny, "", "LoggingConfig", kIgnore, nullptr, "--logging-config replaced it"},
    // ObservabilityConfig
    {"--show-hidden-metrics-for-version", "", kString, "", kAny, "", "ObservabilityConfig", kLater, nullptr, "metrics of earlier versions"},
    {"--otlp-traces-endpoint", "", kString, "", kAny, "", "ObservabilityConfig", kLater, nullptr, "OpenTelemetry traces"},
    {"--collect-detailed-traces", "", kStrings, "", kAny, "", "ObservabilityConfig", kIgnore, nullptr, kLog},
    {"--per-request-spec-decode-metrics", "", kString, "none", kAny, "", "ObservabilityConfig", kLater, nullptr, kSpec},
    {"--kv-cache-metrics", "", kBool, "false", kAny, "", "ObservabilityConfig", kLater, nullptr, "metrics of single blocks"},
    {"--kv-cache-metrics-sample", "", kReal, "0.01", kFraction, "", "ObservabilityConfig", kLater, nullptr, "metrics of single blocks"},
    {"--custom-histogram-buckets", "", kJson, "", kAny, "", "ObservabilityConfig", kLater, nullptr, "other buckets of histograms"},
    {"--cudagraph-metrics", "", kBool, "false", kAny, "", "ObservabilityConfig", kIgnore, nullptr, kCuda},
    {"--enable-layerwise-nvtx-tracing", "", kBool, "false", kAny, "", "ObservabilityConfig", kIgnore, nullptr, kCuda},
    {"--enable-mfu-metrics", "", kBool, "false", kAny, "", "ObservabilityConfig", kLater, nullptr, "metrics of flops and bytes"},
    {"--enable-logging-iteration-details", "", kBool, "false", kAny, "", "ObservabilityConfig", kIgnore, nullptr, kLog},
    {"--jit-monitor-mode", "", kString, "warn", kAny, "", "ObservabilityConfig", kIgnore, nullptr, kCuda},
    {"--jit-monitor-verbose", "", kBool, "false", kAny, "", "ObservabilityConfig", kIgnore, nullptr, kCuda},
    // SchedulerConfig
    {"--max-num-batched-tokens", "", kHumanInt, "2048", Between(1, 1 << 20), "", "SchedulerConfig", kMust, Set<&EngineConfig::max_num_batched_tokens>, "Tokens of the largest step; 2048 is vLLM's default for a server"},
    {"--max-num-scheduled-tokens", "", kInt, "", kAny, "", "SchedulerConfig", kLater, nullptr, "a smaller bound than --max-num-batched-tokens"},
    {"--max-num-seqs", "", kInt, "", Between(1, 65536), "", "SchedulerConfig", kMust, Set<&EngineConfig::max_num_seqs>, "Sequences in a step; absent: 256, vLLM's default for a server, or --max-num-batched-tokens where that is less"},
    {"--max-num-active-seqs", "", kInt, "", kAtLeastOne, "", "SchedulerConfig", kLater, nullptr, "a smaller bound than --max-num-seqs"},
    {"--max-num-queued-reqs", "", kInt, "4096", Between(1, 1 << 20), "", "SchedulerConfig", kMust, Set<&EngineConfig::max_queued_requests>, "Requests that may wait; more are answered with 503 (vLLM has no bound; here every queue has one)"},
    {"--max-num-queued-tokens", "", kInt, "4194304", Between(1, kInt32Max), "", "SchedulerConfig", kMust, Set<&EngineConfig::max_queued_tokens>, "Prompt tokens that may wait; more are answered with 503"},
    {"--long-prefill-token-threshold", "", kInt, "0", kNonNegative, "", "SchedulerConfig", kMust, nullptr, "splitting long prompts further than --max-num-batched-tokens does"},
    {"--long-prefill-token-threshold-adaptive", "", kBool, "false", kAny, "", "SchedulerConfig", kLater, nullptr, "splitting long prompts further than --max-num-batched-tokens does"},
    {"--scheduling-policy", "", kString, "fcfs", OneOf("fcfs|priority"), "", "SchedulerConfig", kMust, Set<&EngineConfig::scheduling_policy>, "Who is served first: fcfs: who came first; priority: the request with the lowest priority, then who came first"},
    {"--enable-chunked-prefill", "", kBool, "", kAny, "true", "SchedulerConfig", kMust, nullptr, "prompts always run in chunks of at most --max-num-batched-tokens"},
    {"--disable-chunked-mm-input", "", kBool, "false", kAny, "", "SchedulerConfig", kIgnore, nullptr, kMedia},
    {"--scheduler-cls", "", kString, "", kAny, "", "SchedulerConfig", kRefuse, nullptr, kPython},
    {"--scheduler-reserve-full-isl", "", kBool, "true", kAny, "", "SchedulerConfig", kMust, nullptr, "starting a request before all its blocks are there"},
    {"--watermark", "", kReal, "0.0", kBelowOne, "", "SchedulerConfig", kMust, nullptr, "keeping blocks free"},
    {"--prefill-schedule-interval", "", kInt, "1", kAtLeastOne, "", "SchedulerConfig", kTrivial, nullptr, "prompts and answers share every step"},
    {"--disable-hybrid-kv-cache-manager", "", kBool, "", kAny, "", "SchedulerConfig", kLater, nullptr, "one kind of block for all layers"},
    {"--async-scheduling", "", kBool, "", kAny, "", "SchedulerConfig", kIgnore, nullptr, kProcess},
    {"--stream-interval", "", kInt, "1", kAtLeastOne, "", "SchedulerConfig", kMust, nullptr, "sending tokens in groups"},
    // CompilationConfig
    {"--cudagraph-capture-sizes", "", kInts, "", kAny, "", "CompilationConfig", kIgnore, nullptr, kCuda},
    {"--max-cudagraph-capture-size", "", kInt, "", kAny, "", "CompilationConfig", kIgnore, nullptr, kCuda},
    // KernelConfig
    {"--ir-op-priority", "", kJson, "{}", kAny, "", "KernelConfig", kIgnore, nullptr, kKernels},
    {"--enable-flashinfer-autotune", "", kBool, "", kAny, "", "KernelConfig", kIgnore, nullptr, kKernels},
    {"--moe-backend", "", kString, "auto", kAny, "", "KernelConfig", kIgnore, nullptr, kKernels},
    {"--linear-backend", "", kString, "auto", kAny, "", "KernelConfig", kIgnore, nullptr, kKernels},
    {"--sparse-indexer-topk-backend", "", kString, "auto", kAny, "", "KernelConfig", kIgnore, nullptr, kKernels},
    // VllmConfig
    {"--speculative-config", "-sc", kJson, "", kAny, "", "VllmConfig", kLater, nullptr, kSpec},
    {"--spec-method", "", kString, "", kAny, "", "VllmConfig", kLater, nullptr, kSpec},
    {"--spec-model", "", kString, "", kAny, "", "VllmConfig", kLater, nullptr, kSpec},
    {"--spec-tokens", "", kInt, "", kAtLeastOne, "", "VllmConfig", kLater, nullptr, kSpec},
    {"--watermark-config", "", kJson, "", kAny, "", "VllmConfig", kRefuse, nullptr, "answers are not watermarked"},
    {"--diffusion-config", "-dc", kJson, "", kAny, "", "VllmConfig", kRefuse, nullptr, "diffusion models"},
    {"--kv-transfer-config", "", kJson, "", kAny, "", "VllmConfig", kRefuse, nullptr, kTransfer},
    {"--kv-events-config", "", kJson, "", kAny, "", "VllmConfig", kLater, nullptr, "publishing events of the KV cache"},
    {"--ec-transfer-config", "", kJson, "", kAny, "", "VllmConfig", kRefuse, nullptr, kTransfer},
    {"--ec-manager-config", "", kJson, "{}", kAny, "", "VllmConfig", kRefuse, nullptr, kMedia},
    {"--compilation-config", "-cc", kJson, "{}", kAny, "", "VllmConfig", kIgnore, nullptr, kKernels},
    {"--attention-config", "-ac", kJson, "{}", kAny, "", "VllmConfig", kIgnore, nullptr, kKernels},
    {"--engram-config", "", kJson, "", kAny, "", "VllmConfig", kRefuse, nullptr, "engram models"},
    {"--reasoning-config", "", kJson, "", kAny, "", "VllmConfig", kLater, nullptr, "bounds on reasoning"},
    {"--kernel-config", "", kJson, "{}", kAny, "", "VllmConfig", kIgnore, nullptr, kKernels},
    {"--additional-config", "", kJson, "{}", kAny, "", "VllmConfig", kIgnore, nullptr, "it is for plugins of vLLM"},
    {"--structured-outputs-config", "", kJson, "{}", kAny, "", "VllmConfig", kMust, nullptr, "answers bound to a grammar"},
    {"--aux-output-config", "", kJson, "{}", kAny, "", "VllmConfig", kRefuse, nullptr, "other outputs than tokens"},
    {"--profiler-config", "", kJson, "{}", kAny, "", "VllmConfig", kLater, nullptr, "a built-in profiler"},
    {"--optimization-level", "", kString, "2", kAny, "", "VllmConfig", kIgnore, nullptr, kKernels},
    {"--performance-mode", "", kString, "balanced", kAny, "", "VllmConfig", kIgnore, nullptr, kKernels},
    {"--weight-transfer-config", "", kJson, "", kAny, "", "VllmConfig", kRefuse, nullptr, kTransfer},
    // AsyncEngineArgs
    {"--disable-log-stats", "", kBool, "", kAny, "true|false", "AsyncEngineArgs", kMust, nullptr, "periodic lines of statistics"},
    {"--aggregate-engine-logging", "", kBool, "", kAny, "", "AsyncEngineArgs", kIgnore, nullptr, kLog},
    {"--fail-on-environ-validation", "", kBool, "false", kAny, "", "AsyncEngineArgs", kIgnore, nullptr, "moxie reads no VLLM_ environment"},
    {"--shutdown-timeout", "", kInt, "0", Between(0, 86400), "", "AsyncEngineArgs", kMust, Set<&EngineConfig::shutdown_timeout_s>, "Seconds that running requests get after SIGTERM"},
    {"--gdn-prefill-backend", "", kString, "", kAny, "", "AsyncEngineArgs", kIgnore, nullptr, kKernels},
    {"--kda-prefill-backend", "", kString, "", kAny, "", "AsyncEngineArgs", kIgnore, nullptr, kKernels},
    {"--kda-decode-backend", "", kString, "", kAny, "", "AsyncEngineArgs", kIgnore, nullptr, kKernels},
    {"--enable-log-requests", "", kBool, "false", kAny, "", "AsyncEngineArgs", kMust, nullptr, "a log line a request"},
    // Frontend
    {"--lora-modules", "", kStrings, "", kAny, "", "Frontend", kLater, nullptr, kLora},
    {"--chat-template", "", kString, "", kAny, "", "Frontend", kMust, Set<&EngineConfig::chat_template>, "File of the chat template, or its text; absent: the model's"},
    {"--chat-template-content-format", "", kString, "auto", OneOf("auto|string|openai"), "", "Frontend", kMust, Set<&EngineConfig::chat_template_content_format>, "Form of message content the template takes; auto: read off the template"},
    {"--trust-request-chat-template", "", kBool, "false", kAny, "", "Frontend", kMust, Set<&EngineConfig::trust_request_chat_template>, "Requests may bring a chat_template of their own"},
    {"--trust-request-mm-kwargs", "", kBool, "false", kAny, "", "Frontend", kIgnore, nullptr, kMedia},
    {"--default-chat-template-kwargs", "", kJson, "{}", kAny, "", "Frontend", kMust, Set<&EngineConfig::default_chat_template_kwargs>, "Arguments of the chat template that requests may override"},
    {"--response-role", "", kString, "assistant", kAny, "", "Frontend", kMust, nullptr, "the chat API"},
    {"--return-tokens-as-token-ids", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "token_id:N in place of token texts"},
    {"--enable-auto-tool-choice", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "tool calls"},
    {"--exclude-tools-when-tool-choice-none", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "tool calls"},
    {"--tool-call-parser", "", kString, "", kAny, "", "Frontend", kMust, nullptr, "tool calls"},
    {"--tool-parser-plugin", "", kString, "", kAny, "", "Frontend", kRefuse, nullptr, kPython},
    {"--tool-strict-level", "", kString, "auto", kAny, "", "Frontend", kLater, nullptr, "tool calls"},
    {"--tool-server", "", kString, "", kAny, "", "Frontend", kRefuse, nullptr, "tools run by the server"},
    {"--max-log-len", "", kInt, "", kAny, "", "Frontend", kMust, nullptr, "a log line a request"},
    {"--enable-prompt-tokens-details", "", kBool, "false", kAny, "", "Frontend", kMust, Set<&EngineConfig::prompt_tokens_details>, "usage tells how many tokens of the prompt were found in the prefix cache"},
    {"--enable-per-request-metrics", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "metrics in answers"},
    {"--enable-server-load-tracking", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "/load"},
    {"--enable-force-include-usage", "", kBool, "false", kAny, "", "Frontend", kMust, Set<&EngineConfig::force_include_usage>, "Every stream ends with usage, whether the request asks for it or not"},
    {"--sse-keep-alive-interval", "", kInt, "0", kAny, "", "Frontend", kMust, nullptr, "comment lines in idle streams"},
    {"--enable-tokenizer-info-endpoint", "", kBool, "false", kAny, "", "Frontend", kLater, nullptr, "/tokenizer_info"},
    {"--enable-log-outputs", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "a log line a request"},
    {"--enable-log-deltas", "", kBool, "true", kAny, "", "Frontend", kLater, nullptr, "a log line a request"},
    {"--cohere-is-reasoning-model", "", kBool, "true", kAny, "", "Frontend", kIgnore, nullptr, "the API of Cohere"},
    {"--cohere-format", "", kString, "cmd4", kAny, "", "Frontend", kIgnore, nullptr, "the API of Cohere"},
    {"--anthropic-disabled-thinking-effort", "", kString, "auto", kAny, "", "Frontend", kLater, nullptr, "the API of Anthropic"},
    {"--log-error-stack", "", kBool, "false", kAny, "", "Frontend", kLater, nullptr, "stack traces in logs"},
    {"--tokens-only", "", kBool, "false", kAny, "", "Frontend", kLater, nullptr, "the token-in, token-out API"},
    {"--enable-scale-out", "", kBool, "false", kAny, "", "Frontend", kLater, nullptr, "the token-in, token-out API"},
    {"--fingerprint-mode", "", kString, "full", kAny, "", "Frontend", kMust, nullptr, "system_fingerprint in answers"},
    {"--fingerprint-value", "", kString, "", kAny, "", "Frontend", kMust, nullptr, "system_fingerprint in answers"},
    {"--host", "", kString, "", kAny, "", "Frontend", kMust, Set<&EngineConfig::host>, "Address or name to listen on; absent: all interfaces, as vLLM does"},
    {"--port", "", kInt, "8000", Between(0, 65535), "", "Frontend", kMust, Set<&EngineConfig::port>, "Port to listen on; 0: any free one"},
    {"--grpc-port", "", kInt, "", kAny, "", "Frontend", kRefuse, nullptr, "HTTP is the only protocol"},
    {"--data-parallel-supervisor-port", "", kInt, "9256", kAny, "", "Frontend", kIgnore, nullptr, kMachines},
    {"--dp-supervisor-probe-interval-s", "", kReal, "5.0", kAny, "", "Frontend", kIgnore, nullptr, kMachines},
    {"--dp-supervisor-probe-timeout-s", "", kReal, "5.0", kAny, "", "Frontend", kIgnore, nullptr, kMachines},
    {"--dp-supervisor-probe-failure-threshold", "", kInt, "3", kAny, "", "Frontend", kIgnore, nullptr, kMachines},
    {"--uds", "", kString, "", kAny, "", "Frontend", kMust, nullptr, "a unix socket in place of a port"},
    {"--uvicorn-log-level", "", kString, "info", OneOf("trace|debug|info|warning|error|critical"), "", "Frontend", kMust, nullptr, "how much is logged"},
    {"--disable-uvicorn-access-log", "", kBool, "false", kAny, "", "Frontend", kMust, Set<&EngineConfig::disable_access_log>, "No line for each HTTP request on stderr"},
    {"--disable-access-log-for-endpoints", "", kString, "", kAny, "", "Frontend", kMust, nullptr, "a log line an HTTP request"},
    {"--allow-credentials", "", kBool, "false", kAny, "", "Frontend", kMust, Set<&EngineConfig::allow_credentials>, "Browsers may send cookies and the like with requests of allowed origins"},
    {"--allowed-origins", "", kJson, "[]", kAny, "", "Frontend", kMust, Set<&EngineConfig::allowed_origins>, "Origins whose pages may read answers in a browser (CORS), a JSON list; \"*\": any"},
    {"--allowed-methods", "", kJson, R"(["*"])", kAny, "", "Frontend", kMust, Set<&EngineConfig::allowed_methods>, "Methods that those pages may use, a JSON list"},
    {"--allowed-headers", "", kJson, R"(["*"])", kAny, "", "Frontend", kMust, Set<&EngineConfig::allowed_headers>, "Request headers that those pages may send, a JSON list"},
    {"--api-key", "", kStrings, "", kAny, "", "Frontend", kMust, Set<&EngineConfig::api_keys>, "Keys of which a request to /v1 has to bring one"},
    {"--ssl-keyfile", "", kString, "", kAny, "", "Frontend", kLater, nullptr, kTls},
    {"--ssl-certfile", "", kString, "", kAny, "", "Frontend", kLater, nullptr, kTls},
    {"--ssl-ca-certs", "", kString, "", kAny, "", "Frontend", kLater, nullptr, kTls},
    {"--enable-ssl-refresh", "", kBool, "false", kAny, "", "Frontend", kLater, nullptr, kTls},
    {"--ssl-cert-reqs", "", kInt, "0", kAny, "", "Frontend", kLater, nullptr, kTls},
    {"--ssl-ciphers", "", kString, "", kAny, "", "Frontend", kLater, nullptr, kTls},
    {"--root-path", "", kString, "", kAny, "", "Frontend", kMust, nullptr, "a path in front of all others"},
    {"--middleware", "", kStrings, "", kAny, "", "Frontend", kRefuse, nullptr, kPython},
    {"--enable-request-id-headers", "", kBool, "false", kAny, "", "Frontend", kMust, nullptr, "X-Request-Id in answers"},
    {"--disable-fastapi-docs", "", kBool, "false", kAny, "", "Frontend", kIgnore, nullptr, "there is no FastAPI here"},
    {"--h11-max-incomplete-event-size", "", kInt, "65536", Between(1024, 1 << 24), "", "Frontend", kMust, Set<&EngineConfig::max_header_bytes>, "Bytes of request line and header fields (vLLM: 4194304; here they are planned for every connection)"},
    {"--h11-max-header-count", "", kInt, "256", Between(1, 65536), "", "Frontend", kMust, Set<&EngineConfig::max_header_fields>, "Header fields of a request"},
    {"--enable-offline-docs", "", kBool, "false", kAny, "", "Frontend", kIgnore, nullptr, "there is no FastAPI here"},
    {"--enable-flash-late-interaction", "", kBool, "true", kAny, "", "Frontend", kIgnore, nullptr, kPool},
    // serve sub-command
    {"model_tag", "", kString, "", kAny, "", "serve sub-command", kMust, Set<&EngineConfig::model>, "Directory of the model", kAllCommands},
    {"ir_file", "", kString, "", kAny, "", "moxie ir", kMust, Set<&IrOptions::file>, "A graph in the text form of src/ir/text.h, functional or imperative", kIrOnly, true},
    {"--headless", "", kBool, "false", kAny, "", "serve sub-command", kRefuse, nullptr, kMachines},
    {"--api-server-count", "-asc", kInt, "", kAny, "1", "serve sub-command", kTrivial, nullptr, kProcess},
    {"--config", "", kString, "", kAny, "", "serve sub-command", kMust, nullptr, "Flags from a YAML file; the command line wins"},
    {"--grpc", "", kBool, "false", kAny, "", "serve sub-command", kRefuse, nullptr, "HTTP is the only protocol"},
};
// clang-format on

constexpr RemovedFlag kRemoved[] = {
    {"--disable-log-requests", false, false, "requests are logged only with --enable-log-requests"},
    {"--use-v2-block-manager", false, false, "there is one block manager"},
    {"--worker-use-ray", false, false, "moxie is one process"},
    {"--engine-use-ray", false, false, "moxie is one process"},
    {"--disable-async-output-proc", false, false, "outputs are processed on the engine's thread"},
    {"--disable-frontend-multiprocessing", false, false, "moxie is one process"},
    {"--enable-reasoning", false, false, "--reasoning-parser replaced it"},
    {"--calculate-kv-scales", false, false, "keys and values are not scaled"},
    {"--multi-step-stream-outputs", false, false, "every step streams its tokens"},
    {"--swap-space", true, false, "nothing is swapped"},
    {"--num-lookahead-slots", true, false, "blocks are reserved as needed"},
    {"--num-scheduler-steps", true, false, "one step is scheduled at a time"},
    {"--preemption-mode", true, false, "there is one way of preempting"},
    {"--max-seq-len-to-capture", true, false, "there are no CUDA graphs here"},
    {"--max-num-partial-prefills", true, false, "prompts share a step as they fit"},
    {"--max-long-partial-prefills", true, false, "prompts share a step as they fit"},
    {"--guided-decoding-backend", true, true, "--structured-outputs-config replaced it"},
    {"--rope-scaling", true, true, "--hf-overrides replaced it"},
    {"--rope-theta", true, true, "--hf-overrides replaced it"},
    {"--task", true, true, "--runner and --convert replaced it"},
};

}  // namespace

std::span<const FlagRow> FlagTable() { return kTable; }

const FlagRow& PositionalRow(Command command) {
  return *std::ranges::find_if(
      kTable, [&](const FlagRow& row) { return row.positional() && row.Takes(command); });
}
std::span<const RemovedFlag> RemovedFlags() { return kRemoved; }

}  // namespace moxie::config
