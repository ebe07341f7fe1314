#include "config/rope.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace moxie::config {
namespace {

constexpr double kTwoPi = 2 * std::numbers::pi;

// theta^(2p / head_dim), one for each pair.
std::vector<float> PositionFreqs(const ModelConfig& config) {
  std::vector<float> freqs(static_cast<size_t>(config.head_dim / 2));
  for (size_t p = 0; p < freqs.size(); ++p) {
    float exponent = static_cast<float>(2 * p) / static_cast<float>(config.head_dim);
    freqs[p] = static_cast<float>(std::pow(config.rope.theta, static_cast<double>(exponent)));
  }
  return freqs;
}

std::vector<float> DefaultInvFreq(const ModelConfig& config) {
  std::vector<float> inv_freq = PositionFreqs(config);
  for (float& f : inv_freq) f = 1.0f / f;
  return inv_freq;
}

std::vector<float> LinearInvFreq(const ModelConfig& config) {
  std::vector<float> inv_freq = DefaultInvFreq(config);
  for (float& f : inv_freq) f /= static_cast<float>(config.rope.factor);
  return inv_freq;
}

// Long waves are divided by the factor, short ones kept, those between mixed linearly in
// old/wavelength.
float Llama3Frequency(const RopeConfig& rope, float f) {
  float old_length = static_cast<float>(rope.original_max_position_embeddings);
  float low = static_cast<float>(rope.low_freq_factor);
  float high = static_cast<float>(rope.high_freq_factor);
  float factor = static_cast<float>(rope.factor);
  float wavelength = static_cast<float>(kTwoPi) / f;
  if (wavelength > old_length / low) return f / factor;
  if (wavelength < old_length / high) return f;
  float smooth = (old_length / wavelength - low) / (high - low);
  return (1.0f - smooth) * f / factor + smooth * f;
}

std::vector<float> Llama3InvFreq(const ModelConfig& config) {
  std::vector<float> inv_freq = DefaultInvFreq(config);
  for (float& f : inv_freq) f = Llama3Frequency(config.rope, f);
  return inv_freq;
}

// The (fractional) pair that makes `rotations` turns within the original length.
double YarnCorrectionDim(const ModelConfig& config, double rotations) {
  double length = static_cast<double>(config.rope.original_max_position_embeddings);
  return static_cast<double>(config.head_dim) * std::log(length / (rotations * kTwoPi)) /
         (2 * std::log(config.rope.theta));
}

// Pairs below `low` keep their frequency, pairs above `high` are divided by the factor, between is
// a ramp.
std::vector<float> YarnInvFreq(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  double low = YarnCorrectionDim(config, rope.beta_fast);
  double high = YarnCorrectionDim(config, rope.beta_slow);
  if (rope.truncate) {
    low = std::floor(low);
    high = std::ceil(high);
  }
  low = std::max(low, 0.0);
  high = std::min(high, static_cast<double>(config.head_dim - 1));
  if (low == high) high += 0.001;  // as transformers: no division by zero
  std::vector<float> freqs = PositionFreqs(config);
  for (size_t p = 0; p < freqs.size(); ++p) {
    float ramp = (static_cast<float>(p) - static_cast<float>(low)) / static_cast<float>(high - low);
    float keep = 1.0f - std::clamp(ramp, 0.0f, 1.0f);
    float interpolated = 1.0f / (static_cast<float>(rope.factor) * freqs[p]);
    freqs[p] = interpolated * (1.0f - keep) + 1.0f / freqs[p] * keep;
  }
  return freqs;
}

double YarnMscale(double factor, double mscale) {
  return factor <= 1 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

}  // namespace

std::vector<float> RopeInvFreq(const ModelConfig& config) {
  switch (config.rope.type) {
    case RopeType::kDefault:
      break;
    case RopeType::kLinear:
      return LinearInvFreq(config);
    case RopeType::kLlama3:
      return Llama3InvFreq(config);
    case RopeType::kYarn:
      return YarnInvFreq(config);
  }
  return DefaultInvFreq(config);
}

float RopeAttentionFactor(const ModelConfig& config) {
  const RopeConfig& rope = config.rope;
  if (rope.type != RopeType::kYarn) return 1.0f;
  if (rope.attention_factor) return static_cast<float>(*rope.attention_factor);
  if (!rope.mscale || !rope.mscale_all_dim) return static_cast<float>(YarnMscale(rope.factor, 1));
  return static_cast<float>(YarnMscale(rope.factor, *rope.mscale) /
                            YarnMscale(rope.factor, *rope.mscale_all_dim));
}

}  // namespace moxie::config
