// The numbers of rotary position embeddings, after transformers' modeling_rope_utils.py, in its
// float32. With pairs p = 0 .. head_dim/2 - 1 and position t, the angle is t * inv_freq[p]; cos and
// sin of it are multiplied by the attention factor.
#pragma once

#include <vector>

#include "config/model_config.h"

namespace moxie::config {

// [head_dim / 2] inverse frequencies, the scaling of config.rope applied.
std::vector<float> RopeInvFreq(const ModelConfig& config);

// 1 except for yarn, where it is attention_factor, or follows from factor and mscale.
float RopeAttentionFactor(const ModelConfig& config);

}  // namespace moxie::config
