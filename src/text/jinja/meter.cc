#include "text/jinja/meter.h"

namespace moxie::text::jinja {

thread_local Meter* Meter::current_ = nullptr;

void Meter::FailSteps() const {
  Raise(kLimit, "the template ran over max_steps = ", limits_.max_steps);
}

void Meter::FailDepth() const {
  Raise(kLimit, "the template nests deeper than max_depth = ", limits_.max_depth);
}

void Meter::CheckRoom(size_t more) const {
  if (more > limits_.max_memory_bytes || *live_ > limits_.max_memory_bytes - more) {
    Raise(kLimit, "the template needs more than max_memory_bytes = ", limits_.max_memory_bytes);
  }
}

void Meter::Copy(size_t bytes) {
  if (bytes > limits_.max_text_bytes) {
    Raise(kLimit,
          "a text of the template is longer than max_text_bytes = ", limits_.max_text_bytes);
  }
  CheckRoom(bytes);
  Step(bytes / 64);
}

Charge::Charge(size_t bytes) {
  Meter* meter = Meter::Current();
  if (meter == nullptr) return;
  meter->CheckRoom(bytes);
  bytes_ = bytes;
  live_ = meter->live_;
  *live_ += bytes;
}

}  // namespace moxie::text::jinja
