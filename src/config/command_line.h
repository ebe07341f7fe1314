// What a command line says, after parsing: one struct for every sub-command, so that `moxie plan`
// takes the line of `moxie serve` as it stands.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "config/engine_config.h"

namespace moxie::config {

// Sub-commands that take flags of the table; bits, so that a row can belong to several.
enum class Command : uint8_t {
  kServe = 1,
  kPlan = 2,
  kComplete = 4,
  kBench = 8,
  kTokenize = 16,
  kDetokenize = 32,
  kIr = 64,
};

// moxie complete. Absent sampling values are the model's generation_config.json's.
struct CompleteOptions {
  std::string prompt;
  int64_t max_tokens = 0;
  std::optional<double> temperature;
  std::optional<double> top_p;
  std::optional<int64_t> top_k;
};

// moxie plan.
struct PlanOptions {
  bool fit = false;      // print the largest settings that fit instead
  bool explain = false;  // print who is at the peak too, and what would lower it
  std::string svg;       // file for a picture of the arena; empty: none
};

// moxie bench, with llama-bench's meanings.
struct BenchOptions {
  std::vector<int64_t> pp;  // prompt lengths, a test each
  std::vector<int64_t> tg;  // generated lengths, a test each
  int64_t repetitions = 0;
};

// moxie tokenize, moxie detokenize.
struct TextOptions {
  std::optional<std::string> text;  // absent: the file
  std::string file;                 // "-", empty: standard input
  std::vector<int64_t> ids;         // empty: standard input
  bool add_special_tokens = true;
  bool skip_special_tokens = true;
};

// moxie ir.
struct IrOptions {
  std::string file;                  // a graph in the text form
  std::vector<std::string> extents;  // "T=64"; others are 1
  bool run = false;                  // on made-up numbers
};

struct CommandLine {
  EngineConfig engine;
  std::string compute_by_dtype;  // what --dtype asks of --compute; empty: nothing
  CompleteOptions complete;
  PlanOptions plan;
  BenchOptions bench;
  TextOptions text;
  IrOptions ir;
  bool json = false;                // plan, bench, ir: print JSON lines
  std::vector<std::string> notes;   // what was ignored, and why: one line each, for stderr
  std::optional<std::string> help;  // --help was given: print this and end
};

}  // namespace moxie::config
