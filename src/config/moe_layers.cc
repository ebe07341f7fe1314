#include "config/moe_layers.h"

#include "base/json.h"
#include "base/status.h"

namespace moxie::config {
namespace {

constexpr IntRange kStep{1, 4096};
constexpr IntRange kFirst{0, 4096};

// Marks the layers that mlp_only_layers names.
void MarkListedDense(JsonFields& fields, std::vector<bool>& sparse) {
  const Json* listed = fields.Find("mlp_only_layers");
  if (listed == nullptr) return;
  const auto layers = static_cast<int64_t>(sparse.size());
  for (const Json& index : listed->is_array() ? listed->get_array() : JsonArray{Json()}) {
    const int64_t* i = index.if_int64();
    if (i == nullptr || *i < 0 || *i >= layers) {
      fields.Fail("mlp_only_layers",
                  StrCat("found ", DumpJson(*listed).substr(0, 80),
                         "; an array of layers from 0 to ", layers - 1, " works"));
      return;
    }
    sparse[static_cast<size_t>(*i)] = false;
  }
}

}  // namespace

std::vector<bool> ReadSparseLayers(JsonFields& fields, int64_t layers, int64_t experts) {
  const int64_t step = fields.IntOr("decoder_sparse_step", kStep, 1);
  const int64_t first = fields.IntOr("first_k_dense_replace", kFirst, 0);
  const int64_t frequency = fields.IntOr("moe_layer_freq", kStep, 1);
  std::vector<bool> sparse;
  for (int64_t i = 0; i < layers; ++i) {
    sparse.push_back(experts > 0 && (i + 1) % step == 0 && i >= first && i % frequency == 0);
  }
  MarkListedDense(fields, sparse);
  return sparse;
}

}  // namespace moxie::config
