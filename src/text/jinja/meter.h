// The limits of a rendering, and the meter that holds it to them. Whoever makes a string or a
// container while a rendering runs charges the meter of that thread; with none installed (parsing,
// values made beforehand) nothing is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "text/jinja/error.h"

namespace moxie::text::jinja {

struct Limits {
  size_t max_depth = 800;                    // nested statements, expressions, calls and values
  size_t max_steps = 20'000'000;             // nodes evaluated, plus one for each 64 bytes copied
  size_t max_text_bytes = size_t{32} << 20;  // one string, the output included
  size_t max_memory_bytes = size_t{256} << 20;  // strings and containers alive at once
  size_t max_template_bytes = size_t{4} << 20;
};

class Meter {
 public:
  explicit Meter(const Limits& limits) : limits_(limits), live_(std::make_shared<size_t>(0)) {}

  // The calling thread's meter, or null.
  static Meter* Current() { return current_; }

  const Limits& limits() const { return limits_; }
  size_t live_bytes() const { return *live_; }

  void Step(size_t n = 1) {
    steps_ += n;
    if (steps_ > limits_.max_steps) FailSteps();
  }
  // A string of `bytes` is about to exist: counts the copying, refuses one too long.
  void Copy(size_t bytes);
  // Fails when `more` bytes alive would be too many; allocates nothing.
  void CheckRoom(size_t more) const;

  class Install {
   public:
    explicit Install(Meter& meter) : previous_(current_) { current_ = &meter; }
    ~Install() { current_ = previous_; }
    Install(const Install&) = delete;
    Install& operator=(const Install&) = delete;

   private:
    Meter* previous_;
  };

  class Nest {
   public:
    explicit Nest(Meter* meter) : meter_(meter) {
      if (meter_ != nullptr && ++meter_->depth_ > meter_->limits_.max_depth) {
        --meter_->depth_;
        meter_->FailDepth();
      }
    }
    ~Nest() {
      if (meter_ != nullptr) --meter_->depth_;
    }
    Nest(const Nest&) = delete;
    Nest& operator=(const Nest&) = delete;

   private:
    Meter* meter_;
  };

 private:
  friend class Charge;
  [[noreturn]] void FailSteps() const;
  [[noreturn]] void FailDepth() const;

  static thread_local Meter* current_;
  const Limits limits_;
  size_t steps_ = 0;
  size_t depth_ = 0;
  std::shared_ptr<size_t> live_;  // shared with charges, which may outlive the meter
};

// Bytes that live as long as this object.
class Charge {
 public:
  Charge() = default;
  explicit Charge(size_t bytes);
  Charge(Charge&&) = default;
  Charge& operator=(Charge&&) = delete;
  ~Charge() {
    if (live_ != nullptr) *live_ -= bytes_;
  }

 private:
  size_t bytes_ = 0;
  std::shared_ptr<size_t> live_;
};

}  // namespace moxie::text::jinja
