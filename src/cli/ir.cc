#include "cli/ir.h"

#include <charconv>
#include <cstdio>

#include "base/file.h"
#include "base/json.h"
#include "cli/exit.h"
#include "cli/ir_run.h"
#include "ir/text.h"
#include "memory/plan.h"
#include "runtime/program.h"

namespace moxie::cli {
namespace {

// What planning, which compares ops with each other, takes a second for.
constexpr size_t kMaxFileBytes = size_t{1} << 20;
constexpr size_t kMaxOps = 4096;
constexpr int64_t kMaxExtent = int64_t{1} << 28;

size_t CountOps(const ir::Graph& graph) {
  size_t ops = graph.ops.size();
  for (const ir::Op& op : graph.ops) {
    for (const ir::Graph& region : op.regions) ops += CountOps(region);
  }
  return ops;
}

Result<ir::Graph> ReadGraph(const std::string& file) {
  MOXIE_ASSIGN_OR_RETURN(const std::string text, ReadFile(file, kMaxFileBytes));
  auto graph = ir::Parse(text);
  if (!graph.ok()) return std::move(graph).status().WithContext(file);
  if (CountOps(*graph) > kMaxOps) return InvalidArgument(file, ": more than ", kMaxOps, " ops");
  return graph;
}

// "T=64". The bounds of sequences, Q, follow from S.
Status Bind(const std::string& extent, tensor::Extents& extents) {
  int64_t value = 0;
  const char* end = extent.data() + extent.size();
  for (int v = 1; v < tensor::kDimVars; ++v) {
    const auto var = static_cast<tensor::DimVar>(v);
    if (var == tensor::DimVar::kBounds || !extent.starts_with(StrCat(tensor::Name(var), "=")))
      continue;
    const auto [stop, error] = std::from_chars(extent.data() + 2, end, value);
    if (error != std::errc() || stop != end || value < 1 || value > kMaxExtent) break;
    extents[var] = value;
    return OkStatus();
  }
  return InvalidArgument("--extents: \"", extent, "\" is not one of T, S, R, W and N, \"=\", and ",
                         "an integer from 1 to ", kMaxExtent);
}

Result<tensor::Extents> ParseExtents(const std::vector<std::string>& words) {
  tensor::Extents extents;
  for (const std::string& word : words) MOXIE_RETURN_IF_ERROR(Bind(word, extents));
  extents[tensor::DimVar::kBounds] = extents[tensor::DimVar::kSeqs] + 1;
  return extents;
}

std::string Hex(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

std::string Text(const runtime::Program& program, const std::vector<OutputSummary>& outputs) {
  const passes::BufferAssignment& a = program.assignment;
  std::string text = StrCat(ir::Print(program.graph), "\ncopies  ", a.copies, "\narena   ",
                            a.arena_bytes, " B; alive at once at most ", a.lower_bound, " B");
  if (!a.peak_values.empty()) text += StrCat(", at ", a.peak_op, ":");
  text += '\n';
  for (const std::string& value : a.peak_values) text += StrCat("  ", value, "\n");
  for (const OutputSummary& o : outputs) {
    text += StrCat("output  %", o.name, " ", o.type, " checksum ", Hex(o.checksum), " sum ", o.sum,
                   " largest ", o.largest, "\n");
  }
  return text;
}

// A number, or null: JSON has no NaN.
Json NumberJson(double number) { return number - number == 0 ? Json(number) : Json(nullptr); }

std::string JsonLine(const runtime::Program& program, const std::vector<OutputSummary>& outputs) {
  const passes::BufferAssignment& a = program.assignment;
  JsonArray values, results;
  for (const std::string& value : a.peak_values) values.emplace_back(value);
  for (const OutputSummary& o : outputs) {
    results.push_back(JsonObject{{"name", o.name},
                                 {"type", o.type},
                                 {"checksum", Hex(o.checksum)},
                                 {"sum", NumberJson(o.sum)},
                                 {"largest", NumberJson(o.largest)}});
  }
  const JsonObject line{{"graph", ir::Print(program.graph)},
                        {"copies", a.copies},
                        {"arena_bytes", a.arena_bytes},
                        {"lower_bound", a.lower_bound},
                        {"peak_op", a.peak_op},
                        {"peak_values", std::move(values)},
                        {"outputs", std::move(results)}};
  return DumpJson(line) + "\n";
}

Status PlanAndRun(const config::CommandLine& line) {
  MOXIE_ASSIGN_OR_RETURN(const tensor::Extents extents, ParseExtents(line.ir.extents));
  MOXIE_ASSIGN_OR_RETURN(ir::Graph graph, ReadGraph(line.ir.file));
  const int threads = line.engine.threads > 0 ? line.engine.threads : AvailableCores();
  MOXIE_ASSIGN_OR_RETURN(const runtime::Program program,
                         runtime::PlanProgram(std::move(graph), extents, threads));
  std::vector<OutputSummary> outputs;
  if (line.ir.run) {
    MOXIE_ASSIGN_OR_RETURN(outputs, RunProgram(program, line.engine.seed));
  }
  std::fputs((line.json ? JsonLine(program, outputs) : Text(program, outputs)).c_str(), stdout);
  return OkStatus();
}

}  // namespace

int Ir(std::span<const std::string> args) {
  return RunWithFlags(config::Command::kIr, args, PlanAndRun);
}

}  // namespace moxie::cli
