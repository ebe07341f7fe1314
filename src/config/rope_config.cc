#include "config/rope_config.h"

#include <optional>
#include <string_view>

#include "config/json_fields.h"

namespace moxie::config {
namespace {

// Far from any model's, and such that no frequency leaves float32.
constexpr RealRange kPositive{.min = 0, .max = 1e6, .min_open = true};
constexpr RealRange kTheta{.min = 1, .max = 1e12, .min_open = true};
constexpr IntRange kPositions{1, int64_t{1} << 28};

struct TypeRow {
  std::string_view name;
  RopeType type;
  void (*read)(JsonFields&, int64_t max_position_embeddings, RopeConfig&);
};

void ReadDefault(JsonFields&, int64_t, RopeConfig&) {}

void ReadLinear(JsonFields& fields, int64_t, RopeConfig& rope) {
  rope.factor = fields.RealOr("factor", kPositive, std::nullopt);
}

void ReadLlama3(JsonFields& fields, int64_t max_positions, RopeConfig& rope) {
  rope.factor = fields.RealOr("factor", kPositive, std::nullopt);
  rope.low_freq_factor = fields.RealOr("low_freq_factor", kPositive, std::nullopt);
  rope.high_freq_factor = fields.RealOr("high_freq_factor", kPositive, std::nullopt);
  rope.original_max_position_embeddings =
      fields.IntOr("original_max_position_embeddings", kPositions, max_positions);
  if (rope.high_freq_factor <= rope.low_freq_factor) {
    fields.Fail("high_freq_factor",
                StrCat("found ", rope.high_freq_factor, ", which is not above low_freq_factor ",
                       rope.low_freq_factor));
  }
}

// A null factor means the ratio of the two lengths; 0 and null leave the optional numbers at their
// defaults.
void ReadYarn(JsonFields& fields, int64_t max_positions, RopeConfig& rope) {
  constexpr RealRange kOptional{.min = 0, .max = 1e6};
  auto non_zero = [&](std::string_view field) {
    std::optional<double> value = fields.Real(field, kOptional);
    return value == 0.0 ? std::nullopt : value;
  };
  rope.original_max_position_embeddings =
      fields.IntOr("original_max_position_embeddings", kPositions, max_positions);
  double ratio = static_cast<double>(max_positions) /
                 static_cast<double>(rope.original_max_position_embeddings);
  rope.factor = fields.RealOr("factor", kPositive, ratio);
  rope.beta_fast = non_zero("beta_fast").value_or(rope.beta_fast);
  rope.beta_slow = non_zero("beta_slow").value_or(rope.beta_slow);
  rope.mscale = non_zero("mscale");
  rope.mscale_all_dim = non_zero("mscale_all_dim");
  rope.attention_factor = fields.Real("attention_factor", kPositive);
  rope.truncate = fields.Bool("truncate").value_or(true);
  if (rope.beta_fast < rope.beta_slow) {
    fields.Fail("beta_fast",
                StrCat("found ", rope.beta_fast, ", which is below beta_slow ", rope.beta_slow));
  }
}

constexpr TypeRow kTypes[] = {
    {"default", RopeType::kDefault, ReadDefault},
    {"linear", RopeType::kLinear, ReadLinear},
    {"llama3", RopeType::kLlama3, ReadLlama3},
    {"yarn", RopeType::kYarn, ReadYarn},
};

const TypeRow* FindType(std::string_view name) {
  for (const TypeRow& row : kTypes) {
    if (row.name == name) return &row;
  }
  return nullptr;
}

// rope_parameters of models whose layer kinds rotate differently: an object per kind.
bool IsPerLayerKind(const JsonObject& scaling) {
  for (const auto& member : scaling) {
    if (member.value().is_object()) return true;
  }
  return false;
}

void ReadScaling(const JsonObject& scaling, const std::string& where, double theta,
                 int64_t max_positions, JsonFields& outer, std::string_view field,
                 RopeConfig& rope) {
  if (IsPerLayerKind(scaling)) {
    return outer.Fail(field, "has parameters per kind of layer, which is not supported",
                      StatusCode::kUnimplemented);
  }
  JsonFields fields(scaling, StrCat(where, ": ", field));
  rope.theta = fields.RealOr("rope_theta", kTheta, theta);
  // transformers renamed "type" to "rope_type" and still reads both.
  std::string_view key = fields.Find("rope_type") != nullptr ? "rope_type" : "type";
  std::string name = fields.String(key).value_or("default");
  if (fields.RealOr("partial_rotary_factor", kPositive, 1.0) != 1.0) {
    fields.Fail("partial_rotary_factor", "only 1.0 is supported: all of a head rotates",
                StatusCode::kUnimplemented);
  }
  if (const TypeRow* row = FindType(name)) {
    rope.type = row->type;
    row->read(fields, max_positions, rope);
  } else {
    fields.Fail(key,
                StrCat("\"", name, "\" is not supported; default, linear, llama3 and yarn are"),
                StatusCode::kUnimplemented);
  }
  outer.Keep(fields.status());
}

}  // namespace

Result<RopeConfig> ParseRopeConfig(const JsonObject& config, const std::string& where,
                                   double default_theta, int64_t max_position_embeddings) {
  RopeConfig rope;
  JsonFields fields(config, where);
  rope.theta = fields.RealOr("rope_theta", kTheta, default_theta);
  std::string_view field =
      fields.Find("rope_parameters") != nullptr ? "rope_parameters" : "rope_scaling";
  if (const Json* scaling = fields.Find(field)) {
    if (scaling->is_object()) {
      ReadScaling(scaling->get_object(), where, rope.theta, max_position_embeddings, fields, field,
                  rope);
    } else {
      fields.Fail(field, StrCat("found ", JsonTypeName(*scaling), "; an object or null works"));
    }
  }
  if (fields.RealOr("partial_rotary_factor", kPositive, 1.0) != 1.0) {
    fields.Fail("partial_rotary_factor", "only 1.0 is supported: all of a head rotates",
                StatusCode::kUnimplemented);
  }
  if (!fields.status().ok()) return fields.status();
  return rope;
}

}  // namespace moxie::config
