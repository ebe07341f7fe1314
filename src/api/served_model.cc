#include "api/served_model.h"

#include <algorithm>

namespace moxie::api {
namespace {

Status NotServed(const ServedModel& model, const std::string& name) {
  std::string served;
  for (const std::string& known : model.names) {
    if (!served.empty()) served += ", ";
    served += StrCat("`", known, "`");
  }
  return NotFound("model: `", name.substr(0, 256), "` does not exist; served here: ", served);
}

JsonObject Card(const ServedModel& model, const std::string& name) {
  return {{"id", name},
          {"object", "model"},
          {"created", model.created},
          {"owned_by", "moxie"},
          {"root", model.root},
          {"parent", nullptr},
          {"max_model_len", model.max_model_len},
          {"permission", JsonArray{}}};
}

}  // namespace

engine::SamplingParams DefaultSampling(const config::ModelConfig& config) {
  engine::SamplingParams params;
  params.temperature = config.temperature.value_or(params.temperature);
  params.top_p = config.top_p.value_or(params.top_p);
  params.top_k = config.top_k.value_or(params.top_k);
  params.min_p = config.min_p.value_or(params.min_p);
  params.repetition_penalty = config.repetition_penalty.value_or(params.repetition_penalty);
  return params;
}

Result<std::string> ResolveModel(const ServedModel& model, const Body& body) {
  if (!body.has_model) return model.names.front();
  if (std::ranges::find(model.names, body.model) == model.names.end()) {
    return NotServed(model, body.model);
  }
  return body.model;
}

JsonObject ModelList(const ServedModel& model) {
  JsonArray cards;
  for (const std::string& name : model.names) cards.push_back(Card(model, name));
  return {{"object", "list"}, {"data", std::move(cards)}};
}

Result<JsonObject> ModelCard(const ServedModel& model, const std::string& name) {
  if (std::ranges::find(model.names, name) == model.names.end()) return NotServed(model, name);
  return Card(model, name);
}

}  // namespace moxie::api
