// Which layers of a model are mixtures of experts.
#pragma once

#include <cstdint>
#include <vector>

#include "config/json_fields.h"

namespace moxie::config {

// An entry a layer: true for a mixture. From the keys of both kinds that public models use:
//   decoder_sparse_step, mlp_only_layers     sparse where not listed and (index + 1) % step == 0
//   first_k_dense_replace, moe_layer_freq    sparse from layer k on, where index % freq == 0
// Absent keys leave every layer sparse; without experts none is.
std::vector<bool> ReadSparseLayers(JsonFields& fields, int64_t layers, int64_t experts);

}  // namespace moxie::config
