// The fast path of matrix products: packs rows of x into tiles, and cuts the work among threads.
//
// Work is cut before it starts, along one line: experts in order, in each its blocks of rows, in
// each block the panels of w. A unit is one panel of a block and costs as many rows as the block
// has (a block of few rows is bound by reading the panel: it costs a whole tile). Each thread takes
// an equal piece of the line, so a group of any size is shared by N, and a large one by M too; each
// panel is read once a block of rows.
#include "backend/cpu/grouped.h"

#include <cstring>

#include "backend/cpu/interleave.h"

namespace moxie::cpu {
namespace {

// Packed rows of a block stay in a part of a core's second-level cache (512 KiB to 2 MiB today).
constexpr int64_t kBlockBytes = 384 << 10;

int64_t AlignUp(int64_t n, int64_t to) { return (n + to - 1) / to * to; }

// Rows of a block at most: whole tiles.
int64_t BlockRows(const TileKernel& kernel, int64_t pairs) {
  const int64_t tile_bytes = kernel.tile_rows * pairs * kernel.pair_bytes;
  return std::max<int64_t>(1, kBlockBytes / tile_bytes) * kernel.tile_rows;
}

struct Unit {
  int64_t expert;
  Range rows;    // of one block
  Range panels;  // this thread's, of the block
};

// Calls fn(unit) for each block that this member has a piece of.
template <typename F>
void ForEachUnit(const Grouped& g, const TileKernel& kernel, int member, int members, F&& fn) {
  const int64_t block_rows = BlockRows(kernel, g.pairs());
  auto for_blocks = [&](auto&& block_fn) {
    for (int64_t e = 0; e < g.experts; ++e) {
      const int64_t begin = g.begin(e), rows = g.end(e) - begin;
      const int blocks = static_cast<int>((rows + block_rows - 1) / block_rows);
      for (int b = 0; b < blocks; ++b) {
        const Range r = SplitRange(rows, blocks, b);
        block_fn(e, Range{begin + r.begin, begin + r.end},
                 std::max<int64_t>(r.size(), kernel.tile_rows));
      }
    }
  };
  int64_t total = 0;
  for_blocks([&](int64_t, Range, int64_t cost) { total += cost * g.panels(); });
  const int64_t from = total * member / members, to = total * (member + 1) / members;
  int64_t at = 0;  // of the block on the line
  for_blocks([&](int64_t e, Range rows, int64_t cost) {
    // A panel is of the piece in which its unit begins.
    auto first_panel = [&](int64_t position) {
      return std::clamp<int64_t>((position - at + cost - 1) / cost, 0, g.panels());
    };
    const Range panels{first_panel(from), first_panel(to)};
    at += cost * g.panels();
    if (panels.size() > 0) fn(Unit{e, rows, panels});
  });
}

// Tile `index` of a block, and how many there are: as even as possible.
int64_t TileCount(const TileKernel& kernel, const Unit& unit) {
  return (unit.rows.size() + kernel.tile_rows - 1) / kernel.tile_rows;
}
Range TileRows(const TileKernel& kernel, const Unit& unit, int64_t index) {
  const Range r = SplitRange(unit.rows.size(), static_cast<int>(TileCount(kernel, unit)),
                             static_cast<int>(index));
  return {unit.rows.begin + r.begin, unit.rows.begin + r.end};
}

// A tile of a unit's rows times the panels of `panels`.
TileArgs TileOf(const Grouped& g, const TileKernel& kernel, const Unit& unit, Range rows,
                Range panels, const std::byte* packed) {
  const int64_t column = panels.begin * 32;
  const int64_t panel_bytes = g.pairs() * 64 * kernel.weight_bytes;
  return TileArgs{
      .x = packed + (rows.begin - unit.rows.begin) * g.pairs() * kernel.pair_bytes,
      .pairs = g.pairs(),
      .rows = static_cast<int>(rows.size()),
      .w = g.w + (unit.expert * g.panels() + panels.begin) * panel_bytes,
      .columns = std::min(g.n, panels.end * 32) - column,
      .bias = g.bias == nullptr ? nullptr : g.bias + column,
      .y = g.y + (rows.begin * g.y_stride + column) * (g.y_is_bf16 ? 2 : 4),
      .y_stride = g.y_stride,
      .y_is_bf16 = g.y_is_bf16,
  };
}

// Packs a unit's rows and calls fn(rows, panels) for its tiles: one tile takes `panels_at_once`
// panels, several take the same panel one after another, while it is in the cache.
template <typename F>
void ForEachTile(const Grouped& g, const TileKernel& kernel, const Unit& unit,
                 int64_t panels_at_once, std::byte* packed, F&& fn) {
  const int64_t tiles = TileCount(kernel, unit);
  for (int64_t i = 0; i < tiles; ++i) {
    const Range rows = TileRows(kernel, unit, i);
    kernel.pack(g, rows, packed + (rows.begin - unit.rows.begin) * g.pairs() * kernel.pair_bytes);
  }
  const int64_t step = tiles == 1 ? panels_at_once : 1;
  for (int64_t p = unit.panels.begin; p < unit.panels.end; p += step) {
    const Range panels{p, std::min(p + step, unit.panels.end)};
    for (int64_t i = 0; i < tiles; ++i) fn(TileRows(kernel, unit, i), panels);
  }
}

// Calls fn(unit, packed) for all units, on the threads that have them.
template <typename F>
void ForEachUnitOnPool(const Grouped& g, const TileKernel& kernel, std::span<std::byte> workspace,
                       ThreadPool& pool, F&& fn) {
  constexpr int64_t kWorthForking = 1 << 15;  // products
  const int64_t packed = PackedBytes(kernel, g.rows, g.k);
  auto run = [&](int member, int members) {
    std::byte* mine = workspace.data() + member * packed;
    ForEachUnit(g, kernel, member, members, [&](const Unit& unit) { fn(unit, mine); });
  };
  if (pool.size() == 1 || g.rows * g.n * g.k < kWorthForking) return run(0, 1);
  pool.Run([&](int member) { run(member, pool.size()); });
}

}  // namespace

template <typename X>
void PackF32Pairs(const Grouped& g, Range rows, std::byte* out) {
  float* pairs = reinterpret_cast<float*>(out);
  for (int64_t r = 0; r < rows.size(); ++r) {
    const X* x = SourceRow<X>(g, rows.begin + r);
    float* to = pairs + 2 * r;
    const int64_t step = 2 * rows.size();
    for (int64_t k = 0; k + 1 < g.k; k += 2, to += step) {
      to[0] = ToFloat(x[k]);
      to[1] = ToFloat(x[k + 1]);
    }
    if (g.k % 2 == 1) {
      to[0] = ToFloat(x[g.k - 1]);
      to[1] = 0.0f;
    }
  }
}
template void PackF32Pairs<float>(const Grouped&, Range, std::byte*);
template void PackF32Pairs<BF16>(const Grouped&, Range, std::byte*);

void PackBf16Pairs(const Grouped& g, Range rows, std::byte* out) {
  const int64_t whole = g.k / 2, stride = 4 * rows.size();
  auto row = [&](int64_t r) {
    return reinterpret_cast<const std::byte*>(SourceRow<BF16>(g, rows.begin + r));
  };
  int64_t r = 0;
  for (; r + 4 <= rows.size(); r += 4) {
    const std::byte* const four[4] = {row(r), row(r + 1), row(r + 2), row(r + 3)};
    InterleaveFour(four, whole, out + 4 * r, stride);
  }
  for (; r < rows.size(); ++r) {
    const std::byte* x = row(r);
    for (int64_t p = 0; p < whole; ++p) std::memcpy(out + p * stride + 4 * r, x + 4 * p, 4);
  }
  for (r = 0; g.k % 2 == 1 && r < rows.size(); ++r) {  // the last k, and a zero
    std::byte* last = out + whole * stride + 4 * r;
    std::memcpy(last, row(r) + 4 * whole, 2);
    std::memset(last + 2, 0, 2);
  }
}

int64_t PackedBytes(const TileKernel& kernel, int64_t rows, int64_t k) {
  const int64_t pairs = (k + 1) / 2;
  return AlignUp(std::min(rows, BlockRows(kernel, pairs)) * pairs * kernel.pair_bytes, 64);
}

void RunGrouped(const Grouped& g, const TileKernel& kernel, std::span<std::byte> workspace,
                ThreadPool& pool) {
  ForEachUnitOnPool(g, kernel, workspace, pool, [&](const Unit& unit, std::byte* packed) {
    ForEachTile(g, kernel, unit, unit.panels.size(), packed, [&](Range rows, Range panels) {
      kernel.tile(TileOf(g, kernel, unit, rows, panels, packed));
    });
  });
}

void RunGateUp(const Grouped& gate, const std::byte* up, const TileKernel& kernel,
               CombineFn combine, std::span<std::byte> workspace, ThreadPool& pool) {
  constexpr int64_t kPanels = 4;  // at once: as many as a tile of one row has in flight
  ForEachUnitOnPool(gate, kernel, workspace, pool, [&](const Unit& unit, std::byte* packed) {
    float products[2][kTileRows * kPanels * 32];
    ForEachTile(gate, kernel, unit, kPanels, packed, [&](Range rows, Range panels) {
      TileArgs args = TileOf(gate, kernel, unit, rows, panels, packed);
      std::byte* out = static_cast<std::byte*>(args.y);
      const std::byte* gate_w = static_cast<const std::byte*>(args.w);
      args.y_stride = kPanels * 32;
      args.y_is_bf16 = false;
      args.y = products[0];
      kernel.tile(args);
      args.y = products[1];
      args.w = up + (gate_w - gate.w);
      kernel.tile(args);
      const int64_t row_bytes = gate.y_stride * (gate.y_is_bf16 ? 2 : 4);
      for (int r = 0; r < args.rows; ++r) {
        combine(products[0] + r * args.y_stride, products[1] + r * args.y_stride, args.columns,
                out + r * row_bytes);
      }
    });
  });
}

}  // namespace moxie::cpu
