// Executor: runs a flat functional graph whose kernels are selected and whose buffers are assigned.
//
// Linking resolves every operand to an address rule (arena offset, weight, state or input; by
// iteration where it is stacked). Running evaluates sizes for the step's live extents and calls
// kernels in order: no allocation, no lookup, no decision.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "backend/cpu/arena_guard.h"
#include "backend/cpu/select.h"
#include "base/status.h"
#include "base/threads.h"
#include "ir/graph.h"
#include "passes/buffer_assignment.h"
#include "tensor/view.h"

namespace moxie::cpu {

// A weight or state in memory: one tensor an iteration, `stride` bytes apart.
struct Stack {
  std::byte* data = nullptr;
  int64_t stride = 0;
};

class Executor {
 public:
  struct Memory {
    std::span<std::byte> arena;  // at least assignment.arena_bytes
    std::vector<Stack> weights;  // by weight index, in the selection's layouts
    std::vector<Stack> states;   // by state index
    // By input index; fixed addresses, contents change by step. A donated one (writable) ends with
    // its final version, and may not be passed twice.
    std::vector<std::byte*> inputs;
  };

  // REQUIRES: the assignment was made for extents at least as large as any step's. `graph` is
  // copied. `guard`: see backend/cpu/arena_guard.h; slow.
  static Result<Executor> Link(const ir::Graph& graph, const Selection& selection,
                               const passes::BufferAssignment& assignment, const Memory& memory,
                               ThreadPool* pool, bool guard = false);

  // Runs one step. Results are in the arena, or in a donated input, until the next.
  void Run(const tensor::Extents& live);
  // What the guard found in the last step; OK without one.
  Status guard_status() const { return guard_ ? guard_->status() : OkStatus(); }

  // Output `i` of the last step.
  tensor::TensorView output(size_t i) const;

 private:
  static constexpr int kMaxDepth = 4;  // repeats inside repeats

  // Where a value's first element is: base + (depth >= 0 ? iteration[depth] * stride : 0).
  struct Address {
    std::byte* base = nullptr;
    int64_t stride = 0;
    int depth = -1;
    tensor::DType dtype = tensor::DType::kF32;
    tensor::Packing packing = tensor::Packing::kPlain;
    tensor::Shape sizes;
    bool viewed = false;  // strides below hold; else row-major
    tensor::Shape strides;
  };
  struct Call {
    KernelFn run = nullptr;
    ir::Attrs attrs;
    std::vector<Address> in, out;
    std::vector<tensor::TensorView> in_views, out_views;
    std::span<std::byte> workspace;
  };
  struct Move {  // of a carry
    Address from, to;
  };
  struct Item {
    int call = -1;   // index into calls_, or
    int block = -1;  // index into blocks_
    int point = 0;   // of the assignment's
  };
  struct Block {
    int64_t n = 1;
    int depth = -1;
    int enter = -1, exit = 0;  // the assignment's points of a repeat
    std::vector<Item> items;
    std::vector<Move> first, next;  // carries: on entry, after each iteration
    std::byte* staging = nullptr;
  };
  class Linker;

  Executor() = default;
  void RunBlock(const Block& block);
  void MoveAll(std::span<const Move> moves, std::byte* staging) const;
  tensor::TensorView View(const Address& address) const;

  std::vector<Call> calls_;
  std::vector<Block> blocks_;  // blocks_[0] is the program
  std::vector<Address> outputs_;
  std::deque<std::array<std::byte, 64>> literals_;  // addresses stay when it grows or moves
  ThreadPool* pool_ = nullptr;
  tensor::Extents live_;
  std::array<int64_t, kMaxDepth> iteration_{};
  std::unique_ptr<ArenaGuard> guard_;  // null: off
};

}  // namespace moxie::cpu
